//! What a shelf holds: the newest summary and the lines after it.

use super::super::shared::backend::{Shelf, ShelfError};
use crate::ledger::journal::chain::{self, Head};
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::{SealKey, Seals};
use crate::ledger::journal::record::Record;
use crate::ledger::journal::trail::Trail;
use crate::ledger::journal::{checkpoint, line};

/// Summaries that are kept, with their lines.
const KEPT: usize = 10;

/// How often what does not fit is read again: someone may have removed old lines meanwhile.
const READINGS: usize = 4;

/// What a shelf holds.
pub(super) struct Content {
    pub records: Vec<Record>,
    /// The number of the last line.
    pub number: u64,
    /// Lines after the newest summary.
    pub lines: u64,
    pub head: Head,
    pub trail: Trail,
}

impl Content {
    /// Reads the newest summary and the lines after it.
    pub(super) async fn read<H: Shelf>(shelf: &H, key: Option<&SealKey>) -> Result<Self, StoreError> {
        for _ in 1..READINGS {
            match Self::try_read(shelf, key).await {
                Err(StoreError::Corrupt { .. }) => {}
                done => return done,
            }
        }
        Self::try_read(shelf, key).await
    }

    async fn try_read<H: Shelf>(shelf: &H, key: Option<&SealKey>) -> Result<Self, StoreError> {
        let read = |error| shelf_error(shelf, "read", &error);
        let corrupt = |what: String, reason: &str| StoreError::Corrupt {
            place: format!("{}, {what}", shelf.display_location()),
            reason: reason.to_owned(),
        };
        let mut seals = Seals::new(key);
        let newest = shelf.summaries().await.map_err(read)?.last().copied();
        let mut content = Self {
            records: Vec::new(),
            number: 0,
            lines: 0,
            head: chain::first_head(),
            trail: Trail::new(0, chain::first_head()),
        };
        if let Some(number) = newest {
            let at = || format!("summary {number}");
            let bytes = shelf.summary(number).await.map_err(read)?;
            let bytes = bytes.ok_or_else(|| corrupt(at(), "it is gone"))?;
            let (ledger, head) =
                checkpoint::parse(&bytes, &mut seals).map_err(|reason| corrupt(at(), reason))?;
            content.trail = Trail::new(ledger.serial, head);
            content.records.push(Record::Condensed(Box::new(ledger)));
            (content.number, content.head) = (number, head);
        }
        for (number, text) in shelf.lines(content.number).await.map_err(read)? {
            let at = || format!("line {number}");
            if number != content.number + 1 {
                return Err(corrupt(at(), "the line before it is missing"));
            }
            let lines = line::decode_lines(&text, content.head, &mut seals)
                .map_err(|damage| corrupt(at(), damage.reason))?;
            if lines.whole != text.len() {
                return Err(corrupt(at(), "its end is missing"));
            }
            content.trail.extend_with_lines(&lines);
            content.records.extend(lines.records);
            (content.number, content.head) = (number, lines.head);
            content.lines += 1;
        }
        Ok(content)
    }
}

/// Writes a summary of all lines up to a number, and removes what only older ones need.
pub(super) async fn write_checkpoint<H: Shelf>(
    shelf: &H,
    number: u64,
    summary: &[u8],
) -> Result<(), ShelfError> {
    match shelf.put_summary(number, summary).await {
        // A summary of the same lines says the same.
        Ok(()) | Err(ShelfError::Conflict) => {}
        Err(error) => return Err(error),
    }
    remove_obsolete_lines(shelf).await;
    Ok(())
}

/// Writes a summary that says more than the lines up to its number: it is there afterwards, or there is an error.
pub(super) async fn replace_checkpoint<H: Shelf>(
    shelf: &H,
    number: u64,
    summary: &[u8],
) -> Result<(), ShelfError> {
    match shelf.put_summary(number, summary).await {
        // The answer to an earlier try may have been lost.
        Err(ShelfError::Conflict) if shelf.summary(number).await?.as_deref() == Some(summary) => {}
        done => done?,
    }
    remove_obsolete_lines(shelf).await;
    Ok(())
}

/// What is not removed costs space only: the next summary tries again, or a role may not remove at all.
async fn remove_obsolete_lines<H: Shelf>(shelf: &H) {
    if let Ok(summaries) = shelf.summaries().await
        && let Some(at) = summaries.len().checked_sub(KEPT)
    {
        let _ = shelf.prune(summaries[at]).await;
    }
}

pub(super) fn shelf_error<H: Shelf>(shelf: &H, action: &'static str, error: &ShelfError) -> StoreError {
    StoreError::Shared { action, place: shelf.display_location(), reason: error.to_string() }
}
