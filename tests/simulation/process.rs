//! One run of the program inside a simulation, and the oracle that looks at what it left.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value as Json;
use stead::apply::context::{DEFAULT_CONCURRENCY, DeliveryError, ExecutionContext, TimingBounds};
use stead::apply::event::{ApplyEvent, Outcome};
use stead::apply::protocol::preexisting::PreexistingObjects;
use stead::apply::run::{resolve_open_intents, run};
use stead::cloud::client::Client;
use stead::config::stack::model::Stack;
use stead::emulator::world::{self, RateTier, World, WorldSetup, handle_request};
use stead::kinds::REGISTRY;
use stead::ledger::journal::handle::Journal;
use stead::ledger::journal::record::Record;
use stead::ledger::journal::replay::load_ledger;
use stead::ledger::state::entry::LedgerIdentity;
use stead::ledger::state::ledger::Ledger;
use stead::ledger::state::origins::CurrentOrigin;
use stead::ledger::state::run_history::RunOrigin;
use stead::model::address::{Address, Name};
use stead::model::clock::{Clock, Random};
use stead::model::live::catalog::Catalog;
use stead::model::live::snapshot::Snapshot;
use stead::model::schema::{KindScope, Method};
use stead::model::values::secret::FingerprintKey;
use stead::plan::artifact::binding::PlanBinding;
use stead::plan::artifact::saved_plan::SavedPlan;
use stead::plan::inputs::{PlanInputs, PlanningOptions, PolicyContext};
use stead::plan::model::change::Plan;
use stead::plan::pipeline::{make_plan, refresh_request};
use stead::report::run_report::StepResults;
use uuid::Uuid;

use super::books::SimBooks;
use super::cloud::{KEY, SimCloud, deliver_late};
use super::disaster::Outside;
use super::machine::{Machine, SimClock, SimRandom, wall};
use super::stack::Packs;

/// What the program is told to do.
#[derive(Clone)]
pub struct Aim {
    pub stack: Stack,
    /// Remove everything.
    pub destroy: bool,
    pub parallel: usize,
    /// Someone wants it to stop after so many events.
    pub stop_after: Option<usize>,
    /// Secrets that are shown once cannot be delivered.
    pub sink_is_full: bool,
    /// No bound on time is assumed.
    pub strict: bool,
    /// What happens between the plan and the apply.
    pub meanwhile: Option<fn(&Outside)>,
    /// Live objects to adopt, by id.
    pub adopt: BTreeMap<Address, Name>,
    /// Objects that hold data and may be replaced all the same.
    pub replace: BTreeSet<Address>,
    /// The plan is saved, and applied so much later.
    pub saved_for: Option<Duration>,
    /// Someone works on the sources between the plan and the apply.
    pub sources_move: bool,
    /// Something consents to the loss of all data.
    pub consents: bool,
    /// Where the stack is planned from, over a ledger on a shared backend.
    pub directory: Option<CurrentOrigin>,
    /// Who plans, and on which branch: facts that policies may read.
    pub actor: Name,
    pub branch: Name,
    catalog: Rc<OnceCell<Catalog>>,
}

impl Aim {
    pub fn build(stack: Stack) -> Self {
        Self {
            stack,
            destroy: false,
            parallel: DEFAULT_CONCURRENCY,
            stop_after: None,
            sink_is_full: false,
            strict: false,
            meanwhile: None,
            adopt: BTreeMap::new(),
            replace: BTreeSet::new(),
            saved_for: None,
            sources_move: false,
            consents: true,
            directory: None,
            actor: Name::default(),
            branch: Name::default(),
            catalog: Rc::default(),
        }
    }

    pub fn destroy(stack: Stack) -> Self {
        Self { destroy: true, ..Self::build(stack) }
    }

    fn declares(&self, address: &Address) -> bool {
        !self.destroy && self.stack.resources.contains_key(address)
    }
}

/// What one process did.
#[derive(Debug)]
pub struct Run {
    pub plan: Plan,
    pub outcome: Outcome,
    pub events: Vec<ApplyEvent>,
    /// The state of each step, and when it was started.
    pub results: StepResults,
    /// Whose secrets were handed on.
    pub delivered: Vec<Address>,
    /// How long the apply took.
    pub took: Duration,
    /// Requests of the apply.
    pub sent: u32,
}

/// Returns whose ledger it is.
pub fn identity(stack: &Stack) -> LedgerIdentity {
    LedgerIdentity {
        lineage: Uuid::from_u128(1),
        stack: stack.name.clone(),
        environment: stack.environment.name.clone(),
        account: None,
        key: FingerprintKey([7; 32]),
    }
}

fn setup() -> WorldSetup {
    WorldSetup { seed: 7, api_key: KEY.to_owned(), tier: RateTier::Standard }
}

/// Returns an empty cloud and the ledger of a stack that was never applied.
pub fn beginning(stack: &Stack) -> Outside {
    let world = World::new(&setup(), wall(Duration::ZERO));
    let identity = identity(stack);
    Outside::new(Machine::at(Duration::ZERO), world, vec![Record::birth(&identity)])
}

/// Runs the program: recover, plan, apply. `None` when it was killed.
pub fn process(outside: &Rc<Outside>, aim: &Aim, seed: u64) -> Option<Run> {
    let machine = Rc::clone(&outside.machine);
    machine.run(program(outside, aim, seed))
}

/// Reads the world and plans; nothing is applied.
pub fn planning(outside: &Rc<Outside>, aim: &Aim, seed: u64) -> Plan {
    let machine = Rc::clone(&outside.machine);
    let read = async {
        let clock = SimClock(Rc::clone(&outside.machine));
        let client = Client::new(SimCloud(Rc::clone(outside)), clock, SimRandom::new(seed), REGISTRY);
        let ledger = load_ledger(outside.records.borrow().iter().cloned()).unwrap();
        planned(&client, aim, &ledger).await.0
    };
    machine.run(read).unwrap()
}

/// Reads the world and the catalog as a plan would.
pub fn observed(outside: &Rc<Outside>, aim: &Aim, options: &PlanningOptions) -> (Snapshot, Catalog) {
    let machine = Rc::clone(&outside.machine);
    let read = async {
        let clock = SimClock(Rc::clone(&outside.machine));
        let client = Client::new(SimCloud(Rc::clone(outside)), clock, SimRandom::new(1), REGISTRY);
        let ledger = load_ledger(outside.records.borrow().iter().cloned()).unwrap();
        let (wanted, tables) = refresh_request(REGISTRY, &aim.stack, &ledger, options);
        (client.refresh(&wanted).await.unwrap(), client.catalog(&tables).await.unwrap())
    };
    machine.run(read).unwrap()
}

async fn program(outside: &Rc<Outside>, aim: &Aim, seed: u64) -> Run {
    let stack = &aim.stack;
    let clock = SimClock(Rc::clone(&outside.machine));
    let client = Client::new(SimCloud(Rc::clone(outside)), clock, SimRandom::new(seed), REGISTRY);
    let journal = Journal::open(SimBooks::open(outside, stack).await.unwrap()).await.unwrap();
    let (stop, events) = (Cell::new(false), RefCell::new(Vec::new()));
    let (delivered, results) = (RefCell::new(Vec::new()), RefCell::new(StepResults::default()));
    let preexisting = PreexistingObjects::default();
    let context = ExecutionContext {
        client: &client,
        journal: &journal,
        who: "sim@sim",
        origin: &RunOrigin::default(),
        strict: aim.strict,
        sources: &Packs { moved: aim.sources_move },
        secrets: &|address, name| {
            let setting = stack.resources.get(address)?.attributes.get(name)?;
            Some(setting.expression.clone())
        },
        wants_secret: &|_| false,
        kept: &|_, _| None,
        delivers: &|_, _| None,
        keep: &|_, _, _| None,
        deliver: &|address, _, _| {
            delivered.borrow_mut().push(address.clone());
            let full = || DeliveryError { reason: "the disk is full".to_owned(), kept: None };
            if aim.sink_is_full { Err(full()) } else { Ok(()) }
        },
        rescue: &|records| outside.rescued.borrow_mut().extend_from_slice(records),
        tell: &|event| {
            results.borrow_mut().record_event(wall(outside.machine.elapsed()), &event);
            events.borrow_mut().push(event);
            stop.set(stop.get() || aim.stop_after.is_some_and(|count| events.borrow().len() >= count));
        },
        stop: &stop,
        parallel: aim.parallel,
        bounds: TimingBounds::default(),
    };
    resolve_open_intents(&context, &preexisting).await.unwrap();
    let ledger = journal.ledger().clone();
    let (plan, read) = planned(&client, aim, &ledger).await;
    let plan = saved(outside, aim, plan).await;
    if let Some(meanwhile) = aim.meanwhile {
        meanwhile(outside);
    }
    let begun = client.clock().elapsed();
    let outcome = run(&context, &preexisting, &plan).await;
    let took = client.clock().elapsed() - begun;
    let sent = client.request_count().sent - read;
    if outside.shelf.is_some() {
        journal.close().await.unwrap();
    }
    let (events, results, delivered) = (events.take(), results.take(), delivered.take());
    Run { plan, outcome, events, results, delivered, took, sent }
}

/// Addresses of what has a disk of its own: a replacement that another resource causes asks for consent.
pub fn machines(ledger: &Ledger) -> impl Iterator<Item = Address> {
    let is_machine = |kind: &str| REGISTRY.kind(kind).is_some_and(|kind| kind.local_data);
    ledger
        .entries
        .iter()
        .filter(move |(_, entry)| is_machine(&entry.kind))
        .map(|(address, _)| address.clone())
}

/// Reads the world and plans. Returns also how many requests that took.
async fn planned(
    client: &Client<SimCloud, SimClock, SimRandom>,
    aim: &Aim,
    ledger: &Ledger,
) -> (Plan, u32) {
    let options = PlanningOptions {
        allow_deletes: true,
        destroy: aim.destroy,
        adopt: aim.adopt.clone(),
        replace: aim.replace.iter().cloned().chain(machines(ledger)).collect(),
        // What most stories are about is not whether data may go.
        delete_data: ledger.entries.keys().filter(|_| aim.consents).cloned().collect(),
        directory: aim.directory.clone(),
        policy: PolicyContext {
            actor: aim.actor.clone(),
            branch: aim.branch.clone(),
            time: Some(client.clock().now()),
            ..PolicyContext::default()
        },
        ..PlanningOptions::default()
    };
    let (wanted, tables) = refresh_request(REGISTRY, &aim.stack, ledger, &options);
    let snapshot = client.refresh(&wanted).await.unwrap();
    // It never changes: once read, it serves all runs.
    let catalog = match aim.catalog.get() {
        Some(catalog) => catalog,
        None => {
            let read = client.catalog(&tables).await.unwrap();
            aim.catalog.get_or_init(|| read)
        }
    };
    let plan = make_plan(&PlanInputs {
        registry: REGISTRY,
        stack: &aim.stack,
        ledger,
        snapshot: &snapshot,
        catalog,
        pinned: None,
        options: &options,
        now: client.clock().now(),
        nonce: client.random().uuid(),
    });
    (plan, snapshot.requests.sent)
}

/// Returns the plan as it is after it was saved for a while, if it is to be.
async fn saved(outside: &Outside, aim: &Aim, plan: Plan) -> Plan {
    let Some(time) = aim.saved_for else { return plan };
    let text = SavedPlan::new(plan, PlanBinding::default(), "sim").unwrap().to_text().unwrap();
    outside.machine.sleep(time).await;
    SavedPlan::parse(&text, REGISTRY).unwrap().plan
}

/// Checks that a converged run left exactly what the stack says, and nothing else.
pub fn assert_converged(outside: &Rc<Outside>, aim: &Aim, run: &Run, story: &str) {
    deliver_late(outside, Duration::MAX);
    assert!(run.plan.blocks.is_empty(), "{story}: blocked: {:?}", run.plan.blocks);
    assert!(run.outcome.failed.is_empty(), "{story}: failed: {:?}", run.outcome.failed);
    assert!(run.outcome.skipped.is_empty(), "{story}: skipped: {:?}", run.outcome.skipped);
    assert!(run.outcome.questions.is_empty(), "{story}: asks: {:?}", run.outcome.questions);
    let ledger = load_ledger(outside.records.borrow().iter().cloned()).unwrap();
    assert!(ledger.intents.is_empty(), "{story}: open: {:?}", ledger.intents);
    assert!(ledger.questions.is_empty(), "{story}: asks: {:?}", ledger.questions);
    let mut owned: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (address, entry) in &ledger.entries {
        assert!(aim.declares(address), "{story}: {address} is remembered, but not declared");
        assert!(entry.deposed.is_empty(), "{story}: {address} still has old objects");
        assert!(!entry.unfinished, "{story}: {address} is unfinished");
        let current = entry.current.as_ref().unwrap_or_else(|| panic!("{story}: {address} has no object"));
        owned.entry(kind_of(&aim.stack, address)).or_default().push(current.id.to_string());
    }
    let declared = aim.stack.resources.keys().filter(|address| aim.declares(address)).count();
    assert_eq!(ledger.entries.len(), declared, "{story}: what is declared is owned");
    let mut live = live(outside);
    for ids in owned.values_mut().chain(live.values_mut()) {
        ids.sort_unstable();
    }
    let strangers = outside.strangers.borrow();
    let is_ours = |id: &String| {
        !strangers.contains(id)
            || ledger
                .entries
                .values()
                .any(|entry| entry.current.as_ref().is_some_and(|owned| owned.id == **id))
    };
    for ids in live.values_mut() {
        ids.retain(&is_ours);
    }
    let live: BTreeMap<&str, Vec<String>> = live.into_iter().filter(|(_, ids)| !ids.is_empty()).collect();
    assert_eq!(owned, live, "{story}: what is owned is live, and nothing else");
}

/// Runs once more: nothing is left to do.
pub fn assert_still(outside: &Rc<Outside>, aim: &Aim, seed: u64, story: &str) {
    let before = outside.changes.get();
    let run = process(outside, aim, seed).unwrap();
    let changes: Vec<_> = run.plan.changes.iter().map(|c| (&c.address, c.action, &c.attributes)).collect();
    assert!(run.plan.steps.is_empty() && changes.is_empty(), "{story}: the next plan: {changes:?}");
    assert_eq!(outside.changes.get(), before, "{story}: the second run changes something");
}

fn kind_of<'a>(stack: &'a Stack, address: &Address) -> &'a str {
    stack.resources[address].kind.name
}

/// Returns the ids of all live objects by kind, without what every account has from the beginning.
pub fn live(outside: &Outside) -> BTreeMap<&'static str, Vec<String>> {
    let mut found: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    let mut new = World::new(&setup(), wall(Duration::ZERO));
    for kind in REGISTRY.kinds.iter().filter(|kind| !matches!(kind.scope, KindScope::Child { .. })) {
        // There is one for the account, and no list.
        if kind.api.absent_when.is_some() {
            continue;
        }
        let id = |row: &Json| row[kind.api.id].as_str().unwrap().to_owned();
        let given: Vec<_> =
            listed_in(&mut new, kind.api.list.path, Duration::ZERO).iter().map(id).collect();
        let rows = listed(outside, kind.api.list.path);
        let ids = rows.iter().filter(|row| row["status"] != "deleting").map(id);
        found.insert(kind.name, ids.filter(|id| !given.contains(id)).collect());
    }
    for kind in REGISTRY.kinds {
        let Some((of, _)) = kind.child_of() else { continue };
        let parents = found.get(of).cloned().unwrap_or_default();
        let all =
            parents.iter().flat_map(|id| listed(outside, &kind.api.list.path.replace("{parent}", id)));
        let ids = all.map(|row| row[kind.api.id].as_str().unwrap().to_owned()).collect();
        found.insert(kind.name, ids);
    }
    found
}

pub fn listed(outside: &Outside, path: &str) -> Vec<Json> {
    outside.thaw();
    listed_in(&mut outside.world.borrow_mut(), path, outside.machine.elapsed())
}

fn listed_in(world: &mut World, path: &str, now: Duration) -> Vec<Json> {
    let request = world::ApiRequest {
        method: Method::Get,
        path: path.to_owned(),
        query: vec![("limit".to_owned(), "100".to_owned())],
        api_key: Some(KEY.to_owned()),
        project: None,
        body: Vec::new(),
    };
    let response = handle_request(world, &request, wall(now));
    let json: Json = serde_json::from_slice(&response.body).unwrap();
    json["data"].as_array().unwrap_or_else(|| panic!("{path}: {json}")).clone()
}
