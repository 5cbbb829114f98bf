//! The loop of a worker: claims units of a run, applies them, and records how they ended. In: a run whose plans are approved.
//! Out: why the worker ends. Invariant: while it waits for the database, its units go on; a unit is applied only under the
//! lease of its ledger, whatever the rows say.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::approval::RunApproval;
use super::request::ReviewedUnit;
use super::unit_outcome::PhaseRuns;
use super::unit_phase::{StartedUnit, apply_phase, report_end};
use crate::cli::args::plan::ExecutionArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::planning::approval::PolicyOverrides;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::{CliFailure, exit_of_result};
use crate::cli::workspace::accounts::OpenAccounts;
use crate::cli::workspace::runs::open_board::CommandBoard;
use crate::cli::workspace::units::Workspace;
use crate::cloud::system_clock::{SystemClock, SystemRandom};
use crate::ledger::runs::board::{BoardError, RunBoard, WORKER_SILENCE};
use crate::ledger::runs::row::{RunProgress, RunRow, RunStatus, TaskClaim, TaskEnd, TaskPhase};
use crate::ledger::state::holder::ProcessIdentity;
use crate::ledger::stores::file::process;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::ObjectKey;
use crate::plan::model::change::Plan;
use crate::workspace::fit::UnitPhase;
use crate::workspace::worker::{WorkerAction, WorkerSituation, next_action, vouched_processes};

/// How many units a worker applies at the same time.
const MAX_RUNNING_UNITS: usize = 8;

/// Interval between two looks at a run in which this worker has nothing to start.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Delay before a unit is claimed again whose ledger a dead worker still holds.
const LOCKED_DELAY: Duration = Duration::from_secs(3);

/// Most claims of a unit whose ledger is locked: more than a dead worker's lease can last.
const MAX_CLAIMS: i64 = 300;

/// Time within which machines that send requests with a key share its limit.
const SHARE_TIME: Duration = Duration::from_secs(15);

/// Why a worker ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerEnd {
    /// The run has ended.
    RunEnded,
    /// A stop signal ended this worker.
    Stopped,
    /// A person stated that this worker is dead.
    Disowned,
}

/// The approved plans of a run, with what applying them needs.
pub(super) struct SharedUnits<'w> {
    pub(super) workspace: &'w Workspace,
    /// Number of each unit by its name.
    pub(super) numbers: BTreeMap<String, usize>,
    /// Plans by the number of the unit.
    pub(super) plans: BTreeMap<usize, Plan>,
    /// Names of the units whose deletions wait for other units.
    pub(super) holding: BTreeSet<String>,
    /// Names of the units of which an earlier run made some changes.
    pub(super) begun: BTreeSet<String>,
    /// Fingerprint of the review that the ledgers keep until their units are done; `None` if they keep none.
    pub(super) review: Option<Name>,
    /// Objects that the units own.
    pub(super) owned: Arc<BTreeSet<ObjectKey>>,
    pub(super) destroy: bool,
    /// How the plans were approved, with the name of the run.
    pub(super) approval: RunApproval,
}

/// What a worker does after a step.
enum NextStep {
    /// The next step, at once.
    Continue,
    /// Waits for a task, or until it is time to look at the run again.
    Wait,
    /// Ends.
    End(WorkerEnd),
}

/// A task that ended.
type EndedTask = (TaskClaim, Result<Exit, CliFailure>);
/// The tasks that run.
type RunningTasks<'a> = FuturesUnordered<Pin<Box<dyn Future<Output = EndedTask> + 'a>>>;

/// The state of a worker between two steps.
struct Worker<'a> {
    session: &'a CommandContext,
    running: &'a ExecutionArgs,
    overriding: PolicyOverrides<'a>,
    board: &'a CommandBoard,
    name: &'a str,
    /// Numbers of the tasks that it does.
    doing: BTreeSet<i32>,
    ended: Vec<EndedTask>,
    is_stopped: bool,
    /// Machine and accounts with which it shares a limit.
    shares: RequestShares,
}

/// Plans and applies units of a run until it has ended. `plan` makes the tasks of the run, `load` reads its plans. If
/// `stop` ends before the first claim, it drops that work: another worker plans the run.
///
/// # Errors
/// When the database cannot be used for a long time, the run cannot be planned, or its plans are not the approved ones.
pub(super) async fn work_until_end<'w>(
    session: &CommandContext,
    (running, overriding): (&ExecutionArgs, PolicyOverrides<'_>),
    (board, name): (&CommandBoard, &str),
    (plan, load): (
        impl AsyncFn() -> Result<(), CliFailure>,
        impl AsyncFn(&RunRow) -> Result<SharedUnits<'w>, CliFailure>,
    ),
    stop: impl Future<Output = ()>,
) -> Result<WorkerEnd, CliFailure> {
    let mut stop = Box::pin(stop);
    let joining = Box::pin(async {
        let run = wait_for_plans(board, name, plan).await?;
        let units = if run.status == RunStatus::Ended { None } else { Some(load(&run).await?) };
        Ok::<_, CliFailure>((run, units))
    });
    let (run, units) = match select(joining, &mut stop).await {
        Either::Left((joined, _)) => joined?,
        Either::Right(((), _)) => return Ok(WorkerEnd::Stopped),
    };
    let Some(units) = units else { return Ok(WorkerEnd::RunEnded) };
    let mut worker = Worker {
        session,
        running,
        overriding,
        board,
        name,
        doing: BTreeSet::new(),
        ended: Vec::new(),
        is_stopped: false,
        shares: RequestShares::default(),
    };
    Box::pin(worker.work(&units, &run, stop)).await
}

/// Waits until a run has plans; plans it if this worker is its planner, or takes over from a dead one.
async fn wait_for_plans(
    board: &CommandBoard,
    name: &str,
    plan: impl AsyncFn() -> Result<(), CliFailure>,
) -> Result<RunRow, CliFailure> {
    loop {
        let run = read_row(board).await?;
        if run.status != RunStatus::Planning {
            return Ok(run);
        }
        let progress = board.beat(name).await?;
        let situation = WorkerSituation { name, running: 0, limit: MAX_RUNNING_UNITS, is_stopped: false };
        if run.planner == name {
            Box::pin(plan()).await?;
        } else if let WorkerAction::Plan { from, is_proven } =
            next_action(&progress, &run.planner, situation, |_| true, process::is_dead)
        {
            board.take_planning(name, &from, is_proven).await?;
        } else {
            SystemClock.sleep(POLL_INTERVAL).await;
        }
    }
}

/// Reads the row of a run that was begun.
///
/// # Errors
/// When it cannot be read, or is gone.
pub(super) async fn read_row(board: &CommandBoard) -> Result<RunRow, CliFailure> {
    let gone = || CliFailure::new(Exit::Failed, "the row of the run is gone");
    board.run().await?.ok_or_else(gone)
}

impl<'a> Worker<'a> {
    /// Claims and applies units until the run has ended or the worker is stopped. While the database cannot be used, what
    /// runs goes on, and its end is recorded later.
    async fn work(
        &mut self,
        units: &SharedUnits<'_>,
        run: &RunRow,
        mut stop: Pin<Box<impl Future<Output = ()>>>,
    ) -> Result<WorkerEnd, CliFailure> {
        let mut accounts = OpenAccounts::default();
        let mut tasks: RunningTasks<'_> = FuturesUnordered::new();
        let mut silent_since = None;
        loop {
            match self.take_step(units, run, &mut accounts, &mut tasks).await {
                Ok(NextStep::End(end)) => return Ok(end),
                Ok(NextStep::Continue) => silent_since = None,
                Ok(NextStep::Wait) => {
                    silent_since = None;
                    self.wait(&mut tasks, &mut stop).await;
                }
                Err(error) => {
                    // A worker that cannot report for long is replaced by others.
                    let since = *silent_since.get_or_insert_with(|| SystemClock.elapsed());
                    if self.doing.is_empty() && SystemClock.elapsed().saturating_sub(since) > WORKER_SILENCE
                    {
                        return Err(error.into());
                    }
                    self.session.ui.write_message(&format!("warning: {error}; trying again"));
                    self.wait(&mut tasks, &mut stop).await;
                }
            }
        }
    }

    /// Records what ended, looks at the run, and does the next action.
    async fn take_step<'t>(
        &mut self,
        units: &'t SharedUnits<'_>,
        run: &RunRow,
        accounts: &mut OpenAccounts,
        tasks: &mut RunningTasks<'t>,
    ) -> Result<NextStep, BoardError>
    where
        'a: 't,
    {
        while let Some((claim, result)) = self.ended.pop() {
            if let Err(error) = self.record_end(units, tasks, &claim, &result).await {
                self.ended.push((claim, result));
                return Err(error);
            }
        }
        let progress = self.while_running(tasks, self.board.beat(self.name)).await?;
        let situation = WorkerSituation {
            name: self.name,
            running: self.doing.len(),
            limit: MAX_RUNNING_UNITS,
            is_stopped: self.is_stopped,
        };
        let is_known = |number: i32| self.doing.contains(&number);
        let action = next_action(&progress, &run.planner, situation, is_known, process::is_dead);
        self.share_limits(accounts, tasks).await;
        match action {
            WorkerAction::Leave => Ok(NextStep::End(self.end_reason(&progress))),
            WorkerAction::TakeOver { from, is_proven } => {
                let taking = self.board.take_over(self.name, &from, is_proven);
                if self.while_running(tasks, taking).await? > 0 {
                    let message = format!("The worker {from} is dead: its units are taken over.");
                    self.session.ui.write_message(&message);
                }
                Ok(NextStep::Continue)
            }
            WorkerAction::Adopt => {
                let mut claimed = self.while_running(tasks, self.board.claimed(self.name)).await?;
                claimed.retain(|claim| !self.doing.contains(&claim.number));
                for claim in claimed {
                    self.start(units, &progress, accounts, tasks, claim);
                }
                Ok(NextStep::Continue)
            }
            WorkerAction::Claim => {
                let Some(claim) = self.while_running(tasks, self.board.claim(self.name)).await? else {
                    return Ok(NextStep::Wait);
                };
                self.start(units, &progress, accounts, tasks, claim);
                Ok(NextStep::Continue)
            }
            WorkerAction::Wait | WorkerAction::Plan { .. } => Ok(NextStep::Wait),
        }
    }

    fn end_reason(&self, progress: &RunProgress) -> WorkerEnd {
        let is_disowned = progress.workers.iter().any(|worker| worker.name == self.name && worker.vouched);
        match () {
            () if self.is_stopped => WorkerEnd::Stopped,
            () if is_disowned => WorkerEnd::Disowned,
            () => WorkerEnd::RunEnded,
        }
    }

    /// Waits until a task ends, a stop signal comes, or it is time to look at the run again.
    async fn wait(&mut self, tasks: &mut RunningTasks<'_>, stop: &mut Pin<Box<impl Future<Output = ()>>>) {
        let is_stopped = self.is_stopped;
        let waiting = async {
            if is_stopped {
                SystemClock.sleep(POLL_INTERVAL).await;
                return false;
            }
            matches!(select(pin!(SystemClock.sleep(POLL_INTERVAL)), stop).await, Either::Right(_))
        };
        let mut waiting = pin!(waiting);
        let stopped = loop {
            if tasks.is_empty() {
                break waiting.await;
            }
            match select(tasks.next(), waiting.as_mut()).await {
                Either::Left((Some(ended), _)) => {
                    self.ended.push(ended);
                    break false;
                }
                Either::Left((None, _)) => {}
                Either::Right((stopped, _)) => break stopped,
            }
        };
        if stopped {
            self.is_stopped = true;
            self.session.ui.write_message("Stopping: units that run finish their running steps, and no more units are claimed. Press Ctrl-C again to stop at once.");
        }
    }

    /// Runs an operation on the rows while the tasks go on.
    async fn while_running<T>(&mut self, tasks: &mut RunningTasks<'_>, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            if tasks.is_empty() {
                return work.await;
            }
            match select(work.as_mut(), tasks.next()).await {
                Either::Left((done, _)) => return done,
                Either::Right((Some(ended), _)) => self.ended.push(ended),
                Either::Right((None, _)) => {}
            }
        }
    }

    /// Starts a task that was claimed.
    fn start<'t>(
        &mut self,
        units: &'t SharedUnits<'_>,
        progress: &RunProgress,
        accounts: &mut OpenAccounts,
        tasks: &RunningTasks<'t>,
        claim: TaskClaim,
    ) where
        'a: 't,
    {
        self.doing.insert(claim.number);
        let vouched: Vec<ProcessIdentity> = vouched_processes(&progress.workers).cloned().collect();
        let (session, running, overriding) = (self.session, self.running, self.overriding);
        let number = units.numbers.get(&claim.unit);
        let planned =
            number.and_then(|number| Some((&units.workspace.units[*number], units.plans.get(number)?)));
        let started = planned
            .ok_or_else(|| CliFailure::new(Exit::OutOfDate, "its plan was not reviewed; nothing was sent"));
        let started = started.and_then(|(one, plan)| {
            let project = one.loaded.as_ref().map_err(CliFailure::clone)?;
            let (_, connection) = accounts.connect(one, project)?;
            Ok((one, plan, project, connection))
        });
        let owned = Arc::clone(&units.owned);
        let (is_begun, review) = (units.begun.contains(&claim.unit), units.review.as_ref());
        let (holds_deletions, approval) = (units.holding.contains(&claim.unit), units.approval.clone());
        tasks.push(Box::pin(async move {
            // The ledger's history has them; the rows of the run do not.
            let phases = PhaseRuns::default();
            let (one, plan, project, connection) = match started {
                Ok(started) => started,
                Err(failure) => return (claim, Err(failure)),
            };
            let reviewed = ReviewedUnit {
                plan,
                phase: unit_phase(claim.phase),
                holds_deletions,
                planned_elsewhere: owned,
                is_begun: claim.is_begun || is_begun,
            };
            let unit = StartedUnit {
                session,
                running,
                overriding,
                one,
                project,
                connection: &connection,
                vouched: &vouched,
                review,
                approval,
                phases: &phases,
            };
            let result = Box::pin(apply_phase(&unit, &reviewed)).await;
            (claim, result)
        }));
    }

    /// Records how a task ended; one that this worker did not finish is given back for others.
    async fn record_end(
        &mut self,
        units: &SharedUnits<'_>,
        tasks: &mut RunningTasks<'_>,
        claim: &TaskClaim,
        result: &Result<Exit, CliFailure>,
    ) -> Result<(), BoardError> {
        let exit = exit_of_result(result);
        let is_held = exit == Exit::Locked && claim.is_begun && claim.epoch < MAX_CLAIMS;
        if is_held || (self.is_stopped && exit != Exit::Done) {
            let delay = if is_held { LOCKED_DELAY } else { Duration::ZERO };
            self.while_running(tasks, self.board.put_back(self.name, claim, delay)).await?;
            self.doing.remove(&claim.number);
            return Ok(());
        }
        let message = match result {
            Ok(Exit::Done) => String::new(),
            Ok(exit) => exit.meaning().to_owned(),
            Err(failure) => failure.message.clone(),
        };
        let end = TaskEnd { exit: exit.code(), message };
        let recorded = self.while_running(tasks, self.board.finish(self.name, claim, &end)).await?;
        self.doing.remove(&claim.number);
        let Some(number) = units.numbers.get(&claim.unit) else { return Ok(()) };
        let unit = &units.workspace.units[*number].unit;
        if recorded {
            let holds = units.holding.contains(&claim.unit);
            report_end(self.session, unit, (unit_phase(claim.phase), units.destroy, holds), result);
        } else {
            let message = format!("{}: another worker took it over; its result counts", unit.name);
            self.session.ui.write_message(&message);
        }
        Ok(())
    }

    /// Shares the limit of each key with the other machines that use it.
    async fn share_limits(&mut self, accounts: &OpenAccounts, tasks: &mut RunningTasks<'_>) {
        let now = SystemClock.elapsed();
        let is_due = now.saturating_sub(self.shares.last) >= POLL_INTERVAL;
        if !is_due || (self.doing.is_empty() && self.shares.held.is_empty()) {
            return;
        }
        self.shares.last = now;
        let machine = self.shares.machine.clone();
        if self.doing.is_empty() {
            for account in std::mem::take(&mut self.shares.held) {
                // A share that stays expires by itself.
                let _ = self.while_running(tasks, self.board.free_share(&account, &machine)).await;
            }
            return;
        }
        for (account, client) in accounts.shared_limits() {
            let sharing = self.board.share_requests(account, &machine, SHARE_TIME);
            // Without an answer the share stays as it was.
            if let Ok(machines) = self.while_running(tasks, sharing).await {
                client.share_with_machines(machines);
            }
            self.shares.held.insert(account.to_owned());
        }
    }
}

/// The shares of request limits that a worker's machine holds.
struct RequestShares {
    /// Name of the machine: processes of one machine share a limit by its state directory.
    machine: String,
    /// Accounts of which it holds a share.
    held: BTreeSet<String>,
    /// Time of the last report.
    last: Duration,
}

impl Default for RequestShares {
    fn default() -> Self {
        let machine = process::current_process()
            .map_or_else(|| SystemRandom.uuid().to_string(), |process| process.boot.to_string());
        Self { machine, held: BTreeSet::new(), last: Duration::ZERO }
    }
}

const fn unit_phase(phase: TaskPhase) -> UnitPhase {
    match phase {
        TaskPhase::Changes => UnitPhase::Changes,
        TaskPhase::Deletions => UnitPhase::Deletions,
    }
}
