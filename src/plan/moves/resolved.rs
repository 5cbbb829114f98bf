//! The resolved declarations of a stack (`moved`, `removed`, `import`) for the entries of a ledger, as data.
//! `resolve::resolve_moves` computes it; every later phase reads it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use foldhash::HashMap;

use crate::config::stack::declarations::{RemovedAction, RemovedDeclaration, TransferDirection};
use crate::config::stack::model::Stack;
use crate::ledger::journal::legal::first_illegal_move;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::replay::apply_record;
use crate::ledger::state::entry::Entry;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name, path_prefixes};
use crate::model::source::Span;
use crate::plan::model::transfers::ImpossibleMove;
use crate::plan::model::transfers::{StackMove, StackTransfers};

/// An entry that a plan adds, and why its object is deleted.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::plan) struct AddedEntry {
    /// The entry for the ledger.
    pub entry: Entry,
    /// The origin and the age of the object; empty for an existing entry that only gets a dependency.
    pub reason: String,
}

/// The effect of a stack's declarations on a ledger.
#[derive(Debug, Default)]
pub(in crate::plan) struct ResolvedDeclarations<'a> {
    /// New addresses by old ones.
    pub moves: BTreeMap<Address, Address>,
    /// The origins of the moved entries, by new addresses.
    pub was: HashMap<Address, MoveOrigin>,
    /// The `removed` entries, by the addresses that they cover.
    removed: HashMap<&'a str, &'a RemovedDeclaration>,
    /// Entries that the plan adds in order to delete their objects, and existing entries that change because of them.
    pub added: BTreeMap<Address, AddedEntry>,
    /// Moves between this stack and others.
    pub between_stacks: Vec<StackMove>,
    /// Moves that cannot be made.
    pub impossible: Vec<ImpossibleMove>,
    /// The addresses of this stack in moves between stacks that were interrupted or cannot be made.
    halted: Vec<Address>,
}

/// The origin of a moved entry.
#[derive(Debug)]
pub(in crate::plan) struct MoveOrigin {
    pub address: Address,
    /// The other stack from which the entry comes, as `stack/environment`; `None` if it moves within the stack.
    pub stack: Option<Name>,
    /// The span of the `moved` entry; `None` if it moves with its parent.
    pub span: Option<Span>,
    /// The old and the new address of the module, if all of the module moves; otherwise `None`.
    pub module: Option<(Name, Name)>,
}

impl<'a> ResolvedDeclarations<'a> {
    /// Creates a value with the `removed` entries of a stack, and no moves.
    pub fn new(stack: &'a Stack) -> Self {
        let removed =
            stack.declarations.removed.iter().map(|removed| (removed.from.as_str(), removed)).collect();
        Self { removed, ..Self::default() }
    }

    /// Adds the moves between this stack and others: the origins of arriving entries, and the moves that cannot be made.
    pub fn add_transfers(&mut self, transfers: &StackTransfers) {
        for one in transfers.moves.iter().filter(|one| one.direction == TransferDirection::Incoming) {
            for (from, to) in &one.moves {
                let stack = Some(one.peer.clone());
                let origin =
                    MoveOrigin { address: from.clone(), span: Some(one.span), module: None, stack };
                self.was.insert(to.clone(), origin);
            }
        }
        self.between_stacks.clone_from(&transfers.moves);
        self.impossible.extend(transfers.blocked.iter().cloned());
        self.halted.extend(transfers.blocked.iter().map(|one| one.address.clone()));
    }

    /// Returns whether a move of an address between two stacks was interrupted, or cannot be made: until that is resolved,
    /// its object is neither changed nor deleted, and none is created.
    pub fn is_between_stacks(&self, address: &Address) -> bool {
        self.halted.iter().any(|halted| address.is_within(halted))
    }

    /// Returns the ledger after all moves, with its serial unchanged. If the ledger forbids one, it is reported
    /// as impossible, and none is made.
    pub fn apply_to_ledger<'l>(&mut self, ledger: &'l Ledger) -> Cow<'l, Ledger> {
        if self.moves.is_empty() {
            return Cow::Borrowed(ledger);
        }
        let mut moved = ledger.clone();
        if let Err(illegal) = apply_record(&mut moved, &Record::Moved { moves: self.moves.clone() }) {
            let barred = first_illegal_move(ledger, &self.moves).map(|(address, _)| address.clone());
            if let Some(address) = barred {
                let help = "Resolve it first, or apply without the move: `stead resolve` lists it.";
                let text = format!("{address} cannot be moved: {}.", illegal.reason);
                self.impossible.push(ImpossibleMove { address, text, help: help.to_owned(), span: None });
            }
            self.moves.clear();
            self.was.clear();
            return Cow::Borrowed(ledger);
        }
        moved.serial = ledger.serial;
        Cow::Owned(moved)
    }

    /// Returns the action that the innermost `removed` entry declares for an object without a block; `None` if
    /// no entry covers the address.
    pub fn removal_action(&self, address: &Address) -> Option<RemovedAction> {
        if self.removed.is_empty() {
            return None;
        }
        let found = path_prefixes(address.as_str()).filter_map(|place| self.removed.get(place)).next_back();
        found.map(|removed| removed.action)
    }
}
