//! `SystemClock` and `SystemRandom`: time and randomness of the real machine.
#![allow(clippy::disallowed_methods, reason = "the edge where clock and chance come from")]

use std::time::Duration;

use jiff::Timestamp;
use rand::RngExt;
use uuid::Uuid;

use crate::model::clock::{Clock, Random};

/// The clock of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[cfg(test)]
        if let Some(now) = virtual_clock::now() {
            return now;
        }
        Timestamp::now()
    }

    fn elapsed(&self) -> Duration {
        #[cfg(test)]
        if let Some(elapsed) = virtual_clock::elapsed() {
            return elapsed;
        }
        since_boot()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// Returns the time since the machine started, suspended time included: the window of the rate limit and the limit of a
/// wait pass while a laptop sleeps.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanos)
}

/// Returns the time since the first call; on systems other than Linux, the monotonic clock
/// decides whether suspended time counts.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn since_boot() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

/// The random generator of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn uuid(&self) -> Uuid {
        Uuid::new_v4()
    }

    fn fraction(&self) -> f64 {
        rand::rng().random()
    }
}

/// A clock for tests of whole commands: this thread's time is that of tokio's paused clock, which advances to the next
/// sleeper when nothing can run.
#[cfg(test)]
pub(crate) mod virtual_clock {
    use std::cell::Cell;
    use std::time::Duration;

    use jiff::Timestamp;
    use tokio::time::Instant;

    thread_local! {
        static START: Cell<Option<(Instant, Timestamp)>> = const { Cell::new(None) };
    }

    /// Starts the clock of this thread, within a runtime whose time is paused.
    pub(crate) fn start(at: Timestamp) {
        START.set(Some((Instant::now(), at)));
    }

    /// Gives this thread the real time again.
    pub(crate) fn stop() {
        START.set(None);
    }

    pub(super) fn now() -> Option<Timestamp> {
        START.get().and_then(|(start, at)| at.checked_add(start.elapsed()).ok())
    }

    pub(super) fn elapsed() -> Option<Duration> {
        START.get().map(|(start, _)| start.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_monotonic_and_random_values_differ() {
        let clock = SystemClock;
        let first = clock.elapsed();
        assert!(clock.elapsed() >= first && !first.is_zero());
        let random = SystemRandom;
        assert_ne!(random.uuid(), random.uuid());
        assert!((0.0..1.0).contains(&random.fraction()));
    }
}
