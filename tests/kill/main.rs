//! Real `kill -9`: the binary applies, edits and destroys against an emulator over TCP and is killed at random
//! moments; after each recovery there are no duplicates, no losses and no orphans.
//!
//! A few dozen kills by default. `STEAD_KILL_CYCLES=2000` for more, at other moments; `STEAD_KILL_SEED=N` repeats the
//! same ones, as far as a real machine can.
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

/// Kills of one stack: the stacks run at the same time, at most `MOST_LIVES`, each with its own emulator, because
/// they wait most of the time.
const DEATHS_OF_A_LIFE: u64 = 8;

/// Limit on the stacks that run at the same time.
const MOST_LIVES: u64 = 8;

/// Default number of kills.
const DEATHS: u64 = 32;

/// The emulator is a separate process, which is not killed.
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

/// The emulator is in the process that is killed, and its data on disk.
#[test]
fn a_killed_apply_with_an_embedded_cloud_leaves_no_stray_object() {
    let (wanted, seed) = asked(DEATHS);
    let wanted = wanted.div_ceil(4);
    let deaths = Life::embedded(Chance::new(seed + MOST_LIVES)).lead(wanted);
    println!("embedded, seed {seed}: {deaths}");
}

/// Returns the number of kills and the seed, from the environment.
fn asked(usual: u64) -> (u64, u64) {
    let number = |name| std::env::var(name).ok().map(|text: String| text.parse::<u64>().expect(name));
    let wanted = number("STEAD_KILL_CYCLES");
    let other = || wanted.map_or(0, |_| UNIX_EPOCH.elapsed().unwrap_or_default().as_secs());
    (wanted.unwrap_or(usual), number("STEAD_KILL_SEED").unwrap_or_else(other))
}
