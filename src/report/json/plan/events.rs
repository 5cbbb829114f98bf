//! A plan as an event stream: one JSON event per line, each in the form that it has in the
//! plan's document; the outcome last.

use std::io;

use jiff::Timestamp;
use serde::Serialize;

use super::change_entry::{ChangeEntry, PlanDocumentOptions};
use super::cost_entry::CostEntry;
use super::document::{
    BlockerEntry, DriftEntry, NoteEntry, PlanHeader, PlanSummary, PolicyResultEntry, RequestStats,
};
use super::output_entry::OutputEntry;
use super::step_entry::{CriticalPathEntry, StepEntry};
use super::unit_events::EventUnit;
#[cfg(test)]
use super::unit_events::UnitEventLine;
use crate::model::schema::Registry;
use crate::plan::model::change::Plan;
#[cfg(test)]
use crate::report::json::failure::FailureEvent;
#[cfg(test)]
use crate::report::json::units::UnitsDocument;
use crate::report::json_writer::to_compact;
use crate::workspace::unit::UnitName;

/// One line of the output of `stead plan --output ndjson` and `stead show --output ndjson`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlanEventLine<'a> {
    /// When the line was written.
    time: Timestamp,
    /// The unit that it belongs to, of a command with `--all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<EventUnit<'a>>,
    #[serde(flatten)]
    event: PlanEvent<'a>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
enum PlanEvent<'a> {
    Plan(PlanHeader<'a>),
    Drift(DriftEntry<'a>),
    Change(ChangeEntry<'a>),
    Output(OutputEntry<'a>),
    Step(StepEntry<'a>),
    Block(BlockerEntry<'a>),
    Policy(PolicyResultEntry<'a>),
    Note(NoteEntry<'a>),
    Cost(CostEntry<'a>),
    Outcome(PlanSummaryEvent<'a>),
}

/// One line of the output of `stead plan --output ndjson` and `stead show --output ndjson`. The last line is an
/// outcome or an error; with `--all`, the document of all units or an error.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "each line is written on its own")]
pub(crate) enum PlanStreamLine<'a> {
    Event(PlanEventLine<'a>),
    Unit(UnitEventLine<'a>),
    Units(UnitsDocument<'a>),
    Failure(FailureEvent<'a>),
}

/// The summary of the plan. The last line.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
struct PlanSummaryEvent<'a> {
    /// SHA-256 of everything that the plan decides, for `apply --expect`.
    #[cfg_attr(test, schemars(regex(pattern = "^[0-9a-f]{64}$")))]
    fingerprint: &'a str,
    summary: PlanSummary,
    critical_path: CriticalPathEntry<'a>,
    requests: RequestStats,
    /// Exit code of the command.
    exit: u8,
}

/// Writes a plan's events with the given time; the last one has the command's exit code. `unit` is that of a command with
/// `--all`.
///
/// # Errors
/// When writing fails.
pub fn plan_events(
    out: &mut impl io::Write,
    plan: &Plan,
    registry: Registry,
    options: PlanDocumentOptions<'_>,
    (unit, time, exit): (Option<&UnitName>, Timestamp, u8),
) -> io::Result<()> {
    let unit = unit.map(EventUnit::from);
    let mut write = |event| writeln!(out, "{}", to_compact(&PlanEventLine { time, unit, event }));
    write(PlanEvent::Plan(PlanHeader::from_plan(plan)))?;
    plan.drift.iter().try_for_each(|drift| write(PlanEvent::Drift(DriftEntry::from_drift(drift))))?;
    plan.changes
        .iter()
        .try_for_each(|change| write(PlanEvent::Change(ChangeEntry::from_change(change, options))))?;
    plan.output_changes()
        .try_for_each(|output| write(PlanEvent::Output(OutputEntry::from_output(output, options))))?;
    let mut steps = plan.steps.iter().enumerate();
    steps.try_for_each(|(number, step)| {
        write(PlanEvent::Step(StepEntry::from_step(number, step, registry)))
    })?;
    plan.blocks
        .iter()
        .try_for_each(|block| write(PlanEvent::Block(BlockerEntry::from_blocker(block, options))))?;
    plan.policy.iter().try_for_each(|ruling| {
        write(PlanEvent::Policy(PolicyResultEntry::from_policy_result(ruling, options)))
    })?;
    plan.notes.iter().try_for_each(|note| write(PlanEvent::Note(NoteEntry::from_note(note, options))))?;
    write(PlanEvent::Cost(CostEntry::from_plan_cost(plan)))?;
    write(PlanEvent::Outcome(PlanSummaryEvent {
        fingerprint: &plan.fingerprint,
        summary: PlanSummary::count_changes(plan),
        critical_path: CriticalPathEntry::from_critical_path(plan),
        requests: RequestStats::from_request_count(plan),
        exit,
    }))
}
