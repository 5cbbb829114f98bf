//! `Clock` and `Random`: time and randomness as values that the caller passes in, so that a simulation can run the real
//! program in virtual time.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

/// Wall-clock time, elapsed time and sleep.
pub trait Clock {
    /// Returns the wall time, for display and ages; no decision about the existence of an object may use it.
    fn now(&self) -> Timestamp;

    /// Returns the time since a fixed moment; it includes the time during which the machine is suspended.
    fn elapsed(&self) -> Duration;

    /// Waits until this duration has passed.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()>;
}

/// Source of randomness for operation ids and jitter.
pub trait Random {
    /// Returns a new random UUID, such as an operation id.
    fn uuid(&self) -> Uuid;

    /// Returns a random number in `0.0..1.0`.
    fn fraction(&self) -> f64;
}
