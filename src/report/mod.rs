//! Plan, events, outcome and diagnostics → what people and programs see.

pub mod answer;
pub mod board;
mod carried;
pub mod catalog;
pub mod check;
pub mod contract;
pub mod cost;
pub mod counts;
pub mod diagnostics;
pub mod diff;
pub mod doctor;
pub mod drift;
pub mod edits;
pub mod escape;
pub mod history;
pub mod json;
pub mod list;
pub mod ndjson;
pub mod outcome;
pub mod page;
pub mod progress;
pub mod ran;
pub mod recovery;
pub mod resolved;
pub mod review;
pub mod style;
pub mod table;
pub mod takeover;
pub mod terminal;
pub mod test_run;
pub mod transitions;
pub mod words;
pub mod xml;

#[cfg(test)]
pub(crate) mod tests;
