//! Errors of stores, and of records that are not legal in the current state of a ledger.

use thiserror::Error;

use crate::model::address::Name;

/// Why a record or checkpoint is not read although its digest matches: this version does not know it, so a newer one
/// wrote it. It is no damage, and a repair would drop it.
pub const WRITTEN_BY_NEWER: &str = "a newer version of stead wrote it";

/// A record that is not a legal transition from the current state of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("record {serial} is not a valid transition: {reason}")]
pub struct IllegalRecord {
    /// The serial of the record.
    pub serial: u64,
    /// The reason why it is not legal.
    pub reason: &'static str,
}

/// The reason why an authenticated ledger cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MacError {
    /// There is no key, and the lines would be written without MACs.
    #[error("the ledger's records have MACs, and their key is not given")]
    MissingKey,
    /// The key differs from the ledger's key.
    #[error("the ledger's records have MACs of the key {found}, and the given key is {given}")]
    WrongKey {
        /// The id of the ledger's key.
        found: Name,
        /// The id of the given key.
        given: Name,
    },
    /// There is a key, and the ledger has no MACs.
    #[error("the ledger has no MACs, so nothing proves who wrote it, and `STEAD_LEDGER_KEY` is set")]
    MissingMacs,
}

/// The reason why a store cannot be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Another process is writing.
    #[error("the ledger is locked by {holder}")]
    Locked {
        /// `user@host, process 123, since 12:01:02`.
        holder: String,
    },
    /// The stored bytes differ from what was written.
    #[error("{place} is damaged: {reason}")]
    Corrupt {
        /// The file and the record.
        place: String,
        /// A description of the inconsistency.
        reason: String,
    },
    /// It is the ledger of another stack or environment.
    #[error("the ledger belongs to {found}, not to {wanted}")]
    Foreign {
        /// The `stack/environment` in the ledger.
        found: String,
        /// The `stack/environment` that was expected.
        wanted: String,
    },
    /// Reading or writing failed.
    #[error("cannot {action} {place}")]
    Io {
        /// The failed operation: `read`, `write`, `lock` and so on.
        action: &'static str,
        /// The path of the file.
        place: String,
        /// The cause of the failure.
        #[source]
        source: std::io::Error,
    },
    /// The records are not a legal transition from the state of the ledger; nothing was written.
    #[error(transparent)]
    Illegal(#[from] IllegalRecord),
    /// An operation of a shared backend failed.
    #[error("cannot {action} {place}: {reason}")]
    Shared {
        /// The failed operation: `read`, `write`, `lock` and so on.
        action: &'static str,
        /// The location of the ledger, for messages.
        place: String,
        /// The cause of the failure.
        reason: String,
    },
    /// Its MACs cannot be verified: the key is missing or another one, or lines have no MAC, or a wrong one.
    #[error(transparent)]
    Sealed(#[from] MacError),
    /// Another process took over the ledger.
    #[error("the ledger was taken over by {by}; nothing more is recorded or sent")]
    Displaced {
        /// The other holder, as far as it is known.
        by: String,
    },
    /// The ledger was moved to another location.
    #[error("the ledger was moved to {to}; nothing is read or recorded here any more")]
    Moved {
        /// The new location of the ledger.
        to: String,
    },
    /// The backend does not exclude concurrent writers, so it is not used.
    #[error("{place} does not give a guarantee that stead needs: {what}")]
    Lax {
        /// The location of the ledger, for messages.
        place: String,
        /// A description of the violated guarantee.
        what: &'static str,
    },
    /// An earlier write failed, so that the stored state is uncertain.
    #[error("an earlier write to the ledger failed; nothing more is recorded")]
    Poisoned,
}
