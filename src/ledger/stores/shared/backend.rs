//! `SharedBackend`: the interface of a shared backend for a ledger: a lease and numbered lines, each written only
//! under a condition that the backend itself enforces.

use std::time::Duration;

use thiserror::Error;

use super::lease::Lease;

/// The version of a lease that was read or written: the condition of the next write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseVersion(pub String);

/// A lease as stored in the backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLease {
    /// The content of the lease.
    pub lease: Lease,
    /// The version, which is the condition of the next write.
    pub mark: LeaseVersion,
    /// The time since its last write, by the backend's own clock.
    pub age: Duration,
}

/// A shared backend of one ledger.
///
/// Lines are numbered from 1 without a gap. A write to a number that exists returns `Conflict`: so a writer that was
/// displaced by another's line can write no more. Everything is durable on return. A method must not repeat a write by
/// itself unless it knows that the first had no effect.
pub trait SharedBackend {
    /// Returns the location for messages, without a password.
    fn display_location(&self) -> String;

    /// Lists the ledgers in the same place, this one included, as `stack/environment`; none if the backend
    /// holds only this one.
    fn list_ledgers(&self) -> impl Future<Output = Result<Vec<String>, BackendError>> {
        std::future::ready(Ok(Vec::new()))
    }

    /// Reads the lease; `None` when it was never taken.
    fn lease(&self) -> impl Future<Output = Result<Option<StoredLease>, BackendError>>;

    /// Writes the lease if its version still is `mark`; `None` requires that there is none yet.
    fn put_lease(
        &self,
        lease: &Lease,
        mark: Option<&LeaseVersion>,
    ) -> impl Future<Output = Result<LeaseVersion, BackendError>>;

    /// Returns all lines with numbers greater than `after`, in ascending order; `0` returns all.
    fn lines(&self, after: u64) -> impl Future<Output = Result<Vec<(u64, Vec<u8>)>, BackendError>>;

    /// Writes a line if its number is free (and the epoch is the lease's, where the backend can check that).
    fn put_line(
        &self,
        number: u64,
        epoch: u64,
        line: &[u8],
    ) -> impl Future<Output = Result<(), BackendError>>;

    /// Returns the numbers of the stored checkpoints, in ascending order. A checkpoint replaces all lines
    /// up to its number.
    fn summaries(&self) -> impl Future<Output = Result<Vec<u64>, BackendError>>;

    /// Reads a checkpoint; `None` when it was removed.
    fn summary(&self, number: u64) -> impl Future<Output = Result<Option<Vec<u8>>, BackendError>>;

    /// Writes a checkpoint if there is none with this number; otherwise the result is `Conflict`.
    fn put_summary(&self, number: u64, summary: &[u8]) -> impl Future<Output = Result<(), BackendError>>;

    /// Removes the checkpoints before a number, and the lines up to it.
    fn prune(&self, before: u64) -> impl Future<Output = Result<(), BackendError>>;
}

/// The reason why an operation of a backend failed.
#[derive(Debug, Error)]
pub enum BackendError {
    /// The condition of the write is not met: another process wrote first. Nothing was written.
    #[error("another process wrote it")]
    Conflict,
    /// The backend cannot be used: it is unreachable, refuses the request, or contains something else.
    #[error("cannot {action}: {reason}")]
    Failed {
        /// The failed operation: `read the lease`, `write line 12` and so on.
        action: String,
        /// The reason, without passwords and keys.
        reason: String,
    },
}
