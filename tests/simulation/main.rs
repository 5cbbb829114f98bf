//! The real apply against the emulated world, in one thread and virtual time: killed at every await,
//! its answers lost one by one, its requests arriving after its death; and then run again. Whatever
//! happens, in the end every declared resource has exactly one object, every object is owned, and the
//! next plan is empty.

mod cloud;
mod disaster;
mod machine;
mod process;
mod stack;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use stead::apply::run::Bounds;
use stead::config::stack::Stack;
use stead::ledger::replay::load_ledger;

use disaster::{Outside, Remains};
use machine::SimRandom;
use process::{Run, assert_converged, assert_still, beginning, process};
use stack::{edited, shop};

/// Runs of the program until nothing is left to do, at most.
const RUNS: u64 = 4;

/// Runs the program until it has converged.
fn converge(outside: &Rc<Outside>, stack: &Stack, seed: u64, story: &str) {
    for attempt in 0..RUNS {
        let run = process(outside, stack, seed + attempt).unwrap();
        if run.outcome.failed.is_empty() && run.outcome.skipped.is_empty() || attempt + 1 == RUNS {
            assert_converged(outside, stack, &run, story);
            return assert_still(outside, stack, seed + RUNS, story);
        }
    }
}

/// Runs the program once, and returns what a kill at each point leaves behind.
fn recorded(mut outside: Outside, stack: &Stack, story: &str) -> (Rc<Outside>, Vec<Remains>) {
    outside.remains = Some(RefCell::default());
    let outside = Rc::new(outside);
    let run = process(&outside, stack, 1).unwrap();
    let remains = outside.remains.as_ref().unwrap().take();
    assert_converged(&outside, stack, &run, story);
    (outside, remains)
}

/// Returns how many requests had no recorded outcome.
fn open_intents(left: &Remains) -> usize {
    load_ledger(left.records.iter().cloned()).unwrap().intents.len()
}

/// A world in which the shop stands, as its builder left it.
fn standing() -> Outside {
    let outside = Rc::new(beginning(&shop()));
    converge(&outside, &shop(), 900, "the shop");
    Outside::after(&outside.left_behind(0, "standing"), Duration::from_mins(5))
}

/// Kills at each point, with what was on the way lost, or arriving late but within the bound.
fn kill_everywhere(remains: &[Remains], stack: &Stack, what: &str) {
    let chance = SimRandom::new(42);
    for left in remains {
        for late in [false, true] {
            if late && left.in_flight.is_empty() {
                continue;
            }
            let story = format!("{what}, killed at point {} ({}), late {late}", left.number, left.label);
            let pause = Duration::from_millis(chance.number() % 5_000);
            let outside = Outside::after(left, pause);
            if late {
                let within = Bounds::default().effect.as_millis() as u64;
                let arrives = || left.now + Duration::from_millis(chance.number() % within);
                let requests = left.in_flight.iter().map(|request| (arrives(), request.clone()));
                outside.late.replace(requests.collect());
            }
            converge(&Rc::new(outside), stack, 1_000, &story);
        }
    }
}

#[test]
fn a_kill_in_the_middle_of_a_recovery_changes_nothing() {
    let (_, first) = recorded(beginning(&shop()), &shop(), "building");
    let chance = SimRandom::new(4_711);
    let mut pairs = 0;
    for left in first.iter().filter(|left| open_intents(left) > 0).step_by(5) {
        let pause = Duration::from_millis(chance.number() % 5_000);
        let mut again = Outside::after(left, pause);
        again.remains = Some(RefCell::default());
        let again = Rc::new(again);
        process(&again, &shop(), 1_000).unwrap();
        let second = again.remains.as_ref().unwrap().take();
        // The first points of the second run are its recovery; one of the others is as good as another.
        let early = usize::try_from(chance.number() % 12).unwrap();
        let any = usize::try_from(chance.number()).unwrap_or(usize::MAX) % second.len();
        for number in [early.min(second.len() - 1), any] {
            let (one, two) = (&left.label, &second[number].label);
            let story = format!("killed at {} ({one}), then at {number} ({two})", left.number);
            converge(&Rc::new(Outside::after(&second[number], pause)), &shop(), 2_000, &story);
            pairs += 1;
        }
    }
    assert!(pairs > 40, "{pairs}");
}

#[test]
fn an_undisturbed_apply_builds_everything_once() {
    let outside = Rc::new(beginning(&shop()));
    let run: Run = process(&outside, &shop(), 1).unwrap();
    assert_converged(&outside, &shop(), &run, "undisturbed");
    assert_still(&outside, &shop(), 2, "undisturbed");
    assert_eq!(run.outcome.done.len(), shop().resources.len());
}

#[test]
fn a_kill_at_any_await_of_a_creation_leaves_no_duplicate_and_no_orphan() {
    let (_, remains) = recorded(beginning(&shop()), &shop(), "building");
    assert!(remains.len() > 200, "{}", remains.len());
    kill_everywhere(&remains, &shop(), "building");
}

#[test]
fn a_kill_at_any_await_of_a_change_leaves_no_duplicate_and_no_orphan() {
    let (_, remains) = recorded(standing(), &edited(), "editing");
    kill_everywhere(&remains, &edited(), "editing");
}

#[test]
fn a_lost_answer_is_looked_up() {
    for (what, from, stack) in
        [("building", beginning as fn(&Stack) -> Outside, shop()), ("editing", |_| standing(), edited())]
    {
        let outside = Rc::new(from(&stack));
        process(&outside, &stack, 1).unwrap();
        let changes = outside.changes.get();
        assert!(changes >= 8, "{what}: {changes}");
        for lost in 0..changes {
            let mut outside = from(&stack);
            outside.lose = Some(lost);
            converge(&Rc::new(outside), &stack, 1, &format!("{what}, answer {lost} is lost"));
        }
    }
}
