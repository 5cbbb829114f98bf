//! `stead apply --all --join RUN`: applies the units of an approved plan together with other workers. The first worker plans,
//! compares the fingerprint and stores the plans; all of them claim units and apply them, until the run has ended. In: the
//! selected units, and the approved fingerprint or the saved plans. Out: the exit code of the run, the same for all workers.

use std::collections::BTreeMap;

use super::approval::RunApproval;
use super::request::UnitsApplyRequest;
use super::units_planning::plan_for_apply;
use super::units_review::{
    ApprovedPlans, ExpectedReview, ReviewFingerprints, check_expected, check_reviewed_inputs,
    parse_reviewed, reviewed_text,
};
use super::units_run::UnitsRun;
use super::worker::{SharedUnits, WorkerEnd, read_row, work_until_end};
use crate::cli::artifacts::reviewed_plan::{read_reviewed, show_review_difference};
use crate::cli::command_context::CommandContext;
use crate::cli::ledger::ledger_io;
use crate::cli::planning::approval::PolicyOverrides;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::process::signals;
use crate::cli::workspace::accounts::OpenAccounts;
use crate::cli::workspace::planned_units::{UnitsOptions, WorkspacePlan};
use crate::cli::workspace::problems;
use crate::cli::workspace::review;
use crate::cli::workspace::runs::open_board::{CommandBoard, open_board};
use crate::cli::workspace::runs::run_view::{self, BlockedUnit, RunFacts, exit_of, parse_facts};
use crate::cli::workspace::runs::worker_identity::{check_same, worker_identity};
use crate::cli::workspace::units::Workspace;
use crate::cloud::system_clock::{SystemClock, SystemRandom};
use crate::ledger::runs::board::RunBoard;
use crate::ledger::runs::row::{NewTask, RunRow, RunStatus, TaskEnd, TaskPhase};
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::stores::location::LedgerLocation;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::plan::model::change::Plan;
use crate::report::json::fold_lines;
use crate::report::units::runs::{run_document, run_page};
use crate::workspace::combined::{digest_of, has_work};
use crate::workspace::run_tasks::schedule_tasks;

/// Approved plans of a set: their fingerprint, and each by the number of its unit.
type ApprovedSet<'a> = (&'a str, &'a BTreeMap<usize, &'a Plan>);

/// Joins a run as a worker, and stays until the run has ended.
///
/// # Errors
/// When the run cannot be shared, this worker differs from the others, or the plans are not the approved ones.
pub(super) async fn join_run(
    session: &CommandContext,
    request: &UnitsApplyRequest<'_>,
    workspace: &Workspace,
    options: &UnitsOptions,
    (name, saved): (&Name, Option<ApprovedSet<'_>>),
) -> Result<Exit, CliFailure> {
    let fingerprint = match (saved, request.expected) {
        (Some((fingerprint, _)), _) => fingerprint,
        (None, Some(expected)) => expected.as_str(),
        (None, None) => {
            return Err(CliFailure::new(Exit::Usage, "a worker never prompts: it needs an approved plan")
                .help("Add --expect FINGERPRINT, or apply the directory that plan --all -o saved."));
        }
    };
    if !request.running.reports.wanted.is_empty() {
        let what = "a worker writes no reports, because it applies a part of the units";
        return Err(CliFailure::new(Exit::Usage, what).help(
            "Leave --report out. stead plan --all --report writes those of the plans, and stead runs show RUN has the result.",
        ));
    }
    reject_own_ledgers(workspace)?;
    let board = open_board(&session.settings, name)?;
    let salt = LedgerIdentity::new_random("run", name, &SystemRandom).key;
    let approved = (fingerprint, request.destroy, &options.planning.overrides);
    let own = worker_identity(workspace, session.commit.as_ref(), approved, salt)?;
    let worker = SystemRandom.uuid().simple().to_string()[..8].to_owned();
    // From the first row that others see, a signal ends this worker by leaving the run.
    let stop = signals::wait_for_stop().map_err(anyhow::Error::from)?;
    let run = board.begin(&worker, &own).await?;
    if run.planner != worker {
        let same_key = run.identity.salt.clone();
        let own = worker_identity(workspace, session.commit.as_ref(), approved, same_key)?;
        if let Err(failure) = check_same(&run, &own) {
            // A secret that this worker lacks, or another problem of its checkout, is the reason.
            problems::report_problems(session.ui, workspace);
            return Err(failure);
        }
    }
    if run.status == RunStatus::Ended {
        session.ui.hint(&format!("The run {name} has ended."));
        return report_run(session, &board).await;
    }
    board.register(&worker, &ledger_io::lock_holder(&session.who)).await?;
    session.ui.hint(&format!("This is the worker {worker} of the run {name}."));
    let working = do_run(session, (request, workspace, options), &board, (&worker, saved), stop);
    let ended = Box::pin(working).await;
    let left = board.leave(&worker).await;
    board.end().await?;
    left?;
    match ended? {
        WorkerEnd::Stopped => {
            Err(CliFailure::new(Exit::Interrupted, format!("this worker left the run {name}")).help(
                "Its units are finished, or given back for other workers: stead runs show shows them.",
            ))
        }
        WorkerEnd::Disowned => Err(CliFailure::new(
            Exit::Failed,
            format!("a person stated that the worker {worker} of the run {name} is dead, and it is not"),
        )
        .help("Join the run again.")),
        WorkerEnd::RunEnded => report_run(session, &board).await,
    }
}

/// Refuses units whose ledger only this machine has.
fn reject_own_ledgers(workspace: &Workspace) -> Result<(), CliFailure> {
    for (_, one) in workspace.selected_units() {
        let Ok(project) = &one.loaded else { continue };
        let place = ledger_settings::ledger_location(&one.settings, &project.stack, &project.directory)?;
        if let LedgerLocation::Directory(_) = place {
            let what =
                format!("the ledger of {} is in a directory, which workers cannot share", one.unit.name);
            return Err(CliFailure::new(Exit::Usage, what)
                .help("Set STEAD_BACKEND to postgres://…, s3://bucket/prefix or https://…, and not --cloud local."));
        }
    }
    Ok(())
}

/// Plans if no other worker did, and applies units until the run has ended.
async fn do_run(
    session: &CommandContext,
    (request, workspace, options): (&UnitsApplyRequest<'_>, &Workspace, &UnitsOptions),
    board: &CommandBoard,
    (worker, saved): (&str, Option<ApprovedSet<'_>>),
    stop: impl Future<Output = ()>,
) -> Result<WorkerEnd, CliFailure> {
    let plan =
        async || Box::pin(plan_run(session, (request, workspace, options), board, (worker, saved))).await;
    let load = async |run: &RunRow| load_units(workspace, board, run).await;
    let terms = (request.running, PolicyOverrides(Some(request.overriding)));
    work_until_end(session, terms, (board, worker), (plan, load), stop).await
}

/// Plans the units, compares the fingerprint, and makes the tasks of the run; or ends the run if it cannot be approved.
async fn plan_run(
    session: &CommandContext,
    (request, workspace, options): (&UnitsApplyRequest<'_>, &Workspace, &UnitsOptions),
    board: &CommandBoard,
    (worker, saved): (&str, Option<ApprovedSet<'_>>),
) -> Result<(), CliFailure> {
    let planned = Box::pin(plan_for_apply(session, workspace, options, request)).await?;
    let expected = request.expected.filter(|_| saved.is_none());
    let none = BTreeMap::new();
    let reviewed = saved.map_or(&none, |(_, plans)| plans);
    let checked = planned
        .require_applicable(workspace, request.running.accept_older_ledger)
        .and_then(|()| check_reviewed_inputs(workspace, &planned, reviewed))
        .and_then(|()| {
            let plan_command = session.command_line(&request.format_plan_command());
            check_expected(workspace, &planned, (expected, &plan_command))
        });
    let kept = match checked {
        Ok(ExpectedReview::Planned) => None,
        Ok(ExpectedReview::Continued(kept)) => Some(kept),
        Ok(ExpectedReview::Applied(message)) => {
            board.refuse(worker, &TaskEnd { exit: Exit::Done.code(), message }).await?;
            return Ok(());
        }
        Err(failure) => {
            let reviewed = read_reviewed(&session.settings, request.against)?;
            let plans = planned.planned().map(|(_, unit)| &unit.plan);
            show_review_difference(&session.ui, reviewed.as_ref(), plans);
            let end = TaskEnd { exit: failure.exit.code(), message: failure.message };
            board.refuse(worker, &end).await?;
            return Ok(());
        }
    };
    let approved = match (saved, &kept) {
        (Some((fingerprint, plans)), _) => {
            let whole = (fingerprint, request.destroy);
            ApprovedPlans::of_set(workspace, &planned, whole, plans.clone())
        }
        (None, Some(kept)) => kept.approved_plans(),
        (None, None) => {
            let fingerprints = Some(ReviewFingerprints::of_planned(workspace, &planned));
            ApprovedPlans { fingerprints, ..ApprovedPlans::default() }
        }
    };
    let run = UnitsRun::new(workspace, &planned, approved, request.destroy);
    // A ledger that takes no record now is tried again by the task of its unit, which then reports the reason.
    let _ = Box::pin(run.keep_reviews(session, request, &mut OpenAccounts::default())).await;
    for number in &run.units {
        let Some(plan) = run.reviewed(*number) else { continue };
        let name = workspace.units[*number].unit.name.to_string();
        if !board.put_plan(worker, &name, &reviewed_text(plan)?).await? {
            return Ok(());
        }
    }
    let facts = run_facts(workspace, &planned, &run);
    let tasks = tasks_of(workspace, &run, request.destroy);
    let facts = serde_json::to_string(&facts).map_err(anyhow::Error::from)?;
    board.publish(worker, &tasks, &facts).await?;
    Ok(())
}

/// Returns what the workers need besides the plans.
fn run_facts(workspace: &Workspace, planned: &WorkspacePlan, run: &UnitsRun<'_>) -> RunFacts {
    let name = |number: usize| workspace.units[number].unit.name.to_string();
    let outcomes = review::unit_reviews(workspace, planned, false);
    let blocked = outcomes.iter().filter(|outcome| outcome.exit != Exit::Done);
    let blocked = blocked.map(|outcome| BlockedUnit {
        unit: name(outcome.number),
        exit: outcome.exit.code(),
        message: outcome.failure.as_ref().map_or_else(
            || "its plan is blocked; stead plan --all shows why".to_owned(),
            |failure| failure.message.clone(),
        ),
    });
    let approved = &run.approved;
    let of_plans = || {
        let plans = approved.plans.iter();
        plans.map(|(number, plan)| (Name::new(name(*number)), Name::new(&plan.fingerprint))).collect()
    };
    RunFacts {
        owned: (*run.owned).clone(),
        review: approved.fingerprints.as_ref().map_or_else(of_plans, |review| review.units.clone()),
        begun: approved.begun.iter().map(|number| name(*number)).collect(),
        blocked: blocked.collect(),
    }
}

fn tasks_of(workspace: &Workspace, run: &UnitsRun<'_>, destroy: bool) -> Vec<NewTask> {
    let names: Vec<_> = workspace.units.iter().map(|one| one.unit.name.clone()).collect();
    let mut order = workspace.graph.order.clone();
    if destroy {
        order.reverse();
    }
    schedule_tasks(&run.schedule(), &order, &names)
}

/// Reads the plans of the run, and checks that they are the approved ones.
async fn load_units<'w>(
    workspace: &'w Workspace,
    board: &CommandBoard,
    run: &RunRow,
) -> Result<SharedUnits<'w>, CliFailure> {
    let facts = parse_facts(run)?;
    let named = workspace.units.iter().enumerate();
    let numbers: BTreeMap<String, usize> =
        named.map(|(number, one)| (one.unit.name.to_string(), number)).collect();
    let mut plans = BTreeMap::new();
    for (name, text) in board.plans().await? {
        let (Some(number), Ok(plan)) = (numbers.get(&name), parse_reviewed(&text)) else {
            return Err(other_plans(run));
        };
        plans.insert(*number, plan);
    }
    let review = facts.review.iter().map(|(name, fingerprint)| (name.to_string(), fingerprint.as_str()));
    let found = digest_of(&review.collect(), run.identity.destroy).map_err(anyhow::Error::from)?;
    let is_approved = |(number, plan): (&usize, &Plan)| {
        let name = Name::new(workspace.units[*number].unit.name.to_string());
        !has_work(plan) || facts.review.get(&name).is_some_and(|known| *known == plan.fingerprint)
    };
    if found != run.identity.fingerprint || !plans.iter().all(is_approved) {
        return Err(other_plans(run));
    }
    let tasks = board.tasks().await?.into_iter();
    let waits = tasks.filter(|row| row.task.phase == TaskPhase::Deletions).map(|row| row.task.unit);
    let holding = waits.collect();
    let destroy = run.identity.destroy;
    let review = (!destroy).then(|| Name::new(&run.identity.fingerprint));
    let (begun, owned) = (facts.begun, facts.owned.into());
    let approval = RunApproval::of_shared_run().of_common_run(run.name.clone());
    Ok(SharedUnits { workspace, numbers, plans, holding, begun, review, owned, destroy, approval })
}

fn other_plans(run: &RunRow) -> CliFailure {
    CliFailure::new(Exit::OutOfDate, format!("the stored plans of the run {} are not the approved ones", run.name))
        .help("This worker sent nothing. Who can write to the database of the runs? Plan again, and name another run.")
}

/// Prints how a run ended, and returns its exit code.
async fn report_run(session: &CommandContext, board: &CommandBoard) -> Result<Exit, CliFailure> {
    let view = run_view::read_run(board, &read_row(board).await?).await?;
    session.ui.write_result(&if session.ui.json {
        run_document(&view)
    } else if session.ui.ndjson {
        fold_lines(&run_document(&view)).into_owned()
    } else {
        run_page(&view, false, SystemClock.now(), session.ui.style)
    });
    Ok(view.exit.map_or(Exit::Interrupted, exit_of))
}
