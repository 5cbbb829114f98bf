//! What a worker of a run does next. In: how the run stands, and how many tasks the worker does. Out: one action. Pure, so
//! that the same rules decide in a simulation.

use crate::ledger::runs::board::WORKER_SILENCE;
use crate::ledger::runs::row::{RunProgress, RunStatus, WorkerRow};
use crate::ledger::state::holder::ProcessIdentity;

/// A worker's own situation.
#[derive(Debug, Clone, Copy)]
pub struct WorkerSituation<'a> {
    /// Its name.
    pub name: &'a str,
    /// Number of tasks that it does.
    pub running: usize,
    /// Most tasks that it does at the same time.
    pub limit: usize,
    /// Whether it is to leave as soon as its tasks have ended.
    pub is_stopped: bool,
}

/// The next action of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerAction {
    /// Plan instead of a planner that is dead.
    Plan {
        /// The planner.
        from: String,
        /// Whether its process is proven dead.
        is_proven: bool,
    },
    /// Take the tasks of a dead worker back.
    TakeOver {
        /// The worker.
        from: String,
        /// Whether its process is proven dead.
        is_proven: bool,
    },
    /// Do tasks that it claimed without learning that.
    Adopt,
    /// Try to claim a task.
    Claim,
    /// Wait for others, or for its own tasks.
    Wait,
    /// Leave the run.
    Leave,
}

/// Returns the next action. `planner` is the run's, `known` the numbers of the tasks that the worker does, and `is_dead` returns
/// whether a process is proven dead.
pub fn next_action(
    progress: &RunProgress,
    planner: &str,
    situation: WorkerSituation<'_>,
    known: impl Fn(i32) -> bool,
    is_dead: impl Fn(&ProcessIdentity) -> bool,
) -> WorkerAction {
    let WorkerSituation { name, running, limit, is_stopped } = situation;
    let is_disowned = progress.workers.iter().any(|worker| worker.name == name && worker.vouched);
    if is_stopped || is_disowned || progress.status == RunStatus::Ended {
        return if running == 0 { WorkerAction::Leave } else { WorkerAction::Wait };
    }
    if progress.status == RunStatus::Planning {
        return match find_dead(progress, planner, &is_dead) {
            Some(is_proven) if planner != name => {
                WorkerAction::Plan { from: planner.to_owned(), is_proven }
            }
            _ => WorkerAction::Wait,
        };
    }
    if progress.running.iter().any(|(number, worker)| worker == name && !known(*number)) {
        return WorkerAction::Adopt;
    }
    for (_, worker) in progress.running.iter().filter(|(_, worker)| worker != name) {
        if let Some(is_proven) = find_dead(progress, worker, &is_dead) {
            return WorkerAction::TakeOver { from: worker.clone(), is_proven };
        }
    }
    let is_open = progress.status == RunStatus::Running && progress.waiting > 0;
    if is_open && running < limit {
        return WorkerAction::Claim;
    }
    if progress.running.is_empty() && !is_open { WorkerAction::Leave } else { WorkerAction::Wait }
}

/// Returns whether a worker counts as dead, and whether that is proven; `None` for one that lives.
fn find_dead(
    progress: &RunProgress,
    name: &str,
    is_dead: &impl Fn(&ProcessIdentity) -> bool,
) -> Option<bool> {
    let Some(worker) = progress.workers.iter().find(|worker| worker.name == name) else {
        return Some(false);
    };
    if worker.holder.process.as_ref().is_some_and(is_dead) {
        return Some(true);
    }
    (worker.left || worker.vouched || worker.seen >= WORKER_SILENCE).then_some(false)
}

/// Returns the processes that a person stated to be dead.
pub fn vouched_processes(workers: &[WorkerRow]) -> impl Iterator<Item = &ProcessIdentity> {
    workers.iter().filter(|worker| worker.vouched).filter_map(|worker| worker.holder.process.as_ref())
}

#[cfg(test)]
mod tests;
