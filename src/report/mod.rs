//! Renders plans, events, outcomes and diagnostics for people and for programs. Values in, strings out: nothing here
//! reads a file, a clock or the environment, and only `live::display` writes.

pub mod diagnostics;
mod groups;
pub mod json;
mod json_value;
mod json_writer;
pub mod live;
pub mod review;
pub mod run_report;
pub mod terminal;
pub mod text;
pub mod units;
pub mod views;

#[cfg(test)]
pub(crate) mod tests;
