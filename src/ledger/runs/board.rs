//! `RunBoard`: the rows of one run, as its workers use them. Each operation is one conditional write or one read; it
//! relies on no session. An operation whose answer was lost may be repeated: it then returns what the first one did.

use std::time::Duration;

use thiserror::Error;

use super::row::{
    NewTask, RunEvent, RunIdentity, RunProgress, RunRow, RunSummary, TaskClaim, TaskEnd, TaskRow, WorkerRow,
};
use crate::ledger::state::holder::LeaseHolder;

/// Time without a sign of life after which a worker on another machine counts as dead: its lease of a ledger has expired
/// then, and so have the requests that it sent last.
pub const WORKER_SILENCE: Duration = Duration::from_mins(4);

/// The rows of one run.
pub trait RunBoard {
    /// Begins the run, or returns it as it is if another worker began it. The worker that begins it is its planner.
    fn begin(
        &self,
        worker: &str,
        identity: &RunIdentity,
    ) -> impl Future<Output = Result<RunRow, BoardError>>;

    /// Returns the run; `None` if it does not exist.
    fn run(&self) -> impl Future<Output = Result<Option<RunRow>, BoardError>>;

    /// Adds a worker.
    fn register(&self, worker: &str, holder: &LeaseHolder) -> impl Future<Output = Result<(), BoardError>>;

    /// Makes a worker the planner instead of one that is dead. `is_proven` says that its process is proven dead; otherwise the
    /// rows must say that it is. Returns whether it did.
    fn take_planning(
        &self,
        worker: &str,
        from: &str,
        is_proven: bool,
    ) -> impl Future<Output = Result<bool, BoardError>>;

    /// Stores the plan of a unit, if the worker is the planner. Returns whether it is.
    fn put_plan(
        &self,
        worker: &str,
        unit: &str,
        plan: &str,
    ) -> impl Future<Output = Result<bool, BoardError>>;

    /// Makes the tasks of the run, which can be claimed from then on. Returns whether the worker still was the planner.
    fn publish(
        &self,
        worker: &str,
        tasks: &[NewTask],
        facts: &str,
    ) -> impl Future<Output = Result<bool, BoardError>>;

    /// Ends a run that was not approved or could not be planned, before it has tasks.
    fn refuse(&self, worker: &str, end: &TaskEnd) -> impl Future<Output = Result<bool, BoardError>>;

    /// Returns the stored plans by unit.
    fn plans(&self) -> impl Future<Output = Result<Vec<(String, String)>, BoardError>>;

    /// Claims a task whose needs are done; `None` if there is none now, or if the answer was lost: `claimed` has the task then.
    fn claim(&self, worker: &str) -> impl Future<Output = Result<Option<TaskClaim>, BoardError>>;

    /// Returns the tasks that a worker has claimed and that did not end.
    fn claimed(&self, worker: &str) -> impl Future<Output = Result<Vec<TaskClaim>, BoardError>>;

    /// Records the end of a task, and skips those that need one that failed. Returns false if another worker took the task:
    /// then nothing was recorded.
    fn finish(
        &self,
        worker: &str,
        claim: &TaskClaim,
        end: &TaskEnd,
    ) -> impl Future<Output = Result<bool, BoardError>>;

    /// Gives a task back, for a claim after `delay`.
    fn put_back(
        &self,
        worker: &str,
        claim: &TaskClaim,
        delay: Duration,
    ) -> impl Future<Output = Result<bool, BoardError>>;

    /// Takes the running tasks of a dead worker back, so that they can be claimed again. `is_proven` as in `take_planning`.
    /// Returns their number.
    fn take_over(
        &self,
        worker: &str,
        from: &str,
        is_proven: bool,
    ) -> impl Future<Output = Result<usize, BoardError>>;

    /// Records that a worker is alive, and returns how the run stands.
    fn beat(&self, worker: &str) -> impl Future<Output = Result<RunProgress, BoardError>>;

    /// Records that a worker leaves. It must run no task.
    fn leave(&self, worker: &str) -> impl Future<Output = Result<(), BoardError>>;

    /// Ends the run if nothing runs and nothing can be claimed. Returns whether it has ended.
    fn end(&self) -> impl Future<Output = Result<bool, BoardError>>;

    /// Lets no more tasks be claimed. Returns whether the run was open.
    fn cancel(&self, who: &str) -> impl Future<Output = Result<bool, BoardError>>;

    /// Records a person's statement that a worker is dead. Returns whether the worker exists.
    fn vouch(&self, worker: &str, who: &str) -> impl Future<Output = Result<bool, BoardError>>;

    /// Returns the workers by name.
    fn workers(&self) -> impl Future<Output = Result<Vec<WorkerRow>, BoardError>>;

    /// Returns the runs in the same place, the newest first, at most 100.
    fn list(&self) -> impl Future<Output = Result<Vec<RunSummary>, BoardError>>;

    /// Records that a machine sends requests with a key, and returns how many machines did so within a time, this one included.
    fn share_requests(
        &self,
        account: &str,
        machine: &str,
        within: Duration,
    ) -> impl Future<Output = Result<u32, BoardError>>;

    /// Records that a machine sends no more requests with a key.
    fn free_share(&self, account: &str, machine: &str) -> impl Future<Output = Result<(), BoardError>>;

    /// Returns the tasks by number.
    fn tasks(&self) -> impl Future<Output = Result<Vec<TaskRow>, BoardError>>;

    /// Returns what happened, in order.
    fn events(&self) -> impl Future<Output = Result<Vec<RunEvent>, BoardError>>;
}

/// The reason why the rows of a run could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("cannot {action}: {reason}")]
pub struct BoardError {
    /// The failed operation.
    pub action: &'static str,
    /// The reason, without passwords.
    pub reason: String,
}
