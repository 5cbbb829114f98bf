//! The content of a backend: the newest checkpoint and the lines after it.

use super::super::shared::backend::{BackendError, SharedBackend};
use crate::ledger::journal::chain::{self, ChainHead};
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::{MacKey, MacVerifier};
use crate::ledger::journal::record::Record;
use crate::ledger::journal::trail::HeadHistory;
use crate::ledger::journal::{checkpoint, line};

/// Number of checkpoints that are kept, with their lines.
const RETAINED_CHECKPOINTS: usize = 10;

/// Number of attempts to read consistent content: another process may have removed old lines meanwhile.
const MAX_READ_ATTEMPTS: usize = 4;

/// The content of a backend.
pub(super) struct SharedStoreContents {
    pub records: Vec<Record>,
    /// The number of the last line.
    pub number: u64,
    /// Number of lines after the newest checkpoint.
    pub lines: u64,
    pub head: ChainHead,
    pub trail: HeadHistory,
}

impl SharedStoreContents {
    /// Reads the newest checkpoint and the lines after it.
    pub(super) async fn read<H: SharedBackend>(
        backend: &H,
        key: Option<&MacKey>,
    ) -> Result<Self, StoreError> {
        for _ in 1..MAX_READ_ATTEMPTS {
            match Self::try_read(backend, key).await {
                Err(StoreError::Corrupt { .. }) => {}
                done => return done,
            }
        }
        Self::try_read(backend, key).await
    }

    async fn try_read<H: SharedBackend>(backend: &H, key: Option<&MacKey>) -> Result<Self, StoreError> {
        let read = |error| backend_error(backend, "read", &error);
        let corrupt = |what: String, reason: &str| StoreError::Corrupt {
            place: format!("{}, {what}", backend.display_location()),
            reason: reason.to_owned(),
        };
        let mut seals = MacVerifier::new(key);
        let newest = backend.summaries().await.map_err(read)?.last().copied();
        let mut content = Self {
            records: Vec::new(),
            number: 0,
            lines: 0,
            head: chain::first_head(),
            trail: HeadHistory::new(0, chain::first_head()),
        };
        if let Some(number) = newest {
            let at = || format!("summary {number}");
            let bytes = backend.summary(number).await.map_err(read)?;
            let bytes = bytes.ok_or_else(|| corrupt(at(), "it is gone"))?;
            let (ledger, head) =
                checkpoint::parse(&bytes, &mut seals).map_err(|reason| corrupt(at(), reason))?;
            content.trail = HeadHistory::new(ledger.serial, head);
            content.records.push(Record::Condensed(Box::new(ledger)));
            (content.number, content.head) = (number, head);
        }
        for (number, text) in backend.lines(content.number).await.map_err(read)? {
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

/// Writes a checkpoint of all lines up to a number, and removes everything that only older ones need.
pub(super) async fn write_checkpoint<H: SharedBackend>(
    backend: &H,
    number: u64,
    summary: &[u8],
) -> Result<(), BackendError> {
    match backend.put_summary(number, summary).await {
        // A checkpoint of the same lines has the same content.
        Ok(()) | Err(BackendError::Conflict) => {}
        Err(error) => return Err(error),
    }
    remove_obsolete_lines(backend).await;
    Ok(())
}

/// Writes a checkpoint with more facts than the lines up to its number: on success it is stored,
/// otherwise there is an error.
pub(super) async fn replace_checkpoint<H: SharedBackend>(
    backend: &H,
    number: u64,
    summary: &[u8],
) -> Result<(), BackendError> {
    match backend.put_summary(number, summary).await {
        // The response to an earlier attempt may have been lost.
        Err(BackendError::Conflict) if backend.summary(number).await?.as_deref() == Some(summary) => {}
        done => done?,
    }
    remove_obsolete_lines(backend).await;
    Ok(())
}

/// Removes old checkpoints and lines. A failure only costs space: the next checkpoint tries again, and a
/// role may lack the permission.
async fn remove_obsolete_lines<H: SharedBackend>(backend: &H) {
    if let Ok(summaries) = backend.summaries().await
        && let Some(at) = summaries.len().checked_sub(RETAINED_CHECKPOINTS)
    {
        let _ = backend.prune(summaries[at]).await;
    }
}

pub(super) fn backend_error<H: SharedBackend>(
    backend: &H,
    action: &'static str,
    error: &BackendError,
) -> StoreError {
    StoreError::Shared { action, place: backend.display_location(), reason: error.to_string() }
}

/// Returns the bytes of a line, and the head of the chain after it.
pub(super) fn write_line<H: SharedBackend>(
    backend: &H,
    records: &[Record],
    before: &ChainHead,
    key: Option<&MacKey>,
) -> Result<(Vec<u8>, ChainHead), StoreError> {
    line::encode_line(records, before, key).map_err(|error| encoding_error(backend, &error))
}

pub(super) fn encoding_error<H: SharedBackend>(backend: &H, error: &dyn std::error::Error) -> StoreError {
    StoreError::Shared { action: "write", place: backend.display_location(), reason: error.to_string() }
}
