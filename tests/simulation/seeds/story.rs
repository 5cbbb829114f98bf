//! One simulation from its beginning to its good end: first everything goes wrong that the schedule
//! holds; then nothing does, people answer what only they can, and the apply must converge.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use stead::ledger::journal::handle::Journal;
use stead::ledger::journal::intent_candidates::LATE_EFFECT_REASON;
use stead::ledger::journal::record::{IntentResolution, Record};
use stead::ledger::state::entry::{IntentAction, OwnedObject};
use stead::model::address::{Address, Name};
use stead::model::live::catalog::Catalog;
use stead::plan::model::block::Blocker;
use uuid::Uuid;

use super::actor::play;
use super::oracle::Key;
use super::process::{End, Job, Process, open};
use super::schedule::{Order, Schedule};
use super::universe::Universe;

/// Runs after the faults stop, at most.
const RUNS: usize = 12;

/// What came of a simulation.
pub struct Verdict {
    /// Broken promises, in order.
    pub broken: Vec<String>,
    /// Says whether two simulations were the same.
    pub digest: u64,
    /// Virtual seconds that it took.
    pub seconds: u64,
    /// Runs of the program.
    pub processes: usize,
    /// Runs after the faults stopped, up to the one that found nothing to do; `None` when none did.
    pub runs_to_rest: Option<usize>,
    /// Everything that happened, for whoever asked.
    pub story: Option<String>,
}

/// Plays a schedule.
pub fn simulate(schedule: &Schedule, catalog: &Rc<Catalog>, tells: bool) -> Verdict {
    let universe = Universe::new(schedule.clone(), Rc::clone(catalog), tells);
    let actors = schedule.orders.iter().map(|order| order.actor).max().unwrap_or(0) + 1;
    let jobs = (0..actors).map(|actor| {
        let own = schedule.orders.iter().filter(|order| order.actor == actor);
        own.map(|order| Job { order: order.clone(), adopt: BTreeMap::new() }).collect()
    });
    play(&universe, jobs.collect());
    let whole = universe.oracle.borrow().broken.is_empty();
    let runs_to_rest = if whole { come_to_rest(&universe) } else { None };
    let broken = universe.oracle.borrow().broken.clone();
    let (digest, seconds) = (universe.digest(), universe.now().as_secs());
    let story = universe.story.take();
    Verdict { broken, digest, seconds, processes: universe.processes.get(), runs_to_rest, story }
}

/// Nothing goes wrong any more: within some runs the apply converges. Returns how many it took.
fn come_to_rest(universe: &Rc<Universe>) -> Option<usize> {
    universe.calm.set(true);
    universe.note(|| "nothing goes wrong any more".to_owned(), 90);
    while let Some(next) = universe.next_event() {
        universe.machine.advance_to(next);
        universe.catch_up();
    }
    // A lease that nobody gave back runs out.
    universe.machine.advance_to(universe.now() + Duration::from_mins(5));
    let last = universe.schedule.orders.last().map_or(0, |order| order.stack);
    let mut adopt = BTreeMap::new();
    for run in 0..RUNS {
        answer_all(universe, run > 2);
        let order = Order { actor: 0, after: 1, stack: last, destroy: false, force: false };
        let job = Job { order, adopt: std::mem::take(&mut adopt) };
        match play(universe, vec![vec![job]]) {
            Some(End::Done(report)) => {
                let quiet = report.outcome.questions.is_empty() && report.outcome.failed.is_empty();
                if report.plan.steps.is_empty() && report.plan.changes.is_empty() && quiet {
                    converged(universe, last);
                    return Some(run + 1);
                }
            }
            Some(End::Blocked(blocks)) => unblock(universe, &blocks, &mut adopt),
            _ => {}
        }
        if !universe.oracle.borrow().broken.is_empty() {
            return None;
        }
    }
    universe.broken(format!("liveness: no rest after {RUNS} runs"));
    None
}

/// What is declared is owned and live, and nothing else of ours is.
fn converged(universe: &Universe, stack: usize) {
    let (as_declared, ours) = {
        let oracle = universe.oracle.borrow();
        let ledger = &oracle.ledger;
        let mut declared: Vec<&Address> = universe.stacks[stack].resources.keys().collect();
        declared.sort();
        let whole = ledger.entries.values().all(|e| e.current.is_some() && e.deposed.is_empty());
        let open = ledger.intents.len() + ledger.questions.len();
        let owned = oracle.owned();
        let stray = |key: &&Key| !oracle.released.contains(*key) && !owned.contains(*key);
        let ours: Vec<Key> = oracle.made.keys().filter(stray).cloned().collect();
        (ledger.entries.keys().eq(declared) && whole && open == 0, ours)
    };
    if !as_declared {
        universe.broken("liveness: at rest, and the ledger is not as declared".to_owned());
    }
    for key in ours {
        if universe.is_live(&key) {
            universe.broken(format!("I1: {key:?} is live in the end, and nobody's"));
        }
    }
}

/// People see to what blocks a plan.
fn unblock(universe: &Universe, blocks: &[Blocker], adopt: &mut BTreeMap<Address, Name>) {
    let mut forget = Vec::new();
    for block in blocks {
        let Some(address) = &block.address else { continue };
        match block.code.as_str() {
            "provisional" => {
                let oracle = universe.oracle.borrow();
                let owned = oracle.ledger.entries.get(address).and_then(|entry| entry.current.clone());
                let Some(owned) = owned else { continue };
                if oracle.strangers.keys().any(|key| key.2 == *owned.id) {
                    forget.push(address.clone());
                } else {
                    adopt.insert(address.clone(), owned.id);
                }
            }
            "exists" | "rule" => {
                let theirs: Vec<Key> = universe.oracle.borrow().strangers.keys().cloned().collect();
                let named = |key: &&Key| block.text.contains(key.2.as_str());
                theirs.iter().filter(named).for_each(|key| universe.take_away(key));
            }
            _ => {}
        }
    }
    if !forget.is_empty() {
        let mut oracle = universe.oracle.borrow_mut();
        let theirs: Vec<Key> = oracle.strangers.keys().cloned().collect();
        oracle.released.extend(theirs);
    }
    universe.forget.borrow_mut().extend(forget);
}

/// People say what they see: which requests made something, and which did not.
fn answer_all(universe: &Rc<Universe>, tired: bool) {
    let mut records: Vec<Record> =
        universe.forget.take().into_iter().map(|address| Record::Forgotten { address }).collect();
    let asked: Vec<Uuid> = universe.oracle.borrow().ledger.questions.keys().copied().collect();
    let watched: Vec<Uuid> = universe.oracle.borrow().ledger.watched.keys().copied().collect();
    let mut said = BTreeSet::new();
    let told = asked.into_iter().map(|op| (op, true)).chain(watched.into_iter().map(|op| (op, tired)));
    // One answer for an address at a time: each changes what can be said next.
    records.extend(told.filter_map(|(op, asked)| {
        let answer = answer(universe, op, asked)?;
        said.insert(address_of(universe, op)).then_some(answer)
    }));
    if records.is_empty() {
        return;
    }
    let process = Process::new(universe);
    let saying = async {
        let store = open(universe, &process, false).await?;
        let journal = Journal::open(store).await?;
        for record in records {
            journal.commit(&[record]).await?;
        }
        journal.close().await
    };
    if let Err(error) = alone(universe, saying) {
        universe.broken(format!("liveness: an answer is not taken: {error:?}"));
    }
}

/// Returns whose a request was that is asked about or watched.
fn address_of(universe: &Universe, op: Uuid) -> Option<Address> {
    let oracle = universe.oracle.borrow();
    let asked = oracle.ledger.questions.get(&op).map(|question| &question.intent);
    asked.or_else(|| oracle.ledger.watched.get(&op)).map(|intent| intent.address.clone())
}

/// Says what a request made. One that made nothing is answered only when it is asked about.
fn answer(universe: &Universe, op: Uuid, asked: bool) -> Option<Record> {
    let made: Vec<Key> = universe.oracle.borrow().of_op(op).cloned().collect();
    let owned = universe.oracle.borrow().owned();
    let made = made.into_iter().find(|key| !owned.contains(key) && universe.is_live(key));
    let oracle = universe.oracle.borrow();
    let ledger = &oracle.ledger;
    let asked_about = ledger.questions.get(&op).map(|question| &question.intent);
    let intent = asked_about.or_else(|| ledger.watched.get(&op))?;
    if ledger.intents.values().any(|open| open.address == intent.address) {
        // First it must be known what became of that one.
        return None;
    }
    let Some(key) = made else {
        let late =
            ledger.questions.get(&op).is_none_or(|question| question.text.contains(LATE_EFFECT_REASON));
        let answer = if late { IntentResolution::Dropped } else { IntentResolution::Nothing };
        return asked.then_some(Record::Answered { op, answer });
    };
    let IntentAction::Create { deposes, .. } = intent.action else { return None };
    let has = ledger.entries.get(&intent.address).is_some_and(|entry| entry.current.is_some());
    let object = OwnedObject {
        id: Name::new(&key.2),
        parent: intent.parent.clone(),
        project: intent.project.clone(),
        created_at: None,
        provisional: false,
    };
    let entry = ledger.entries.contains_key(&intent.address);
    let answer = if has == deposes && (!deposes || ledger.questions.contains_key(&op)) {
        IntentResolution::Made { object }
    } else if entry {
        IntentResolution::Surplus { object }
    } else {
        drop(oracle);
        universe.take_away(&key);
        IntentResolution::Dropped
    };
    Some(Record::Answered { op, answer })
}

/// Runs a future while nothing else does.
fn alone<T>(universe: &Universe, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return result;
        }
        if let Some(next) = universe.machine.first() {
            universe.machine.advance_to(next);
        }
    }
}
