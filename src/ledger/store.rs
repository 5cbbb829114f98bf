//! `Store`: where a journal is kept. A record is durable when `append` returns.

use thiserror::Error;

use super::entry::Ledger;
use super::record::Record;
use super::replay::IllegalRecord;

/// A journal's place. Opening one for writing takes its lock; dropping it gives the lock back.
pub trait Store {
    /// Returns all records, oldest first.
    fn load(&self) -> impl Future<Output = Result<Vec<Record>, StoreError>>;

    /// Adds records, all or none; durable on return.
    ///
    /// After an error the store is poisoned: every later call fails, nothing is retried.
    fn append(&self, records: &[Record]) -> impl Future<Output = Result<(), StoreError>>;

    /// Sums up everything appended so far as `ledger`, so that the next load is short. Durable on
    /// return; a store that has no use for it does nothing. Poisons like `append`.
    fn condense(&self, _ledger: &Ledger) -> impl Future<Output = Result<(), StoreError>> {
        std::future::ready(Ok(()))
    }
}

/// Why a store cannot be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Someone else is writing.
    #[error("the ledger is locked by {holder}")]
    Locked {
        /// `user@host, process 123, since 12:01:02`.
        holder: String,
    },
    /// What is there is not what was written.
    #[error("{place} is damaged: {reason}")]
    Corrupt {
        /// File and record.
        place: String,
        /// What does not fit.
        reason: String,
    },
    /// It is another stack's or environment's ledger.
    #[error("the ledger belongs to {found}, not to {wanted}")]
    Foreign {
        /// `stack/environment` found.
        found: String,
        /// `stack/environment` expected.
        wanted: String,
    },
    /// Reading or writing failed.
    #[error("cannot {action} {place}")]
    Io {
        /// `read`, `write`, `lock` …
        action: &'static str,
        /// The file.
        place: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The records are no legal move from where the ledger stands; nothing was written.
    #[error(transparent)]
    Illegal(#[from] IllegalRecord),
    /// An earlier write failed: nothing is certain any more.
    #[error("an earlier write to the ledger failed; nothing more is recorded")]
    Poisoned,
}
