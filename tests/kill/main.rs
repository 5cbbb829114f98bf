//! `kill -9` for real: the binary applies, edits and destroys against an emulator over TCP and dies at
//! random moments; after each recovery nothing is there twice, nothing is lost, nothing is an orphan.
//!
//! A few dozen deaths by default. `STEAD_KILL_CYCLES=2000` for more, on other moments;
//! `STEAD_KILL_SEED=N` for the same ones again, as far as a real machine can repeat itself.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise; this one is about real processes in real time"
)]

mod chance;
mod cloud;
mod life;
mod secrets;
mod stack;

use std::time::UNIX_EPOCH;

use chance::Chance;
use life::{Deaths, Life};

/// Deaths of one life: so many lives go on at the same time, each with a cloud of its own, but no more
/// than `MOST_LIVES`. Most of the time they wait.
const DEATHS_OF_A_LIFE: u64 = 8;

/// See `DEATHS_OF_A_LIFE`.
const MOST_LIVES: u64 = 8;

/// Deaths of one served story by default.
const DEATHS: u64 = 32;

/// The emulator is a process of its own and stays alive.
#[test]
fn a_killed_apply_leaves_no_stray_object() {
    let (wanted, seed) = asked(DEATHS);
    let lives = wanted.div_ceil(DEATHS_OF_A_LIFE).min(MOST_LIVES);
    let deaths = std::thread::scope(|scope| {
        let begun: Vec<_> = (0..lives)
            .map(|n| scope.spawn(move || Life::served(Chance::new(seed + n)).lead(wanted.div_ceil(lives))))
            .collect();
        begun
            .into_iter()
            .map(|life| life.join().expect("a life ends well"))
            .fold(Deaths::default(), Deaths::and)
    });
    println!("served, seed {seed}: {deaths}");
    assert!(deaths.open > 0, "no death hit a request: {deaths}");
}

/// The emulator is in the process that dies, its data on the disk.
#[test]
fn a_killed_apply_with_an_embedded_cloud_leaves_no_stray_object() {
    let (wanted, seed) = asked(DEATHS);
    let wanted = wanted.div_ceil(4);
    let deaths = Life::embedded(Chance::new(seed + MOST_LIVES)).lead(wanted);
    println!("embedded, seed {seed}: {deaths}");
}

/// How many deaths, and where chance begins.
fn asked(usual: u64) -> (u64, u64) {
    let number = |name| std::env::var(name).ok().map(|text: String| text.parse::<u64>().expect(name));
    let wanted = number("STEAD_KILL_CYCLES");
    let other = || wanted.map_or(0, |_| UNIX_EPOCH.elapsed().unwrap_or_default().as_secs());
    (wanted.unwrap_or(usual), number("STEAD_KILL_SEED").unwrap_or_else(other))
}
