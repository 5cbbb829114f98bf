//! Diagnostics of a configuration: their messages, hints, and the collector that orders them.

pub(super) mod collector;
pub mod hints;
pub(super) mod messages;
pub(super) mod variable_files;
