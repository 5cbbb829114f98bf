//! `VirtualClock`: the emulated service's time, which runs at real speed or another one, can be stopped, and can be
//! moved ahead. It never runs back: a change of speed starts at the time that the clock shows.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Highest speed, in virtual seconds per real second.
const MAX_SPEED: f64 = 1_000_000.0;
/// Largest single advance in seconds: ten years of 366 days.
const MAX_STEP_SECS: f64 = 10.0 * 366.0 * 86_400.0;

/// Why a speed or an advance of the clock was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ClockError {
    /// The speed is not within `0..=MAX_SPEED`, or not a number.
    #[error("speed must be a number from 0 (the clock is stopped) to 1000000")]
    Speed,
    /// The advance is not within `0..=MAX_STEP_SECS`, or not a number.
    #[error(
        "advance_seconds must be a number from 0 to 316224000 (ten years): the clock cannot be set back"
    )]
    Step,
}

/// Virtual time as a linear function of real time. The caller passes in the real time;
/// the clock never reads it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VirtualClock {
    base_real: Timestamp,
    base_virtual: Timestamp,
    speed: f64,
}

impl VirtualClock {
    /// Returns a clock that shows `real` now and advances `speed` virtual seconds per real second.
    ///
    /// # Errors
    /// When the speed is negative, above `MAX_SPEED`, or not a number.
    pub fn new(real: Timestamp, speed: f64) -> Result<Self, ClockError> {
        Self { base_real: real, base_virtual: real, speed: 1.0 }.with_speed(real, speed)
    }

    /// Returns the virtual time at a real time. If the real clock was set back, virtual time
    /// stops until it catches up.
    #[must_use]
    pub fn now(&self, real: Timestamp) -> Timestamp {
        let elapsed = real.duration_since(self.base_real).max(SignedDuration::ZERO);
        self.virtual_time_after(elapsed.as_secs_f64() * self.speed)
    }

    /// Returns how many virtual seconds pass per real second; 0 for a stopped clock.
    #[must_use]
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Returns the clock with a new speed that applies from the real time on.
    ///
    /// # Errors
    /// When the speed is negative, above `MAX_SPEED`, or not a number.
    pub fn with_speed(self, real: Timestamp, speed: f64) -> Result<Self, ClockError> {
        if !(0.0..=MAX_SPEED).contains(&speed) {
            return Err(ClockError::Speed);
        }
        Ok(Self { base_real: real, base_virtual: self.now(real), speed })
    }

    /// Returns the clock moved ahead by a number of virtual seconds, at most to the end of time.
    ///
    /// # Errors
    /// When the number is negative, above ten years (`MAX_STEP_SECS`), or not a number.
    pub fn with_advance(self, seconds: f64) -> Result<Self, ClockError> {
        if !(0.0..=MAX_STEP_SECS).contains(&seconds) {
            return Err(ClockError::Step);
        }
        Ok(Self { base_virtual: self.virtual_time_after(seconds), ..self })
    }

    /// Returns the clock, moved ahead to `seen` if it shows an earlier time, so that the
    /// world's time never runs back.
    #[must_use]
    pub fn not_before(self, real: Timestamp, seen: Timestamp) -> Self {
        if self.now(real) >= seen {
            return self;
        }
        Self { base_real: real, base_virtual: seen, speed: self.speed }
    }

    fn virtual_time_after(&self, seconds: f64) -> Timestamp {
        SignedDuration::try_from_secs_f64(seconds)
            .ok()
            .and_then(|step| self.base_virtual.checked_add(step).ok())
            .unwrap_or(Timestamp::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    #[test]
    fn a_speed_change_keeps_the_current_time_of_the_clock() {
        let clock = VirtualClock::new(at(0), 20.0).unwrap();
        assert_eq!(clock.now(at(3)), at(60));
        let slower = clock.with_speed(at(3), 1.0).unwrap();
        assert_eq!(slower.now(at(3)), at(60));
        assert_eq!(slower.now(at(13)), at(70));
        let standing = slower.with_speed(at(13), 0.0).unwrap();
        assert_eq!(standing.now(at(1_000)), at(70));
        assert_eq!(standing.with_advance(5.0).unwrap().now(at(1_000)), at(75));
    }

    #[test]
    fn the_clock_never_runs_backwards() {
        let clock = VirtualClock::new(at(0), 2.0).unwrap();
        assert_eq!(clock.now(at(-100)), at(0));
        assert_eq!(clock.with_advance(-1.0), Err(ClockError::Step));
    }

    #[test]
    fn an_invalid_speed_or_advance_is_rejected() {
        for speed in [-1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert_eq!(VirtualClock::new(at(0), speed), Err(ClockError::Speed), "{speed}");
        }
        let clock = VirtualClock::new(at(0), 1e6).unwrap();
        assert_eq!(clock.with_advance(f64::NAN), Err(ClockError::Step));
        assert_eq!(clock.now(Timestamp::MAX), Timestamp::MAX);
    }
}
