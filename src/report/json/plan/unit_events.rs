//! The events of a stream over many units: the unit that the events of a step or a plan belong to, and when a unit starts
//! and ends. In: the name of a unit. Out: one line of JSON for each event.

use jiff::Timestamp;
use serde::Serialize;

use crate::model::address::Name;
use crate::report::json_writer::to_compact;
use crate::workspace::fit::UnitPhase;
use crate::workspace::unit::UnitName;

/// The unit that an event belongs to.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EventUnit<'a> {
    /// Name of the stack.
    stack: &'a Name,
    /// Name of the environment; `default` for a stack that declares none.
    environment: &'a Name,
}

impl<'a> From<&'a UnitName> for EventUnit<'a> {
    fn from(name: &'a UnitName) -> Self {
        Self { stack: &name.stack, environment: &name.environment }
    }
}

/// A unit of a command with `--all` starts or ends.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnitEventLine<'a> {
    /// When the line was written.
    time: Timestamp,
    unit: EventUnit<'a>,
    #[serde(flatten)]
    event: UnitEvent<'a>,
}

/// What happens to a unit.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum UnitEvent<'a> {
    /// Its plan is shown, or a phase of its apply starts. A unit whose deletions wait for others has two phases.
    UnitStarted {
        /// The phase of the apply; absent for a plan.
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<EventPhase>,
    },
    /// Its plan was shown, or a phase of its apply ended.
    UnitEnded {
        /// The phase of the apply; absent for a plan.
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<EventPhase>,
        /// Exit code that the command would have for this unit alone.
        exit: u8,
        /// Why it has no result; absent if it has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a str>,
    },
    /// It is not started, because of another unit.
    UnitSkipped {
        /// The unit that it waits for, and that was not applied.
        because: EventUnit<'a>,
    },
}

/// A phase of the apply of a unit.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventPhase {
    /// Everything but the deletions that wait for other units.
    Changes,
    /// The deletions that waited.
    Deletions,
}

impl From<UnitPhase> for EventPhase {
    fn from(phase: UnitPhase) -> Self {
        match phase {
            UnitPhase::Changes => Self::Changes,
            UnitPhase::Deletions => Self::Deletions,
        }
    }
}

/// Returns an event of a unit as one line of JSON, without its line break.
#[must_use]
pub fn unit_event_line(time: Timestamp, unit: &UnitName, event: UnitEvent<'_>) -> String {
    to_compact(&UnitEventLine { time, unit: unit.into(), event })
}
