//! Fuzzing: hostile bytes for everything that reads bytes, and a law for each.
//!
//! A target is a plain function over bytes that panics when its law is broken. `cargo test --test fuzz`
//! replays the corpus and then mutates it for a fixed number of executions, the same ones every time.
//! `STEAD_FUZZ=10m` or `STEAD_FUZZ=1000000` runs each target for longer, on other mutations;
//! `STEAD_FUZZ_INPUT=FILE` runs one input.
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

mod mutate;
mod runner;
mod targets;

use runner::run;
use targets::{addresses, cloud, config, escape, expression, journal, plan, rewrite, settings};

#[test]
fn config_yaml() {
    run("config_yaml", config::yaml, 1_500);
}

#[test]
fn config_kdl() {
    run("config_kdl", config::kdl, 1_500);
}

#[test]
fn rewriting_yaml() {
    run("config_yaml", rewrite::yaml, 500);
}

#[test]
fn rewriting_kdl() {
    run("config_kdl", rewrite::kdl, 500);
}

#[test]
fn config_module() {
    run("config_module", config::module, 1_000);
}

#[test]
fn expressions() {
    run("expressions", expression::expression, 6_000);
}

#[test]
fn answers() {
    run("answers", cloud::answer, 4_000);
}

#[test]
fn exchanges() {
    run("exchanges", cloud::exchange, 3_000);
}

#[test]
fn journals() {
    run("journals", journal::journal, 1_500);
}

#[test]
fn plans() {
    run("plans", plan::plan, 1_000);
}

#[test]
fn escapes() {
    run("escapes", escape::escape, 5_000);
}

#[test]
fn words() {
    run("words", addresses::addresses, 10_000);
}

#[test]
fn flags_and_variables() {
    run("flags_and_variables", settings::settings, 1_500);
}
