//! `SharedBackend`: what a shared place must be able to do to hold a ledger: keep a lease and numbered lines,
//! each written only under a condition that the place itself enforces.

use std::time::Duration;

use thiserror::Error;

use super::lease::Lease;

/// What a lease was when it was read or written: the condition of the next write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseVersion(pub String);

/// A lease as the place has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLease {
    /// The lease.
    pub lease: Lease,
    /// The condition of the next write.
    pub mark: LeaseVersion,
    /// How long ago it was written, by the place's own clock.
    pub age: Duration,
}

/// A shared place of one ledger.
///
/// Lines are numbered from 1 without a gap. Whoever writes a number that is taken gets `Conflict`: so
/// a writer that was displaced by another's line can write no more. Everything is durable on return.
/// A method must not repeat a write by itself unless it knows that the first had no effect.
pub trait SharedBackend {
    /// Returns the place for messages, without a password.
    fn display_location(&self) -> String;

    /// Reads the lease; `None` when nobody ever took it.
    fn lease(&self) -> impl Future<Output = Result<Option<StoredLease>, BackendError>>;

    /// Writes the lease, if it still is what `mark` says; `None` says that there is none yet.
    fn put_lease(
        &self,
        lease: &Lease,
        mark: Option<&LeaseVersion>,
    ) -> impl Future<Output = Result<LeaseVersion, BackendError>>;

    /// Returns all lines with higher numbers than `after`, by number.
    fn lines(&self, after: u64) -> impl Future<Output = Result<Vec<(u64, Vec<u8>)>, BackendError>>;

    /// Writes a line, if its number is free (and the epoch is the lease's, where the place can tell).
    fn put_line(
        &self,
        number: u64,
        epoch: u64,
        line: &[u8],
    ) -> impl Future<Output = Result<(), BackendError>>;

    /// Returns the numbers of the summaries that are kept, in order. One sums up all lines up to its
    /// number.
    fn summaries(&self) -> impl Future<Output = Result<Vec<u64>, BackendError>>;

    /// Reads a summary; `None` when it is not there any more.
    fn summary(&self, number: u64) -> impl Future<Output = Result<Option<Vec<u8>>, BackendError>>;

    /// Writes a summary, if there is none of this number.
    fn put_summary(&self, number: u64, summary: &[u8]) -> impl Future<Output = Result<(), BackendError>>;

    /// Removes the summaries before a number, and the lines up to it.
    fn prune(&self, before: u64) -> impl Future<Output = Result<(), BackendError>>;
}

/// Why a shelf did not do as it was told.
#[derive(Debug, Error)]
pub enum BackendError {
    /// The condition is not met: someone else wrote.
    #[error("someone else wrote there")]
    Conflict,
    /// The place cannot be used: it cannot be reached, says no, or holds something else.
    #[error("cannot {action}: {reason}")]
    Failed {
        /// `read the lease`, `write line 12` …
        action: String,
        /// Why; no password, no key.
        reason: String,
    },
}
