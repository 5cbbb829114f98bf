//! `Universe`: everything outside the processes of one simulation: time, the world, what is under way
//! to it, where the ledger is kept, and the oracle that looks on.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hasher};
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value as Json;
use stead::cloud::http::message::{HttpRequest, HttpResponse};
use stead::config::stack::model::Stack;
use stead::emulator::world::{self, RateTier, World, WorldSetup, handle_request};
use stead::ledger::journal::record::Record;
use stead::ledger::state::entry::LedgerIdentity;
use stead::ledger::stores::shared::memory_backend::MemoryBackend;
use stead::model::address::Address;
use stead::model::live::catalog::Catalog;
use stead::model::redact::SentSecrets;
use stead::model::schema::Method;
use stead::model::values::secret::FingerprintKey;
use uuid::Uuid;

use super::super::cloud::KEY;
use super::super::machine::{Machine, wall};
use super::oracle::Oracle;
use super::people::Act;
use super::schedule::{Fault, Schedule};
use super::stacks::stacks;

/// What happens at a time, whoever lives then.
pub enum Event {
    /// A request arrives; who waits for the answer finds it in the slot.
    Arrival(Rc<Sent>),
    /// Someone does something in the account.
    Act(Act),
    /// An object comes to a status of its own accord.
    Status { kind: &'static str, id: String, status: &'static str },
}

/// A changing request on its way.
pub struct Sent {
    pub request: HttpRequest,
    /// The intent that means it.
    pub op: Option<Uuid>,
    /// Its number among all changing requests.
    pub number: usize,
    pub answer: RefCell<Option<HttpResponse>>,
}

pub struct Universe {
    pub schedule: Schedule,
    pub stacks: Vec<Rc<Stack>>,
    pub catalog: Rc<Catalog>,
    pub machine: Rc<Machine>,
    pub world: RefCell<World>,
    pub events: RefCell<BTreeMap<(Duration, u64), Event>>,
    next: Cell<u64>,
    /// The journal on the disk.
    pub disk: RefCell<Vec<Record>>,
    pub shelf: MemoryBackend,
    pub shelf_down_until: Cell<Duration>,
    pub oracle: RefCell<Oracle>,
    /// Nothing goes wrong any more.
    pub calm: Cell<bool>,
    pub changes: Cell<usize>,
    pub reads: Cell<usize>,
    pub appends: Cell<usize>,
    pub shelf_operations: Cell<usize>,
    pub processes: Cell<usize>,
    pub limited: Cell<u8>,
    /// Entries that people will let go of.
    pub forget: RefCell<Vec<Address>>,
    digest: RefCell<DefaultHasher>,
    pub story: RefCell<Option<String>>,
}

/// Whose ledger it is.
pub fn identity(stack: &Stack) -> LedgerIdentity {
    LedgerIdentity {
        lineage: Uuid::from_u128(1),
        stack: stack.name.clone(),
        environment: stack.environment.name.clone(),
        account: None,
        key: FingerprintKey([7; 32]),
    }
}

impl Universe {
    pub fn new(schedule: Schedule, catalog: Rc<Catalog>, tells: bool) -> Rc<Self> {
        let setup = WorldSetup { seed: schedule.seed, api_key: KEY.to_owned(), tier: RateTier::Standard };
        let stacks = stacks(schedule.seed, schedule.size);
        let birth = Record::birth(&identity(&stacks[0]));
        let universe = Self {
            world: RefCell::new(World::new(&setup, wall(Duration::ZERO))),
            catalog,
            machine: Machine::at(Duration::ZERO),
            events: RefCell::default(),
            next: Cell::new(0),
            disk: RefCell::new(vec![birth]),
            shelf: MemoryBackend::default(),
            shelf_down_until: Cell::new(Duration::ZERO),
            oracle: RefCell::new(Oracle::new(&schedule, &stacks[0])),
            calm: Cell::new(false),
            changes: Cell::new(0),
            reads: Cell::new(0),
            appends: Cell::new(0),
            shelf_operations: Cell::new(0),
            processes: Cell::new(0),
            limited: Cell::new(0),
            forget: RefCell::default(),
            digest: RefCell::default(),
            story: RefCell::new(tells.then(String::new)),
            stacks,
            schedule,
        };
        for fault in &universe.schedule.faults {
            if let Fault::Deed(second, deed, which) = fault {
                universe.happens(Duration::from_secs(*second), Event::Act(Act::Deed(*deed, *which)));
            }
        }
        Rc::new(universe)
    }

    pub fn now(&self) -> Duration {
        self.machine.elapsed()
    }

    /// Puts something on the calendar.
    pub fn happens(&self, at: Duration, event: Event) {
        let number = self.next.get();
        self.next.set(number + 1);
        self.events.borrow_mut().insert((at.max(self.now()), number), event);
    }

    /// Returns when the next thing happens.
    pub fn next_event(&self) -> Option<Duration> {
        self.events.borrow().first_key_value().map(|((at, _), _)| *at)
    }

    /// Lets everything happen whose time has come.
    pub fn catch_up(&self) {
        while self.next_event().is_some_and(|at| at <= self.now()) {
            let Some((_, event)) = self.events.borrow_mut().pop_first() else { return };
            match event {
                Event::Arrival(sent) => self.arrive(&sent),
                Event::Act(act) => self.act(&act),
                Event::Status { kind, id, status } => self.set_status(kind, &id, status),
            }
        }
    }

    /// Returns the faults, until they stop.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.schedule.faults.iter().filter(|_| !self.calm.get())
    }

    /// Notes what happens: for the digest, and for whoever reads the story.
    pub fn note(&self, text: impl FnOnce() -> String, digest: u64) {
        let mut hasher = self.digest.borrow_mut();
        hasher.write_u64(digest);
        hasher.write_u128(self.now().as_nanos());
        if let Some(story) = self.story.borrow_mut().as_mut() {
            let _ = writeln!(story, "{:>10.3} {}", self.now().as_secs_f64(), text());
        }
    }

    /// Returns the digest of everything that happened.
    pub fn digest(&self) -> u64 {
        self.digest.borrow().finish()
    }

    /// Says that a promise was broken.
    pub fn broken(&self, what: String) {
        self.note(|| format!("BROKEN {what}"), 666);
        self.oracle.borrow_mut().broken.push(what);
    }

    /// Lets the world answer.
    pub fn serve(&self, request: &HttpRequest) -> world::ApiResponse {
        let request = world::ApiRequest {
            method: request.method,
            path: request.path.clone(),
            query: request.query.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect(),
            api_key: Some(KEY.to_owned()),
            project: request.project.as_ref().map(ToString::to_string),
            body: request.body.as_ref().map(|body| body.to_string().into_bytes()).unwrap_or_default(),
        };
        handle_request(&mut self.world.borrow_mut(), &request, wall(self.now()))
    }

    /// Sends a request past everything that can go wrong.
    pub fn ask(
        &self,
        method: Method,
        path: &str,
        project: Option<&str>,
        body: Option<Json>,
    ) -> (u16, Json) {
        let request = HttpRequest {
            method,
            path: path.to_owned(),
            query: if method == Method::Get { vec![("limit", "100".to_owned())] } else { Vec::new() },
            project: project.map(Into::into),
            body,
            secrets: SentSecrets::default(),
            deadline: Duration::from_secs(1),
        };
        let answer = self.serve(&request);
        (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
    }

    pub fn set_status(&self, kind: &str, id: &str, status: &str) {
        let set = serde_json::Map::from_iter([("status".to_owned(), Json::from(status))]);
        self.note(|| format!("{kind} {id} is {status}"), 7);
        // It may be gone.
        let _ = world::mutate(&mut self.world.borrow_mut(), kind, id, &set, wall(self.now()));
    }
}
