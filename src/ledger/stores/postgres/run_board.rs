//! `PostgresRunBoard`: the rows of runs in a PostgreSQL database. Every operation is one statement that contains its whole
//! condition, so a connection pooler may be used.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};

use super::address::PostgresAddress;
use super::connection::{PgConnection, SqlParam};
use super::error::StatementError;
use super::password;
use super::run_tables::RunStatements;
use crate::ledger::runs::board::{BoardError, RunBoard, WORKER_SILENCE};
use crate::ledger::runs::row::{
    NewTask, RunEvent, RunIdentity, RunProgress, RunRow, RunStatus, RunSummary, TaskClaim, TaskEnd,
    TaskPhase, TaskRow, TaskState, UnitTasks, WorkerRow,
};
use crate::ledger::state::holder::LeaseHolder;
use crate::model::address::Name;

/// Maximum number of attempts for a statement that had no effect, or whose repetition has none.
const MAX_ATTEMPTS: usize = 10;

/// Assumed size of the plans of a run: the read timeout derives from it.
const MAX_PLANS_BYTES: usize = 256 << 20;

/// The rows of one run in a database.
pub struct PostgresRunBoard {
    place: String,
    name: String,
    statements: RunStatements,
    link: PgConnection,
}

impl PostgresRunBoard {
    /// Returns the rows of a run, without connecting or creating tables yet.
    ///
    /// # Errors
    /// When the address is none or unsafe, or its password or authorities cannot be read.
    pub fn new(address: &str, name: &Name) -> Result<Self, BoardError> {
        let unusable = |reason| BoardError { action: "use the address of the runs", reason };
        let address = PostgresAddress::parse(address).map_err(unusable)?;
        let password = password::find_password(&address).map_err(unusable)?;
        Ok(Self {
            place: address.display_text(),
            name: name.to_string(),
            statements: RunStatements::new(address.schema.as_deref()),
            link: PgConnection::new(&address, password.as_ref()).map_err(unusable)?,
        })
    }

    /// Returns the location for messages, without a password.
    #[must_use]
    pub fn display_location(&self) -> &str {
        &self.place
    }

    fn run_param(&self) -> SqlParam<'_> {
        (&self.name, Type::TEXT)
    }

    /// Returns the parameters of a statement by which a worker takes something from another one that is dead.
    fn successor_params<'p>(
        &'p self,
        (worker, from): (&'p &str, &'p &str),
        is_proven: &'p bool,
        silence: &'p f64,
    ) -> [SqlParam<'p>; 5] {
        [
            self.run_param(),
            (worker, Type::TEXT),
            (from, Type::TEXT),
            (is_proven, Type::BOOL),
            (silence, Type::FLOAT8),
        ]
    }

    /// Runs a query; no rows when the tables do not exist.
    async fn read(
        &self,
        sql: &str,
        params: &[SqlParam<'_>],
        size: usize,
        action: &'static str,
    ) -> Result<Vec<Row>, BoardError> {
        match self.link.read(sql, params, size).await {
            Err(fault) if fault.has_no_table() => Ok(Vec::new()),
            done => done.map_err(|fault| failure(action, fault)),
        }
    }

    /// Runs a statement that may be repeated, creating the tables if they do not exist. A statement whose answer was lost is
    /// repeated once.
    async fn write(
        &self,
        sql: &str,
        params: &[SqlParam<'_>],
        action: &'static str,
    ) -> Result<Vec<Row>, BoardError> {
        let mut was_lost = false;
        for _ in 0..MAX_ATTEMPTS {
            match self.link.run(sql, params, 0).await {
                Err(fault) if fault.has_no_table() => match self.link.script(&self.statements.make).await {
                    Err(fault) if fault.is_twice() => {}
                    made => made.map_err(|fault| failure(action, fault))?,
                },
                Err(fault) if fault.met_another() => {}
                Err(StatementError::ConnectionLost(_)) if !was_lost => was_lost = true,
                done => return done.map_err(|fault| failure(action, fault)),
            }
        }
        Err(damage(action, "other statements were in its way each time"))
    }

    /// Runs a conditional write; returns whether it took effect.
    async fn write_if(
        &self,
        sql: &str,
        params: &[SqlParam<'_>],
        action: &'static str,
    ) -> Result<bool, BoardError> {
        Ok(!self.write(sql, params, action).await?.is_empty())
    }
}

impl RunBoard for PostgresRunBoard {
    async fn begin(&self, worker: &str, identity: &RunIdentity) -> Result<RunRow, BoardError> {
        let action = "begin the run";
        let text = serde_json::to_string(identity).map_err(|error| damage(action, &error.to_string()))?;
        let params = [self.run_param(), (&text, Type::TEXT), (&worker, Type::TEXT)];
        self.write(&self.statements.begin, &params, action).await?;
        self.run().await?.ok_or_else(|| damage(action, "its row is gone"))
    }

    async fn run(&self) -> Result<Option<RunRow>, BoardError> {
        let action = "read the run";
        let rows = self.read(&self.statements.run, &[self.run_param()], 1 << 20, action).await?;
        rows.first().map(|row| run_row(row, action)).transpose()
    }

    async fn register(&self, worker: &str, holder: &LeaseHolder) -> Result<(), BoardError> {
        let action = "add the worker";
        let text = serde_json::to_string(holder).map_err(|error| damage(action, &error.to_string()))?;
        let params = [self.run_param(), (&worker, Type::TEXT), (&text, Type::TEXT)];
        self.write(&self.statements.register, &params, action).await.map(|_| ())
    }

    async fn take_planning(&self, worker: &str, from: &str, is_proven: bool) -> Result<bool, BoardError> {
        let silence = WORKER_SILENCE.as_secs_f64();
        let params = self.successor_params((&worker, &from), &is_proven, &silence);
        self.write_if(&self.statements.take_planning, &params, "plan for the run").await
    }

    async fn put_plan(&self, worker: &str, unit: &str, plan: &str) -> Result<bool, BoardError> {
        let params = [
            self.run_param(),
            (&worker as _, Type::TEXT),
            (&unit as _, Type::TEXT),
            (&plan as _, Type::TEXT),
        ];
        self.write_if(&self.statements.put_plan, &params, "store a plan").await
    }

    async fn publish(&self, worker: &str, tasks: &[NewTask], facts: &str) -> Result<bool, BoardError> {
        let action = "store the tasks";
        let text = serde_json::to_string(tasks).map_err(|error| damage(action, &error.to_string()))?;
        let params = [
            self.run_param(),
            (&worker as _, Type::TEXT),
            (&text as _, Type::TEXT),
            (&facts as _, Type::TEXT),
        ];
        if self.write_if(&self.statements.publish, &params, action).await? {
            return Ok(true);
        }
        // The first attempt may have had its effect although its answer was lost.
        let run = self.run().await?;
        Ok(run.is_some_and(|run| run.planner == worker && run.status != RunStatus::Planning))
    }

    async fn refuse(&self, worker: &str, end: &TaskEnd) -> Result<bool, BoardError> {
        let exit = i16::from(end.exit);
        let params = [
            self.run_param(),
            (&worker as _, Type::TEXT),
            (&exit as _, Type::INT2),
            (&end.message as _, Type::TEXT),
        ];
        self.write_if(&self.statements.refuse, &params, "end the run").await
    }

    async fn plans(&self) -> Result<Vec<(String, String)>, BoardError> {
        let action = "read the plans";
        let rows = self.read(&self.statements.plans, &[self.run_param()], MAX_PLANS_BYTES, action).await?;
        rows.iter().map(|row| Ok((column(row, "unit", action)?, column(row, "plan", action)?))).collect()
    }

    async fn claim(&self, worker: &str) -> Result<Option<TaskClaim>, BoardError> {
        let action = "claim a task";
        let params = [self.run_param(), (&worker, Type::TEXT)];
        for _ in 0..MAX_ATTEMPTS {
            match self.link.run(&self.statements.claim, &params, 0).await {
                Err(fault) if fault.met_another() => {}
                // Not repeated: it may have claimed a task, which `claimed` returns.
                Err(StatementError::ConnectionLost(_)) => return Ok(None),
                Err(fault) => return Err(failure(action, fault)),
                Ok(rows) => return rows.first().map(|row| claim_row(row, action)).transpose(),
            }
        }
        Ok(None)
    }

    async fn claimed(&self, worker: &str) -> Result<Vec<TaskClaim>, BoardError> {
        let action = "read the claimed tasks";
        let params = [self.run_param(), (&worker as _, Type::TEXT)];
        let rows = self.read(&self.statements.claimed, &params, 0, action).await?;
        rows.iter().map(|row| claim_row(row, action)).collect()
    }

    async fn finish(&self, worker: &str, claim: &TaskClaim, end: &TaskEnd) -> Result<bool, BoardError> {
        let action = "record the end of a task";
        let exit = i16::from(end.exit);
        let known = [
            self.run_param(),
            (&claim.number as _, Type::INT4),
            (&worker as _, Type::TEXT),
            (&claim.epoch as _, Type::INT8),
        ];
        let mut params = known.to_vec();
        params.extend([(&exit as _, Type::INT2), (&end.message as _, Type::TEXT)]);
        if self.write_if(&self.statements.finish, &params, action).await? {
            return Ok(true);
        }
        Ok(!self.read(&self.statements.known_end, &known, 0, action).await?.is_empty())
    }

    async fn put_back(&self, worker: &str, claim: &TaskClaim, delay: Duration) -> Result<bool, BoardError> {
        let seconds = delay.as_secs_f64();
        let params = [
            self.run_param(),
            (&claim.number as _, Type::INT4),
            (&worker as _, Type::TEXT),
            (&claim.epoch as _, Type::INT8),
            (&seconds as _, Type::FLOAT8),
        ];
        self.write_if(&self.statements.put_back, &params, "give a task back").await
    }

    async fn take_over(&self, worker: &str, from: &str, is_proven: bool) -> Result<usize, BoardError> {
        let silence = WORKER_SILENCE.as_secs_f64();
        let params = self.successor_params((&worker, &from), &is_proven, &silence);
        Ok(self.write(&self.statements.take_over, &params, "take over from a worker").await?.len())
    }

    async fn beat(&self, worker: &str) -> Result<RunProgress, BoardError> {
        let action = "read how the run stands";
        let own = [self.run_param(), (&worker as _, Type::TEXT)];
        self.write(&self.statements.beat, &own, action).await?;
        let rows = self.read(&self.statements.progress, &own[..1], 0, action).await?;
        let row = rows.first().ok_or_else(|| damage(action, "its row is gone"))?;
        let waiting: i64 = column(row, "waiting", action)?;
        let running = self.read(&self.statements.running, &own[..1], 0, action).await?;
        let running =
            running.iter().map(|row| Ok((column(row, "number", action)?, column(row, "worker", action)?)));
        Ok(RunProgress {
            status: run_status(row, action)?,
            waiting: usize::try_from(waiting).unwrap_or_default(),
            running: running.collect::<Result<_, _>>()?,
            workers: self.workers().await?,
        })
    }

    async fn leave(&self, worker: &str) -> Result<(), BoardError> {
        let params = [self.run_param(), (&worker as _, Type::TEXT)];
        self.write(&self.statements.leave, &params, "leave the run").await.map(|_| ())
    }

    async fn end(&self) -> Result<bool, BoardError> {
        self.write_if(&self.statements.end, &[self.run_param()], "end the run").await
    }

    async fn cancel(&self, who: &str) -> Result<bool, BoardError> {
        let params = [self.run_param(), (&who as _, Type::TEXT)];
        self.write_if(&self.statements.cancel, &params, "cancel the run").await
    }

    async fn vouch(&self, worker: &str, who: &str) -> Result<bool, BoardError> {
        let params = [self.run_param(), (&worker as _, Type::TEXT), (&who as _, Type::TEXT)];
        self.write_if(&self.statements.vouch, &params, "record the statement").await
    }

    async fn list(&self) -> Result<Vec<RunSummary>, BoardError> {
        let action = "list the runs";
        let rows = self.read(&self.statements.runs, &[], 1 << 20, action).await?;
        let counts = self.read(&self.statements.unit_counts, &[], 1 << 20, action).await?;
        let present = self.read(&self.statements.present_workers, &[], 1 << 20, action).await?;
        let mut units: BTreeMap<String, BTreeMap<UnitTasks, usize>> = BTreeMap::new();
        for row in &counts {
            let count: i64 = column(row, "units", action)?;
            let count = usize::try_from(count).map_err(|_| damage(action, "a number is negative"))?;
            units.entry(column(row, "run", action)?).or_default().insert(unit_tasks(row, action)?, count);
        }
        let mut workers: BTreeMap<String, Vec<WorkerRow>> = BTreeMap::new();
        for row in &present {
            workers.entry(column(row, "run", action)?).or_default().push(worker_row(row, action)?);
        }
        let summary = |row: &Row| {
            let run = run_row(row, action)?;
            let units = units.remove(run.name.as_str()).unwrap_or_default();
            let workers = workers.remove(run.name.as_str()).unwrap_or_default();
            Ok(RunSummary { run, units, workers })
        };
        rows.iter().map(summary).collect()
    }

    async fn share_requests(
        &self,
        account: &str,
        machine: &str,
        within: Duration,
    ) -> Result<u32, BoardError> {
        let action = "share the requests of the key";
        let params = [
            (&account as _, Type::TEXT),
            (&machine as _, Type::TEXT),
            (&within.as_secs_f64() as _, Type::FLOAT8),
        ];
        let rows = self.write(&self.statements.share, &params, action).await?;
        let count: i64 = rows.first().map_or(Ok(1), |row| column(row, "machines", action))?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX).max(1))
    }

    async fn free_share(&self, account: &str, machine: &str) -> Result<(), BoardError> {
        let params = [(&account as _, Type::TEXT), (&machine as _, Type::TEXT)];
        let action = "share the requests of the key";
        self.write(&self.statements.free_share, &params, action).await.map(|_| ())
    }

    async fn workers(&self) -> Result<Vec<WorkerRow>, BoardError> {
        let action = "read the workers";
        let rows = self.read(&self.statements.workers, &[self.run_param()], 0, action).await?;
        rows.iter().map(|row| worker_row(row, action)).collect()
    }

    async fn tasks(&self) -> Result<Vec<TaskRow>, BoardError> {
        let action = "read the tasks";
        let rows = self.read(&self.statements.tasks, &[self.run_param()], 1 << 20, action).await?;
        rows.iter().map(|row| task_row(row, action)).collect()
    }

    async fn events(&self) -> Result<Vec<RunEvent>, BoardError> {
        let action = "read the events";
        let rows = self.read(&self.statements.events, &[self.run_param()], 1 << 20, action).await?;
        let event = |row: &Row| {
            Ok(RunEvent {
                at: timestamp(Some(column(row, "at", action)?), action)?.unwrap_or_default(),
                worker: column(row, "worker", action)?,
                text: column(row, "event", action)?,
            })
        };
        rows.iter().map(event).collect()
    }
}

fn run_row(row: &Row, action: &'static str) -> Result<RunRow, BoardError> {
    let identity: String = column(row, "identity", action)?;
    let identity: RunIdentity = serde_json::from_str(&identity)
        .map_err(|_| damage(action, "another version of stead made it: use that version"))?;
    let started = timestamp(Some(column(row, "started", action)?), action)?;
    Ok(RunRow {
        name: Name::new(column::<String>(row, "run", action)?),
        status: run_status(row, action)?,
        canceled: column(row, "canceled", action)?,
        identity,
        planner: column(row, "planner", action)?,
        started: started.unwrap_or_default(),
        ended: timestamp(column(row, "ended", action)?, action)?,
        refused: exit_code(column(row, "refused", action)?, action)?,
        message: column(row, "message", action)?,
        facts: column(row, "facts", action)?,
    })
}

fn run_status(row: &Row, action: &'static str) -> Result<RunStatus, BoardError> {
    match column::<&str>(row, "status", action)? {
        "planning" => Ok(RunStatus::Planning),
        "running" => Ok(RunStatus::Running),
        "canceled" => Ok(RunStatus::Canceled),
        "ended" => Ok(RunStatus::Ended),
        _ => Err(damage(action, "its status is unknown")),
    }
}

fn task_phase(row: &Row, action: &'static str) -> Result<TaskPhase, BoardError> {
    match column::<&str>(row, "phase", action)? {
        "changes" => Ok(TaskPhase::Changes),
        "deletions" => Ok(TaskPhase::Deletions),
        _ => Err(damage(action, "the phase of a task is unknown")),
    }
}

fn claim_row(row: &Row, action: &'static str) -> Result<TaskClaim, BoardError> {
    Ok(TaskClaim {
        number: column(row, "number", action)?,
        unit: column(row, "unit", action)?,
        phase: task_phase(row, action)?,
        epoch: column(row, "epoch", action)?,
        is_begun: column(row, "is_begun", action)?,
    })
}

fn task_row(row: &Row, action: &'static str) -> Result<TaskRow, BoardError> {
    Ok(TaskRow {
        task: NewTask {
            number: column(row, "number", action)?,
            unit: column(row, "unit", action)?,
            phase: task_phase(row, action)?,
            needs: column(row, "needs", action)?,
        },
        state: task_state(column(row, "state", action)?, action)?,
        worker: column(row, "worker", action)?,
        epoch: column(row, "epoch", action)?,
        is_begun: column(row, "is_begun", action)?,
        exit: exit_code(column(row, "exit", action)?, action)?,
        message: column(row, "message", action)?,
    })
}

fn task_state(name: &str, action: &'static str) -> Result<TaskState, BoardError> {
    let known = TaskState::ALL.into_iter().find(|known| known.name() == name);
    known.ok_or_else(|| damage(action, "the state of a task is unknown"))
}

fn unit_tasks(row: &Row, action: &'static str) -> Result<UnitTasks, BoardError> {
    let deletions: Option<&str> = column(row, "deletions", action)?;
    Ok(UnitTasks {
        changes: task_state(column(row, "changes", action)?, action)?,
        exit: exit_code(column(row, "exit", action)?, action)?,
        deletions: deletions.map(|name| task_state(name, action)).transpose()?,
    })
}

fn worker_row(row: &Row, action: &'static str) -> Result<WorkerRow, BoardError> {
    let holder: String = column(row, "holder", action)?;
    let age: f64 = column(row, "age", action)?;
    Ok(WorkerRow {
        name: column(row, "worker", action)?,
        holder: serde_json::from_str(&holder)
            .map_err(|_| damage(action, "the row of a worker is damaged"))?,
        // A clock of the server that was set back must not make a worker appear dead.
        seen: Duration::try_from_secs_f64(age.max(0.0)).unwrap_or_default(),
        vouched: column(row, "vouched", action)?,
        left: column(row, "has_left", action)?,
    })
}

fn exit_code(code: Option<i16>, action: &'static str) -> Result<Option<u8>, BoardError> {
    code.map(u8::try_from).transpose().map_err(|_| damage(action, "an exit code is out of range"))
}

fn timestamp(seconds: Option<f64>, action: &'static str) -> Result<Option<Timestamp>, BoardError> {
    let parse = |seconds: f64| {
        let since = SignedDuration::try_from_secs_f64(seconds).ok()?;
        Timestamp::from_duration(since).ok()
    };
    match seconds {
        None => Ok(None),
        Some(seconds) => parse(seconds).map(Some).ok_or_else(|| damage(action, "a time is out of range")),
    }
}

fn column<'a, T: FromSql<'a>>(row: &'a Row, name: &str, action: &'static str) -> Result<T, BoardError> {
    row.try_get(name).map_err(|_| {
        damage(action, &format!("the column `{name}` does not have the type that stead uses: give stead a schema of its own with ?schema=NAME"))
    })
}

fn damage(action: &'static str, reason: &str) -> BoardError {
    BoardError { action, reason: reason.to_owned() }
}

fn failure(action: &'static str, fault: StatementError) -> BoardError {
    BoardError { action, reason: fault.reason() }
}
