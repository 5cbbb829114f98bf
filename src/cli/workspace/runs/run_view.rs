//! A run as `runs show` and its workers report it: how each unit ended, and the exit code of the run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::ledger::runs::board::{RunBoard, WORKER_SILENCE};
use crate::ledger::runs::row::{RunRow, RunStatus, RunSummary, TaskRow, WorkerRow};
use crate::ledger::stores::file::process;
use crate::model::address::Name;
use crate::model::live::snapshot::ObjectKey;
use crate::report::units::runs::{ListedRun, RunEventRow, RunUnit, RunView, RunWorker};
use crate::workspace::run_tasks::{UnitState, unit_results, unit_state};

/// Time without a sign of life after which a worker is shown as silent: several of its reports are missing.
const SILENT: Duration = Duration::from_secs(20);

/// What the workers of a run need besides the plans.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli) struct RunFacts {
    /// Objects that the units of the run own.
    pub(in crate::cli) owned: BTreeSet<ObjectKey>,
    /// Fingerprints of the approved plans by unit, which together have the fingerprint of the run.
    pub(in crate::cli) review: BTreeMap<Name, Name>,
    /// Units of which an earlier run made some changes.
    pub(in crate::cli) begun: BTreeSet<String>,
    /// Selected units that cannot be applied, and so have no task.
    pub(in crate::cli) blocked: Vec<BlockedUnit>,
}

/// A unit without a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli) struct BlockedUnit {
    pub(in crate::cli) unit: String,
    /// Its exit code.
    pub(in crate::cli) exit: u8,
    /// Why it cannot be applied.
    pub(in crate::cli) message: String,
}

/// Reads all that is known of a run.
///
/// # Errors
/// When it cannot be read.
pub(in crate::cli) async fn read_run(board: &impl RunBoard, run: &RunRow) -> Result<RunView, CliFailure> {
    let tasks = board.tasks().await?;
    let facts = parse_facts(run)?;
    let mut units = run_units(&tasks);
    units.extend(facts.blocked.iter().map(|unit| RunUnit {
        unit: unit.unit.clone(),
        state: if unit.exit == Exit::Blocked.code() { "blocked" } else { "failed" }.to_owned(),
        exit: Some(unit.exit),
        message: unit.message.clone(),
        worker: None,
    }));
    let workers = board.workers().await?;
    let events = board.events().await?.into_iter();
    Ok(RunView {
        run: run.name.to_string(),
        status: run.status.to_string(),
        canceled: run.canceled,
        started: run.started,
        ended: run.ended,
        fingerprint: run.identity.fingerprint.clone(),
        commit: run.identity.commit.as_ref().map(ToString::to_string),
        exit: (run.status == RunStatus::Ended).then(|| run_exit(run, &units).code()),
        message: run.message.clone(),
        units,
        workers: workers.iter().map(run_worker).collect(),
        events: events
            .map(|event| RunEventRow { at: event.at, worker: event.worker, event: event.text })
            .collect(),
    })
}

/// Returns what the planner stored for the workers.
///
/// # Errors
/// When it is damaged.
pub(in crate::cli) fn parse_facts(run: &RunRow) -> Result<RunFacts, CliFailure> {
    if run.facts.is_empty() {
        return Ok(RunFacts::default());
    }
    serde_json::from_str(&run.facts).map_err(|_| {
        CliFailure::new(Exit::Failed, format!("the row of the run {} is damaged", run.name))
            .help("Begin another run: apply with another name after --join.")
    })
}

fn run_units(tasks: &[TaskRow]) -> Vec<RunUnit> {
    let unit = |result: crate::workspace::run_tasks::UnitResult| RunUnit {
        state: match result.state {
            UnitState::Waiting => "waiting",
            UnitState::Running => "running",
            UnitState::Holding => "holding",
            UnitState::Done => "done",
            UnitState::Partly => "partly",
            UnitState::Failed => "failed",
            UnitState::Skipped => "skipped",
        }
        .to_owned(),
        unit: result.unit,
        exit: result.exit,
        message: result.message,
        worker: result.worker,
    };
    unit_results(tasks, Exit::Partly.code()).into_iter().map(unit).collect()
}

/// Returns the exit code of a run that ended.
fn run_exit(run: &RunRow, units: &[RunUnit]) -> Exit {
    if let Some(code) = run.refused {
        return exit_of(code);
    }
    let has_applied = units.iter().any(|unit| matches!(unit.state.as_str(), "done" | "partly" | "holding"));
    let exits: Vec<Exit> = units
        .iter()
        .map(|unit| match unit.state.as_str() {
            "holding" => Exit::Partly,
            "waiting" => Exit::Interrupted,
            _ => unit.exit.map_or(Exit::Interrupted, exit_of),
        })
        .collect();
    let exits = if exits.is_empty() && run.canceled { vec![Exit::Interrupted] } else { exits };
    Exit::of_applied_units(&exits, has_applied)
}

/// Returns the exit code of a number that a worker stored.
pub(in crate::cli) fn exit_of(code: u8) -> Exit {
    Exit::ALL.into_iter().find(|exit| exit.code() == code).unwrap_or(Exit::Failed)
}

/// Returns whether a worker that has not left is known to be dead.
fn is_dead(worker: &WorkerRow) -> bool {
    let has_ended = worker.vouched
        || worker.seen >= WORKER_SILENCE
        || worker.holder.process.as_ref().is_some_and(process::is_dead);
    has_ended && !worker.left
}

/// Returns how a worker stands: `active`, `silent`, `dead` or `left`.
fn worker_state(worker: &WorkerRow) -> &'static str {
    match (worker.left, is_dead(worker)) {
        (true, _) => "left",
        (false, true) => "dead",
        (false, false) if worker.seen >= SILENT => "silent",
        (false, false) => "active",
    }
}

fn run_worker(worker: &WorkerRow) -> RunWorker {
    RunWorker {
        worker: worker.name.clone(),
        who: worker.holder.who.clone(),
        process: worker.holder.process.as_ref().map(|process| process.id),
        state: worker_state(worker).to_owned(),
        seen_seconds: worker.seen.as_secs(),
    }
}

/// Returns a run for the list.
///
/// # Errors
/// When its row is damaged.
pub(in crate::cli) fn listed_run(summary: &RunSummary) -> Result<ListedRun, CliFailure> {
    let RunSummary { run, units, workers } = summary;
    let count = |wanted: &[UnitState]| {
        let states = units.iter().map(|(tasks, count)| (unit_state(*tasks, Exit::Partly.code()), count));
        states.filter(|(state, _)| wanted.contains(state)).map(|(_, count)| count).sum::<usize>()
    };
    let failed = count(&[UnitState::Partly, UnitState::Failed, UnitState::Skipped]);
    Ok(ListedRun {
        run: run.name.to_string(),
        status: if run.canceled { "canceled".to_owned() } else { run.status.to_string() },
        started: run.started,
        ended: run.ended,
        fingerprint: run.identity.fingerprint.clone(),
        commit: run.identity.commit.as_ref().map(ToString::to_string),
        waiting: count(&[UnitState::Waiting, UnitState::Holding]),
        running: count(&[UnitState::Running]),
        done: count(&[UnitState::Done]),
        failed: failed + parse_facts(run)?.blocked.len(),
        workers: workers.iter().filter(|worker| !is_dead(worker)).count(),
    })
}
