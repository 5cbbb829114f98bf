//! A plan as an event stream: one JSON event per line, each in the form that it has in the
//! plan's document; the outcome last.

use std::io;

use jiff::Timestamp;
use serde::Serialize;

use super::document::{
    BlockerEntry, ChangeEntry, CostEntry, CriticalPathEntry, DriftEntry, NoteEntry, PlanDocumentOptions,
    PlanHeader, PlanSummary, PolicyResultEntry, RequestStats, StepEntry,
};
use crate::model::schema::Registry;
use crate::plan::model::change::Plan;
use crate::report::json::writer::to_compact;

/// One line of the stream.
#[derive(Serialize)]
struct PlanEventLine<T> {
    time: Timestamp,
    event: &'static str,
    #[serde(flatten)]
    what: T,
}

#[derive(Serialize)]
struct PlanSummaryEvent<'a> {
    fingerprint: &'a str,
    summary: PlanSummary,
    critical_path: CriticalPathEntry<'a>,
    requests: RequestStats,
    exit: u8,
}

/// Writes a plan's events with the given time; the last one has the command's exit code.
///
/// # Errors
/// When writing fails.
pub fn plan_events(
    out: &mut impl io::Write,
    plan: &Plan,
    registry: Registry,
    options: PlanDocumentOptions<'_>,
    (time, exit): (Timestamp, u8),
) -> io::Result<()> {
    let mut lines = PlanEventWriter { out, time };
    lines.write_event("plan", PlanHeader::from_plan(plan))?;
    plan.drift.iter().try_for_each(|drift| lines.write_event("drift", DriftEntry::from_drift(drift)))?;
    plan.changes
        .iter()
        .try_for_each(|change| lines.write_event("change", ChangeEntry::from_change(change, options)))?;
    let mut steps = plan.steps.iter().enumerate();
    steps.try_for_each(|(number, step)| {
        lines.write_event("step", StepEntry::from_step(number, step, registry))
    })?;
    plan.blocks
        .iter()
        .try_for_each(|block| lines.write_event("block", BlockerEntry::from_blocker(block, options)))?;
    plan.policy.iter().try_for_each(|ruling| {
        lines.write_event("policy", PolicyResultEntry::from_policy_result(ruling, options))
    })?;
    plan.notes
        .iter()
        .try_for_each(|note| lines.write_event("note", NoteEntry::from_note(note, options)))?;
    lines.write_event("cost", CostEntry::from_plan_cost(plan))?;
    lines.write_event(
        "outcome",
        PlanSummaryEvent {
            fingerprint: &plan.fingerprint,
            summary: PlanSummary::count_changes(plan),
            critical_path: CriticalPathEntry::from_critical_path(plan),
            requests: RequestStats::from_request_count(plan),
            exit,
        },
    )
}

struct PlanEventWriter<'o, W> {
    out: &'o mut W,
    time: Timestamp,
}

impl<W: io::Write> PlanEventWriter<'_, W> {
    fn write_event(&mut self, event: &'static str, what: impl Serialize) -> io::Result<()> {
        writeln!(self.out, "{}", to_compact(&PlanEventLine { time: self.time, event, what }))
    }
}
