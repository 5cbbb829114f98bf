//! Mutants: bugs seeded by hand into the protocol's code, and the tests that must fail for each.
//!
//! By default this only checks that every mutant still fits the code. `STEAD_MUTANTS=1` builds and tests them all, one
//! after the other; `STEAD_MUTANTS=3,17` only these. Each mutant that survives shows a missing test.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod tree;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use tree::{Tree, Verdict};

/// Minimum number of mutants.
const FEWEST: usize = 40;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutants {
    mutant: Vec<Mutant>,
}

/// One seeded bug.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    number: u32,
    /// What the mutated program does wrong.
    name: String,
    file: String,
    /// Source text that occurs once in the file, and its replacement.
    find: String,
    replace: String,
    /// Arguments of `cargo test`: one of these runs must fail. The quickest comes first.
    tests: Vec<String>,
}

fn mutants() -> Vec<Mutant> {
    let listed: Mutants = toml::from_str(include_str!("mutants.toml")).unwrap();
    listed.mutant
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_mutant_fits_the_code() {
    let mutants = mutants();
    assert!(mutants.len() >= FEWEST, "only {} mutants", mutants.len());
    let mut stale = Vec::new();
    let mut last = 0;
    for mutant in &mutants {
        let number = mutant.number;
        assert!(number > std::mem::replace(&mut last, number), "`{}` is out of order", mutant.name);
        assert!(!mutant.tests.is_empty() && mutant.find != mutant.replace, "`{}`", mutant.name);
        let code = fs::read_to_string(root().join(&mutant.file)).unwrap_or_default();
        let found = code.matches(&mutant.find).count();
        if found != 1 {
            stale.push(format!("{number} `{}`: found {found} times in {}", mutant.name, mutant.file));
        }
    }
    assert!(stale.is_empty(), "mutants that fit no more:\n{}", stale.join("\n"));
}

#[test]
fn every_selected_mutant_is_killed() {
    let Some(wanted) = std::env::var_os("STEAD_MUTANTS") else { return };
    let wanted = wanted.into_string().unwrap();
    let numbers: BTreeSet<u32> =
        wanted.split(',').filter_map(|number| number.trim().parse().ok()).collect();
    let all = wanted == "1";
    let chosen: Vec<_> = mutants().into_iter().filter(|one| all || numbers.contains(&one.number)).collect();
    let tree = Tree::copy_of(root());
    let tests: BTreeSet<&str> =
        chosen.iter().flat_map(|mutant| &mutant.tests).map(String::as_str).collect();
    for tests in tests {
        assert!(!tree.fails(tests), "without any mutant, `cargo test {tests}` fails");
    }
    let mut left = Vec::new();
    for Mutant { number, name, file, find, replace, tests } in &chosen {
        let verdict = tree.with(file, |code| code.replacen(find, replace, 1), |tree| tree.try_all(tests));
        let line = match verdict {
            Verdict::Killed(by) => format!("{number:>3} killed by `{by}`: {name}"),
            Verdict::Survived => format!("{number:>3} SURVIVED: {name}"),
            Verdict::DoesNotCompile => format!("{number:>3} DOES NOT COMPILE: {name}"),
        };
        println!("{line}");
        if !matches!(verdict, Verdict::Killed(_)) {
            left.push(line);
        }
    }
    println!("{} of {} killed", chosen.len() - left.len(), chosen.len());
    assert!(left.is_empty(), "{}", left.join("\n"));
}
