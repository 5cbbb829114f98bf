//! `stead apply --all` and `stead destroy --all`: plans the selected units together, gets one approval, and applies each unit
//! when the units that it waits for have made their changes. A unit is planned again then, and runs only if its plan fits
//! the reviewed one. Deletions of what other units still use come last.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;

use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::join::join_run;
use super::request::{ApplyArgs, UnitsApplyRequest};
use super::unit_apply::ReviewedUnit;
use super::unit_phase::{StartedUnit, apply_phase, report_end};
use super::units_approval::{ask_approval, check_approval_flags};
use super::units_progress::UnitsProgress;
use crate::cli::artifacts::{plan_file, plan_set};
use crate::cli::command_context::CommandContext;
use crate::cli::planning::approval::plan_again;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::cli::process::signals;
use crate::cli::workspace::accounts::OpenAccounts;
use crate::cli::workspace::loaded_unit::WorkspaceUnit;
use crate::cli::workspace::planned_units::{PlannedUnit, UnitsOptions, WorkspacePlan};
use crate::cli::workspace::planning::{self, PlanPurpose};
use crate::cli::workspace::review::{self, UnitOutcome};
use crate::cli::workspace::units::{BaseRequest, RemovalRequest, SelectionRequest, Workspace};
use crate::cloud::system_clock::SystemClock;
use crate::model::clock::Clock;
use crate::model::live::snapshot::ObjectKey;
use crate::plan::artifact::saved_plan::SavedPlan;
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::change::Plan;
use crate::plan::model::step::{Operation, Step};
use crate::report::units::review::UnitStatus;
use crate::workspace::combined::has_work;
use crate::workspace::fit::UnitPhase;
use crate::workspace::schedule::UnitSchedule;
use crate::workspace::unit::UnitName;

/// How many units are applied at the same time; each runs several steps, and all share the service's rate limit.
const MAX_RUNNING_UNITS: usize = 8;

/// How the units of a run ended.
#[derive(Default)]
struct RunResults {
    /// Result of each unit that was started, or that had to wait until the end.
    ended: BTreeMap<usize, Result<Exit, CliFailure>>,
    /// Units that were not started because of another unit, with the exit code of that unit.
    skipped: BTreeMap<usize, CliFailure>,
}

/// The result of a phase of a unit.
type PhaseResult = (usize, UnitPhase, Result<Exit, CliFailure>);

/// Plans and applies the selected units, or destroys them.
///
/// # Errors
/// When the selection, a flag or the approval is not accepted, or the plans are not those that were approved.
pub(in crate::cli) async fn apply_all(
    session: &CommandContext,
    request: UnitsApplyRequest<'_>,
) -> Result<Exit, CliFailure> {
    review::reject_single_stack_flags(request.scope)?;
    let selection = SelectionRequest {
        patterns: &request.units.patterns,
        with_dependents: request.units.with_dependents,
        changed: request.units.changed.as_ref().map(|base| BaseRequest { name: base.as_deref() }),
    };
    let removal = RemovalRequest { names: request.removals, reads_only: request.destroy };
    let opened =
        Workspace::open_with_removed(&session.settings, &session.unit_settings, &selection, removal);
    let workspace = Box::pin(opened).await?;
    let options = review::units_options(&workspace, request.scope, request.readers, request.destroy)?;
    if let Some(run) = request.join {
        return Box::pin(join_run(session, &request, &workspace, &options, (run, None))).await;
    }
    check_approval_flags(session, &request, &workspace)?;
    let planned = Box::pin(planning::plan_units(&workspace, &options, PlanPurpose::Show)).await?;
    let outcomes = review::unit_reviews(&workspace, &planned, false);
    {
        let shown = review::units_review(&workspace, &planned, &outcomes, request.destroy);
        let reports = session.report_files(&request.running.reports.wanted);
        reports.write_units(&shown, &|name| workspace.first_file(name), None)?;
        if !(session.ui.json || session.ui.ndjson) {
            review::show_units(session.ui, &workspace, &planned, &shown);
        }
    }
    review::print_left_out(session.ui, &workspace);
    review::print_left_out_readers(session.ui, &planned);
    if let Some(expected) = request.expected.filter(|expected| **expected != planned.fingerprint) {
        let found = &planned.fingerprint;
        let what = format!("the plans together have the fingerprint {found}, not {expected}");
        return Err(CliFailure::new(Exit::OutOfDate, what)
            .help("Nothing was sent. Review these plans: stead plan --all."));
    }
    let run = UnitsRun::new(&workspace, &planned, None, request.destroy);
    if run.units.is_empty() {
        return Ok(finish(
            session,
            &workspace,
            &planned,
            outcomes,
            &RunResults::default(),
            request.destroy,
        ));
    }
    let count = run.units.iter().filter_map(|number| run.plan(*number)).map(|plan| deletions(plan).count());
    if request.destroy {
        session.ui.hint("Readers in other repositories are not known.");
    }
    if !ask_approval(session, &request, &workspace, (&run.units, count.sum())).await? {
        session.ui.write_message(if request.destroy {
            "Nothing was deleted."
        } else {
            "Nothing was applied."
        });
        return Ok(Exit::Failed);
    }
    let results = run.execute(session, &request).await?;
    Ok(finish(session, &workspace, &planned, outcomes, &results, request.destroy))
}

/// Applies a set of saved plans: each unit only as its plan shows. A set can be applied again after a part of it failed:
/// units that are done have nothing left to do.
///
/// # Errors
/// When the set was changed or is out of date, or one of its units is not in the repository.
pub(super) async fn apply_set(
    session: &CommandContext,
    directory: &Path,
    args: &ApplyArgs,
) -> Result<Exit, CliFailure> {
    let set = plan_set::read_set(&session.settings, directory, args.verify_key.as_deref())?;
    session.ui.hint(&format!("The set of plans is {}.", set.signer));
    if let Some(expected) = args.expect.as_ref().filter(|expected| **expected != set.fingerprint) {
        let what = format!("the set of plans has the fingerprint {}, not {expected}", set.fingerprint);
        return Err(CliFailure::new(Exit::OutOfDate, what).help(
            "Nothing was sent. Take the directory of the plans that were reviewed, or review these.",
        ));
    }
    for saved in set.plans.values() {
        let checked = saved.check_time(SystemClock.now(), plan_file::STEAD_VERSION);
        checked.map_err(|stale| plan_again(&stale))?;
    }
    let settings = Settings { env: None, ..session.settings.clone() };
    let is_removal = |saved: &SavedPlan| saved.plan.base.destroy && !set.destroy;
    let removed = set.plans.iter().filter(|(_, saved)| is_removal(saved));
    let removed: Vec<UnitName> = removed.map(|(name, _)| name.clone()).collect();
    let removal = RemovalRequest { names: &removed, reads_only: set.destroy };
    let everything = SelectionRequest::default();
    let opened = Workspace::open_with_removed(&settings, &session.unit_settings, &everything, removal);
    let mut workspace = Box::pin(opened).await?;
    let mut reviewed = BTreeMap::new();
    for (name, saved) in &set.plans {
        // A removed unit whose ledger is empty is done.
        let is_known = |one: &WorkspaceUnit| one.unit.name == *name;
        if is_removal(saved) && !workspace.units.iter().any(is_known) {
            continue;
        }
        let number = workspace.units.iter().position(|one| one.unit.name == *name).ok_or_else(|| {
            CliFailure::new(Exit::OutOfDate, format!("{name} of the set is not in this repository"))
                .help("Nothing was sent. Check out the commit that was planned.")
        })?;
        reviewed.insert(number, &saved.plan);
    }
    workspace.selected.units = reviewed.keys().copied().collect();
    // What the set was reviewed with: it has no plan that was blocked.
    let planning =
        PlanningOptions { destroy: set.destroy, allow_deletes: true, ..PlanningOptions::default() };
    let options = UnitsOptions { planning, forces_all_readers: true, ..UnitsOptions::default() };
    let request = UnitsApplyRequest { destroy: set.destroy, ..UnitsApplyRequest::from(args) };
    if let Some(run) = request.join {
        let saved = Some((set.fingerprint.as_str(), &reviewed));
        return Box::pin(join_run(session, &request, &workspace, &options, (run, saved))).await;
    }
    let planned = Box::pin(planning::plan_units(&workspace, &options, PlanPurpose::Show)).await?;
    let outcomes = review::unit_reviews(&workspace, &planned, false);
    let run = UnitsRun::new(&workspace, &planned, Some(&reviewed), set.destroy);
    let results = run.execute(session, &request).await?;
    Ok(finish(session, &workspace, &planned, outcomes, &results, set.destroy))
}

/// Returns the deletions of a plan.
fn deletions(plan: &Plan) -> impl Iterator<Item = &Step> {
    plan.steps.iter().filter(|step| matches!(step.operation, Operation::Delete { .. }))
}

/// An apply of the units that have something to do.
pub(super) struct UnitsRun<'a> {
    workspace: &'a Workspace,
    planned: &'a WorkspacePlan,
    /// Saved plans by the number of the unit; `None` if the plans of this process were reviewed.
    saved: Option<&'a BTreeMap<usize, &'a Plan>>,
    /// Units that are applied.
    pub(super) units: BTreeSet<usize>,
    /// Units whose deletions wait for those that use the objects.
    pub(super) holding: BTreeSet<usize>,
    /// Pairs of a unit and one whose live objects use an object that the first deletes.
    pub(super) users: BTreeSet<(usize, usize)>,
    /// Objects that the units own.
    pub(super) owned: Arc<BTreeSet<ObjectKey>>,
    destroy: bool,
}

impl<'a> UnitsRun<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        planned: &'a WorkspacePlan,
        saved: Option<&'a BTreeMap<usize, &'a Plan>>,
        destroy: bool,
    ) -> Self {
        let is_open = |unit: &PlannedUnit| !unit.plan.is_blocked(&BTreeSet::new());
        let has_readers = |number: usize| !workspace.graph.readers[number].is_empty();
        let units: BTreeSet<usize> = planned
            .planned()
            .filter(|(number, unit)| {
                let records = !destroy && has_readers(*number) && unit.changes_outputs();
                is_open(unit) && (has_work(&unit.plan) || records)
            })
            .map(|(number, _)| number)
            .collect();
        let users: BTreeSet<(usize, usize)> = planned
            .users
            .iter()
            .filter(|(unit, user)| unit != user && units.contains(user))
            .copied()
            .collect();
        let deletes = |number: &usize| {
            planned
                .units
                .get(number)
                .and_then(|unit| unit.as_ref().ok())
                .is_some_and(|unit| deletions(&unit.plan).next().is_some())
        };
        let waits = |number: &usize| {
            workspace
                .graph
                .with_readers(&[*number].into())
                .iter()
                .any(|reader| reader != number && units.contains(reader))
                || users.iter().any(|(unit, _)| unit == number)
        };
        let holding = if destroy {
            BTreeSet::new()
        } else {
            units.iter().copied().filter(|number| deletes(number) && waits(number)).collect()
        };
        let owned = planned.planned().flat_map(|(_, unit)| unit.ledger.owned_keys()).collect();
        Self { workspace, planned, saved, units, holding, users, owned: Arc::new(owned), destroy }
    }

    /// Returns the plan that was just made of a unit; `None` if it has none.
    fn plan(&self, number: usize) -> Option<&'a Plan> {
        self.planned.units.get(&number).and_then(|unit| Some(&unit.as_ref().ok()?.plan))
    }

    /// Returns the reviewed plan of a unit: the saved one, or the one that was just shown.
    pub(super) fn reviewed(&self, number: usize) -> Option<&'a Plan> {
        match self.saved {
            Some(saved) => saved.get(&number).copied(),
            None => self.plan(number),
        }
    }

    /// Applies the units; returns the result of each unit that was started or skipped.
    async fn execute(
        &self,
        session: &CommandContext,
        request: &UnitsApplyRequest<'_>,
    ) -> Result<RunResults, CliFailure> {
        let graph = &self.workspace.graph;
        let mut schedule = if self.destroy {
            UnitSchedule::of_destroy(graph, &self.units, &self.users)
        } else {
            UnitSchedule::of_apply(graph, &self.units, self.holding.clone(), &self.users)
                .with_order(&self.planned.moves)
        };
        let mut accounts = OpenAccounts::default();
        let mut running: FuturesUnordered<Pin<Box<dyn Future<Output = PhaseResult> + '_>>> =
            FuturesUnordered::new();
        let mut results = RunResults::default();
        let mut progress =
            UnitsProgress::new(session.ui, self.workspace, (self.units.len(), &self.holding));
        let mut stop = Box::pin(signals::wait_for_stop());
        let mut is_stopped = false;
        loop {
            for (number, phase) in schedule.start_ready(MAX_RUNNING_UNITS) {
                progress.start(number, phase);
                running.push(self.start_unit(session, request, &mut accounts, (number, phase)));
            }
            progress.print_line();
            if running.is_empty() {
                break;
            }
            let ended = if is_stopped {
                running.next().await
            } else {
                match select(pin!(running.next()), &mut stop).await {
                    Either::Left((ended, _)) => ended,
                    Either::Right((signal, _)) => {
                        signal.map_err(anyhow::Error::from)?;
                        is_stopped = true;
                        schedule.stop();
                        session.ui.write_message("Stopping: units that run finish their running steps, and no more units are started. Press Ctrl-C again to stop at once.");
                        continue;
                    }
                }
            };
            let Some((number, phase, result)) = ended else { break };
            let holds = self.holding.contains(&number);
            let unit = &self.workspace.units[number].unit;
            report_end(session, unit, (phase, self.destroy, holds), &result);
            progress.end(number, phase, &result);
            let succeeded = matches!(result, Ok(Exit::Done));
            let cause = match &result {
                Ok(exit) => *exit,
                Err(failure) => failure.exit,
            };
            for skipped in schedule.finish(number, phase, succeeded) {
                let name = &self.workspace.units[number].unit.name;
                let failure = CliFailure::new(cause, format!("it waits for {name}, which was not applied"));
                results.skipped.insert(skipped, failure);
                progress.skip(skipped, number);
            }
            record_result(&mut results.ended, number, phase, result);
        }
        self.add_unfinished(&schedule, &mut results);
        Ok(results)
    }

    /// Adds the units that were not started, and those whose deletions still wait.
    fn add_unfinished(&self, schedule: &UnitSchedule, results: &mut RunResults) {
        let (waiting, holding) = schedule.unfinished();
        for number in waiting.into_iter().filter(|number| self.units.contains(number)) {
            let failure = CliFailure::new(Exit::Interrupted, "it was not started");
            results.skipped.entry(number).or_insert(failure);
        }
        for number in holding {
            let failure = CliFailure::new(
                Exit::Partly,
                "its deletions wait for units that still use the objects and were not applied",
            );
            results.ended.insert(number, Err(failure));
        }
    }

    /// Returns the work of one phase of a unit.
    fn start_unit<'s>(
        &'s self,
        session: &'s CommandContext,
        request: &'s UnitsApplyRequest<'_>,
        accounts: &mut OpenAccounts,
        (number, phase): (usize, UnitPhase),
    ) -> Pin<Box<dyn Future<Output = PhaseResult> + 's>> {
        let one = &self.workspace.units[number];
        let connected = one.loaded.as_ref().map_err(CliFailure::clone).and_then(|project| {
            accounts.connect(one, project).map(|(_, connection)| (project, connection))
        });
        Box::pin(async move {
            let (project, connection) = match connected {
                Ok(connected) => connected,
                Err(failure) => return (number, phase, Err(failure)),
            };
            let Some(plan) = self.reviewed(number) else {
                let failure =
                    CliFailure::new(Exit::OutOfDate, "its plan was not reviewed; nothing was sent");
                return (number, phase, Err(failure));
            };
            let reviewed = ReviewedUnit {
                plan,
                phase,
                holds_deletions: self.holding.contains(&number),
                is_begun: false,
                planned_elsewhere: Arc::clone(&self.owned),
            };
            let unit = StartedUnit {
                session,
                running: request.running,
                one,
                project,
                connection: &connection,
                vouched: &[],
            };
            (number, phase, Box::pin(apply_phase(&unit, &reviewed)).await)
        })
    }
}

/// Records the result of a phase. A unit whose changes are made and whose deletions failed is partly applied.
fn record_result(
    results: &mut BTreeMap<usize, Result<Exit, CliFailure>>,
    number: usize,
    phase: UnitPhase,
    result: Result<Exit, CliFailure>,
) {
    let result = match (phase, result) {
        (UnitPhase::Deletions, Err(failure)) => Err(CliFailure { exit: Exit::Partly, ..failure }),
        (UnitPhase::Deletions, Ok(exit)) if exit != Exit::Done => Ok(Exit::Partly),
        (_, result) => result,
    };
    results.insert(number, result);
}

/// Prints the result of the run, and returns its exit code.
fn finish(
    session: &CommandContext,
    workspace: &Workspace,
    planned: &WorkspacePlan,
    mut outcomes: Vec<UnitOutcome>,
    results: &RunResults,
    destroy: bool,
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
        let exit = match result {
            Ok(exit) => *exit,
            Err(failure) => failure.exit,
        };
        outcome.exit = exit;
        outcome.failure = result.as_ref().err().cloned();
        outcome.status = match exit {
            Exit::Done => UnitStatus::Applied,
            Exit::Partly => UnitStatus::Partly,
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
        has_applied |= matches!(exit, Exit::Done | Exit::Partly) && is_work;
    }
    let shown = review::units_review(workspace, planned, &outcomes, destroy);
    review::show_run(session.ui, &shown);
    let exits: Vec<Exit> = outcomes.iter().map(|outcome| outcome.exit).collect();
    Exit::of_units(&exits, has_applied)
}
