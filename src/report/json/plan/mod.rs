//! JSON of plans and applies: the document, and the event stream.

pub mod apply_events;
pub(super) mod change_entry;
pub(super) mod cost_entry;
pub(super) mod difference;
pub(super) mod document;
pub(super) mod events;
pub(super) mod output_entry;
pub(super) mod policy_outcome;
pub(super) mod run;
pub(super) mod step_entry;
pub(super) mod step_error;
pub mod unit_events;
