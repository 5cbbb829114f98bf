//! Text output of the commands other than plans, one file per view.

pub mod action_output;
pub mod apply_outcome;
pub mod catalog;
pub mod conformance;
pub mod cost;
pub mod doctor;
pub mod drift;
pub mod edits;
pub mod history;
pub mod import;
pub mod ledger_check;
pub mod list;
pub mod recovery;
pub mod resolved;
pub mod test_run;
