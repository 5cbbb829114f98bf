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
        (Given | Pending | Received, _) | (_, Offered | Given | Settled) => return Err(Contradiction),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use TransferStatus::{Absent, Given, Offered, Pending, Received, Settled};

    /// Returns the status of a ledger after one of its records, as the ledger itself computes it.
    fn follow(status: TransferStatus, record: &Record) -> TransferStatus {
        match (status, record) {
            (Offered, Record::TransferGiven { .. }) => Given,
            (Given, Record::TransferSettled { .. }) => Settled,
            (Pending, Record::TransferOwned { .. }) => Received,
            (Offered | Pending, Record::TransferWithdrawn { .. }) => Absent,
            (status, record) => panic!("{record:?} is not legal after {status:?}"),
        }
    }

    #[test]
    fn every_interrupted_transfer_ends_with_one_owner_after_each_of_its_records() {
        let mut closed = 0;
        for source in [Absent, Offered, Given, Settled] {
            for target in [Absent, Pending, Received] {
                let Ok(steps) = closing_records(Uuid::nil(), source, target) else {
                    assert_eq!((source, target), (Given, Absent), "only a lost target has no end");
                    continue;
                };
                let goes_forward = matches!(source, Given | Settled) || target == Received;
                let (mut at, mut there) = (source, target);
                for (side, record) in &steps {
                    match side {
                        Side::Source => at = follow(at, record),
                        Side::Target => there = follow(there, record),
                    }
                    // A crash here leaves what the next run ends in the same way.
                    let rest = closing_records(Uuid::nil(), at, there).unwrap();
                    assert!(steps.ends_with(&rest), "{source:?} {target:?}: {steps:?}, then {rest:?}");
                    closed += 1;
                }
                assert!(matches!(at, Absent | Settled), "{source:?} {target:?}: the source ends as {at:?}");
                assert!(
                    matches!(there, Absent | Received),
                    "{source:?} {target:?}: the target ends as {there:?}"
                );
                // A settled transfer whose target is absent is one that the target has forgotten with its objects.
                if goes_forward && (source, target) != (Settled, Absent) {
                    assert_eq!(there, Received, "{source:?} {target:?}");
                }
            }
        }
        assert!(closed >= 9, "{closed}");
    }
}
