//! The runs: every variation over many stacks, and the exact list of what is broken today.
//!
//! `STEAD_SEEDS=20000` runs so many (2,000), `STEAD_WORLD="bare lists"` one variation alone, and
//! `STEAD_SEED=12` one stack alone, with everything that is broken.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::forms;
use crate::hiding;
use crate::ignoring;
use crate::laws::{Broken, Story, run};
use crate::layer::{Effect, Variation};
use crate::representation::{self, PLAIN};
use crate::timing;

/// What the client gets wrong today: the variation, the law, and what is wrong. The list is exact: what
/// holds again must leave it.
const KNOWN_DEFECTS: &[(&str, char, &str)] = &[];

/// Returns all variations.
pub fn variations() -> impl Iterator<Item = &'static Variation> {
    [
        representation::VARIATIONS,
        forms::VARIATIONS,
        timing::VARIATIONS,
        hiding::VARIATIONS,
        ignoring::VARIATIONS,
    ]
    .into_iter()
    .flatten()
}

/// A panic is no law's.
fn tried(number: u64, variation: &'static Variation) -> (Broken, Story) {
    catch_unwind(AssertUnwindSafe(|| run(number, variation))).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        (vec![('!', said.unwrap_or_default())], Story::default())
    })
}

/// Law (f): where only the representation differs, everything is as without the layer.
fn compare(plain: &Story, story: &Story) -> Option<String> {
    let first = |a: &[String], b: &[String]| {
        let (a, b): (BTreeSet<_>, BTreeSet<_>) = (a.iter().collect(), b.iter().collect());
        format!(
            "only without: {:?}; only with: {:?}",
            a.difference(&b).collect::<Vec<_>>(),
            b.difference(&a).collect::<Vec<_>>()
        )
    };
    if plain.requests != story.requests {
        return Some(format!("other requests: {}", first(&plain.requests, &story.requests)));
    }
    if plain.plan != story.plan {
        return Some(format!("another plan: {}", first(&plain.plan, &story.plan)));
    }
    (plain.world != story.world).then(|| format!("another world: {:?} {:?}", plain.world, story.world))
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Runs the stacks of one half.
fn shard(which: u64, of: u64) -> (BTreeMap<(&'static str, char), (usize, String)>, usize) {
    let only = env::var("STEAD_WORLD").ok();
    let wanted = |variation: &&Variation| only.as_ref().is_none_or(|only| *only == variation.name);
    let variations: Vec<&'static Variation> = variations().filter(wanted).collect();
    let worlds = crate::runs::variations().count() as u64 + 1;
    let stacks = number("STEAD_SEEDS").unwrap_or(2_000).div_ceil(worlds);
    let numbers: Vec<u64> = match number("STEAD_SEED") {
        Some(one) => (one % of == which).then_some(one).into_iter().collect(),
        None => (0..stacks).filter(|number| number % of == which).collect(),
    };
    let mut found: BTreeMap<(&'static str, char), (usize, String)> = BTreeMap::new();
    let mut note = |name, law, number: u64, what: String| {
        let entry = found.entry((name, law)).or_insert_with(|| (0, format!("stack {number}: {what}")));
        entry.0 += 1;
    };
    let mut edited = 0;
    for number in numbers {
        let (plain_broken, plain) = tried(number, &PLAIN);
        plain_broken.clone().into_iter().for_each(|(law, what)| note(PLAIN.name, law, number, what));
        for variation in &variations {
            let (mut broken, story) = tried(number, variation);
            edited += story.edited;
            // What is broken without the layer is told once, of the plain world.
            let is_new = broken != plain_broken;
            broken.retain(|one| !plain_broken.contains(one));
            for (law, what) in broken {
                note(variation.name, law, number, what);
            }
            if variation.effect == Effect::Representation
                && !is_new
                && let Some(what) = compare(&plain, &story)
            {
                note(variation.name, 'f', number, what);
            }
        }
    }
    (found, edited)
}

#[test]
fn the_invariants_hold_under_every_variation_except_known_defects() {
    let halves: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|which| scope.spawn(move || shard(which, 2))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut found: BTreeMap<(&str, char), (usize, String)> = BTreeMap::new();
    let edited: usize = halves.iter().map(|(_, edited)| edited).sum();
    println!("{edited} edits of declared attributes that the worlds show");
    for (key, (count, what)) in halves.into_iter().flat_map(|(found, _)| found) {
        found.entry(key).or_insert((0, what)).0 += count;
    }
    let known: BTreeSet<(&str, char)> = KNOWN_DEFECTS.iter().map(|(name, law, _)| (*name, *law)).collect();
    let new: Vec<String> = found
        .iter()
        .filter(|(key, _)| !known.contains(key))
        .map(|((name, law), (count, what))| format!("{name}, law ({law}), {count} times: {what}"))
        .collect();
    assert!(new.is_empty(), "{} are broken that were not:\n{}", new.len(), new.join("\n\n"));
    let alone = env::var("STEAD_WORLD").is_ok() || env::var("STEAD_SEED").is_ok();
    let gone: Vec<_> = known.iter().filter(|key| !alone && !found.contains_key(*key)).collect();
    assert!(gone.is_empty(), "no longer broken, take them out of KNOWN_DEFECTS: {gone:?}");
}
