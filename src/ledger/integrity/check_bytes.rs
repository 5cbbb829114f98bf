//! Checks of a ledger's bytes, independent of the store. In: a checkpoint and the journal after it. Out: the ledger, or
//! the first inconsistency. Pure.

use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::MacVerifier;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::replay::load_ledger;
use crate::ledger::journal::{chain, checkpoint, line};
use crate::ledger::state::ledger::Ledger;

/// The result of replaying the bytes of a ledger.
#[derive(Debug)]
pub struct ReplayResult {
    /// The ledger; `None` when there is not one complete record.
    pub ledger: Option<Ledger>,
    /// The length of the journal's complete lines, in bytes; the rest is a torn write that was never acknowledged.
    pub whole: usize,
}

/// Reads a checkpoint (`None`: the ledger has none yet) and the journal that follows it, and replays both. Verifies
/// the digests only: without a key, a MAC is not checked.
///
/// # Errors
/// When a digest does not match, or the records do not replay. An incomplete last line is no error.
pub fn replay_bytes(summary: Option<&[u8]>, journal: &[u8]) -> Result<ReplayResult, StoreError> {
    let corrupt = |place: String, reason: &str| StoreError::Corrupt { place, reason: reason.to_owned() };
    let mut seals = MacVerifier::new(None);
    let (mut records, head) = match summary {
        Some(bytes) => {
            let (ledger, head) = checkpoint::parse(bytes, &mut seals)
                .map_err(|reason| corrupt("the summary".to_owned(), reason))?;
            (vec![Record::Condensed(Box::new(ledger))], head)
        }
        None => (Vec::new(), chain::first_head()),
    };
    let lines = line::decode_lines(journal, head, &mut seals)
        .map_err(|damage| corrupt(format!("the journal, line {}", damage.line), damage.reason))?;
    records.extend(lines.records);
    let ledger = if records.is_empty() { None } else { Some(load_ledger(records)?) };
    Ok(ReplayResult { ledger, whole: lines.whole })
}

/// Returns the bytes of a checkpoint of a ledger, without a MAC; a new journal can follow it.
///
/// # Errors
/// When a part of the ledger cannot be written as JSON.
pub fn summary_bytes(ledger: &Ledger) -> std::io::Result<Vec<u8>> {
    checkpoint::serialize_checkpoint(Vec::new(), ledger, &chain::first_head(), None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::fixture::{adopted, identity};

    #[test]
    fn a_checkpoint_and_its_journal_have_the_same_content() {
        let born = Record::birth(&identity());
        let (first, head) = line::encode_line(&[born], &chain::first_head(), None).unwrap();
        let (second, _) = line::encode_line(&[adopted(1, "vm-1")], &head, None).unwrap();
        let journal = [first, second].concat();
        let replayed = replay_bytes(None, &journal).unwrap();
        assert_eq!(replayed.whole, journal.len());
        let ledger = replayed.ledger.unwrap();
        assert_eq!(ledger.serial, 2);
        let summary = summary_bytes(&ledger).unwrap();
        assert_eq!(replay_bytes(Some(&summary), b"").unwrap().ledger, Some(ledger));
        assert!(replay_bytes(None, b"").unwrap().ledger.is_none());
        assert!(replay_bytes(Some(b"{}"), b"").is_err());
    }
}
