//! How an interrupted transfer ends, by its status in both ledgers. Pure.
//!
//! Forward exactly if the source has given the objects away. Otherwise back: the source withdraws first, and from then on
//! it can never give them away; so the target may forget its pending entries without any further look.

use uuid::Uuid;

use crate::ledger::journal::record::Record;
use crate::ledger::state::transfer::TransferStatus;

/// One of the two ledgers of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The ledger that had the objects.
    Source,
    /// The ledger that gets the objects.
    Target,
}

/// The two ledgers contradict each other: one of them was restored from a copy, or rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contradiction;

/// Returns the records that end a transfer, in the order in which they must become durable; none if it has ended.
///
/// # Errors
/// When the source has given the objects away, and the target has never had them.
pub fn closing_records(
    id: Uuid,
    source: TransferStatus,
    target: TransferStatus,
) -> Result<Vec<(Side, Record)>, Contradiction> {
    use TransferStatus::{Absent, Given, Offered, Pending, Received, Settled};
    let given = (Side::Source, Record::TransferGiven { transfer: id });
    let settled = (Side::Source, Record::TransferSettled { transfer: id });
    let owned = (Side::Target, Record::TransferOwned { transfer: id });
    let withdrawn = |side| (side, Record::TransferWithdrawn { transfer: id });
    Ok(match (source, target) {
        (Given, Pending) => vec![owned, settled],
        (Given, Received) => vec![settled],
        // The target was restored from a copy that is as old as the transfer.
        (Settled, Pending) => vec![owned],
        // The source was restored from such a copy.
        (Offered, Received) => vec![given, settled],
        (Offered, Pending) => vec![withdrawn(Side::Source), withdrawn(Side::Target)],
        (Offered, Absent) => vec![withdrawn(Side::Source)],
        (Absent, Pending) => vec![withdrawn(Side::Target)],
        (Absent | Settled, Absent | Received) => Vec::new(),
        (Given, _) | (Pending | Received, _) | (_, Offered | Given | Settled) => return Err(Contradiction),
    })
}
