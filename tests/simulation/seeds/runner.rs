//! Plays thousands of seeds on all cores; a failing one is shrunk and told in one line that plays it
//! again.
//!
//! `STEAD_SEEDS=20000` plays so many, `STEAD_SEEDS=5..90` a range, `STEAD_SEED=123` one with its
//! whole story.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use stead::cloud::client::Client;
use stead::emulator::world::{RateTier, World, WorldSetup};
use stead::kinds::REGISTRY;
use stead::ledger::journal::record::Record;
use stead::model::live::catalog::Catalog;
use stead::plan::inputs::PlanningOptions;
use stead::plan::pipeline::refresh_request;

use super::super::cloud::{KEY, SimCloud};
use super::super::disaster::Outside;
use super::super::machine::{Machine, SimClock, SimRandom, wall};
use super::super::stack::shop;
use super::regressions;
use super::schedule::Schedule;
use super::story::{Verdict, simulate};
use super::universe::identity;

/// Seeds that are played when nobody says how many.
const USUAL: u64 = 2_000;

/// Failures that are told.
const TOLD: usize = 10;

#[derive(Default)]
struct Tally {
    seeds: u64,
    processes: u64,
    seconds: u64,
    twice: u64,
    /// Schedules after whose faults the apply converged.
    converged: u64,
    /// Runs that one of them took to, at most.
    runs: usize,
    failures: Vec<(u64, String)>,
}

/// Reads the catalog once: it never changes.
fn catalog() -> Rc<Catalog> {
    let setup = WorldSetup { seed: 1, api_key: KEY.to_owned(), tier: RateTier::Standard };
    let machine = Machine::at(std::time::Duration::ZERO);
    let world = World::new(&setup, wall(std::time::Duration::ZERO));
    let stack = shop();
    let outside = Rc::new(Outside::new(Rc::clone(&machine), world, vec![Record::birth(&identity(&stack))]));
    let ledger = stead::ledger::state::ledger::Ledger::new(identity(&stack));
    let (_, tables) = refresh_request(REGISTRY, &stack, &ledger, &PlanningOptions::default());
    let client = Client::new(SimCloud(outside), SimClock(Rc::clone(&machine)), SimRandom::new(1), REGISTRY);
    Rc::new(machine.run(client.catalog(&tables)).unwrap().unwrap())
}

/// Returns the seeds that are wanted.
fn range() -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("STEAD_SEEDS") else { return 0..USUAL };
    match text.split_once("..") {
        Some((first, end)) => first.parse().unwrap()..end.parse().unwrap(),
        None => 0..text.parse().unwrap(),
    }
}

fn play(seeds: std::ops::Range<u64>) -> Tally {
    let next = Arc::new(AtomicU64::new(seeds.start));
    let tally = Arc::new(Mutex::new(Tally::default()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let (next, tally, end) = (Arc::clone(&next), Arc::clone(&tally), seeds.end);
            std::thread::spawn(move || work(&next, end, &tally))
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    Arc::into_inner(tally).unwrap().into_inner().unwrap()
}

fn work(next: &AtomicU64, end: u64, tally: &Mutex<Tally>) {
    let catalog = catalog();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return;
        }
        let schedule = Schedule::of(seed);
        let verdict = played(&schedule, &catalog, false);
        let twice = seed.is_multiple_of(100);
        let same = !twice || played(&schedule, &catalog, false).digest == verdict.digest;
        let mut tally = tally.lock().unwrap();
        tally.seeds += 1;
        tally.twice += u64::from(twice);
        tally.processes += verdict.processes as u64;
        tally.seconds += verdict.seconds;
        tally.converged += u64::from(verdict.runs_to_rest.is_some() && verdict.broken.is_empty());
        tally.runs = tally.runs.max(verdict.runs_to_rest.unwrap_or_default());
        if !same {
            tally.failures.push((seed, "it plays differently the second time".to_owned()));
        } else if let Some(first) = verdict.broken.first() {
            tally.failures.push((seed, first.clone()));
        }
    }
}

/// Plays a schedule; a panic is a broken promise, too.
fn played(schedule: &Schedule, catalog: &Rc<Catalog>, tells: bool) -> Verdict {
    let play = std::panic::AssertUnwindSafe(|| simulate(schedule, catalog, tells));
    std::panic::catch_unwind(play).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let broken = vec![format!("panic: {}", text.unwrap_or_default())];
        Verdict { broken, digest: 0, seconds: 0, processes: 0, runs_to_rest: None, story: None }
    })
}

/// Leaves out whatever a failing schedule does not need to fail in the same way.
fn shrunk(seed: u64, catalog: &Rc<Catalog>) -> Schedule {
    let mut schedule = Schedule::of(seed);
    let way = |schedule: &Schedule| {
        let broken = played(schedule, catalog, false).broken;
        broken.first().map(|text| text.split(':').next().unwrap_or_default().to_owned())
    };
    let wanted = way(&schedule);
    let mut part = 0;
    while let Some(less) = schedule.without(part) {
        if less != schedule && way(&less) == wanted {
            schedule = less;
        } else {
            part += 1;
        }
    }
    schedule
}

fn told(failures: &[(u64, String)]) -> String {
    let catalog = catalog();
    let mut ways: BTreeMap<String, usize> = BTreeMap::new();
    for (_, text) in failures {
        *ways.entry(text.chars().take(40).collect()).or_default() += 1;
    }
    let lines = failures.iter().take(TOLD).map(|(seed, text)| {
        let schedule = shrunk(*seed, &catalog);
        format!(
            "\n{text}\n  STEAD_SEED={seed} cargo test --test simulation seeds -- --nocapture\n  shrunk: {schedule:?}"
        )
    });
    format!("{} of them fail: {ways:#?}{}", failures.len(), lines.collect::<String>())
}

#[test]
fn no_fault_schedule_violates_an_invariant() {
    if let Ok(seed) = std::env::var("STEAD_SEED") {
        return tell(seed.parse().unwrap());
    }
    let begun = Instant::now();
    let mut tally = play(range());
    let millis = u64::try_from(begun.elapsed().as_millis()).unwrap().max(1);
    println!(
        "{} runs of the program, {} virtual hours; {} schedules played twice",
        tally.processes,
        tally.seconds / 3_600,
        tally.twice,
    );
    println!(
        "{} schedules, {} violations, {} converged, runs to converge at most {}, {} a second ({} s)",
        tally.seeds,
        tally.failures.len(),
        tally.converged,
        tally.runs,
        tally.seeds * 1_000 / millis,
        millis / 1_000,
    );
    tally.failures.sort();
    assert!(tally.failures.is_empty(), "{}", told(&tally.failures));
    assert_eq!(tally.converged, tally.seeds, "each converges once nothing goes wrong any more");
}

/// Plays one seed, shrunk to what it needs to fail, and tells its story.
fn tell(seed: u64) {
    let catalog = catalog();
    let whole = Schedule::of(seed);
    // One that does not fail would shrink to nothing.
    let fails = std::env::var("STEAD_WHOLE").is_err() && !played(&whole, &catalog, false).broken.is_empty();
    let schedule = if fails { shrunk(seed, &catalog) } else { whole };
    let verdict = played(&schedule, &catalog, true);
    println!("{schedule:#?}\n{}", verdict.story.unwrap_or_default());
    assert!(verdict.broken.is_empty(), "{:#?}", verdict.broken);
}

#[test]
fn recorded_fault_schedules_do_not_fail_again() {
    let catalog = catalog();
    for (about, schedule) in regressions::all() {
        let verdict = played(&schedule, &catalog, false);
        if !verdict.broken.is_empty() {
            println!("{}", played(&schedule, &catalog, true).story.unwrap_or_default());
        }
        assert!(verdict.broken.is_empty(), "{about}: {:#?}", verdict.broken);
    }
}
