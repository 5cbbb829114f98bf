//! `Clock` and `Random`: time and chance as values that are handed in, so that a simulation can
//! run the real program in virtual time.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

/// Wall time, elapsed time and waiting.
pub trait Clock {
    /// Returns the wall time, for showing and for ages; never for deciding what exists.
    fn now(&self) -> Timestamp;

    /// Returns the time since some fixed moment; it also counts while the machine is suspended.
    fn elapsed(&self) -> Duration;

    /// Waits.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()>;
}

/// Chance: operation ids and jitter.
pub trait Random {
    /// Returns a new random id.
    fn uuid(&self) -> Uuid;

    /// Returns a number in `0.0..1.0`.
    fn fraction(&self) -> f64;
}
