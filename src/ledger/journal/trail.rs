//! `HeadHistory`: the digest after each line, by the serial of the line's last record. In: the lines that a store read
//! and wrote. Out: whether a ledger continues a version that was seen earlier. Pure.

use super::chain::ChainHead;
use super::line::ParsedJournal;
use super::record::Record;
use crate::model::crypto::hex::encode_hex;

/// Digests by the serial of the record after which they are valid, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadHistory(Vec<(u64, ChainHead)>);

impl HeadHistory {
    /// Starts a history with the digest after this record; earlier records cannot be checked.
    pub(in crate::ledger) fn new(serial: u64, head: ChainHead) -> Self {
        Self(vec![(serial, head)])
    }

    /// Adds the records of one line, and the digest after it.
    pub(in crate::ledger) fn advance(&mut self, records: &[Record], head: ChainHead) {
        let before = self.0.last().map_or(0, |(serial, _)| *serial);
        let serial = records.iter().fold(before, |serial, record| match record {
            // A pushed copy keeps its own serial if that is higher.
            Record::Pushed { ledger, .. } => (serial + 1).max(ledger.serial + 1),
            _ => serial + 1,
        });
        self.0.push((serial, head));
    }

    /// Adds the lines of a journal that was read, in order.
    pub(in crate::ledger) fn extend_with_lines(&mut self, lines: &ParsedJournal) {
        let mut begin = 0;
        for (end, head) in &lines.ends {
            self.advance(lines.records.get(begin..*end).unwrap_or_default(), *head);
            begin = *end;
        }
    }

    /// Returns the newest digest, as 64 hexadecimal digits; `None` for a store without digests.
    #[must_use]
    pub fn head(&self) -> Option<String> {
        self.0.last().map(|(_, head)| encode_hex(head))
    }

    /// Returns whether the ledger had another digest after this record, or no line that ended with it. `false` for a
    /// serial before the first or after the last known one: it cannot be checked.
    #[must_use]
    pub fn contradicts(&self, serial: u64, head: &str) -> bool {
        let covers =
            |(first, last): (&(u64, ChainHead), &(u64, ChainHead))| (first.0..=last.0).contains(&serial);
        self.0.first().zip(self.0.last()).is_some_and(covers)
            && !self.0.iter().any(|(at, known)| *at == serial && encode_hex(known) == head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::fixture::adopted;

    #[test]
    fn a_head_history_detects_a_digest_that_it_does_not_contain() {
        let mut trail = HeadHistory::new(3, [3; 32]);
        trail.advance(&[adopted(1, "x"), adopted(2, "y")], [5; 32]);
        trail.advance(&[adopted(3, "z")], [6; 32]);
        let other = encode_hex(&[9; 32]);
        for (serial, head) in [(3, [3; 32]), (5, [5; 32]), (6, [6; 32])] {
            assert!(!trail.contradicts(serial, &encode_hex(&head)), "{serial}");
            assert!(trail.contradicts(serial, &other), "{serial}");
        }
        assert!(trail.contradicts(4, &encode_hex(&[5; 32])), "no line ended there");
        assert!(!trail.contradicts(2, &other) && !trail.contradicts(7, &other), "that is not known");
        assert_eq!(trail.head(), Some(encode_hex(&[6; 32])));
        assert!(!HeadHistory::default().contradicts(0, &other));
    }
}
