//! Replay of a recovery file: facts that an earlier run could not record, added as soon as the
//! ledger can be written. Pure.

use super::record::{ClosedOutcome, IntentResolution, Record};
use crate::ledger::journal::replay::apply_record;
use crate::ledger::state::ledger::Ledger;

/// Returns the facts that the ledger does not contain yet, as records that are legal now.
///
/// The failed append may have been written after all, and a later run may have resolved the request itself: a fact
/// counts only while its request is open or ambiguous.
#[must_use]
pub fn records_to_replay(ledger: &Ledger, kept: &[Record]) -> Vec<Record> {
    let mut trial = ledger.clone();
    let mut found = Vec::new();
    let mut follows_change = false;
    // A secret counts only with the object that showed it, whose binding follows it in the file.
    let mut secret: Option<&Record> = None;
    for fact in kept {
        if matches!(fact, Record::SecretKept { .. }) {
            secret = Some(fact);
            continue;
        }
        let shown = secret.take().filter(|_| matches!(fact, Record::Bound { .. }));
        let record = match fact {
            Record::Bound { op, object } if trial.questions.contains_key(op) => {
                Record::Answered { op: *op, answer: IntentResolution::Made { object: object.clone() } }
            }
            Record::Closed { op, .. } | Record::Bound { op, .. } if !trial.intents.contains_key(op) => {
                follows_change = false;
                continue;
            }
            Record::Delivered { target, delivery }
                if trial.delivered.get(target).is_some_and(|known| known.contains(delivery)) =>
            {
                continue;
            }
            Record::Gone { op: None, .. } => continue,
            // Attributes belong to the call whose completion precedes them.
            Record::Merged { .. } if !follows_change => continue,
            Record::Bound { .. }
            | Record::Closed { .. }
            | Record::Gone { .. }
            | Record::Merged { .. }
            | Record::Delivered { .. } => fact.clone(),
            _ => continue,
        };
        follows_change = matches!(record, Record::Closed { outcome: ClosedOutcome::Done, .. });
        if apply_record(&mut trial, &record).is_ok() {
            found.push(record);
            found.extend(shown.filter(|shown| apply_record(&mut trial, shown).is_ok()).cloned());
        } else {
            follows_change = false;
        }
    }
    found
}

#[cfg(test)]
mod tests;
