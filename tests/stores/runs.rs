//! The rows of runs in a real PostgreSQL, also through a pooler: the same answers as the rows in memory, each task for one
//! worker, and every statement although its answer was lost.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use stead::cloud::system_clock::SystemRandom;
use stead::ledger::runs::board::RunBoard;
use stead::ledger::runs::memory_board::MemoryBoard;
use stead::ledger::runs::row::{
    NewTask, RunIdentity, RunRow, TaskClaim, TaskEnd, TaskPhase, TaskRow, TaskState,
};
use stead::ledger::state::entry::LedgerIdentity;
use stead::ledger::state::holder::LeaseHolder;
use stead::ledger::stores::postgres::run_board::PostgresRunBoard;
use stead::ledger::stores::postgres::tables::setup_script;
use stead::model::clock::Random;

use crate::postgres::{administer, ask};
use crate::server::{Bouncer, Database};

/// A small generator of numbers: equal seeds give equal runs.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }
}

fn board(address: &str, run: &str) -> PostgresRunBoard {
    PostgresRunBoard::new(address, &run.into()).unwrap()
}

fn identity() -> RunIdentity {
    RunIdentity {
        version: "1.0.0".to_owned(),
        commit: Some("abc".into()),
        configuration: "c".to_owned(),
        secrets: "s".to_owned(),
        fingerprint: "f".to_owned(),
        overrides: BTreeSet::new(),
        destroy: false,
        salt: LedgerIdentity::new_random("run", "r", &SystemRandom).key,
    }
}

fn holder(name: &str) -> LeaseHolder {
    LeaseHolder {
        session: SystemRandom.uuid(),
        who: format!("{name}@host"),
        process: None,
        since: "2026-11-26T12:00:00Z".parse().unwrap(),
    }
}

fn tasks(dice: &mut Dice) -> Vec<NewTask> {
    let count = 1 + dice.below(7);
    let deletes: Vec<bool> = (0..count).map(|_| dice.below(4) == 0).collect();
    (0..count)
        .map(|number| NewTask {
            number: i32::try_from(number).unwrap(),
            // The deletions of the unit before, if that task makes its changes.
            unit: format!("s{}/prod", number - usize::from(number > 0 && deletes[number])),
            phase: if deletes[number] { TaskPhase::Deletions } else { TaskPhase::Changes },
            needs: (0..number).filter(|_| dice.below(3) == 0).map(|n| i32::try_from(n).unwrap()).collect(),
        })
        .collect()
}

/// What can be compared: times and names of places differ.
fn compared(run: Option<RunRow>) -> Option<String> {
    run.map(|run| {
        let RunRow { status, canceled, planner, ended, refused, message, facts, .. } = run;
        format!("{status} {canceled} {planner} {} {refused:?} {message} {facts}", ended.is_some())
    })
}

/// What the list of runs tells of one.
async fn listed(board: &impl RunBoard, run: &str) -> Option<String> {
    let all = board.list().await.unwrap();
    let one = all.into_iter().find(|one| one.run.name == *run)?;
    let workers: Vec<_> = one.workers.iter().map(|worker| (&worker.name, worker.vouched)).collect();
    Some(format!("{} {:?} {workers:?}", one.run.status, one.units))
}

/// Does a random operation on a board; returns its result as text.
async fn act(
    board: &impl RunBoard,
    step: &Step,
    claims: &mut BTreeMap<i32, (String, TaskClaim)>,
) -> String {
    let Step { what, worker, other, number, exit } = step;
    let claim = claims.get(number).cloned();
    let end = TaskEnd { exit: *exit, message: if *exit == 0 { String::new() } else { "it failed".into() } };
    match (what, claim) {
        (0..=4, _) => {
            let claim = board.claim(worker).await.unwrap();
            if let Some(claim) = &claim {
                claims.insert(claim.number, (worker.clone(), claim.clone()));
            }
            format!("{claim:?}")
        }
        (5..=7, Some((worker, claim))) => format!("{}", board.finish(&worker, &claim, &end).await.unwrap()),
        (8, Some((worker, claim))) => {
            format!("{}", board.put_back(&worker, &claim, Duration::ZERO).await.unwrap())
        }
        (9, _) => format!("{}", board.take_over(worker, other, true).await.unwrap()),
        (10, _) => format!("{}", board.take_over(worker, other, false).await.unwrap()),
        (11, _) => {
            let progress = board.beat(worker).await.unwrap();
            format!("{:?} {} {:?}", progress.status, progress.waiting, progress.running)
        }
        (12, _) => {
            let mut claimed = board.claimed(worker).await.unwrap();
            claimed.sort_by_key(|claim| claim.number);
            format!("{claimed:?}")
        }
        (13, _) => format!("{}", board.end().await.unwrap()),
        (14, _) if *number == 0 => format!("{}", board.cancel("ada").await.unwrap()),
        (15, _) if *number == 1 => format!("{}", board.vouch(other, "ada").await.unwrap()),
        (16, _) if *number == 2 => {
            board.leave(other).await.unwrap();
            "left".to_owned()
        }
        _ => "nothing".to_owned(),
    }
}

#[derive(Debug)]
struct Step {
    what: usize,
    worker: String,
    other: String,
    number: i32,
    exit: u8,
}

async fn agree(address: &str, seed: u64) {
    let mut dice = Dice(seed);
    let name = format!("agree-{seed}");
    let (real, model) = (board(address, &name), MemoryBoard::new(&name));
    let workers = ["w0", "w1", "w2"];
    let (identity, tasks) = (identity(), tasks(&mut dice));
    assert!(real.run().await.unwrap().is_none());
    for worker in workers {
        let one = compared(Some(real.begin(worker, &identity).await.unwrap()));
        assert_eq!(one, compared(Some(model.begin(worker, &identity).await.unwrap())));
        real.register(worker, &holder(worker)).await.unwrap();
        model.register(worker, &holder(worker)).await.unwrap();
    }
    assert!(real.claim("w1").await.unwrap().is_none(), "nothing can be claimed while one plans");
    for (worker, wanted) in [("w1", false), ("w0", true)] {
        assert_eq!(real.put_plan(worker, "s0/prod", "{}").await.unwrap(), wanted);
        assert_eq!(model.put_plan(worker, "s0/prod", "{}").await.unwrap(), wanted);
    }
    for (worker, from, proven) in [("w1", "w2", true), ("w1", "w0", false), ("w1", "w0", true)] {
        let taken = real.take_planning(worker, from, proven).await.unwrap();
        assert_eq!(taken, model.take_planning(worker, from, proven).await.unwrap(), "{from} {proven}");
    }
    if dice.below(8) == 0 {
        let end = TaskEnd { exit: 5, message: "another fingerprint".into() };
        assert_eq!(real.refuse("w1", &end).await.unwrap(), model.refuse("w1", &end).await.unwrap());
    }
    let published = real.publish("w1", &tasks, "{}").await.unwrap();
    let also = model.publish("w1", &tasks, "{}").await.unwrap();
    // A statement whose answer may have been lost says what holds, also if it is repeated after the run was refused.
    assert!(published == also || !also);
    assert_eq!(real.plans().await.unwrap(), model.plans().await.unwrap());
    let (mut claims, mut others) = (BTreeMap::new(), BTreeMap::new());
    for round in 0..60 {
        let step = Step {
            what: dice.below(17),
            worker: workers[dice.below(3)].to_owned(),
            other: workers[dice.below(3)].to_owned(),
            number: i32::try_from(dice.below(tasks.len())).unwrap(),
            exit: [0, 0, 0, 1, 6][dice.below(5)],
        };
        let found = act(&real, &step, &mut claims).await;
        let wanted = act(&model, &step, &mut others).await;
        // The end of a task may be recorded twice: the rows then say that it was.
        let repeated = (5..=7).contains(&step.what) && found == "true" && wanted == "false";
        assert!(found == wanted || repeated, "seed {seed}, step {round} {step:?}: {found}, not {wanted}");
        let rows = real.tasks().await.unwrap();
        assert_eq!(rows, model.tasks().await.unwrap(), "seed {seed}, step {round}: {step:?}");
        assert_eq!(
            compared(real.run().await.unwrap()),
            compared(model.run().await.unwrap()),
            "seed {seed}"
        );
        let (found, wanted) = (listed(&real, &name).await, listed(&model, &name).await);
        assert_eq!(found, wanted, "seed {seed}, step {round}: {step:?}");
    }
    let texts = |events: Vec<stead::ledger::runs::row::RunEvent>| {
        let kept = events.into_iter().filter(|event| !event.text.starts_with("ended"));
        kept.map(|event| (event.worker, event.text)).collect::<Vec<_>>()
    };
    let (found, wanted) = (texts(real.events().await.unwrap()), texts(model.events().await.unwrap()));
    assert_eq!(found, wanted, "seed {seed}");
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn rows_in_postgresql_answer_as_rows_in_memory() {
    let server = Database::shared();
    let address = server.database("runs");
    for seed in 0..40 {
        agree(&address, seed).await;
    }
    let strict = server.database("strict_runs");
    administer(&strict, "alter database strict_runs set default_transaction_isolation = 'serializable'")
        .await;
    for seed in 40..60 {
        agree(&strict, seed).await;
    }
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn runs_work_behind_a_pooler_and_with_the_tables_of_an_administrator() {
    let server = Database::shared();
    let pooler = Bouncer::start(&server);
    let direct = server.database("pooled_runs");
    administer(&direct, &setup_script(None, "postgres")).await;
    let address = pooler.address(&direct);
    for seed in 0..10 {
        agree(&address, seed).await;
    }
    let least = server.database("least_runs");
    administer(&least, "create role claimer login").await;
    administer(&least, &setup_script(None, "claimer")).await;
    let address = least.replace("postgres@", "claimer@");
    for seed in 0..3 {
        agree(&address, seed).await;
    }
}

/// Workers on connections of their own claim at the same time: each task is one's.
#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn each_task_is_claimed_once_and_after_what_it_needs() {
    let server = Database::shared();
    let address = server.database("claims");
    let count = 120;
    let first = board(&address, "claims");
    let all: Vec<NewTask> = (0..count)
        .map(|number| NewTask {
            number,
            unit: format!("s{number}/prod"),
            phase: TaskPhase::Changes,
            needs: if number % 10 == 0 { Vec::new() } else { vec![number - number % 10] },
        })
        .collect();
    first.begin("w0", &identity()).await.unwrap();
    assert!(first.publish("w0", &all, "{}").await.unwrap());
    let work = async |name: String| {
        let board = board(&address, "claims");
        board.register(&name, &holder(&name)).await.unwrap();
        let mut own = Vec::new();
        loop {
            match board.claim(&name).await.unwrap() {
                Some(claim) => {
                    let rows: Vec<TaskRow> = board.tasks().await.unwrap();
                    let needs = &rows[usize::try_from(claim.number).unwrap()].task.needs;
                    assert!(
                        needs
                            .iter()
                            .all(|need| rows[usize::try_from(*need).unwrap()].state == TaskState::Done)
                    );
                    own.push(claim.number);
                    let end = TaskEnd { exit: 0, message: String::new() };
                    assert!(board.finish(&name, &claim, &end).await.unwrap());
                }
                None if board.end().await.unwrap() => return own,
                None => tokio::task::yield_now().await,
            }
        }
    };
    let workers = (1..=6).map(|number| work(format!("w{number}")));
    let done = futures_util::future::join_all(workers).await;
    let claimed: Vec<i32> = done.concat();
    assert_eq!(claimed.len(), usize::try_from(count).unwrap(), "a task was claimed twice, or not at all");
    assert_eq!(claimed.iter().collect::<BTreeSet<_>>().len(), claimed.len());
    assert!(done.iter().filter(|own| !own.is_empty()).count() > 1, "one worker did everything");
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn a_silent_worker_is_replaced_by_the_clock_of_the_database() {
    let server = Database::shared();
    let address = server.database("silent");
    let board = board(&address, "silent");
    let all = tasks(&mut Dice(1));
    board.begin("w0", &identity()).await.unwrap();
    for worker in ["w0", "w1"] {
        board.register(worker, &holder(worker)).await.unwrap();
    }
    assert!(!board.take_planning("w1", "w0", false).await.unwrap(), "it was seen a moment ago");
    let age = |worker: &str, seconds: u32| {
        format!(
            "update stead_run_workers set seen = seen - interval '{seconds} s' where worker = '{worker}'"
        )
    };
    administer(&address, &age("w0", 239)).await;
    assert!(!board.take_planning("w1", "w0", false).await.unwrap());
    administer(&address, &age("w0", 2)).await;
    assert!(board.take_planning("w1", "w0", false).await.unwrap());
    assert!(!board.put_plan("w0", "s0/prod", "{}").await.unwrap(), "the former planner stores nothing");
    assert!(board.publish("w1", &all, "{}").await.unwrap());
    let claim = board.claim("w0").await.unwrap().unwrap();
    board.beat("w0").await.unwrap();
    assert_eq!(board.take_over("w1", "w0", false).await.unwrap(), 0);
    administer(&address, &age("w0", 241)).await;
    assert_eq!(board.take_over("w1", "w0", false).await.unwrap(), 1);
    let end = TaskEnd { exit: 0, message: String::new() };
    assert!(!board.finish("w0", &claim, &end).await.unwrap(), "a displaced worker ends nothing");
    let again = board.claim("w1").await.unwrap().unwrap();
    assert!(again.is_begun && again.number == claim.number && again.epoch > claim.epoch);
    // Machines that send with a key are counted while they say so.
    let within = Duration::from_secs(15);
    assert_eq!(board.share_requests("key", "one", within).await.unwrap(), 1);
    assert_eq!(board.share_requests("key", "two", within).await.unwrap(), 2);
    assert_eq!(board.share_requests("other", "one", within).await.unwrap(), 1);
    administer(
        &address,
        "update stead_request_shares set seen = seen - interval '16 s' where machine = 'one'",
    )
    .await;
    assert_eq!(board.share_requests("key", "two", within).await.unwrap(), 1);
    board.free_share("key", "two").await.unwrap();
    assert_eq!(board.share_requests("key", "three", within).await.unwrap(), 1);
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn damaged_rows_of_runs_are_one_clear_error() {
    let server = Database::shared();
    for (name, sql, wanted) in [
        ("bad_status", "update stead_runs set status = 'x'", "its status is unknown"),
        ("bad_identity", "update stead_runs set identity = '{}'", "another version of stead made it"),
        ("bad_state", "update stead_run_tasks set state = 'x'", "the state of a task is unknown"),
        ("bad_exit", "update stead_run_tasks set exit = 999", "an exit code is out of range"),
        ("bad_holder", "update stead_run_workers set holder = '['", "the row of a worker is damaged"),
        (
            "bad_column",
            "alter table stead_run_tasks alter unit type bytea using ''",
            "does not have the type",
        ),
        ("no_planner", "alter table stead_runs drop column planner", "(42703); the tables are not"),
    ] {
        let address = server.database(name);
        let board = board(&address, "run");
        board.begin("w0", &identity()).await.unwrap();
        board.register("w0", &holder("w0")).await.unwrap();
        assert!(board.publish("w0", &tasks(&mut Dice(3)), "{}").await.unwrap());
        administer(&address, sql).await;
        let mut told = Vec::new();
        told.extend(board.run().await.err());
        told.extend(board.tasks().await.err());
        told.extend(board.workers().await.err());
        told.extend(board.claim("w0").await.err());
        let told: Vec<String> = told.into_iter().map(|error| error.to_string()).collect();
        assert!(told.iter().any(|text| text.contains(wanted)), "{name}: {told:#?}");
    }
    let none = server.database("no_runs");
    assert!(board(&none, "run").list().await.unwrap().is_empty());
    assert_eq!(ask(&none, "select count(*)::text from pg_tables where tablename like 'stead%'").await, "0");
}
