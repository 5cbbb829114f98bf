//! Moves between two ledgers: the real runner over two simulated stores, in one thread. Processes are killed before and
//! after every record of either ledger, and again while they end what the killed one left open; or many of them run at
//! once, lose their leases while they live, and wake up later. At every record an object has exactly one owner, and no
//! plan of either stack may change it while it is on its way.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use jiff::Timestamp;
use stead::apply::protocol::transfer::runner::{
    MoveEnd, MoveError, MoveRequest, PeerLedgers, finish_between, finish_open_moves, move_between,
};
use stead::ledger::journal::error::StoreError;
use stead::ledger::journal::handle::Journal;
use stead::ledger::journal::record::{ClosedOutcome, Record};
use stead::ledger::journal::replay::load_ledger;
use stead::ledger::journal::store::Store;
use stead::ledger::state::entry::{Entry, Intent, IntentAction, LedgerIdentity, OwnedObject};
use stead::ledger::state::ledger::Ledger;
use stead::ledger::state::transfer::{LedgerPeer, TransferStatus};
use stead::model::address::{Address, Name};
use stead::model::values::value::Attributes;
use uuid::Uuid;

use crate::machine::SimRandom;

/// Whether a ledger can be taken from a process that lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backend {
    /// A lock that ends with its process.
    Lock,
    /// A lease, which a paused process loses.
    Lease,
}

const BACKENDS: [[Backend; 2]; 4] = [
    [Backend::Lock, Backend::Lock],
    [Backend::Lease, Backend::Lease],
    [Backend::Lock, Backend::Lease],
    [Backend::Lease, Backend::Lock],
];

/// The ledger that has the objects at first, and the one that gets them.
const SOURCE: usize = 0;
const TARGET: usize = 1;

/// One stored ledger.
struct Shelf {
    records: RefCell<Vec<Record>>,
    epoch: Cell<u64>,
    holder: Cell<Option<usize>>,
    backend: Backend,
}

/// Both ledgers, and what the processes do to them.
struct World {
    shelves: [Shelf; 2],
    random: SimRandom,
    /// Processes that live.
    living: RefCell<Vec<usize>>,
    /// The number of points that the processes have passed.
    points: Cell<usize>,
    ids: Cell<u128>,
    /// A live holder may lose its lease.
    leases_expire: Cell<bool>,
    completed: Cell<usize>,
    story: RefCell<Vec<String>>,
}

fn vm() -> Address {
    Address::new("vm", "web")
}

/// A child of the machine: it moves with it.
fn child() -> Address {
    vm().join("disk").join("a")
}

fn moved(address: &Address) -> Address {
    moves()[address].clone()
}

fn moves() -> BTreeMap<Address, Address> {
    let api = Address::new("vm", "api");
    [(vm(), api.clone()), (child(), api.join("disk").join("a"))].into()
}

fn entry(id: &str, parent: Option<Address>) -> Entry {
    Entry {
        kind: Name::new("vm"),
        current: Some(OwnedObject {
            id: Name::new(id),
            parent: None,
            project: None,
            created_at: None,
            provisional: false,
        }),
        deposed: Vec::new(),
        parent,
        applied: Attributes::new(),
        depends_on: Vec::new(),
        protect: true,
        keep_on_remove: false,
        delete_on_remove: false,
        unfinished: false,
        secret_lost: false,
        secret_origin: None,
        final_snapshot: false,
        verified: None,
    }
}

fn beginnings() -> [Vec<Record>; 2] {
    let born =
        |stack: &str, n| Record::birth(&LedgerIdentity::new_random(stack, "prod", &SimRandom::new(n)));
    let adopt = |address, id, parent| Record::Adopted { address, entry: Box::new(entry(id, parent)) };
    let account = || Record::Account { account: Name::new("account") };
    [
        vec![
            born("shop", 1),
            account(),
            adopt(vm(), "m1", None),
            adopt(child(), "m2", Some(vm())),
            adopt(Address::new("vm", "stays"), "m3", None),
        ],
        vec![born("web", 2), adopt(Address::new("vm", "own"), "m4", None)],
    ]
}

impl World {
    fn new(backends: [Backend; 2], seed: u64) -> Rc<Self> {
        let mut records = beginnings().into_iter();
        let shelves = backends.map(|backend| Shelf {
            records: RefCell::new(records.next().unwrap()),
            epoch: Cell::new(0),
            holder: Cell::new(None),
            backend,
        });
        Rc::new(Self {
            shelves,
            random: SimRandom::new(seed),
            living: RefCell::default(),
            points: Cell::new(0),
            ids: Cell::new(0),
            leases_expire: Cell::new(false),
            completed: Cell::new(0),
            story: RefCell::default(),
        })
    }

    fn ledger(&self, side: usize) -> Ledger {
        load_ledger(self.shelves[side].records.borrow().clone()).unwrap()
    }

    fn note(&self, text: String) {
        self.story.borrow_mut().push(text);
    }

    fn story(&self) -> String {
        self.story.borrow().join("\n")
    }

    /// Checks the durable ledgers: one owner for each object, and no plan while an object is on its way.
    fn judge(&self) {
        let ledgers = [self.ledger(SOURCE), self.ledger(TARGET)];
        for id in ["m1", "m2", "m3", "m4"] {
            let owns = |ledger: &Ledger| {
                let mut objects = ledger.entries.values().filter_map(|entry| entry.current.as_ref());
                usize::from(objects.any(|object| object.id == id))
            };
            let owners: usize = ledgers.iter().map(owns).sum();
            let given = ledgers[SOURCE].transfers.outgoing.values().filter(|one| one.is_given());
            let on_its_way = given.filter(|one| {
                let arrived = ledgers[TARGET].transfers.incoming.get(&one.transfer.id);
                arrived.is_some_and(|incoming| incoming.entries.values().any(|e| owns_id(e, id)))
            });
            let on_its_way = on_its_way.count();
            assert_eq!(owners + on_its_way, 1, "owners of {id}\n{}", self.story());
            if on_its_way == 1 {
                for (ledger, address) in
                    ledgers.iter().zip([[vm(), child()], [moved(&vm()), moved(&child())]])
                {
                    let plans = |at: &Address| {
                        ledger.entries.contains_key(at) && ledger.transfers.holding(at).is_none()
                    };
                    assert!(!address.iter().any(plans), "planned on its way\n{}", self.story());
                }
                let seen = ledgers
                    .iter()
                    .all(|ledger| ledger.transfers.objects_on_the_way().any(|(key, ..)| key.id == id));
                assert!(seen, "{id} looks unmanaged\n{}", self.story());
            }
        }
    }
}

fn owns_id(entry: &Entry, id: &str) -> bool {
    entry.current.as_ref().is_some_and(|object| object.id == id)
}

/// A point where a process can be interrupted, paused or killed.
async fn point(world: &World) {
    world.points.set(world.points.get() + 1);
    let mut passed = false;
    std::future::poll_fn(|_| {
        if passed {
            return Poll::Ready(());
        }
        passed = true;
        Poll::Pending
    })
    .await;
}

/// A ledger open for writing by one process.
struct SimLedger {
    world: Rc<World>,
    side: usize,
    process: usize,
    epoch: u64,
}

impl SimLedger {
    async fn open(world: &Rc<World>, side: usize, process: usize) -> Result<Self, StoreError> {
        point(world).await;
        let shelf = &world.shelves[side];
        if let Some(holder) = shelf.holder.get() {
            let lives = world.living.borrow().contains(&holder);
            let expired =
                shelf.backend == Backend::Lease && world.leases_expire.get() && world.random.below(3) == 0;
            if lives && !expired {
                return Err(StoreError::Locked { holder: holder.to_string() });
            }
        }
        shelf.holder.set(Some(process));
        shelf.epoch.set(shelf.epoch.get() + 1);
        world.note(format!("{process} opens {side}"));
        Ok(Self { world: Rc::clone(world), side, process, epoch: shelf.epoch.get() })
    }

    fn is_displaced(&self) -> bool {
        self.world.shelves[self.side].epoch.get() != self.epoch
    }
}

impl Store for SimLedger {
    async fn load(&self) -> Result<Vec<Record>, StoreError> {
        Ok(self.world.shelves[self.side].records.borrow().clone())
    }

    async fn append(&self, records: &[Record]) -> Result<(), StoreError> {
        point(&self.world).await;
        if self.is_displaced() {
            return Err(StoreError::Displaced { by: "another process".to_owned() });
        }
        self.world.shelves[self.side].records.borrow_mut().extend_from_slice(records);
        self.world.note(format!("{} writes {records:?} to {}", self.process, self.side));
        self.world.judge();
        point(&self.world).await;
        Ok(())
    }

    async fn release(&self) -> Result<(), StoreError> {
        if !self.is_displaced() {
            self.world.shelves[self.side].holder.set(None);
        }
        Ok(())
    }
}

/// Finds either ledger, for a process.
struct Peers {
    world: Rc<World>,
    process: usize,
}

/// Returns the number of the ledger of a stack.
fn ledger_number(peer: &LedgerPeer) -> usize {
    usize::from(peer.stack == "web")
}

impl PeerLedgers for Peers {
    type Store = SimLedger;

    async fn read(&self, peer: &LedgerPeer) -> Result<Option<Ledger>, StoreError> {
        point(&self.world).await;
        let ledger = self.world.ledger(ledger_number(peer));
        point(&self.world).await;
        Ok(Some(ledger))
    }

    async fn open(&self, peer: &LedgerPeer) -> Result<Journal<SimLedger>, StoreError> {
        Journal::open(SimLedger::open(&self.world, ledger_number(peer), self.process).await?).await
    }
}

/// What a process does.
#[derive(Debug, Clone, Copy)]
enum Work {
    /// Opens both ledgers, ends what is open between them, and moves.
    Move,
    /// Opens one ledger, ends what is open in it, and changes the object if the ledger owns it.
    Apply(usize),
}

async fn run(world: Rc<World>, work: Work, process: usize) {
    match work {
        Work::Move => {
            let Ok(source) = SimLedger::open(&world, SOURCE, process).await else { return };
            let source = Journal::open(source).await.unwrap();
            if let Ok(target) = SimLedger::open(&world, TARGET, process).await {
                let target = Journal::open(target).await.unwrap();
                // What was displaced fails, which is all that it can do.
                if move_once(&world, &source, &target).await.is_ok() {
                    world.completed.set(world.completed.get() + 1);
                }
                let _ = target.close().await;
            }
            let _ = source.close().await;
        }
        Work::Apply(side) => {
            let Ok(own) = SimLedger::open(&world, side, process).await else { return };
            let own = Journal::open(own).await.unwrap();
            let peers = Peers { world: Rc::clone(&world), process };
            if finish_open_moves(&own, &peers).await.is_ok() && recover(&own).await.is_ok() {
                let _ = change(&world, &own, side).await;
            }
            let _ = own.close().await;
        }
    }
}

async fn move_once(
    world: &Rc<World>,
    source: &Journal<SimLedger>,
    target: &Journal<SimLedger>,
) -> Result<(), MoveError> {
    finish_between(source, target).await?;
    recover(source).await?;
    recover(target).await?;
    if !source.ledger().entries.contains_key(&vm()) {
        return Ok(());
    }
    world.ids.set(world.ids.get() + 1);
    let end = |journal, location: &str| MoveEnd { journal, location: location.to_owned(), directory: None };
    let moves = moves();
    let request = MoveRequest {
        id: Uuid::from_u128(world.ids.get()),
        moves: &moves,
        who: "sim@sim",
        at: Timestamp::UNIX_EPOCH,
    };
    move_between(&end(source, "sim:source"), &end(target, "sim:target"), &request).await
}

/// Closes the requests that an earlier apply left open, as recovery does.
async fn recover(own: &Journal<SimLedger>) -> Result<(), StoreError> {
    let open: Vec<Uuid> = own.ledger().intents.keys().copied().collect();
    let closed = open.into_iter().map(|op| Record::Closed { op, outcome: ClosedOutcome::Done });
    own.commit(&closed.collect::<Vec<_>>()).await
}

/// Changes the object at its address in this ledger, as an apply does, unless a transfer holds it.
async fn change(world: &World, own: &Journal<SimLedger>, side: usize) -> Result<(), StoreError> {
    let address = if side == SOURCE { vm() } else { moved(&vm()) };
    let is_own = {
        let ledger = own.ledger();
        ledger.entries.contains_key(&address) && ledger.transfers.holding(&address).is_none()
    };
    if !is_own {
        return Ok(());
    }
    world.ids.set(world.ids.get() + 1);
    let op = Uuid::from_u128(world.ids.get());
    let action = IntentAction::Update {
        id: Name::new("m1"),
        call: Name::new("resize"),
        before: Attributes::new(),
        target: Attributes::new(),
    };
    let intent = Intent {
        op,
        address,
        kind: Name::new("vm"),
        parent: None,
        project: None,
        at: Timestamp::UNIX_EPOCH,
        foreign: false,
        action,
    };
    own.commit(&[Record::Intent(intent)]).await?;
    own.commit(&[Record::Closed { op, outcome: ClosedOutcome::Done }]).await
}

type Process = Pin<Box<dyn Future<Output = ()>>>;

fn start(world: &Rc<World>, work: Work, process: usize) -> Process {
    world.living.borrow_mut().push(process);
    Box::pin(run(Rc::clone(world), work, process))
}

/// Lets a process go on to its next point; returns whether it lives on.
fn step(world: &World, process: &mut Process, number: usize) -> bool {
    let done = process.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
    if done {
        end(world, number);
    }
    !done
}

fn end(world: &World, number: usize) {
    world.living.borrow_mut().retain(|living| *living != number);
}

/// Runs a process alone, and kills it after some points; returns whether it ended before.
fn run_until(world: &Rc<World>, work: Work, number: usize, points: usize) -> bool {
    let mut process = start(world, work, number);
    for _ in 0..points {
        if !step(world, &mut process, number) {
            return true;
        }
    }
    world.note(format!("{number} dies"));
    end(world, number);
    false
}

/// Opens each ledger once more, without any disaster: then no transfer is open, and a last move succeeds.
fn assert_converges(world: &Rc<World>, first: usize) {
    const LONG: usize = 1_000;
    world.leases_expire.set(false);
    for (number, side) in [(900, first), (901, 1 - first), (902, first)] {
        assert!(run_until(world, Work::Apply(side), number, LONG), "{}", world.story());
    }
    for side in [SOURCE, TARGET] {
        assert!(!world.ledger(side).transfers.is_open(), "a transfer is still open\n{}", world.story());
    }
    assert!(run_until(world, Work::Move, 903, LONG));
    let [source, target] = [world.ledger(SOURCE), world.ledger(TARGET)];
    assert!(target.entries.contains_key(&moved(&vm())), "not moved\n{}", world.story());
    assert_eq!(target.entries[&moved(&child())].parent, Some(moved(&vm())));
    assert!(target.entries[&moved(&vm())].protect && source.entries.len() == 1);
    for id in target.transfers.received.iter().copied() {
        let status = source.transfers.status(id);
        assert_eq!(status, TransferStatus::Settled, "{id}\n{}", world.story());
    }
    world.judge();
}

/// Returns how many points a process passes, and what it leaves.
fn points_of(backends: [Backend; 2], work: Work) -> usize {
    let world = World::new(backends, 1);
    assert!(run_until(&world, work, 1, 1_000));
    world.points.get()
}

#[test]
fn a_move_that_is_killed_at_any_point_ends_with_one_owner() {
    let mut cases = 0;
    for backends in BACKENDS {
        let points = points_of(backends, Work::Move);
        assert!(points > 10, "{points}");
        for killed in 0..=points {
            for first in [SOURCE, TARGET] {
                // The recovery is killed at each of its points, too.
                for again in 0..60 {
                    let world = World::new(backends, 1);
                    run_until(&world, Work::Move, 1, killed);
                    let ended = run_until(&world, Work::Apply(first), 2, again);
                    assert_converges(&world, 1 - first);
                    cases += 1;
                    if ended {
                        break;
                    }
                    // A second mover comes instead.
                    let world = World::new(backends, 1);
                    run_until(&world, Work::Move, 1, killed);
                    run_until(&world, Work::Apply(first), 2, again);
                    run_until(&world, Work::Move, 3, again);
                    assert_converges(&world, first);
                }
            }
        }
    }
    assert!(cases > 500, "{cases}");
}

/// One seeded schedule of many processes at once. Returns whether a move completed in it.
fn schedule(seed: u64) -> bool {
    let backends = BACKENDS[usize::try_from(seed % 4).unwrap()];
    let world = World::new(backends, seed);
    world.leases_expire.set(true);
    let mut processes: Vec<(usize, Process)> = Vec::new();
    let mut number = 0;
    for _ in 0..60 + world.random.below(120) {
        if processes.len() < 4 && world.random.below(4) == 0 {
            number += 1;
            let work = [Work::Move, Work::Apply(SOURCE), Work::Apply(TARGET)]
                [usize::try_from(world.random.below(3)).unwrap()];
            processes.push((number, start(&world, work, number)));
        }
        if processes.is_empty() {
            continue;
        }
        let chosen = usize::try_from(world.random.below(processes.len() as u64)).unwrap();
        let (process, future) = &mut processes[chosen];
        if world.random.below(25) == 0 {
            world.note(format!("{process} dies"));
            end(&world, *process);
            drop(processes.remove(chosen));
        } else if !step(&world, future, *process) {
            drop(processes.remove(chosen));
        }
    }
    for (number, _) in &processes {
        end(&world, *number);
    }
    drop(processes);
    let completed = world.completed.get() > 0;
    assert_converges(&world, usize::try_from(seed / 4 % 2).unwrap());
    completed
}

/// `STEAD_MOVES` says how many schedules (3,000).
#[test]
fn no_schedule_of_movers_and_appliers_loses_or_doubles_an_object() {
    let count = std::env::var("STEAD_MOVES").ok().and_then(|count| count.parse().ok()).unwrap_or(3_000);
    let completed = (0..count).filter(|seed| schedule(*seed)).count();
    println!("{count} schedules, a move completed in {completed}");
    assert!(completed as u64 * 5 > count, "{completed} of {count}: a law about nothing holds always");
}
