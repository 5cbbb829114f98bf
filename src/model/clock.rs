//! `Clock` and `Random`: time and randomness as values that the caller passes in, so that a simulation can run the real
//! program in virtual time.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

/// Wall-clock time, elapsed time and sleep, of the machine or of a simulation.
pub trait Clock {
    /// Returns the wall time, for display and ages; no decision about the existence of an object may use it.
    fn now(&self) -> Timestamp;

    /// Returns the time since a fixed moment, for timeouts. It never decreases, and includes the time during which
    /// the machine is suspended.
    fn elapsed(&self) -> Duration;

    /// Waits until this duration has passed.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()>;
}

/// Source of randomness for operation ids, the keys of fingerprints and jitter.
pub trait Random {
    /// Returns a new random UUID. It must be unpredictable: a ledger derives its fingerprint key from such UUIDs.
    fn uuid(&self) -> Uuid;

    /// Returns a random number from 0 inclusive to 1 exclusive, for the jitter of a delay.
    fn fraction(&self) -> f64;
}
