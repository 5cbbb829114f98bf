//! Plan, events, outcome and diagnostics → what people and programs see.

pub mod answer;
pub mod board;
pub mod catalog;
pub mod check;
pub mod diagnostics;
pub mod diff;
pub mod drift;
pub mod escape;
pub mod history;
pub mod json;
pub mod list;
pub mod ndjson;
pub mod outcome;
pub mod page;
pub mod progress;
pub mod recovery;
pub mod style;
pub mod table;
pub mod takeover;
pub mod terminal;
pub mod transitions;
pub mod words;

#[cfg(test)]
pub(crate) mod tests;
