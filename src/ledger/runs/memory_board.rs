//! `MemoryBoard`: a run in memory, shared by all handles, with a clock of its own, for tests and simulations.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::board::{BoardError, RunBoard, WORKER_SILENCE};
use super::row::{
    NewTask, RunEvent, RunIdentity, RunProgress, RunRow, RunStatus, RunSummary, TaskClaim, TaskEnd,
    TaskPhase, TaskRow, TaskState, UnitTasks, WorkerRow,
};
use crate::ledger::state::holder::LeaseHolder;
use crate::model::address::Name;

/// A run in memory.
#[derive(Debug, Clone)]
pub struct MemoryBoard(Rc<MemoryRun>);

#[derive(Debug)]
struct MemoryRun {
    name: Name,
    now: Cell<Duration>,
    rows: RefCell<MemoryRows>,
}

#[derive(Debug, Default)]
struct MemoryRows {
    run: Option<RunRow>,
    tasks: Vec<MemoryTask>,
    plans: BTreeMap<String, String>,
    workers: BTreeMap<String, MemoryWorker>,
    events: Vec<RunEvent>,
}

#[derive(Debug)]
struct MemoryTask {
    row: TaskRow,
    not_before: Duration,
}

#[derive(Debug)]
struct MemoryWorker {
    holder: LeaseHolder,
    seen: Duration,
    vouched: bool,
    left: bool,
}

impl MemoryBoard {
    /// Returns an empty board.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let (now, rows) = (Cell::new(Duration::ZERO), RefCell::default());
        Self(Rc::new(MemoryRun { name: name.into(), now, rows }))
    }

    /// Moves the board's clock.
    pub fn advance(&self, by: Duration) {
        self.0.now.set(self.0.now.get() + by);
    }

    fn at(&self) -> Timestamp {
        let since = SignedDuration::try_from(self.0.now.get()).unwrap_or_default();
        Timestamp::UNIX_EPOCH.checked_add(since).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn record_event(&self, worker: &str, text: impl Into<String>) {
        let event = RunEvent { at: self.at(), worker: worker.to_owned(), text: text.into() };
        self.0.rows.borrow_mut().events.push(event);
    }

    fn is_dead(&self, worker: &str, is_proven: bool) -> bool {
        let rows = self.0.rows.borrow();
        rows.workers.get(worker).is_none_or(|worker| {
            is_proven
                || worker.left
                || worker.vouched
                || self.0.now.get().saturating_sub(worker.seen) >= WORKER_SILENCE
        })
    }

    fn is_planner(&self, worker: &str) -> bool {
        let rows = self.0.rows.borrow();
        rows.run.as_ref().is_some_and(|run| run.planner == worker && run.status == RunStatus::Planning)
    }

    /// Changes the task of a claim, if the claim still counts.
    fn change_claimed(
        &self,
        worker: &str,
        claim: &TaskClaim,
        change: impl FnOnce(&mut MemoryTask, Duration),
    ) -> bool {
        let mut rows = self.0.rows.borrow_mut();
        let task = rows.tasks.iter_mut().find(|task| task.row.task.number == claim.number);
        let own = |task: &&mut MemoryTask| {
            task.row.state == TaskState::Running
                && task.row.epoch == claim.epoch
                && task.row.worker.as_deref() == Some(worker)
        };
        let Some(task) = task.filter(own) else { return false };
        change(task, self.0.now.get());
        true
    }
}

impl MemoryTask {
    fn claim(&self) -> TaskClaim {
        let NewTask { number, unit, phase, .. } = self.row.task.clone();
        TaskClaim { number, unit, phase, epoch: self.row.epoch, is_begun: self.row.is_begun }
    }
}

impl MemoryRows {
    fn skip_dependents(&mut self, number: i32, exit: u8, message: &str) {
        let mut ended = BTreeSet::from([number]);
        loop {
            let found: Vec<usize> = (0..self.tasks.len())
                .filter(|index| {
                    let row = &self.tasks[*index].row;
                    row.state == TaskState::Waiting
                        && row.task.needs.iter().any(|need| ended.contains(need))
                })
                .collect();
            if found.is_empty() {
                return;
            }
            for index in found {
                let row = &mut self.tasks[index].row;
                (row.state, row.exit) = (TaskState::Skipped, Some(exit));
                message.clone_into(&mut row.message);
                ended.insert(row.task.number);
            }
        }
    }
}

fn worker_row((name, worker): (&String, &MemoryWorker), now: Duration) -> WorkerRow {
    WorkerRow {
        name: name.clone(),
        holder: worker.holder.clone(),
        seen: now.saturating_sub(worker.seen),
        vouched: worker.vouched,
        left: worker.left,
    }
}

impl RunBoard for MemoryBoard {
    async fn begin(&self, worker: &str, identity: &RunIdentity) -> Result<RunRow, BoardError> {
        let started = self.at();
        let mut rows = self.0.rows.borrow_mut();
        let run = rows.run.get_or_insert_with(|| RunRow {
            name: self.0.name.clone(),
            status: RunStatus::Planning,
            canceled: false,
            identity: identity.clone(),
            planner: worker.to_owned(),
            started,
            ended: None,
            refused: None,
            message: String::new(),
            facts: String::new(),
        });
        Ok(run.clone())
    }

    async fn run(&self) -> Result<Option<RunRow>, BoardError> {
        Ok(self.0.rows.borrow().run.clone())
    }

    async fn register(&self, worker: &str, holder: &LeaseHolder) -> Result<(), BoardError> {
        let seen = self.0.now.get();
        let row = MemoryWorker { holder: holder.clone(), seen, vouched: false, left: false };
        self.0.rows.borrow_mut().workers.insert(worker.to_owned(), row);
        self.record_event(worker, "joined");
        Ok(())
    }

    async fn take_planning(&self, worker: &str, from: &str, is_proven: bool) -> Result<bool, BoardError> {
        if !(self.is_planner(from) && self.is_dead(from, is_proven)) {
            return Ok(self.is_planner(worker));
        }
        if let Some(run) = &mut self.0.rows.borrow_mut().run {
            worker.clone_into(&mut run.planner);
        }
        Ok(true)
    }

    async fn put_plan(&self, worker: &str, unit: &str, plan: &str) -> Result<bool, BoardError> {
        if !self.is_planner(worker) {
            return Ok(false);
        }
        self.0.rows.borrow_mut().plans.insert(unit.to_owned(), plan.to_owned());
        Ok(true)
    }

    async fn publish(&self, worker: &str, tasks: &[NewTask], facts: &str) -> Result<bool, BoardError> {
        if !self.is_planner(worker) {
            return Ok(false);
        }
        let mut rows = self.0.rows.borrow_mut();
        rows.tasks = tasks
            .iter()
            .map(|task| MemoryTask {
                row: TaskRow {
                    task: task.clone(),
                    state: TaskState::Waiting,
                    worker: None,
                    epoch: 0,
                    is_begun: false,
                    exit: None,
                    message: String::new(),
                },
                not_before: Duration::ZERO,
            })
            .collect();
        if let Some(run) = &mut rows.run {
            run.status = RunStatus::Running;
            facts.clone_into(&mut run.facts);
        }
        Ok(true)
    }

    async fn refuse(&self, worker: &str, end: &TaskEnd) -> Result<bool, BoardError> {
        if !self.is_planner(worker) {
            return Ok(false);
        }
        let ended = Some(self.at());
        if let Some(run) = &mut self.0.rows.borrow_mut().run {
            (run.status, run.refused, run.ended) = (RunStatus::Ended, Some(end.exit), ended);
            run.message.clone_from(&end.message);
        }
        Ok(true)
    }

    async fn plans(&self) -> Result<Vec<(String, String)>, BoardError> {
        Ok(self.0.rows.borrow().plans.clone().into_iter().collect())
    }

    async fn claim(&self, worker: &str) -> Result<Option<TaskClaim>, BoardError> {
        let mut rows = self.0.rows.borrow_mut();
        if rows.run.as_ref().is_none_or(|run| run.status != RunStatus::Running) {
            return Ok(None);
        }
        let done: BTreeSet<i32> = rows
            .tasks
            .iter()
            .filter(|task| task.row.state == TaskState::Done)
            .map(|task| task.row.task.number)
            .collect();
        let now = self.0.now.get();
        let free = rows.tasks.iter_mut().find(|task| {
            task.row.state == TaskState::Waiting
                && task.not_before <= now
                && task.row.task.needs.iter().all(|need| done.contains(need))
        });
        Ok(free.map(|task| {
            (task.row.state, task.row.worker) = (TaskState::Running, Some(worker.to_owned()));
            task.row.epoch += 1;
            task.claim()
        }))
    }

    async fn claimed(&self, worker: &str) -> Result<Vec<TaskClaim>, BoardError> {
        let rows = self.0.rows.borrow();
        let own = rows.tasks.iter().filter(|task| {
            task.row.state == TaskState::Running && task.row.worker.as_deref() == Some(worker)
        });
        Ok(own.map(MemoryTask::claim).collect())
    }

    async fn finish(&self, worker: &str, claim: &TaskClaim, end: &TaskEnd) -> Result<bool, BoardError> {
        let recorded = self.change_claimed(worker, claim, |task, _| {
            task.row.state = if end.exit == 0 { TaskState::Done } else { TaskState::Failed };
            task.row.exit = Some(end.exit);
            task.row.message.clone_from(&end.message);
        });
        if recorded && end.exit != 0 {
            let why = format!("it waits for {}, which was not applied", claim.unit);
            self.0.rows.borrow_mut().skip_dependents(claim.number, end.exit, &why);
        }
        Ok(recorded)
    }

    async fn put_back(&self, worker: &str, claim: &TaskClaim, delay: Duration) -> Result<bool, BoardError> {
        Ok(self.change_claimed(worker, claim, |task, now| {
            (task.row.state, task.row.worker, task.not_before) = (TaskState::Waiting, None, now + delay);
            task.row.epoch += 1;
            task.row.is_begun = true;
        }))
    }

    async fn take_over(&self, worker: &str, from: &str, is_proven: bool) -> Result<usize, BoardError> {
        if !self.is_dead(from, is_proven) {
            return Ok(0);
        }
        let mut count = 0;
        for task in &mut self.0.rows.borrow_mut().tasks {
            if task.row.state == TaskState::Running && task.row.worker.as_deref() == Some(from) {
                (task.row.state, task.row.worker, task.row.is_begun) = (TaskState::Waiting, None, true);
                task.row.epoch += 1;
                count += 1;
            }
        }
        if count > 0 {
            self.record_event(worker, format!("took over from {from}"));
        }
        Ok(count)
    }

    async fn beat(&self, worker: &str) -> Result<RunProgress, BoardError> {
        if let Some(worker) = self.0.rows.borrow_mut().workers.get_mut(worker) {
            worker.seen = self.0.now.get();
        }
        let workers = self.workers().await?;
        let rows = self.0.rows.borrow();
        let running = rows.tasks.iter().filter(|task| task.row.state == TaskState::Running);
        let running =
            running.map(|task| (task.row.task.number, task.row.worker.clone().unwrap_or_default()));
        Ok(RunProgress {
            status: rows.run.as_ref().map_or(RunStatus::Ended, |run| run.status),
            waiting: rows.tasks.iter().filter(|task| task.row.state == TaskState::Waiting).count(),
            running: running.collect(),
            workers,
        })
    }

    async fn workers(&self) -> Result<Vec<WorkerRow>, BoardError> {
        let (now, rows) = (self.0.now.get(), self.0.rows.borrow());
        Ok(rows.workers.iter().map(|worker| worker_row(worker, now)).collect())
    }

    async fn list(&self) -> Result<Vec<RunSummary>, BoardError> {
        let rows = self.0.rows.borrow();
        let task = |unit: &str, phase: TaskPhase| {
            let found =
                rows.tasks.iter().find(|one| one.row.task.unit == unit && one.row.task.phase == phase);
            found.map(|found| &found.row)
        };
        let mut units: BTreeMap<UnitTasks, usize> = BTreeMap::new();
        for unit in rows.tasks.iter().map(|one| &*one.row.task.unit).collect::<BTreeSet<&str>>() {
            let Some(changes) = task(unit, TaskPhase::Changes) else { continue };
            let deletions = task(unit, TaskPhase::Deletions).map(|row| row.state);
            *units
                .entry(UnitTasks { changes: changes.state, exit: changes.exit, deletions })
                .or_default() += 1;
        }
        let now = self.0.now.get();
        let workers: Vec<WorkerRow> = rows
            .workers
            .iter()
            .map(|worker| worker_row(worker, now))
            .filter(|worker| !worker.left)
            .collect();
        let summary = |run: &RunRow| RunSummary { run: run.clone(), units, workers };
        Ok(rows.run.as_ref().map(summary).into_iter().collect())
    }

    async fn share_requests(&self, _: &str, _: &str, _: Duration) -> Result<u32, BoardError> {
        Ok(1)
    }

    async fn free_share(&self, _: &str, _: &str) -> Result<(), BoardError> {
        Ok(())
    }

    async fn leave(&self, worker: &str) -> Result<(), BoardError> {
        if let Some(worker) = self.0.rows.borrow_mut().workers.get_mut(worker) {
            worker.left = true;
        }
        self.record_event(worker, "left");
        Ok(())
    }

    async fn end(&self) -> Result<bool, BoardError> {
        let ended = self.at();
        let mut rows = self.0.rows.borrow_mut();
        let has = |state: TaskState| rows.tasks.iter().any(|task| task.row.state == state);
        let (runs, waits) = (has(TaskState::Running), has(TaskState::Waiting));
        let Some(run) = &mut rows.run else { return Ok(false) };
        let is_over = match run.status {
            RunStatus::Planning => run.canceled,
            RunStatus::Running => !runs && !waits,
            RunStatus::Canceled => !runs,
            RunStatus::Ended => return Ok(true),
        };
        if is_over {
            (run.status, run.ended) = (RunStatus::Ended, Some(ended));
        }
        Ok(is_over)
    }

    async fn cancel(&self, who: &str) -> Result<bool, BoardError> {
        let ended = self.at();
        let mut rows = self.0.rows.borrow_mut();
        let Some(run) = rows.run.as_mut().filter(|run| run.status != RunStatus::Ended) else {
            return Ok(false);
        };
        if run.status == RunStatus::Planning {
            (run.status, run.ended) = (RunStatus::Ended, Some(ended));
        } else {
            run.status = RunStatus::Canceled;
        }
        run.canceled = true;
        drop(rows);
        self.record_event("", format!("canceled by {who}"));
        Ok(true)
    }

    async fn vouch(&self, worker: &str, who: &str) -> Result<bool, BoardError> {
        let known = match self.0.rows.borrow_mut().workers.get_mut(worker) {
            Some(worker) => {
                worker.vouched = true;
                true
            }
            None => false,
        };
        if known {
            self.record_event(worker, format!("is dead, states {who}"));
        }
        Ok(known)
    }

    async fn tasks(&self) -> Result<Vec<TaskRow>, BoardError> {
        Ok(self.0.rows.borrow().tasks.iter().map(|task| task.row.clone()).collect())
    }

    async fn events(&self) -> Result<Vec<RunEvent>, BoardError> {
        Ok(self.0.rows.borrow().events.clone())
    }
}
