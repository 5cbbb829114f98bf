//! `moved` entries that name another stack, checked against the blocks of this one. Whether they fit the blocks of the
//! other stack is checked where its files can be read.
//!
//! In: the entries of the stack, with addresses of both stacks. Out: those that are consistent with this stack's blocks
//! and with its other declarations; a wrong entry is reported, and absent.

use foldhash::HashMap;

use super::address_status::{AddressIndex, AddressStatus, duplicate_declaration};
use crate::config::stack::declarations::{
    MovedDeclaration, RemovedDeclaration, TransferDeclaration, TransferDirection,
};
use crate::model::address::Address;
use crate::model::source::Span;

/// Checks the entries that name another stack.
pub(in crate::config) fn check_transfers(
    addresses: &AddressIndex<'_, '_>,
    transfers: &[TransferDeclaration],
    moved: &[MovedDeclaration],
    removed: &[RemovedDeclaration],
) -> Vec<TransferDeclaration> {
    let problems = &addresses.context.problems;
    let mut leaving: HashMap<&Address, Span> = moved.iter().map(|one| (&one.from, one.span)).collect();
    leaving.extend(removed.iter().map(|one| (&one.from, one.span)));
    let mut arriving: HashMap<&Address, Span> = moved.iter().map(|one| (&one.to, one.span)).collect();
    for transfer in transfers {
        let own = transfer.own_address();
        let (known, text) = match transfer.direction {
            TransferDirection::Outgoing => {
                (&mut leaving, format!("{own} moves to two addresses, or is removed."))
            }
            TransferDirection::Incoming => (&mut arriving, format!("Two addresses move to {own}.")),
        };
        if let Some(first) = known.insert(own, transfer.span) {
            problems.push(duplicate_declaration(&text, first, transfer.span));
        }
    }
    transfers.iter().filter(|transfer| fits_blocks(addresses, transfer)).cloned().collect()
}

/// Returns whether an entry fits the blocks of this stack; reports one that does not. An address that this environment
/// leaves out is neither wrong nor moved.
fn fits_blocks(addresses: &AddressIndex<'_, '_>, transfer: &TransferDeclaration) -> bool {
    let own = transfer.own_address();
    match (transfer.direction, addresses.address_status(own)) {
        (TransferDirection::Outgoing, AddressStatus::Undeclared)
        | (TransferDirection::Incoming, AddressStatus::One | AddressStatus::Many) => true,
        (TransferDirection::Outgoing, _) => {
            let help = "move the block to the other stack, or remove this entry";
            addresses.still_declared(own, transfer.span, help);
            false
        }
        (TransferDirection::Incoming, AddressStatus::Undeclared) => {
            addresses.report_undeclared(own, transfer.span, "write its block, or remove the entry");
            false
        }
        (TransferDirection::Incoming, AddressStatus::Absent | AddressStatus::Broken) => false,
    }
}
