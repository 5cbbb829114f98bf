//! Diagnostics of a configuration: their messages, hints, and the collector that orders them. In: mistakes that
//! parsing, merging and resolving find; out: diagnostics with locations and hints, without the values of secrets.

pub(super) mod collector;
pub mod hints;
pub(super) mod messages;
pub(super) mod variable_files;
