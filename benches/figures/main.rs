//! The figures that stead is held to, measured on the real binary: `cargo bench --bench figures`.
//!
//! One figure: `cargo bench --bench figures -- plan-new`. Wall times are of whole processes; memory is
//! the peak of the resident set. Terraform is measured beside stead where it is on the PATH.
#![allow(missing_docs, reason = "a program, not a library")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_precision_loss,
    reason = "a benchmark drives and times real processes, and stops at the first surprise"
)]

mod editor;
mod journal;
mod live;
mod offline;
mod stacks;
mod time;
mod units;

use std::path::Path;

use time::{Cost, exponent, median, run};

const FIGURES: &[(&str, fn())] = &[
    ("start", start),
    ("validate", offline::validate),
    ("plan-new", plan_new),
    ("growth", growth),
    ("plan-live", live::plan_live),
    ("plan-units", units::plan_units),
    ("apply", live::apply),
    ("journal", journal::journal),
    ("emulator", live::emulator),
    ("editor", editor::keystroke),
    ("rename", editor::rename),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    for (name, measure) in FIGURES {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            println!("\n== {name}");
            measure();
        }
    }
}

/// Prints one figure with its target.
fn figure(what: &str, value: &str, target: &str) {
    println!("{what:<58} {value:>22}   target {target}");
}

fn times(n: usize, directory: &Path, args: &[&str]) -> Cost {
    let costs: Vec<_> = (0..n).map(|_| run(stacks::STEAD, args, directory, &[])).collect();
    median(&costs)
}

/// Start-up, and the offline check of an example.
fn start() {
    let shop = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/shop");
    let version = times(21, &shop, &["--version"]);
    figure("stead --version", &format!("{:.1} ms", version.wall * 1e3), "<= 10 ms");
    let validate = times(21, &shop, &["validate"]);
    figure("stead validate examples/shop", &format!("{:.1} ms", validate.wall * 1e3), "<= 30 ms");
}

/// A plan of 10,000 new resources, and Terraform's of as many `terraform_data` in turn.
fn plan_new() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("stead.yaml"), stacks::yaml(10_000)).unwrap();
    let cloud = live::Emulator::start(&directory.path().join("cloud"), &[]);
    let plan = || run(stacks::STEAD, &["plan", "-q"], directory.path(), &cloud.environment());
    let terraform = stacks::terraform(10_000);
    let mut ours = vec![];
    let mut theirs = vec![];
    plan();
    for _ in 0..3 {
        ours.push(plan());
        if let Some(folder) = &terraform {
            theirs.push(run("terraform", &["plan", "-no-color", "-input=false"], folder.path(), &[]));
        }
    }
    let ours = median(&ours);
    figure("plan of 10,000 new: stead, wall", &format!("{:.3} s", ours.wall), "");
    figure("plan of 10,000 new: stead, peak memory", &format!("{:.1} MiB", ours.memory), "");
    if theirs.is_empty() {
        println!("terraform is not on the PATH: no comparison");
        return;
    }
    let theirs = median(&theirs);
    figure("plan of 10,000 new: terraform, wall", &format!("{:.3} s", theirs.wall), "");
    figure("plan of 10,000 new: terraform, peak memory", &format!("{:.1} MiB", theirs.memory), "");
    figure("wall, terraform over stead", &format!("{:.0} x", theirs.wall / ours.wall), ">= 100 x");
    figure("memory, stead over terraform", &format!("1/{:.1}", theirs.memory / ours.memory), "<= 1/5");
}

/// How a plan of new resources grows from 1,000 to 100,000.
fn growth() {
    let mut walls = vec![];
    let mut memories = vec![];
    for n in [1_000_usize, 10_000, 100_000] {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("stead.yaml"), stacks::yaml(n)).unwrap();
        let cloud = live::Emulator::start(&directory.path().join("cloud"), &[]);
        let costs: Vec<_> = (0..3)
            .map(|_| run(stacks::STEAD, &["plan", "-q"], directory.path(), &cloud.environment()))
            .collect();
        let cost = median(&costs);
        figure(&format!("plan of {n} new"), &format!("{:.3} s {:.0} MiB", cost.wall, cost.memory), "");
        walls.push((n as f64, cost.wall));
        memories.push((n as f64, cost.memory));
    }
    figure("growth exponent, wall, 10,000 to 100,000", &format!("{:.2}", exponent(&walls[1..])), "<= 1.1");
    figure(
        "growth exponent, memory, 10,000 to 100,000",
        &format!("{:.2}", exponent(&memories[1..])),
        "<= 1.1",
    );
    figure("growth exponent, wall, all three", &format!("{:.2}", exponent(&walls)), "<= 1.1");
}
