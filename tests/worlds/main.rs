//! Worlds that differ: generated stacks against services that are within the specification and are not
//! our emulator. README.md lists what the client assumes, and which variation says otherwise.
#![allow(
    missing_docs,
    dead_code,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::single_match_else,
    clippy::type_complexity,
    clippy::unchecked_time_subtraction,
    clippy::unwrap_used,
    clippy::use_debug,
    reason = "a test stops at the first surprise; the simulation's parts have more than is used here"
)]

mod assumptions;
mod binary;
#[path = "../simulation/books.rs"]
mod books;
#[path = "../simulation/cloud.rs"]
mod cloud;
mod contract;
#[path = "../simulation/disaster.rs"]
mod disaster;
mod edits;
mod forms;
mod generate;
mod here;
mod hiding;
mod ignoring;
mod laws;
mod layer;
#[path = "../simulation/loading.rs"]
mod loading;
mod loopback;
#[path = "../simulation/machine.rs"]
mod machine;
#[path = "../simulation/process.rs"]
mod process;
mod removals;
mod representation;
mod runs;
#[path = "../simulation/stack.rs"]
mod stack;
mod stories;
mod timing;
mod truth;
mod written;
