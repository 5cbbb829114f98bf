//! Every endpoint of the service: served by the emulator, used by the client's tables, and called once.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::needless_pass_by_value,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod bounds;
mod driver;
mod law;
mod openapi;
mod specified;
mod story;
mod story_of_apps;
mod story_of_data;
mod table;
