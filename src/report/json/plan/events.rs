//! A plan as a stream: one event a line, each in the shape that it has in the plan's document; the outcome last.

use std::io;

use jiff::Timestamp;
use serde::Serialize;

use super::document::{
    BlockEntry, ChangeEntry, CostEntry, DriftEntry, Head, NoteEntry, PathEntry, PlanOptions, Requests,
    RulingEntry, StepEntry, Summary,
};
use crate::model::schema::Registry;
use crate::plan::model::change::Plan;
use crate::report::json::writer::to_compact;

/// One line.
#[derive(Serialize)]
struct Line<T> {
    time: Timestamp,
    event: &'static str,
    #[serde(flatten)]
    what: T,
}

#[derive(Serialize)]
struct Ended<'a> {
    fingerprint: &'a str,
    summary: Summary,
    critical_path: PathEntry<'a>,
    requests: Requests,
    exit: u8,
}

/// Writes a plan's events, as of a time; the last one has the command's exit code.
///
/// # Errors
/// When writing fails.
pub fn plan_events(
    out: &mut impl io::Write,
    plan: &Plan,
    registry: Registry,
    options: PlanOptions<'_>,
    (time, exit): (Timestamp, u8),
) -> io::Result<()> {
    let mut lines = Lines { out, time };
    lines.write_event("plan", Head::from_plan(plan))?;
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
        .try_for_each(|block| lines.write_event("block", BlockEntry::from_blocker(block, options)))?;
    plan.policy.iter().try_for_each(|ruling| {
        lines.write_event("policy", RulingEntry::from_policy_result(ruling, options))
    })?;
    plan.notes
        .iter()
        .try_for_each(|note| lines.write_event("note", NoteEntry::from_note(note, options)))?;
    lines.write_event("cost", CostEntry::from_plan_cost(plan))?;
    lines.write_event(
        "outcome",
        Ended {
            fingerprint: &plan.fingerprint,
            summary: Summary::count_changes(plan),
            critical_path: PathEntry::from_critical_path(plan),
            requests: Requests::from_request_count(plan),
            exit,
        },
    )
}

struct Lines<'o, W> {
    out: &'o mut W,
    time: Timestamp,
}

impl<W: io::Write> Lines<'_, W> {
    fn write_event(&mut self, event: &'static str, what: impl Serialize) -> io::Result<()> {
        writeln!(self.out, "{}", to_compact(&Line { time: self.time, event, what }))
    }
}
