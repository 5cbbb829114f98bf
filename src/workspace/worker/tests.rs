//! Seeded schedules of workers that stop, die and come back, over a run in memory and ledgers with leases.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::FutureExt;
use uuid::Uuid;

use super::*;
use crate::ledger::runs::board::{BoardError, RunBoard};
use crate::ledger::runs::memory_board::MemoryBoard;
use crate::ledger::runs::row::{NewTask, RunIdentity, TaskClaim, TaskEnd, TaskPhase, TaskState};
use crate::ledger::state::holder::LeaseHolder;
use crate::ledger::stores::shared::lease::{LEASE_DURATION, LEASE_RENEWAL_INTERVAL};
use crate::model::values::secret::FingerprintKey;

/// Time until a request of a holder takes effect at the latest.
const EFFECT: Duration = Duration::from_mins(1);

/// Number of schedules; `STEAD_WORKERS` sets another one.
const SCHEDULES: u64 = 1_500;

/// A small generator of numbers: equal seeds give equal runs.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// A ledger of a unit, and the objects that were made with it.
#[derive(Default)]
struct UnitLedger {
    /// Worker and time of the last renewal.
    lease: Option<(usize, Duration)>,
    epoch: u64,
    /// Objects that exist, by number of the action, with how often each was made.
    made: BTreeMap<u64, usize>,
    /// Requests on their way: action, and when each takes effect.
    sent: Vec<(u64, Duration)>,
}

/// A task that a worker does.
struct Doing {
    claim: TaskClaim,
    /// Epoch of its lease; `None` before it has one.
    epoch: Option<u64>,
    renewed: Duration,
    next: u64,
}

struct SimulatedWorker {
    name: String,
    process: ProcessIdentity,
    doing: Vec<Doing>,
    /// It does nothing before this time.
    paused_until: Duration,
    is_killed: bool,
    is_stopped: bool,
    has_left: bool,
}

struct World {
    seed: u64,
    board: MemoryBoard,
    now: Duration,
    dice: Dice,
    ledgers: BTreeMap<String, UnitLedger>,
    actions: BTreeMap<String, u64>,
    fails: BTreeSet<String>,
    workers: Vec<SimulatedWorker>,
    killed: RefCell<BTreeSet<u32>>,
}

fn now<T>(work: impl Future<Output = Result<T, BoardError>>) -> T {
    work.now_or_never().expect("the board answers at once").unwrap()
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let count = 1 + dice.below(8);
        let mut tasks = Vec::new();
        let mut actions = BTreeMap::new();
        let mut fails = BTreeSet::new();
        for number in 0..count {
            let unit = format!("s{number}/prod");
            let needs = (0..number).filter(|_| dice.one_in(3)).map(|n| i32::try_from(n).unwrap());
            tasks.push(NewTask {
                number: i32::try_from(number).unwrap(),
                unit: unit.clone(),
                phase: TaskPhase::Changes,
                needs: needs.collect(),
            });
            actions.insert(unit.clone(), 1 + dice.below(3));
            if dice.one_in(12) {
                fails.insert(unit);
            }
        }
        let board = MemoryBoard::new("run");
        let mut world = Self {
            seed,
            board,
            now: Duration::ZERO,
            dice,
            ledgers: BTreeMap::new(),
            actions,
            fails,
            workers: Vec::new(),
            killed: RefCell::default(),
        };
        for _ in 0..=world.dice.below(3) {
            world.add_worker();
        }
        let name = world.workers[0].name.clone();
        assert!(now(world.board.publish(&name, &tasks, "")));
        world
    }

    fn add_worker(&mut self) {
        let number = u32::try_from(self.workers.len()).unwrap();
        let name = format!("w{number}");
        let process = ProcessIdentity {
            boot: if self.dice.one_in(2) { "here" } else { "there" }.into(),
            namespace: "n".into(),
            id: number,
            started: 1,
        };
        let holder = LeaseHolder {
            session: Uuid::from_u128(u128::from(number)),
            who: name.clone(),
            process: Some(process.clone()),
            since: jiff::Timestamp::UNIX_EPOCH,
        };
        let identity = RunIdentity {
            version: "1".into(),
            commit: None,
            configuration: String::new(),
            secrets: String::new(),
            fingerprint: String::new(),
            destroy: false,
            overrides: BTreeSet::new(),
            salt: FingerprintKey::NONE,
        };
        now(self.board.begin(&name, &identity));
        now(self.board.register(&name, &holder));
        self.workers.push(SimulatedWorker {
            name,
            process,
            doing: Vec::new(),
            paused_until: Duration::ZERO,
            is_killed: false,
            is_stopped: false,
            has_left: false,
        });
    }

    fn advance(&mut self, by: Duration) {
        self.now += by;
        self.board.advance(by);
        for ledger in self.ledgers.values_mut() {
            for (action, _) in ledger.sent.iter().filter(|(_, at)| *at <= self.now) {
                *ledger.made.entry(*action).or_default() += 1;
            }
            ledger.sent.retain(|(_, at)| *at > self.now);
        }
    }

    /// Returns whether a process is proven dead for a worker: only on its own machine.
    fn is_proven_dead(&self, viewer: usize, process: &ProcessIdentity) -> bool {
        self.workers[viewer].process.boot == process.boot && self.killed.borrow().contains(&process.id)
    }

    /// Lets a worker do one step.
    fn step(&mut self, number: usize) {
        let worker = &self.workers[number];
        if worker.is_killed || worker.has_left || worker.paused_until > self.now {
            return;
        }
        let name = worker.name.clone();
        if !worker.doing.is_empty() && !self.dice.one_in(3) {
            self.work(number);
            return;
        }
        let progress = now(self.board.beat(&name));
        let worker = &self.workers[number];
        let situation = WorkerSituation {
            name: &name,
            running: worker.doing.len(),
            limit: 2,
            is_stopped: worker.is_stopped,
        };
        let run = now(self.board.run()).unwrap();
        let action = next_action(
            &progress,
            &run.planner,
            situation,
            |task| worker.doing.iter().any(|doing| doing.claim.number == task),
            |process| self.is_proven_dead(number, process),
        );
        match action {
            WorkerAction::TakeOver { from, is_proven } => {
                now(self.board.take_over(&name, &from, is_proven));
            }
            WorkerAction::Adopt => {
                for claim in now(self.board.claimed(&name)) {
                    if !self.workers[number].doing.iter().any(|doing| doing.claim.number == claim.number) {
                        self.begin(number, claim);
                    }
                }
            }
            WorkerAction::Claim => {
                assert!(!self.workers[number].is_stopped, "seed {}: a stopped worker claims", self.seed);
                let claim = now(self.board.claim(&name));
                // The answer may be lost: then the worker has a task that it does not know.
                if let Some(claim) = claim.filter(|_| !self.dice.one_in(10)) {
                    self.begin(number, claim);
                }
            }
            WorkerAction::Leave => {
                now(self.board.leave(&name));
                now(self.board.end());
                self.workers[number].has_left = true;
            }
            WorkerAction::Wait | WorkerAction::Plan { .. } => {}
        }
    }

    fn begin(&mut self, number: usize, claim: TaskClaim) {
        let tasks = now(self.board.tasks());
        let own = tasks.iter().find(|row| row.task.number == claim.number).unwrap();
        for need in &own.task.needs {
            let need = tasks.iter().find(|row| row.task.number == *need).unwrap();
            assert_eq!(need.state, TaskState::Done, "seed {}: a task began too early", self.seed);
        }
        let doing = Doing { claim, epoch: None, renewed: self.now, next: 0 };
        self.workers[number].doing.push(doing);
    }

    /// Returns whether a worker may take the lease of a unit's ledger: no process has it, the one that has it is proven dead or
    /// a person says so, or it expired together with its requests.
    fn is_lease_free(&self, number: usize, unit: &str) -> bool {
        let Some((holder, renewed)) = self.ledgers.get(unit).and_then(|ledger| ledger.lease) else {
            return true;
        };
        let id = u32::try_from(holder).unwrap();
        let workers = now(self.board.beat(&self.workers[number].name)).workers;
        let is_vouched = vouched_processes(&workers).any(|process| process.id == id);
        let is_here = self.workers[holder].process.boot == self.workers[number].process.boot;
        let is_dead = self.killed.borrow().contains(&id) && (is_here || is_vouched);
        is_dead || renewed + LEASE_DURATION + EFFECT <= self.now
    }

    /// Does one step of the first task of a worker: takes the ledger's lease, sends a request, or records the end.
    fn work(&mut self, number: usize) {
        let mut doing = self.workers[number].doing.remove(0);
        let unit = doing.claim.unit.clone();
        let count = self.actions[&unit];
        let name = self.workers[number].name.clone();
        let is_free = self.is_lease_free(number, &unit);
        let ledger = self.ledgers.entry(unit.clone()).or_default();
        let Some(epoch) = doing.epoch else {
            if !is_free {
                let delay = Duration::from_secs(5);
                now(self.board.put_back(&name, &doing.claim, delay));
                return;
            }
            ledger.epoch += 1;
            ledger.lease = Some((number, self.now));
            (doing.epoch, doing.renewed) = (Some(ledger.epoch), self.now);
            // It reads what exists, and what is on its way after a worker that is proven dead: that is awaited.
            self.workers[number].doing.push(doing);
            return;
        };
        if ledger.epoch != epoch {
            // Displaced, perhaps by a worker whose claim had been taken away before it had the lease: it ends nothing, and gives
            // the task back if that still is its own.
            now(self.board.put_back(&name, &doing.claim, Duration::from_secs(5)));
            return;
        }
        if self.now.saturating_sub(doing.renewed) >= LEASE_RENEWAL_INTERVAL {
            ledger.lease = Some((number, self.now));
            doing.renewed = self.now;
        }
        if !ledger.sent.is_empty() {
            self.workers[number].doing.push(doing);
            return;
        }
        if self.fails.contains(&unit) && doing.next + 1 == count {
            ledger.lease = None;
            now(self.board.finish(&name, &doing.claim, &TaskEnd { exit: 1, message: "x".into() }));
            return;
        }
        while ledger.made.contains_key(&doing.next) {
            doing.next += 1;
        }
        if doing.next < count {
            let delay = Duration::from_secs(self.dice.below(EFFECT.as_secs()));
            ledger.sent.push((doing.next, self.now + delay));
            self.workers[number].doing.push(doing);
            return;
        }
        ledger.lease = None;
        now(self.board.finish(&name, &doing.claim, &TaskEnd { exit: 0, message: String::new() }));
    }

    /// Something happens to a worker.
    fn disturb(&mut self) {
        let number = usize::try_from(self.dice.below(self.workers.len() as u64)).unwrap();
        match self.dice.below(6) {
            0 => {
                let pause = Duration::from_secs(self.dice.below(900));
                self.workers[number].paused_until = self.now + pause;
            }
            1 => {
                self.workers[number].is_killed = true;
                self.killed.borrow_mut().insert(u32::try_from(number).unwrap());
            }
            2 => self.workers[number].is_stopped = true,
            3 if self.workers[number].is_killed => {
                let name = self.workers[number].name.clone();
                assert!(now(self.board.vouch(&name, "ada")));
            }
            _ if self.workers.len() < 12 => self.add_worker(),
            _ => {}
        }
    }

    fn is_over(&self) -> bool {
        now(self.board.run()).is_some_and(|run| run.status == RunStatus::Ended)
    }

    /// Checks that each unit was applied once and completely, unless it failed or needs one that did.
    fn check_end(&self) {
        let tasks = now(self.board.tasks());
        for row in &tasks {
            let unit = &row.task.unit;
            let made = self.ledgers.get(unit).map(|ledger| &ledger.made);
            assert!(
                made.into_iter().flatten().all(|(_, times)| *times == 1),
                "seed {}: {unit} has a duplicate",
                self.seed
            );
            let complete = made.map_or(0, BTreeMap::len) as u64 == self.actions[unit];
            match row.state {
                TaskState::Done => assert!(complete, "seed {}: {unit} is not complete", self.seed),
                TaskState::Failed => assert!(self.fails.contains(unit), "seed {}", self.seed),
                TaskState::Skipped => {
                    let failed = |need: &i32| {
                        tasks.iter().any(|row| {
                            row.task.number == *need
                                && matches!(row.state, TaskState::Failed | TaskState::Skipped)
                        })
                    };
                    assert!(row.task.needs.iter().any(failed), "seed {}: {unit}", self.seed);
                    assert!(made.is_none(), "seed {}: {unit} was skipped and applied", self.seed);
                }
                state => panic!("seed {}: {unit} is {state:?} at the end", self.seed),
            }
        }
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the number of schedules comes from the environment")]
fn no_schedule_of_workers_makes_a_duplicate_or_leaves_a_unit_undone() {
    let schedules = std::env::var("STEAD_WORKERS").map_or(SCHEDULES, |text| text.parse().unwrap());
    for seed in 0..schedules {
        let mut world = World::new(seed);
        let mut steps = 0;
        while !world.is_over() {
            steps += 1;
            assert!(steps < 50_000, "seed {seed}: the run does not end");
            let number = usize::try_from(world.dice.below(world.workers.len() as u64)).unwrap();
            world.step(number);
            let by = Duration::from_secs(world.dice.below(8));
            world.advance(by);
            // Toward the end, workers join and nothing happens to them.
            if steps < 400 && world.dice.one_in(25) {
                world.disturb();
            }
            if steps >= 400 && steps % 50 == 0 && world.workers.len() < 40 {
                world.add_worker();
            }
        }
        world.check_end();
    }
}

#[test]
fn a_worker_adopts_only_a_task_that_it_does_not_do_yet() {
    let progress = RunProgress {
        status: RunStatus::Running,
        waiting: 1,
        running: vec![(3, "w".to_owned())],
        workers: Vec::new(),
    };
    let action = |known: bool| {
        let situation = WorkerSituation { name: "w", running: 1, limit: 2, is_stopped: false };
        next_action(&progress, "w", situation, |_| known, |_| false)
    };
    assert_eq!(action(false), WorkerAction::Adopt);
    assert_eq!(action(true), WorkerAction::Claim);
}
