//! `stead apply --all` and `stead destroy --all`: plans the selected units together, gets one approval, and applies each unit
//! when the units that it waits for have made their changes. A unit is planned again then, and runs only if its plan fits
//! the reviewed one. Deletions of what other units still use come last.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;

use futures_util::future::{Either, select};
use futures_util::stream::{self, FuturesUnordered, StreamExt};

use super::request::{ApplyArgs, UnitsApplyRequest};
use super::unit_apply::{ApplyCommand, ReviewedUnit};
use super::units_approval::{ask_approval, check_approval_flags};
use super::units_outcome::{RunResults, finish, record_result};
use super::units_planning::plan_for_apply;
use super::units_review::{
    ApprovedPlans, KeptReview, ReviewFingerprints, check_expected, close_review, keep_review, open_unit,
};
use crate::cli::artifacts::{plan_file, plan_set};
use crate::cli::command_context::CommandContext;
use crate::cli::ledger::ledger_io;
use crate::cli::planning::approval::plan_again;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::cli::process::signals;
use crate::cli::service::connection::StackConnection;
use crate::cli::stack::project::LoadedStack;
use crate::cli::workspace::accounts::OpenAccounts;
use crate::cli::workspace::planned_units::{PlannedUnit, WorkspacePlan};
use crate::cli::workspace::problems;
use crate::cli::workspace::review;
use crate::cli::workspace::units::{BaseRequest, SelectionRequest, Workspace};
use crate::cloud::system_clock::SystemClock;
use crate::model::address::Name;
use crate::model::clock::Clock;
use crate::model::live::snapshot::ObjectKey;
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::change::Plan;
use crate::plan::model::step::{Operation, Step};
use crate::workspace::combined::has_work;
use crate::workspace::fit::UnitPhase;
use crate::workspace::schedule::UnitSchedule;

/// How many units are applied at the same time; each runs several steps, and all share the service's rate limit.
const MAX_RUNNING_UNITS: usize = 8;

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
    let workspace = Workspace::open(&session.settings, &session.unit_settings, &selection)?;
    check_approval_flags(session, &request, &workspace)?;
    let options = PlanningOptions {
        destroy: request.destroy,
        allow_deletes: request.destroy || request.scope.allow_deletes,
        ..PlanningOptions::default()
    };
    let planned = Box::pin(plan_for_apply(session, &workspace, &options, &request)).await?;
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
    let kept = check_expected(&workspace, &planned, request.expected)?;
    if let Some(kept) = &kept {
        session.ui.hint(&kept.describe());
    }
    // A destroy that is repeated goes on by itself.
    let is_kept = !request.destroy && request.yes.is_none();
    let fingerprints = is_kept.then(|| ReviewFingerprints::of_planned(&workspace, &planned));
    let planned_now = || ApprovedPlans { fingerprints, ..ApprovedPlans::default() };
    let approved = kept.as_ref().map_or_else(planned_now, KeptReview::approved_plans);
    let run = UnitsRun::new(&workspace, &planned, approved, request.destroy);
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
    if !ask_approval(session, &request, &workspace, (&run.units, run.count_deletions())).await? {
        session.ui.write_message(if request.destroy {
            "Nothing was deleted."
        } else {
            "Nothing was applied."
        });
        return Ok(Exit::Failed);
    }
    let results = run.execute(session, &request).await?;
    let exit = finish(session, &workspace, &planned, outcomes, &results, request.destroy);
    if let Some(review) = run.approved.fingerprints.as_ref().filter(|_| exit != Exit::Done) {
        let again = format!("apply{} --expect {}", request.units.format_flags(), review.whole);
        session.next(&again, "continues with what is not done");
    }
    Ok(exit)
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
    let mut workspace = Workspace::open(&settings, &session.unit_settings, &SelectionRequest::default())?;
    let mut reviewed = BTreeMap::new();
    for (name, saved) in &set.plans {
        let number = workspace.units.iter().position(|one| one.unit.name == *name).ok_or_else(|| {
            CliFailure::new(Exit::OutOfDate, format!("{name} of the set is not in this repository"))
                .help("Nothing was sent. Check out the commit that was planned.")
        })?;
        reviewed.insert(number, &saved.plan);
    }
    workspace.selected.units = reviewed.keys().copied().collect();
    let options =
        PlanningOptions { destroy: set.destroy, allow_deletes: true, ..PlanningOptions::default() };
    let request = UnitsApplyRequest { destroy: set.destroy, ..UnitsApplyRequest::from(args) };
    let planned = Box::pin(plan_for_apply(session, &workspace, &options, &request)).await?;
    let outcomes = review::unit_reviews(&workspace, &planned, false);
    let whole = Name::new(&set.fingerprint);
    let begun = planned.planned().filter(|(_, unit)| {
        unit.ledger
            .review
            .as_ref()
            .is_some_and(|review| review.begun && review.reviewed.fingerprint == whole)
    });
    let units = reviewed.iter().map(|(number, plan)| {
        (Name::new(workspace.units[*number].unit.name.to_string()), Name::new(&plan.fingerprint))
    });
    let approved = ApprovedPlans {
        begun: begun.map(|(number, _)| number).collect(),
        fingerprints: (!set.destroy).then(|| ReviewFingerprints { whole, units: units.collect() }),
        plans: reviewed,
    };
    let run = UnitsRun::new(&workspace, &planned, approved, set.destroy);
    let results = run.execute(session, &request).await?;
    Ok(finish(session, &workspace, &planned, outcomes, &results, set.destroy))
}

/// Returns the deletions of a plan.
fn deletions(plan: &Plan) -> impl Iterator<Item = &Step> {
    plan.steps.iter().filter(|step| matches!(step.operation, Operation::Delete { .. }))
}

/// An apply of the units that have something to do.
struct UnitsRun<'a> {
    workspace: &'a Workspace,
    planned: &'a WorkspacePlan,
    approved: ApprovedPlans<'a>,
    /// Units that are applied.
    units: BTreeSet<usize>,
    /// Units whose deletions wait for those that use the objects.
    holding: BTreeSet<usize>,
    /// Pairs of a unit and one whose live objects use an object that the first deletes.
    users: BTreeSet<(usize, usize)>,
    /// Objects that the units own.
    owned: Arc<BTreeSet<ObjectKey>>,
    destroy: bool,
}

impl<'a> UnitsRun<'a> {
    fn new(
        workspace: &'a Workspace,
        planned: &'a WorkspacePlan,
        approved: ApprovedPlans<'a>,
        destroy: bool,
    ) -> Self {
        let is_open = |unit: &PlannedUnit| !unit.plan.is_blocked(&BTreeSet::new());
        let has_readers = |number: usize| !workspace.graph.readers[number].is_empty();
        let units: BTreeSet<usize> = planned
            .planned()
            .filter(|(number, unit)| {
                let records = !destroy && has_readers(*number) && unit.changes_outputs();
                is_open(unit) && (has_work(&unit.plan) || records || approved.is_kept_by(&unit.ledger))
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
        Self { workspace, planned, approved, units, holding, users, owned: Arc::new(owned), destroy }
    }

    fn count_deletions(&self) -> usize {
        let plans = self.units.iter().filter_map(|number| self.plan(*number));
        plans.map(|plan| deletions(plan).count()).sum()
    }

    /// Returns the plan that was just made of a unit; `None` if it has none.
    fn plan(&self, number: usize) -> Option<&'a Plan> {
        self.planned.units.get(&number).and_then(|unit| Some(&unit.as_ref().ok()?.plan))
    }

    /// Returns the reviewed plan of a unit: one that was reviewed before, or the one that was just shown. A unit that is not in
    /// an earlier review may only record its outputs.
    fn reviewed(&self, number: usize) -> Option<&'a Plan> {
        let earlier = &self.approved.plans;
        let own = || self.plan(number).filter(|plan| earlier.is_empty() || !has_work(plan));
        earlier.get(&number).copied().or_else(own)
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
        let mut stop = Box::pin(signals::wait_for_stop());
        let mut is_stopped = false;
        self.keep_reviews(session, request, &mut accounts, (&mut schedule, &mut results)).await;
        loop {
            for (number, phase) in schedule.start_ready(MAX_RUNNING_UNITS) {
                running.push(self.start_unit(session, request, &mut accounts, (number, phase)));
            }
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
            self.end_phase(session, (number, phase, result), &mut schedule, &mut results);
        }
        self.add_unfinished(&schedule, &mut results);
        Ok(results)
    }

    /// Reports and records how a phase of a unit ended; a failure skips the units that wait for it.
    fn end_phase(
        &self,
        session: &CommandContext,
        (number, phase, result): PhaseResult,
        schedule: &mut UnitSchedule,
        results: &mut RunResults,
    ) {
        self.report_end(session, number, phase, &result);
        let succeeded = matches!(result, Ok(Exit::Done));
        let cause = match &result {
            Ok(exit) => *exit,
            Err(failure) => failure.exit,
        };
        for skipped in schedule.finish(number, phase, succeeded) {
            let name = &self.workspace.units[number].unit.name;
            let failure = CliFailure::new(cause, format!("it waits for {name}, which was not applied"));
            results.skipped.insert(skipped, failure);
        }
        record_result(&mut results.ended, number, phase, result);
    }

    /// Records in the ledgers what was approved, before the first unit starts: a later attempt goes on with it. A unit whose
    /// ledger takes no record is not applied.
    async fn keep_reviews(
        &self,
        session: &CommandContext,
        request: &UnitsApplyRequest<'_>,
        accounts: &mut OpenAccounts,
        (schedule, results): (&mut UnitSchedule, &mut RunResults),
    ) {
        let Some(fingerprints) = &self.approved.fingerprints else { return };
        let with_plan = self.units.iter().filter_map(|number| Some((*number, self.reviewed(*number)?)));
        let mut wanted: BTreeMap<usize, Option<&Plan>> = with_plan
            .filter(|(number, plan)| {
                let unit = self.planned.units.get(number).and_then(|unit| unit.as_ref().ok());
                let is_missing =
                    |unit: &PlannedUnit| has_work(&unit.plan) && !self.approved.is_kept_by(&unit.ledger);
                has_work(plan) && unit.is_some_and(is_missing)
            })
            .map(|(number, plan)| (number, Some(plan)))
            .collect();
        let stale = self.planned.planned().filter(|(_, unit)| {
            !has_work(&unit.plan)
                && unit
                    .ledger
                    .review
                    .as_ref()
                    .is_some_and(|review| review.reviewed.fingerprint != fingerprints.whole)
        });
        wanted.extend(stale.map(|(number, _)| (number, None)));
        let mut records = Vec::with_capacity(wanted.len());
        for (number, plan) in wanted {
            let connected = self.connect(accounts, number);
            let kept = async move {
                let (project, connection) = connected?;
                let context = session.for_unit(&self.workspace.units[number].settings);
                let journal = open_unit(&context, project, &connection, request).await?;
                let kept = keep_review(&journal, fingerprints, plan).await;
                ledger_io::close_after(journal, kept).await
            };
            records.push(async move { (number, Box::pin(kept).await) });
        }
        let mut kept = stream::iter(records).buffer_unordered(MAX_RUNNING_UNITS);
        while let Some((number, result)) = kept.next().await {
            if let Err(failure) = result {
                self.end_phase(session, (number, UnitPhase::Changes, Err(failure)), schedule, results);
            }
        }
    }

    /// Returns the stack of a unit and its connection.
    fn connect(
        &self,
        accounts: &mut OpenAccounts,
        number: usize,
    ) -> Result<(&'a LoadedStack, StackConnection), CliFailure> {
        let one = &self.workspace.units[number];
        let project = one.loaded.as_ref().map_err(CliFailure::clone)?;
        accounts.connect(one, project).map(|(_, connection)| (project, connection))
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
        let connected = self.connect(accounts, number);
        Box::pin(async move {
            let (project, connection) = match connected {
                Ok(connected) => connected,
                Err(failure) => return (number, phase, Err(failure)),
            };
            let context = session.for_unit(&one.settings);
            let overwrite = BTreeSet::new();
            let Some(plan) = self.reviewed(number) else {
                let failure =
                    CliFailure::new(Exit::OutOfDate, "its plan was not reviewed; nothing was sent");
                return (number, phase, Err(failure));
            };
            let reviewed = ReviewedUnit {
                plan,
                phase,
                holds_deletions: self.holding.contains(&number),
                is_begun: self.approved.begun.contains(&number),
                planned_elsewhere: Arc::clone(&self.owned),
            };
            let applied = async {
                let journal = open_unit(&context, project, &connection, request).await?;
                let command = ApplyCommand::new(
                    &context,
                    project,
                    &connection,
                    &journal,
                    request.running,
                    &overwrite,
                );
                let done = command.of_unit(&one.unit.name).run_reviewed(&reviewed).await;
                let is_last = phase == UnitPhase::Deletions || !reviewed.holds_deletions;
                let done = match (&self.approved.fingerprints, done) {
                    (Some(review), Ok(Exit::Done)) if is_last => {
                        close_review(&journal, &review.whole).await.map(|()| Exit::Done)
                    }
                    (_, done) => done,
                };
                ledger_io::close_after(journal, done).await
            };
            (number, phase, Box::pin(applied).await)
        })
    }

    /// Prints how a phase of a unit ended.
    fn report_end(
        &self,
        session: &CommandContext,
        number: usize,
        phase: UnitPhase,
        result: &Result<Exit, CliFailure>,
    ) {
        if session.ui.json || session.ui.ndjson {
            return;
        }
        let name = self.workspace.units[number].unit.name.to_string();
        match result {
            Ok(Exit::Done) => {
                let what = match phase {
                    UnitPhase::Changes if self.destroy => "destroyed",
                    UnitPhase::Changes if self.holding.contains(&number) => {
                        "applied; its deletions wait for the units that use the objects"
                    }
                    UnitPhase::Changes => "applied",
                    UnitPhase::Deletions => "deleted what waited",
                };
                session.ui.hint(&format!("{name} {what}"));
            }
            Ok(exit) => session.ui.write_message(&format!("{name}: {}", exit.meaning())),
            Err(failure) => problems::print_failure(session.ui, &name, failure),
        }
    }
}

#[cfg(test)]
mod tests;
