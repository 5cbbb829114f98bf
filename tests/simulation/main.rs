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
    clippy::use_debug,
    reason = "a test stops at the first surprise"
)]

mod books;
mod cloud;
mod crash;
mod disaster;
mod disk;
mod foreign;
mod generated;
mod guards;
mod invoice;
mod loading;
mod machine;
mod preflight;
mod process;
mod protocol;
mod questions;
mod revival;
mod rights;
mod seeds;
#[cfg(target_os = "linux")]
mod small_disk;
mod stack;
mod surroundings;
mod takeover;
mod transfers;
mod uploads;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use stead::apply::context::TimingBounds;

use disaster::{Outside, Remains};
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

/// A world in which the shop stands, as its builder left it.
fn standing() -> Outside {
    let outside = Rc::new(beginning(&shop()));
    converge(&outside, &Aim::build(shop()), 900, "the shop");
    Outside::after(&outside.left_behind(0, "standing"), Duration::from_mins(5))
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
fn a_lost_response_is_resolved_by_a_read() {
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
            outside.delay = Some((lost, TimingBounds::default().effect - Duration::from_secs(1)));
            converge(&Rc::new(outside), &aim, 1, &story);
        }
    }
}
