//! What can go wrong at which moment: every await with an effect outside the process is a numbered
//! point. The world and the journal at each point are what a kill there leaves behind.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value as Json;
use stead::cloud::http::message::HttpRequest;
use stead::emulator::world::{self, World, handle_request};
use stead::ledger::journal::record::Record;
use stead::ledger::stores::shared::memory_backend::{MemoryBackend, MemoryContents};

use super::machine::Machine;

/// What answers a request: the world alone, or a layer before it.
pub type Service = Box<dyn FnMut(&mut World, &world::ApiRequest, Timestamp) -> world::ApiResponse>;

/// Everything that outlives a process.
#[derive(Clone)]
pub struct Remains {
    /// The point.
    pub number: usize,
    /// What was about to happen, or just had.
    pub label: String,
    pub now: Duration,
    pub world: Rc<Vec<u8>>,
    pub records: Vec<Record>,
    /// Requests that had left and not arrived.
    pub in_flight: Vec<HttpRequest>,
    pub shelf: Option<MemoryBackend>,
    pub lag: Duration,
    pub born: BTreeMap<String, Duration>,
    pub strangers: BTreeSet<String>,
}

/// Returns a shelf with the same on it.
fn copied(shelf: &MemoryBackend) -> MemoryBackend {
    let MemoryContents { lease, lines, summaries, now, .. } = &*shelf.0;
    MemoryBackend(Rc::new(MemoryContents {
        lease: lease.clone(),
        lines: lines.clone(),
        summaries: summaries.clone(),
        now: now.clone(),
        ..MemoryContents::default()
    }))
}

/// The outside of one process.
pub struct Outside {
    pub machine: Rc<Machine>,
    pub world: RefCell<World>,
    pub service: RefCell<Service>,
    pub records: RefCell<Vec<Record>>,
    /// Facts that the journal did not take.
    pub rescued: RefCell<Vec<Record>>,
    pub in_flight: RefCell<Vec<HttpRequest>>,
    /// Requests of an earlier process that arrive late.
    pub late: RefCell<Vec<(Duration, HttpRequest)>>,
    points: Cell<usize>,
    /// Changing requests that arrived in this process, in order.
    pub changes: Cell<usize>,
    /// The answers to these changes are lost.
    pub lose: Vec<usize>,
    /// This change is thought lost at once, and arrives so much later.
    pub delay: Option<(usize, Duration)>,
    /// This change is refused with this status.
    pub refuse: Option<(usize, u16)>,
    /// This change is answered as if it were done, and has no effect.
    pub swallow: Option<usize>,
    /// The answer to this change has the id of another object.
    pub misname: Option<(usize, fn(&Outside) -> String)>,
    /// This append fails, and nothing of it is written.
    pub fail_append: Option<usize>,
    appends: Cell<usize>,
    /// What happens right before this append.
    pub before_append: Option<(usize, fn(&Outside))>,
    /// Changing requests that had left when the append failed.
    pub left_before_failure: Cell<Option<usize>>,
    /// What happens right before this change leaves.
    pub before_change: Option<(usize, fn(&Outside))>,
    /// The ledger's lease lasts until then, and nobody renews it.
    pub lease_until: Option<Duration>,
    /// Someone takes the ledger over at this moment.
    pub taken_at: Option<Duration>,
    /// The process dies at this point.
    pub kill_at: Option<usize>,
    /// Uploads that arrived in this process.
    pub uploads: Cell<usize>,
    /// The answer to the next upload is lost.
    pub lose_upload: Cell<bool>,
    /// What each point leaves behind, when it is wanted.
    pub remains: Option<RefCell<Vec<Remains>>>,
    frozen: RefCell<Option<Rc<Vec<u8>>>>,
    /// The ledger is on a shelf that many share.
    pub shelf: Option<MemoryBackend>,
    /// A list shows a new object only after this.
    pub lag: Duration,
    /// When objects were made; kept where lists lag.
    pub born: RefCell<BTreeMap<String, Duration>>,
    /// Ids of objects that people made.
    pub strangers: RefCell<BTreeSet<String>>,
    /// The service shows this attribute of volumes so, whatever it is.
    pub shows: Option<(&'static str, Json)>,
    /// What the service refused by itself; a read of what is gone is none.
    pub refusals: RefCell<Vec<String>>,
}

impl Outside {
    pub fn new(machine: Rc<Machine>, world: World, records: Vec<Record>) -> Self {
        Self {
            machine,
            world: RefCell::new(world),
            service: RefCell::new(Box::new(handle_request)),
            records: RefCell::new(records),
            rescued: RefCell::default(),
            in_flight: RefCell::default(),
            late: RefCell::default(),
            points: Cell::new(0),
            changes: Cell::new(0),
            lose: Vec::new(),
            delay: None,
            refuse: None,
            swallow: None,
            misname: None,
            fail_append: None,
            appends: Cell::new(0),
            before_append: None,
            left_before_failure: Cell::new(None),
            before_change: None,
            lease_until: None,
            taken_at: None,
            kill_at: None,
            uploads: Cell::new(0),
            lose_upload: Cell::new(false),
            remains: None,
            frozen: RefCell::default(),
            shelf: None,
            lag: Duration::ZERO,
            born: RefCell::default(),
            strangers: RefCell::default(),
            shows: None,
            refusals: RefCell::default(),
        }
    }

    /// Returns what a kill left behind, as a new process finds it some time later.
    pub fn after(remains: &Remains, pause: Duration) -> Self {
        let world = serde_json::from_slice(&remains.world).unwrap();
        Self {
            shelf: remains.shelf.as_ref().map(copied),
            lag: remains.lag,
            born: RefCell::new(remains.born.clone()),
            strangers: RefCell::new(remains.strangers.clone()),
            ..Self::new(Machine::at(remains.now + pause), world, remains.records.clone())
        }
    }

    /// Passes a point, alive or not. Whoever passes none after a kill has no effect any more.
    pub async fn point(&self, label: &str) {
        if self.machine.killed.get() {
            std::future::pending::<()>().await;
        }
        let number = self.points.get();
        self.points.set(number + 1);
        if let Some(remains) = &self.remains {
            remains.borrow_mut().push(self.left_behind(number, label));
        }
        if self.kill_at == Some(number) {
            self.machine.killed.set(true);
            std::future::pending::<()>().await;
        }
    }

    pub fn left_behind(&self, number: usize, label: &str) -> Remains {
        let world = Rc::clone(
            self.frozen
                .borrow_mut()
                .get_or_insert_with(|| Rc::new(serde_json::to_vec(&*self.world.borrow()).unwrap())),
        );
        Remains {
            number,
            label: label.to_owned(),
            now: self.machine.elapsed(),
            world,
            records: self.records.borrow().clone(),
            in_flight: self.in_flight.borrow().clone(),
            shelf: self.shelf.as_ref().map(copied),
            lag: self.lag,
            born: self.born.borrow().clone(),
            strangers: self.strangers.borrow().clone(),
        }
    }

    /// Tells whether this append fails.
    pub fn append_fails(&self) -> bool {
        let number = self.appends.get();
        self.appends.set(number + 1);
        if let Some((_, happens)) = self.before_append.filter(|(before, _)| *before == number) {
            happens(self);
        }
        let fails = self.fail_append == Some(number);
        if fails {
            self.left_before_failure.set(Some(self.changes.get()));
        }
        fails
    }

    /// Tells whether someone has taken the ledger over.
    pub fn is_taken(&self) -> bool {
        self.taken_at.is_some_and(|at| self.machine.elapsed() >= at)
    }

    pub fn appends(&self) -> usize {
        self.appends.get()
    }

    /// The world is about to change.
    pub fn thaw(&self) {
        *self.frozen.borrow_mut() = None;
    }
}
