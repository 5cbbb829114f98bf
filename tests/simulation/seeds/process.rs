//! One process of a simulation: the program as the command line runs it, on a machine that dies,
//! sleeps, and whose clock is set.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use stead::apply::context::{DEFAULT_CONCURRENCY, ExecutionContext, TimingBounds};
use stead::apply::event::{ApplyEvent, Outcome};
use stead::apply::protocol::preexisting::PreexistingObjects;
use stead::apply::run::{resolve_open_intents, run};
use stead::cloud::client::Client;
use stead::cloud::error::ReadError;
use stead::kinds::REGISTRY;
use stead::ledger::journal::error::StoreError;
use stead::ledger::journal::handle::Journal;
use stead::ledger::state::holder::{LeaseHolder, ProcessIdentity as Running};
use stead::ledger::state::run_history::RunOrigin;
use stead::ledger::stores::open_options::OpenOptions;
use stead::ledger::stores::shared::store::SharedStore;
use stead::model::address::{Address, Name};
use stead::model::clock::{Clock, Random};
use stead::plan::inputs::{PlanInputs, PlanningOptions};
use stead::plan::model::block::Blocker;
use stead::plan::model::change::Plan;
use stead::plan::pipeline::{make_plan, refresh_request};

use super::super::machine::{Machine, SimRandom, wall};
use super::super::process::machines;
use super::super::stack::Packs;
use super::network::Wire;
use super::schedule::{Blow, Class, Fault, Order, Place, millis};
use super::shelf::SimShelf;
use super::stacks::CANARY;
use super::store::{Disk, Kept};
use super::universe::{Universe, identity};

/// What a process is told to do.
#[derive(Clone)]
pub struct Job {
    pub order: Order,
    /// Objects that someone says are the stack's.
    pub adopt: BTreeMap<Address, Name>,
}

/// A process and its machine.
pub struct Process {
    pub number: usize,
    pub killed: Cell<bool>,
    pub paused_until: Cell<Option<Duration>>,
    /// How far its wall clock is off, in seconds.
    pub skew: Cell<i64>,
    pub read_only: Cell<bool>,
    /// What it was shown to do.
    pub plan: RefCell<Option<Plan>>,
    points: Cell<usize>,
    /// Who goes on when the machine wakes.
    pub sleepers: RefCell<Vec<Waker>>,
}

/// How a run ended.
pub enum End {
    Killed,
    /// The ledger could not be opened.
    Unopened(StoreError),
    /// The service or the ledger could not be read, or recovery failed.
    Failed(String),
    Blocked(Vec<Blocker>),
    Done(Box<Report>),
}

pub struct Report {
    pub plan: Plan,
    pub outcome: Outcome,
    /// When its apply began.
    pub began: Duration,
    /// Whether the place was given back well.
    pub closed: bool,
}

/// The clock of a process's machine.
#[derive(Clone)]
pub struct Watch(pub Rc<Machine>, pub Rc<Process>);

impl Clock for Watch {
    fn now(&self) -> Timestamp {
        wall(self.0.elapsed()) + SignedDuration::from_secs(self.1.skew.get())
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        self.0.sleep(duration).await;
    }
}

impl Process {
    pub fn new(universe: &Universe) -> Rc<Self> {
        let number = universe.processes.get();
        universe.processes.set(number + 1);
        Rc::new(Self {
            number,
            killed: Cell::new(false),
            paused_until: Cell::new(None),
            skew: Cell::new(0),
            read_only: Cell::new(false),
            plan: RefCell::default(),
            points: Cell::new(0),
            sleepers: RefCell::default(),
        })
    }

    /// Passes a point, or is struck there.
    pub async fn point(&self, universe: &Universe, label: &'static str) {
        self.strike(universe, label, true).await;
    }

    /// Passes the point right before a request leaves. Within the bounds no machine of a single
    /// writer sleeps just there: nothing could tell.
    pub async fn leaving(&self, universe: &Universe) {
        let may_sleep = universe.schedule.class == Class::Beyond || universe.schedule.place == Place::Shelf;
        self.strike(universe, "a request leaves", may_sleep).await;
    }

    async fn strike(&self, universe: &Universe, label: &'static str, may_sleep: bool) {
        let number = self.points.get();
        self.points.set(number + 1);
        for fault in universe.faults() {
            let Fault::Point(process, at, blow) = fault else { continue };
            if (*process, *at) != (self.number, number) {
                continue;
            }
            universe.note(|| format!("p{} at {number} ({label}): {blow:?}", self.number), 20);
            match blow {
                Blow::Kill => {
                    self.killed.set(true);
                    std::future::pending::<()>().await;
                }
                Blow::Suspend(time) if may_sleep => {
                    self.paused_until.set(Some(universe.now() + millis(*time)));
                    let mut slept = false;
                    poll_fn(|context| {
                        if std::mem::replace(&mut slept, true) {
                            return Poll::Ready(());
                        }
                        self.sleepers.borrow_mut().push(context.waker().clone());
                        Poll::Pending
                    })
                    .await;
                }
                Blow::Suspend(_) => {}
                Blow::Clock(seconds) => self.skew.set(self.skew.get() + seconds),
            }
        }
    }

    /// Returns this process as a lease names it.
    fn as_holder(&self, universe: &Universe) -> LeaseHolder {
        let id = u32::try_from(self.number).unwrap();
        let process = Running { boot: "boot".into(), namespace: "ns".into(), id, started: 1 };
        LeaseHolder {
            session: SimRandom::new(universe.schedule.seed ^ (77 + self.number as u64)).uuid(),
            who: format!("p{}", self.number),
            process: universe.schedule.provable.then_some(process),
            since: wall(universe.now()),
        }
    }
}

/// Opens the ledger for writing.
pub async fn open(universe: &Rc<Universe>, process: &Rc<Process>, force: bool) -> Result<Kept, StoreError> {
    if universe.schedule.place == Place::Disk {
        return Ok(Kept::Disk(Disk(Rc::clone(universe), Rc::clone(process))));
    }
    let identity = identity(&universe.stacks[0]);
    let is_dead = |running: &Running| universe.oracle.borrow().dead.contains(&(running.id as usize));
    let opening = OpenOptions {
        seal: None,
        identity: &identity,
        holder: process.as_holder(universe),
        effect: TimingBounds::default().effect,
        is_dead: &is_dead,
        force: force.then_some("it hangs"),
    };
    let shelf = SimShelf(Rc::clone(universe), Rc::clone(process));
    let watch = Watch(Rc::clone(&universe.machine), Rc::clone(process));
    Ok(Kept::Shelf(Box::new(SharedStore::open(shelf, watch, &opening).await?)))
}

/// Runs the program: opens the ledger, recovers, plans, applies, and closes.
pub async fn program(universe: Rc<Universe>, process: Rc<Process>, job: Job) -> End {
    universe.machine.sleep(Duration::from_secs(job.order.after)).await;
    universe.note(|| format!("p{} begins: {:?}", process.number, job.order), 30);
    let store = match open(&universe, &process, job.order.force).await {
        Ok(store) => store,
        Err(error) => return End::Unopened(error),
    };
    let journal = match Journal::open(store).await {
        Ok(journal) => journal,
        Err(error) => return End::Unopened(error),
    };
    let end = work(&universe, &process, &job, &journal).await;
    let closed = journal.close().await.is_ok();
    match end {
        End::Done(report) => End::Done(Box::new(Report { closed, ..*report })),
        other => other,
    }
}

async fn work(universe: &Rc<Universe>, process: &Rc<Process>, job: &Job, journal: &Journal<Kept>) -> End {
    let stack = &*universe.stacks[job.order.stack];
    let random = SimRandom::new(universe.schedule.seed.wrapping_mul(31) ^ (process.number as u64 + 1));
    let watch = Watch(Rc::clone(&universe.machine), Rc::clone(process));
    let wire = Wire(Rc::clone(universe), Rc::clone(process));
    let client = Client::new(wire, watch, random, REGISTRY);
    let stop = Cell::new(false);
    let preexisting = PreexistingObjects::default();
    let context = ExecutionContext {
        client: &client,
        journal,
        who: "sim@sim",
        origin: &RunOrigin::default(),
        strict: universe.schedule.strict,
        sources: &Packs { moved: false },
        secrets: &|address, name| {
            let setting = stack.resources.get(address)?.attributes.get(name)?;
            Some(setting.expression.clone())
        },
        deliver: &|_, _, _| Ok(()),
        wants_secret: &|_| false,
        kept: &|_, _| None,
        delivers: &|_, _| None,
        keep: &|_, _, _| None,
        // They are lost with the machine.
        rescue: &|_| {},
        tell: &|event| hear(universe, process, &event),
        stop: &stop,
        parallel: DEFAULT_CONCURRENCY,
        bounds: TimingBounds::default(),
    };
    if let Err(error) = resolve_open_intents(&context, &preexisting).await {
        return End::Failed(format!("recovery: {error}"));
    }
    let plan = match planned(universe, job, journal, &client).await {
        Ok(plan) => plan,
        Err(error) => return End::Failed(format!("refresh: {error}")),
    };
    universe.note(|| shown(&plan), plan.steps.len() as u64);
    if !plan.blocks.iter().all(Blocker::only_freezes) {
        return End::Blocked(plan.blocks);
    }
    if universe.listens() {
        universe.overhear(process, &serde_json::to_string(&plan).unwrap());
    }
    *process.plan.borrow_mut() = Some(plan.clone());
    let began = universe.now();
    let outcome = run(&context, &preexisting, &plan).await;
    if universe.listens() {
        universe.overhear(process, &format!("{outcome:?}"));
    }
    End::Done(Box::new(Report { plan, outcome, began, closed: false }))
}

async fn planned(
    universe: &Universe,
    job: &Job,
    journal: &Journal<Kept>,
    client: &Client<Wire, Watch, SimRandom>,
) -> Result<Plan, ReadError> {
    let stack = &*universe.stacks[job.order.stack];
    let ledger = journal.ledger().clone();
    let options = PlanningOptions {
        allow_deletes: true,
        destroy: job.order.destroy,
        adopt: job.adopt.clone(),
        replace: machines(&ledger).collect(),
        // What these stories are about is not whether data may go.
        delete_data: ledger.entries.keys().cloned().collect(),
        ..PlanningOptions::default()
    };
    let (wanted, _) = refresh_request(REGISTRY, stack, &ledger, &options);
    let snapshot = client.refresh(&wanted).await?;
    Ok(make_plan(&PlanInputs {
        registry: REGISTRY,
        stack,
        ledger: &ledger,
        snapshot: &snapshot,
        catalog: &universe.catalog,
        pinned: None,
        options: &options,
        now: client.clock().now(),
        nonce: client.random().uuid(),
    }))
}

fn hear(universe: &Universe, process: &Process, event: &ApplyEvent) {
    universe.note(|| format!("p{}: {event:?}", process.number), 31);
    if universe.listens() {
        universe.overhear(process, &format!("{event:?}"));
    }
}

fn shown(plan: &Plan) -> String {
    let changes: Vec<_> = plan.changes.iter().map(|c| format!("{:?} {}", c.action, c.address)).collect();
    let blocks: Vec<_> = plan.blocks.iter().map(|block| &block.text).collect();
    format!("the plan: {} steps, {changes:?}, blocks {blocks:?}", plan.steps.len())
}

impl Universe {
    /// One simulation in four looks for secrets in everything that is said.
    pub fn listens(&self) -> bool {
        self.schedule.seed.is_multiple_of(4)
    }

    /// No secret may be heard.
    pub fn overhear(&self, process: &Process, text: &str) {
        let oracle = self.oracle.borrow();
        let heard = std::iter::once(CANARY).chain(oracle.secrets.iter().map(String::as_str));
        let heard = heard.filter(|secret| text.contains(secret)).count();
        drop(oracle);
        if heard > 0 {
            self.broken(format!("I7: p{} tells a secret: {text}", process.number));
        }
    }
}
