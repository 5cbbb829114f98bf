//! Every endpoint that the service has: served by the emulator, at home in the tables, and driven once.
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
