//! The run of an apply of many units in one process: which units are applied, in which order, and how each of them ended. In:
//! the plans that were just made, and those that were approved. Out: a result for each unit.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::{Pin, pin};
use std::sync::Arc;

use futures_util::future::{Either, select};
use futures_util::stream::{self, FuturesUnordered, StreamExt};

use super::approval::RunApproval;
use super::request::{ReviewedUnit, UnitsApplyRequest};
use super::unit_outcome::PhaseRuns;
use super::unit_phase::{StartedUnit, apply_phase, report_end};
use super::units_outcome::{RunResults, record_result};
use super::units_progress::UnitsProgress;
use super::units_review::{ApprovedPlans, keep_review};
use crate::cli::command_context::CommandContext;
use crate::cli::ledger::ledger_io::{self, ExpectedLedger};
use crate::cli::planning::approval::PolicyOverrides;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::{CliFailure, exit_of_result};
use crate::cli::process::signals;
use crate::cli::service::connection::StackConnection;
use crate::cli::stack::project::LoadedStack;
use crate::cli::workspace::accounts::OpenAccounts;
use crate::cli::workspace::planned_units::{PlannedUnit, WorkspacePlan};
use crate::cli::workspace::units::Workspace;
use crate::cloud::system_clock::SystemRandom;
use crate::model::address::Name;
use crate::model::clock::Random;
use crate::model::live::snapshot::ObjectKey;
use crate::plan::model::change::Plan;
use crate::plan::model::step::{Operation, Step};
use crate::workspace::combined::has_work;
use crate::workspace::fit::UnitPhase;
use crate::workspace::schedule::UnitSchedule;

/// How many units are applied at the same time; each runs several steps, and all share the service's rate limit.
const MAX_RUNNING_UNITS: usize = 8;

/// The result of a phase of a unit.
type PhaseResult = (usize, UnitPhase, Result<Exit, CliFailure>);

/// Returns the deletions of a plan.
fn deletions(plan: &Plan) -> impl Iterator<Item = &Step> {
    plan.steps.iter().filter(|step| matches!(step.operation, Operation::Delete { .. }))
}

/// An apply of the units that have something to do.
pub(super) struct UnitsRun<'a> {
    workspace: &'a Workspace,
    planned: &'a WorkspacePlan,
    pub(super) approved: ApprovedPlans<'a>,
    /// Units that are applied.
    pub(super) units: BTreeSet<usize>,
    /// Units whose deletions wait for those that use the objects.
    holding: BTreeSet<usize>,
    /// Pairs of a unit and one whose live objects use an object that the first deletes.
    users: BTreeSet<(usize, usize)>,
    /// Objects that the units own.
    pub(super) owned: Arc<BTreeSet<ObjectKey>>,
    destroy: bool,
    /// Id of the run, which the ledgers of all its units record.
    id: Name,
    /// Results of the phases that ended.
    phases: PhaseRuns,
}

impl<'a> UnitsRun<'a> {
    pub(super) fn new(
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
                let has_new_outputs = has_readers(*number) && unit.changes_outputs();
                let records = !destroy && (has_new_outputs || unit.begins_to_read());
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
        let (owned, id) = (Arc::new(owned), Name::new(SystemRandom.uuid().to_string()));
        let phases = PhaseRuns::default();
        Self { workspace, planned, approved, units, holding, users, owned, destroy, id, phases }
    }

    /// Returns how the plans were approved, and the id that the ledgers of all units record for this run.
    fn approval(&self, request: &UnitsApplyRequest<'_>) -> RunApproval {
        let is_saved = self.approved.is_saved;
        let approval = if is_saved {
            RunApproval::of_saved_plan()
        } else {
            RunApproval::new(request.expected, request.yes)
        };
        approval.of_common_run(self.id.clone())
    }

    pub(super) fn count_deletions(&self) -> usize {
        let plans = self.units.iter().filter_map(|number| self.plan(*number));
        plans.map(|plan| deletions(plan).count()).sum()
    }

    /// Returns the plan that was just made of a unit; `None` if it has none.
    fn plan(&self, number: usize) -> Option<&'a Plan> {
        self.planned.units.get(&number).and_then(|unit| Some(&unit.as_ref().ok()?.plan))
    }

    /// Returns the reviewed plan of a unit: one that was reviewed before, or the one that was just shown. A unit that is not in
    /// an earlier review may only record its outputs.
    pub(super) fn reviewed(&self, number: usize) -> Option<&'a Plan> {
        let earlier = &self.approved.plans;
        let own = || self.plan(number).filter(|plan| earlier.is_empty() || !has_work(plan));
        earlier.get(&number).copied().or_else(own)
    }

    /// Returns the order of the units.
    pub(super) fn schedule(&self) -> UnitSchedule {
        let graph = &self.workspace.graph;
        if self.destroy {
            return UnitSchedule::of_destroy(graph, &self.units, &self.users);
        }
        UnitSchedule::of_apply(graph, &self.units, self.holding.clone(), &self.users)
            .with_order(&self.planned.moves)
    }

    /// Applies the units; returns the result of each unit that was started or skipped.
    pub(super) async fn execute(
        &self,
        session: &CommandContext,
        request: &UnitsApplyRequest<'_>,
    ) -> Result<RunResults, CliFailure> {
        let mut schedule = self.schedule();
        let mut accounts = OpenAccounts::default();
        let mut running: FuturesUnordered<Pin<Box<dyn Future<Output = PhaseResult> + '_>>> =
            FuturesUnordered::new();
        let mut results = RunResults::default();
        let mut progress =
            UnitsProgress::new(session.ui, self.workspace, (self.units.len(), &self.holding));
        let mut stop = Box::pin(signals::wait_for_stop().map_err(anyhow::Error::from)?);
        let mut is_stopped = false;
        for (number, failure) in self.keep_reviews(session, request, &mut accounts).await {
            let ended = (number, UnitPhase::Changes, Err(failure));
            self.end_phase(session, ended, (&mut schedule, &mut progress), &mut results);
        }
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
                    Either::Right(((), _)) => {
                        is_stopped = true;
                        schedule.stop();
                        session.ui.write_message("Stopping: units that run finish their running steps, and no more units are started. Press Ctrl-C again to stop at once.");
                        continue;
                    }
                }
            };
            let Some((number, phase, result)) = ended else { break };
            let ended = (number, phase, result);
            self.end_phase(session, ended, (&mut schedule, &mut progress), &mut results);
        }
        self.add_unfinished(&schedule, &mut results);
        results.phases = self.phases.take();
        Ok(results)
    }

    /// Reports and records how a phase of a unit ended; a failure skips the units that wait for it.
    fn end_phase(
        &self,
        session: &CommandContext,
        (number, phase, result): PhaseResult,
        (schedule, progress): (&mut UnitSchedule, &mut UnitsProgress<'_>),
        results: &mut RunResults,
    ) {
        let holds = self.holding.contains(&number);
        report_end(session, &self.workspace.units[number].unit, (phase, self.destroy, holds), &result);
        progress.end(number, phase, &result);
        let succeeded = matches!(result, Ok(Exit::Done));
        let cause = exit_of_result(&result);
        for skipped in schedule.finish(number, phase, succeeded) {
            let name = &self.workspace.units[number].unit.name;
            let failure = CliFailure::new(cause, format!("it waits for {name}, which was not applied"));
            results.skipped.insert(skipped, failure);
            progress.skip(skipped, number);
        }
        let made_changes = self.has_made_changes(number);
        record_result(&mut results.ended, number, phase, (result, made_changes));
    }

    /// Returns whether a phase of a unit made changes.
    fn has_made_changes(&self, number: usize) -> bool {
        let phases = self.phases.borrow();
        let runs = phases.get(&self.workspace.units[number].unit.name);
        runs.into_iter().flatten().any(|run| run.outcome.has_changes())
    }

    /// Records in the ledgers what was approved, before the first unit starts: a later attempt goes on with it. Returns the
    /// units whose ledger takes no record, which must not be applied.
    pub(super) async fn keep_reviews(
        &self,
        session: &CommandContext,
        request: &UnitsApplyRequest<'_>,
        accounts: &mut OpenAccounts,
    ) -> Vec<(usize, CliFailure)> {
        let Some(fingerprints) = &self.approved.fingerprints else { return Vec::new() };
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
            let is_other = unit.ledger.review.is_some() && !self.approved.is_kept_by(&unit.ledger);
            is_other && !has_work(&unit.plan)
        });
        wanted.extend(stale.map(|(number, _)| (number, None)));
        let mut records = Vec::with_capacity(wanted.len());
        for (number, plan) in wanted {
            let connected = self.connect(accounts, number);
            let kept = async move {
                let (project, connection) = connected?;
                let context = session.for_unit(&self.workspace.units[number].settings);
                let expected = ExpectedLedger::for_apply(request.running.accept_older_ledger);
                let opening = ledger_io::open_journal(project, &connection, &context.who, expected);
                let journal = opening.await?;
                let kept = keep_review(&journal, fingerprints, plan).await;
                ledger_io::close_after(journal, kept).await
            };
            records.push(async move { (number, Box::pin(kept).await) });
        }
        let kept = stream::iter(records).buffer_unordered(MAX_RUNNING_UNITS);
        kept.filter_map(|(number, result): (usize, Result<(), CliFailure>)| {
            std::future::ready(result.err().map(|failure| (number, failure)))
        })
        .collect()
        .await
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
            let unit = StartedUnit {
                session,
                running: request.running,
                overriding: PolicyOverrides(Some(request.overriding)),
                one,
                project,
                connection: &connection,
                vouched: &[],
                review: self.approved.fingerprints.as_ref().map(|review| &review.whole),
                approval: self.approval(request),
                phases: &self.phases,
            };
            let ended = Box::pin(apply_phase(&unit, &reviewed)).await;
            (number, phase, ended.map_err(|failure| failure.for_stack(&one.settings)))
        })
    }
}
