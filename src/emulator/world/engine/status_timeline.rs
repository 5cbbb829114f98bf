//! `Timeline`: the past, current and future statuses of an object, as a function of the clock alone. A status changes
//! without an event, so reading an object at any time needs no earlier call.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::emulator::world::Time;
use crate::model::address::Name;

/// A status and the time from which it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TimelineStep {
    from: Time,
    status: Name,
}

/// The statuses of an object in order of time, and the time of its removal; `gone_at` is `None` until
/// a removal is scheduled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::emulator::world) struct Timeline {
    steps: Vec<TimelineStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gone_at: Option<Time>,
}

/// Returns the time `seconds` later, or earlier for a negative number; at the ends of time it stops.
pub(in crate::emulator::world) fn time_after(now: Time, seconds: i64) -> Time {
    now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Time::MAX)
}

impl Timeline {
    /// Returns a timeline that starts now: each status with the delay in seconds, from now, after which it begins.
    /// The delays must increase.
    pub(in crate::emulator::world) fn new(now: Time, steps: &[(i64, &str)]) -> Self {
        let steps = steps
            .iter()
            .map(|(seconds, status)| TimelineStep {
                from: time_after(now, *seconds),
                status: Name::new(status),
            })
            .collect();
        Self { steps, gone_at: None }
    }

    /// Returns a timeline with a single permanent status.
    pub(in crate::emulator::world) fn with_status(now: Time, status: &str) -> Self {
        Self::new(now, &[(0, status)])
    }

    /// Schedules the object's removal `seconds` from now, in place of an earlier schedule.
    pub(in crate::emulator::world) fn gone_after(mut self, now: Time, seconds: i64) -> Self {
        self.gone_at = Some(time_after(now, seconds));
        self
    }

    /// Returns the timeline without its future statuses.
    pub(in crate::emulator::world) fn truncate_after(mut self, now: Time) -> Self {
        self.steps.retain(|step| step.from <= now);
        self
    }

    /// Returns the statuses up to now, oldest first, each with its start time.
    pub(in crate::emulator::world) fn history(&self, now: Time) -> impl Iterator<Item = (Time, &str)> {
        self.steps.iter().filter(move |step| step.from <= now).map(|step| (step.from, step.status.as_str()))
    }

    /// Adds a status that begins `seconds` from now.
    pub(in crate::emulator::world) fn with_next_status(
        mut self,
        now: Time,
        seconds: i64,
        status: &str,
    ) -> Self {
        self.steps.push(TimelineStep { from: time_after(now, seconds), status: Name::new(status) });
        self
    }

    /// Returns the final status, which may not have begun; empty for a timeline without statuses.
    pub(in crate::emulator::world) fn final_status(&self) -> &str {
        self.steps.last().map_or("", |step| step.status.as_str())
    }

    fn current_step(&self, now: Time) -> Option<&TimelineStep> {
        self.steps.iter().rev().find(|step| step.from <= now).or_else(|| self.steps.first())
    }

    /// Returns the status at a time; before the first status begins, that one.
    pub(in crate::emulator::world) fn status(&self, now: Time) -> &str {
        self.current_step(now).map_or("", |step| step.status.as_str())
    }

    /// Returns when the status at a time began; `None` for a timeline without statuses.
    pub(in crate::emulator::world) fn status_since(&self, now: Time) -> Option<Time> {
        self.current_step(now).map(|step| step.from)
    }

    /// Returns when the final status begins or began; `None` for a timeline without statuses.
    pub(in crate::emulator::world) fn settles_at(&self) -> Option<Time> {
        self.steps.last().map(|step| step.from)
    }

    /// Returns when the object is removed; `None` if no removal is scheduled.
    pub(in crate::emulator::world) fn gone_at(&self) -> Option<Time> {
        self.gone_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_function_of_the_time() {
        let zero = Time::UNIX_EPOCH;
        let timeline = Timeline::new(zero, &[(0, "pending"), (2, "deploying"), (47, "running")]);
        for (seconds, wanted) in [
            (-5, "pending"),
            (0, "pending"),
            (1, "pending"),
            (2, "deploying"),
            (46, "deploying"),
            (47, "running"),
        ] {
            assert_eq!(timeline.status(time_after(zero, seconds)), wanted, "{seconds}");
        }
        assert_eq!(timeline.status_since(time_after(zero, 60)), Some(time_after(zero, 47)));
        assert_eq!(timeline.settles_at(), Some(time_after(zero, 47)));
        assert_eq!(timeline.gone_at(), None);
        assert_eq!(timeline.final_status(), "running");
        let replaced = Timeline::new(zero, &[(0, "live"), (5, "failed")])
            .truncate_after(zero)
            .with_next_status(zero, 25, "superseded");
        assert_eq!(replaced.history(time_after(zero, 24)).collect::<Vec<_>>(), [(zero, "live")]);
        assert_eq!(
            (replaced.status(time_after(zero, 24)), replaced.status(time_after(zero, 25))),
            ("live", "superseded")
        );
        let leaving = Timeline::with_status(zero, "deleting").gone_after(zero, 10);
        assert_eq!(leaving.gone_at(), Some(time_after(zero, 10)));
    }

    #[test]
    fn the_maximum_time_does_not_overflow() {
        assert_eq!(time_after(Time::MAX, 60), Time::MAX);
    }
}
