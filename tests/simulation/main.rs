//! The real apply against the emulated world, in one thread and virtual time: killed at every await,
//! its answers lost one by one, its requests arriving after its death; and then run again. Whatever
//! happens, in the end every declared resource has exactly one object, every object is owned, and the
//! next plan is empty.
#![allow(
    missing_docs,
    clippy::cast_possible_truncation,
    clippy::single_match_else,
    clippy::type_complexity,
    clippy::unchecked_time_subtraction,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod cloud;
mod disaster;
mod machine;
mod process;
mod protocol;
mod questions;
mod stack;
mod surroundings;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use stead::apply::run::Bounds;
use stead::ledger::replay::load_ledger;

use disaster::{Outside, Remains};
use machine::SimRandom;
use process::{Aim, assert_converged, assert_still, beginning, process};
use stack::{edited, shop};

/// Runs the program once more after a disaster: that is enough.
fn converge(outside: &Rc<Outside>, aim: &Aim, seed: u64, story: &str) {
    let run = process(outside, aim, seed).unwrap();
    assert_converged(outside, aim, &run, story);
    assert_still(outside, aim, seed + 1, story);
}

/// Runs the program once, and returns what a kill at each point leaves behind.
fn recorded(mut outside: Outside, aim: &Aim, story: &str) -> (Rc<Outside>, Vec<Remains>) {
    outside.remains = Some(RefCell::default());
    let outside = Rc::new(outside);
    let run = process(&outside, aim, 1).unwrap();
    let remains = outside.remains.as_ref().unwrap().take();
    assert_converged(&outside, aim, &run, story);
    (outside, remains)
}

/// Returns how many requests had no recorded outcome.
fn open_intents(left: &Remains) -> usize {
    load_ledger(left.records.iter().cloned()).unwrap().intents.len()
}

/// A world in which the shop stands, as its builder left it.
fn standing() -> Outside {
    let outside = Rc::new(beginning(&shop()));
    converge(&outside, &Aim::build(shop()), 900, "the shop");
    Outside::after(&outside.left_behind(0, "standing"), Duration::from_mins(5))
}

/// Kills at each point, with what was on the way lost, or arriving late but within the bound.
fn kill_everywhere(remains: &[Remains], aim: &Aim, what: &str) {
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
            converge(&Rc::new(outside), aim, 1_000, &story);
        }
    }
}

/// What the simulations do, each from where it begins.
fn building() -> (Outside, Aim) {
    (beginning(&shop()), Aim::build(shop()))
}

fn editing() -> (Outside, Aim) {
    (standing(), Aim::build(edited()))
}

fn destroying() -> (Outside, Aim) {
    (standing(), Aim::destroy(shop()))
}

#[test]
fn an_undisturbed_apply_does_everything_once() {
    for (what, begin) in
        [("building", building as fn() -> _), ("editing", editing), ("destroying", destroying)]
    {
        let (outside, aim) = begin();
        let outside = Rc::new(outside);
        converge(&outside, &aim, 1, what);
    }
}

#[test]
fn a_kill_at_any_await_of_a_creation_leaves_no_duplicate_and_no_orphan() {
    let (outside, aim) = building();
    let (_, remains) = recorded(outside, &aim, "building");
    assert!(remains.len() > 200, "{}", remains.len());
    kill_everywhere(&remains, &aim, "building");
}

#[test]
fn a_kill_at_any_await_of_a_change_leaves_no_duplicate_and_no_orphan() {
    let (outside, aim) = editing();
    let (_, remains) = recorded(outside, &aim, "editing");
    kill_everywhere(&remains, &aim, "editing");
}

#[test]
fn a_kill_at_any_await_of_a_deletion_leaves_no_orphan() {
    let (outside, aim) = destroying();
    let (_, remains) = recorded(outside, &aim, "destroying");
    kill_everywhere(&remains, &aim, "destroying");
}

#[test]
fn a_kill_in_the_middle_of_a_recovery_changes_nothing() {
    let (outside, aim) = building();
    let (_, first) = recorded(outside, &aim, "building");
    let chance = SimRandom::new(4_711);
    let mut pairs = 0;
    for left in first.iter().filter(|left| open_intents(left) > 0).step_by(5) {
        let pause = Duration::from_millis(chance.number() % 5_000);
        let mut again = Outside::after(left, pause);
        again.remains = Some(RefCell::default());
        let again = Rc::new(again);
        process(&again, &aim, 1_000).unwrap();
        let second = again.remains.as_ref().unwrap().take();
        // The first points of the second run are its recovery; one of the others is as good as another.
        let early = usize::try_from(chance.number() % 12).unwrap();
        let any = usize::try_from(chance.number()).unwrap_or(usize::MAX) % second.len();
        for number in [early.min(second.len() - 1), any] {
            let (one, two) = (&left.label, &second[number].label);
            let story = format!("killed at {} ({one}), then at {number} ({two})", left.number);
            converge(&Rc::new(Outside::after(&second[number], pause)), &aim, 2_000, &story);
            pairs += 1;
        }
    }
    assert!(pairs > 40, "{pairs}");
}

#[test]
fn a_lost_answer_is_looked_up() {
    for (what, begin) in
        [("building", building as fn() -> _), ("editing", editing), ("destroying", destroying)]
    {
        let (outside, aim) = begin();
        let outside = Rc::new(outside);
        process(&outside, &aim, 1).unwrap();
        let changes = outside.changes.get();
        assert!(changes >= 8, "{what}: {changes}");
        for lost in 0..changes {
            let story = format!("{what}, answer {lost} is lost");
            let (mut outside, _) = begin();
            outside.lose = vec![lost];
            converge(&Rc::new(outside), &aim, 1, &story);
            let story = format!("{what}, request {lost} is thought lost and arrives late");
            let (mut outside, _) = begin();
            outside.delay = Some((lost, Bounds::default().effect - Duration::from_secs(1)));
            converge(&Rc::new(outside), &aim, 1, &story);
        }
    }
}
