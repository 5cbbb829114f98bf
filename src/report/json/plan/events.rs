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
use crate::report::json::writer::compact;

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
    lines.add("plan", Head::of(plan))?;
    plan.drift.iter().try_for_each(|drift| lines.add("drift", DriftEntry::of(drift)))?;
    plan.changes.iter().try_for_each(|change| lines.add("change", ChangeEntry::of(change, options)))?;
    let mut steps = plan.steps.iter().enumerate();
    steps.try_for_each(|(number, step)| lines.add("step", StepEntry::of(number, step, registry)))?;
    plan.blocks.iter().try_for_each(|block| lines.add("block", BlockEntry::of(block, options)))?;
    plan.policy.iter().try_for_each(|ruling| lines.add("policy", RulingEntry::of(ruling, options)))?;
    plan.notes.iter().try_for_each(|note| lines.add("note", NoteEntry::of(note, options)))?;
    lines.add("cost", CostEntry::of(plan))?;
    lines.add(
        "outcome",
        Ended {
            fingerprint: &plan.fingerprint,
            summary: Summary::of(plan),
            critical_path: PathEntry::of(plan),
            requests: Requests::of(plan),
            exit,
        },
    )
}

struct Lines<'o, W> {
    out: &'o mut W,
    time: Timestamp,
}

impl<W: io::Write> Lines<'_, W> {
    fn add(&mut self, event: &'static str, what: impl Serialize) -> io::Result<()> {
        writeln!(self.out, "{}", compact(&Line { time: self.time, event, what }))
    }
}
