//! The runner: replays a target's corpus, mutates it, and minimizes a failure.

use std::cell::Cell;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, Instant};

use super::mutate::{Chance, mutated};

/// A property of bytes, as a function that panics when it is violated.
pub type Target = fn(&[u8]);

/// Limit on the process's peak memory, in KiB.
const MOST_MEMORY: u64 = 256 * 1024;

/// Limit on the attempts to minimize a failing input.
const SHRINKS: usize = 400;

/// How long to mutate.
enum Budget {
    Executions(u64),
    Time(Duration),
}

/// Runs a target: on the input of `STEAD_FUZZ_INPUT`, or on its corpus and `executions` mutations of it.
pub fn run(name: &str, target: Target, executions: u64) {
    if let Some(input) = std::env::var_os("STEAD_FUZZ_INPUT") {
        target(&fs::read(&input).expect("STEAD_FUZZ_INPUT names a file"));
        return;
    }
    let corpus = corpus(name);
    for input in &corpus {
        attempt(name, target, input);
    }
    let (budget, salt) = match std::env::var("STEAD_FUZZ") {
        Ok(text) => (longer(&text), started_at()),
        Err(_) => (Budget::Executions(executions), 0),
    };
    let seed = name.bytes().fold(salt, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
    let mut chance = Chance::new(seed);
    let start = Instant::now();
    let mut done = 0_u64;
    while !budget.is_spent(done, start) {
        attempt(name, target, &mutated(&corpus, &mut chance));
        done += 1;
    }
    let memory = most_memory();
    println!("{name}: {} inputs, {done} mutations, at most {} MiB", corpus.len(), memory / 1024);
    assert!(memory < MOST_MEMORY, "{name}: the process used {memory} KiB, over {MOST_MEMORY}");
}

impl Budget {
    fn is_spent(&self, done: u64, start: Instant) -> bool {
        match self {
            Self::Executions(most) => done >= *most,
            Self::Time(most) => start.elapsed() >= *most,
        }
    }
}

/// Parses `STEAD_FUZZ`: a number of executions, or a duration such as `90s` or `10m`.
fn longer(text: &str) -> Budget {
    if let Ok(executions) = text.parse() {
        return Budget::Executions(executions);
    }
    let time: jiff::SignedDuration = text.parse().expect("STEAD_FUZZ is a number or a time like 90s");
    Budget::Time(time.try_into().expect("STEAD_FUZZ is no negative time"))
}

fn started_at() -> u64 {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since.as_nanos() & u128::from(u64::MAX)).unwrap_or_default()
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = home().join("corpus").join(name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", folder.display());
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz")
}

/// Runs a target on one input. A failure is minimized, stored, and reported with the command that repeats it.
fn attempt(name: &str, target: Target, input: &[u8]) {
    if holds(target, input) {
        return;
    }
    let small = shrunk(target, input);
    let folder = home().join("failures");
    fs::create_dir_all(&folder).unwrap();
    let hash = small.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let path = folder.join(format!("{name}-{hash:016x}"));
    fs::write(&path, &small).unwrap();
    println!("STEAD_FUZZ_INPUT={} cargo test --test fuzz -- --exact {name}", path.display());
    target(&small);
    panic!("{name} fails only now and then on {}", path.display());
}

/// Returns whether a target accepts an input; its panic message is not printed.
fn holds(target: Target, input: &[u8]) -> bool {
    thread_local!(static QUIET: Cell<bool> = const { Cell::new(false) });
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                loud(info);
            }
        }));
    });
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(|| target(input)));
    QUIET.set(false);
    result.is_ok()
}

/// Removes pieces, large ones first, as long as the property stays violated.
fn shrunk(target: Target, input: &[u8]) -> Vec<u8> {
    let mut small = input.to_vec();
    let mut tries = 0;
    let mut piece = small.len() / 2;
    while piece > 0 {
        let mut at = 0;
        while at < small.len() && tries < SHRINKS {
            let mut less = small.clone();
            less.drain(at..(at + piece).min(small.len()));
            tries += 1;
            if holds(target, &less) {
                at += piece;
            } else {
                small = less;
            }
        }
        piece /= 2;
    }
    small
}

/// Returns the peak of the process's resident memory, in KiB.
fn most_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}
