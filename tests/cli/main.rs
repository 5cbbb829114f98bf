//! The real binary, run as a user runs it: stories from an empty directory to a destroyed stack.
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

mod actions;
mod against;
mod bad_input;
mod bounds;
mod browser;
mod canary;
mod case;
mod catalog;
mod causes;
mod change;
mod ci;
mod ci_all;
mod console;
mod cycles;
mod data;
mod doctor;
mod documentation;
#[allow(dead_code, reason = "the tests of attacks use the rest of it")]
mod editor;
mod examples;
mod exposures;
mod files;
mod final_snapshot;
mod first_steps;
mod forge;
mod forms;
mod groups;
mod hostile;
mod ignored_drift;
mod killed_replacements;
mod kubeconfig;
mod late_policies;
mod ledgers;
mod leftovers;
mod login;
mod lost_ledger;
mod lost_values;
mod lsp;
mod lying;
mod modules;
mod origins;
mod outcome;
mod outputs;
mod partial_applies;
mod partial_destroys;
mod payments;
mod policies;
mod policy_remedies;
mod questions;
mod recovery;
mod refactor;
mod reports;
mod reuse;
mod reused_names;
mod review_claims;
mod rights;
mod rollouts;
mod rules;
mod said;
mod saved;
mod schemas;
mod sealed;
mod second_attempts;
mod secrets;
mod shared;
mod signed;
mod sources;
mod statements;
mod strays;
mod surface;
mod transfer_claims;
mod transfers;
mod trials;
mod units;
mod units_approval;
mod units_changed;
mod units_claims;
mod units_continued;
mod units_deletions;
mod units_drift;
mod units_profiles;
mod units_readers;
mod units_remedies;
mod units_removed;
mod units_reports;
mod units_results;
mod units_retries;
mod units_secrets;
mod units_shown;
mod units_unreadable;
mod untrusted;
mod variants;

// Servers of the tests of stores.
#[allow(dead_code, reason = "those tests use the rest of it")]
#[path = "../stores/moto.rs"]
mod moto;
#[allow(dead_code, reason = "those tests use the rest of it")]
#[path = "../stores/server.rs"]
mod server;
#[allow(dead_code, reason = "those tests use the rest of it")]
#[path = "../stores/wire.rs"]
mod wire;
mod workers;
