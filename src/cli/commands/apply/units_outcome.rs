//! How the units of a run ended, as a result, an exit code and the page or document of the run.

use std::collections::BTreeMap;

use super::request::UnitsApplyRequest;
use super::unit_outcome::warn_of_plan_only;
use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::{CliFailure, exit_of_result};
use crate::cli::workspace::planned_units::WorkspacePlan;
use crate::cli::workspace::review::{self, UnitOutcome};
use crate::cli::workspace::units::Workspace;
use crate::report::run_report::RunReport;
use crate::report::units::review::UnitStatus;
use crate::report::units::unit_run::{PhaseRun, UnitRun};
use crate::workspace::combined::has_work;
use crate::workspace::fit::UnitPhase;
use crate::workspace::unit::UnitName;

/// How the units of a run ended.
#[derive(Default)]
pub(super) struct RunResults {
    /// Result of each unit that was started, or that had to wait until the end.
    pub(super) ended: BTreeMap<usize, Result<Exit, CliFailure>>,
    /// Units that were not started because of another unit, with the exit code of that unit.
    pub(super) skipped: BTreeMap<usize, CliFailure>,
    /// Results of the phases of each unit.
    pub(super) phases: BTreeMap<UnitName, Vec<PhaseRun>>,
}

impl RunResults {
    /// Returns whether no unit was to be applied.
    fn is_empty(&self) -> bool {
        self.ended.is_empty() && self.skipped.is_empty()
    }

    /// Returns whether a step of the run had its effect.
    pub(super) fn has_changes(&self) -> bool {
        self.phases.keys().any(|unit| self.has_changed(unit))
    }

    /// Returns whether a step of a unit had its effect.
    fn has_changed(&self, unit: &UnitName) -> bool {
        self.phases.get(unit).into_iter().flatten().any(|run| run.outcome.has_changes())
    }

    /// Returns whether a unit of the run is not done.
    pub(super) fn has_unfinished(&self) -> bool {
        !self.skipped.is_empty() || self.ended.values().any(|result| !matches!(result, Ok(Exit::Done)))
    }
}

/// Records the result of a phase. A unit whose changes are made and whose deletions failed is partly applied;
/// `made_changes` says whether its first phase had any.
pub(super) fn record_result(
    results: &mut BTreeMap<usize, Result<Exit, CliFailure>>,
    number: usize,
    phase: UnitPhase,
    (result, made_changes): (Result<Exit, CliFailure>, bool),
) {
    let result = match (phase, result) {
        (UnitPhase::Deletions, Err(failure)) if made_changes => {
            Err(CliFailure { exit: Exit::Partly, ..failure })
        }
        (UnitPhase::Deletions, Ok(exit)) if made_changes && exit != Exit::Done => Ok(Exit::Partly),
        (_, result) => result,
    };
    results.insert(number, result);
}

/// Prints the result of the run, writes the reports again with it, and returns its exit code.
pub(super) fn finish(
    session: &CommandContext,
    request: &UnitsApplyRequest<'_>,
    (workspace, planned): (&Workspace, &WorkspacePlan),
    mut outcomes: Vec<UnitOutcome>,
    results: &RunResults,
) -> Exit {
    let mut has_applied = false;
    for outcome in &mut outcomes {
        if let Some(failure) = results.skipped.get(&outcome.number) {
            outcome.exit = failure.exit;
            outcome.status = UnitStatus::Skipped;
            outcome.failure = Some(failure.clone());
            continue;
        }
        let Some(result) = results.ended.get(&outcome.number) else { continue };
        let exit = exit_of_result(result);
        outcome.exit = exit;
        outcome.failure = result.as_ref().err().cloned();
        let made_changes = results.has_changed(&workspace.units[outcome.number].unit.name);
        outcome.status = match exit {
            Exit::Done => UnitStatus::Applied,
            Exit::Partly => UnitStatus::Partly,
            // Stopped, or without its lease, after it made some of its changes.
            _ if made_changes => UnitStatus::Partly,
            Exit::Blocked => UnitStatus::Blocked,
            Exit::OutOfDate => UnitStatus::OutOfDate,
            Exit::Locked => UnitStatus::Locked,
            _ => UnitStatus::Failed,
        };
        let is_work = planned
            .units
            .get(&outcome.number)
            .and_then(|unit| unit.as_ref().ok())
            .is_some_and(|unit| has_work(&unit.plan));
        if exit == Exit::Done && !is_work {
            outcome.status = UnitStatus::Unchanged;
        }
        has_applied |= (matches!(exit, Exit::Done | Exit::Partly) || made_changes) && is_work;
    }
    let runs = merge_phases(planned, &outcomes, (workspace, results));
    let reports: BTreeMap<UnitName, RunReport<'_>> =
        runs.iter().map(|(name, (run, exit))| (name.clone(), run.report(exit.code()))).collect();
    let shown = review::units_review(workspace, planned, &outcomes, request.destroy).with_runs(&reports);
    review::show_run(session.ui, &shown);
    if !results.is_empty() {
        let files = session.report_files(&request.running.reports.wanted, workspace.reads());
        warn_of_plan_only(session, files.rewrite_units(&shown, &|name| workspace.first_file(name)));
    }
    let mut exits: Vec<Exit> = outcomes.iter().map(|outcome| outcome.exit).collect();
    exits.extend(workspace.misses_stacks.then_some(Exit::Failed));
    Exit::of_applied_units(&exits, has_applied)
}

/// Returns what the phases of each unit did together, with the unit's exit code.
fn merge_phases(
    planned: &WorkspacePlan,
    outcomes: &[UnitOutcome],
    (workspace, results): (&Workspace, &RunResults),
) -> BTreeMap<UnitName, (UnitRun, Exit)> {
    let merged = outcomes.iter().filter_map(|outcome| {
        let name = &workspace.units[outcome.number].unit.name;
        let plan = &planned.units.get(&outcome.number)?.as_ref().ok()?.plan;
        let run = UnitRun::merge(results.phases.get(name)?, plan, outcome.exit == Exit::Done)?;
        Some((name.clone(), (run, outcome.exit)))
    });
    merged.collect()
}
