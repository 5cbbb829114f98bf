//! Fuzzing: hostile bytes for everything that reads bytes, and a property for each.
//!
//! A target is a plain function over bytes that panics when its property is violated. `cargo test --test fuzz`
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
fn fuzzed_yaml_configuration_does_not_panic() {
    run("config_yaml", config::yaml, 1_500);
}

#[test]
fn fuzzed_kdl_configuration_does_not_panic() {
    run("config_kdl", config::kdl, 1_500);
}

#[test]
fn fuzzed_yaml_rewrites_keep_their_meaning() {
    run("config_yaml", rewrite::yaml, 500);
}

#[test]
fn fuzzed_kdl_rewrites_keep_their_meaning() {
    run("config_kdl", rewrite::kdl, 500);
}

#[test]
fn fuzzed_modules_do_not_panic() {
    run("config_module", config::module, 1_000);
}

#[test]
fn fuzzed_expressions_do_not_panic() {
    run("expressions", expression::expression, 6_000);
}

#[test]
fn fuzzed_responses_do_not_panic() {
    run("answers", cloud::answer, 4_000);
}

#[test]
fn fuzzed_http_exchanges_do_not_panic() {
    run("exchanges", cloud::exchange, 3_000);
}

#[test]
fn fuzzed_journals_do_not_panic() {
    run("journals", journal::journal, 1_500);
}

#[test]
fn fuzzed_saved_plans_do_not_panic() {
    run("plans", plan::plan, 1_000);
}

#[test]
fn fuzzed_text_is_escaped_for_the_terminal() {
    run("escapes", escape::escape, 5_000);
}

#[test]
fn fuzzed_addresses_do_not_panic() {
    run("words", addresses::addresses, 10_000);
}

#[test]
fn fuzzed_flags_and_variables_do_not_panic() {
    run("flags_and_variables", settings::settings, 1_500);
}
