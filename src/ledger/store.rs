//! `Store`: where a journal is kept. A record is durable when `append` returns.

use std::time::Duration;

use thiserror::Error;

use super::entry::Ledger;
use super::record::Record;
use super::replay::IllegalRecord;
use super::seal::{SealError, SealKey};
use super::trail::Trail;

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

    /// Sums up everything as `condense` does, in one write that takes effect whole or not at all, after which MACs of
    /// this key cover the ledger. `ledger` says so, and its last record is not summed up yet. Poisons like `append`.
    fn seal(&self, ledger: &Ledger, _key: &SealKey) -> impl Future<Output = Result<(), StoreError>> {
        self.condense(ledger)
    }

    /// Returns the digests of the lines that were read when it was opened, and written since. A store without
    /// digests knows none.
    fn trail(&self) -> Trail {
        Trail::default()
    }

    /// Returns for how long nobody else can take the place; `None`: as long as this process lives. No
    /// request may leave that could be under way for longer.
    fn held_for(&self) -> Option<Duration> {
        None
    }

    /// Keeps the place while work goes on; ends only when it is lost. Polled beside the work.
    fn keep(&self) -> impl Future<Output = StoreError> {
        std::future::pending()
    }

    /// Gives the place back: its holder sends nothing any more.
    fn release(&self) -> impl Future<Output = Result<(), StoreError>> {
        std::future::ready(Ok(()))
    }

    /// Tells whether what became of a lost request must always be asked: the place cannot refuse a
    /// writer that was displaced.
    fn is_strict(&self) -> bool {
        false
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
    /// A shared place did not do as it was told.
    #[error("cannot {action} {place}: {reason}")]
    Shared {
        /// `read`, `write`, `lock` …
        action: &'static str,
        /// The place.
        place: String,
        /// Why.
        reason: String,
    },
    /// Its lines bear MACs, and not the key at hand's.
    #[error(transparent)]
    Sealed(#[from] SealError),
    /// Someone else took the place over.
    #[error("the ledger was taken over by {by}; nothing more is recorded or sent")]
    Displaced {
        /// Who, as far as is known.
        by: String,
    },
    /// It is kept elsewhere now.
    #[error("the ledger was moved to {to}; nothing is read or recorded here any more")]
    Moved {
        /// Where.
        to: String,
    },
    /// The place lets two write at the same time: it is not used.
    #[error("{place} does not keep its word: {what}")]
    Lax {
        /// The place.
        place: String,
        /// What it did.
        what: &'static str,
    },
    /// An earlier write failed: nothing is certain any more.
    #[error("an earlier write to the ledger failed; nothing more is recorded")]
    Poisoned,
}
