//! Salvage: facts that an earlier run could not record, put in once the ledger can be written. Pure.

use super::entry::Ledger;
use super::record::{Answer, ClosedOutcome, Record};

/// Returns what of the kept facts the ledger does not hold yet, as records that are legal now.
///
/// The failed append may have been written after all, and a later run may have found out by itself:
/// a fact counts only while its request is open, or asked about.
#[must_use]
pub fn salvaged(ledger: &Ledger, kept: &[Record]) -> Vec<Record> {
    let mut trial = ledger.clone();
    let mut found = Vec::new();
    let mut follows_change = false;
    for fact in kept {
        let record = match fact {
            Record::Bound { op, object } if trial.questions.contains_key(op) => {
                Record::Answered { op: *op, answer: Answer::Made { object: object.clone() } }
            }
            Record::Closed { op, .. } | Record::Bound { op, .. } if !trial.intents.contains_key(op) => {
                follows_change = false;
                continue;
            }
            Record::Gone { op: None, .. } => continue,
            // Attributes belong to the call whose end stands before them.
            Record::Merged { .. } if !follows_change => continue,
            Record::Bound { .. } | Record::Closed { .. } | Record::Gone { .. } | Record::Merged { .. } => {
                fact.clone()
            }
            _ => continue,
        };
        follows_change = matches!(record, Record::Closed { outcome: ClosedOutcome::Done, .. });
        if trial.record(&record).is_ok() {
            found.push(record);
        } else {
            follows_change = false;
        }
    }
    found
}

#[cfg(test)]
#[path = "salvage/tests.rs"]
mod tests;
