//! The progress of an apply of many units: an event when a unit starts and ends, for a program; or a line that says how many
//! units are done and which run, for a log. A terminal has the lines of the units themselves.

use std::collections::BTreeSet;

use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::{CliFailure, exit_of_result};
use crate::cli::process::output::Ui;
use crate::cli::workspace::units::Workspace;
use crate::cloud::system_clock::SystemClock;
use crate::model::clock::Clock;
use crate::report::json::plan::unit_events::{UnitEvent, unit_event_line};
use crate::report::text::phrases;
use crate::workspace::fit::UnitPhase;

/// How many running units a line names before the rest is counted.
const MAX_LISTED_UNITS: usize = 6;

/// The progress of an apply of many units.
pub(super) struct UnitsProgress<'a> {
    ui: Ui,
    workspace: &'a Workspace,
    /// Units whose deletions wait: they are done after their second phase.
    holding: &'a BTreeSet<usize>,
    total: usize,
    running: BTreeSet<usize>,
    done: BTreeSet<usize>,
    failed: BTreeSet<usize>,
    skipped: usize,
    /// The line that was printed last.
    last_line: String,
}

impl<'a> UnitsProgress<'a> {
    /// Returns the progress of a run of `total` units, none of which was started.
    pub(super) const fn new(
        ui: Ui,
        workspace: &'a Workspace,
        (total, holding): (usize, &'a BTreeSet<usize>),
    ) -> Self {
        Self {
            ui,
            workspace,
            holding,
            total,
            running: BTreeSet::new(),
            done: BTreeSet::new(),
            failed: BTreeSet::new(),
            skipped: 0,
            last_line: String::new(),
        }
    }

    /// Reports that a phase of a unit starts.
    pub(super) fn start(&mut self, number: usize, phase: UnitPhase) {
        self.running.insert(number);
        self.write_event(number, UnitEvent::UnitStarted { phase: Some(phase.into()) });
    }

    /// Reports that a phase of a unit ended.
    pub(super) fn end(&mut self, number: usize, phase: UnitPhase, result: &Result<Exit, CliFailure>) {
        self.running.remove(&number);
        let waits = phase == UnitPhase::Changes && self.holding.contains(&number);
        if !matches!(result, Ok(Exit::Done)) {
            self.failed.insert(number);
        } else if !waits {
            self.done.insert(number);
        }
        let exit = exit_of_result(result).code();
        let error = result.as_ref().err().map(|failure| failure.message.as_str());
        self.write_event(number, UnitEvent::UnitEnded { phase: Some(phase.into()), exit, error });
    }

    /// Reports that a unit is not started because of another one.
    pub(super) fn skip(&mut self, number: usize, because: usize) {
        self.skipped += 1;
        let because = (&self.workspace.units[because].unit.name).into();
        self.write_event(number, UnitEvent::UnitSkipped { because });
    }

    /// Prints how far the run is, in a log, if that changed.
    pub(super) fn print_line(&mut self) {
        let name = |number: &usize| self.workspace.units[*number].unit.name.to_string();
        let running: Vec<String> = self.running.iter().map(name).collect();
        let counts = [(self.failed.len(), "failed"), (self.skipped, "skipped")];
        let line = progress_line((self.done.len(), self.total), counts, &running);
        let is_empty = self.total == 0;
        if !(is_empty || self.ui.live || self.ui.json || self.ui.ndjson || line == self.last_line) {
            self.ui.hint(&line);
            self.last_line = line;
        }
    }

    fn write_event(&self, number: usize, event: UnitEvent<'_>) {
        if self.ui.ndjson {
            let name = &self.workspace.units[number].unit.name;
            self.ui.write_result(&(unit_event_line(SystemClock.now(), name, event) + "\n"));
        }
    }
}

fn progress_line((done, total): (usize, usize), others: [(usize, &str); 2], running: &[String]) -> String {
    let done = format!("{done} of {} done", phrases::count_noun(total, "unit"));
    let others =
        others.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let names = || phrases::join_words(running.iter(), MAX_LISTED_UNITS);
    let running = (!running.is_empty()).then(|| format!("running: {}", names()));
    let parts: Vec<String> = std::iter::once(done).chain(others).chain(running).collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_units_and_names_those_that_run() {
        let names = |count: usize| (0..count).map(|number| format!("s{number}/prod")).collect::<Vec<_>>();
        let others = |failed, skipped| [(failed, "failed"), (skipped, "skipped")];
        assert_eq!(progress_line((1, 1), others(0, 0), &[]), "1 of 1 unit done");
        assert_eq!(progress_line((0, 1), others(1, 0), &[]), "0 of 1 unit done, 1 failed");
        assert_eq!(
            progress_line((2, 6), others(1, 1), &names(2)),
            "2 of 6 units done, 1 failed, 1 skipped, running: s0/prod, s1/prod"
        );
        let many = progress_line((0, 9), others(0, 0), &names(9));
        assert!(many.contains("s5/prod") && !many.contains("s6/prod") && many.contains('3'), "{many}");
    }
}
