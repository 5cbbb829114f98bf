//! JSON of plans and applies: the document, and the event stream.

pub mod apply_events;
pub(super) mod document;
pub(super) mod events;
pub(super) mod run;
