//! Annotations of a plan besides its steps: change lines, effects, cost, policies and notes. Invariant:
//! nothing here changes a decision.

pub(super) mod change_lines;
pub mod cost;
pub(super) mod due;
pub(super) mod effects;
pub(super) mod exposure;
pub mod generated_secrets;
pub(super) mod module_rename_hints;
pub mod offline_policy;
pub mod outputs;
pub(super) mod policy;
pub(super) mod rename_hints;
pub mod rights;
pub mod secret_sinks;
pub(super) mod similarity;
pub(super) mod unread_values;
