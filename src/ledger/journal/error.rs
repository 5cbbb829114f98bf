//! Errors of stores, and of records that must not follow a ledger.

use thiserror::Error;

use crate::model::address::Name;

/// A record that is no legal move from where the ledger stands.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("record {serial} is no legal move: {reason}")]
pub struct IllegalRecord {
    /// Its number.
    pub serial: u64,
    /// Why not.
    pub reason: &'static str,
}

/// Why a sealed ledger cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MacError {
    /// It would be written without seals.
    #[error("the ledger's lines bear MACs, and the key that makes them is not given")]
    MissingKey,
    /// The key is another one.
    #[error("the ledger's lines bear MACs of the key {found}, and the one that is given is {given}")]
    WrongKey {
        /// The ledger's.
        found: Name,
        /// The one at hand.
        given: Name,
    },
    /// There is a key, and the ledger has no MACs.
    #[error("the ledger has no MACs, so nothing proves who wrote it, and `STEAD_LEDGER_KEY` is set")]
    MissingMacs,
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
    Sealed(#[from] MacError),
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
