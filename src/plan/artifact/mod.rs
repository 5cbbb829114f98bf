//! The plan as an artifact: fingerprint, signature, the saved file and what it is bound to, and whether a plan that is
//! computed again is the same one.

pub mod binding;
pub(super) mod consistency;
pub mod drift_history;
pub(super) mod fingerprint;
pub mod recheck;
pub mod saved_plan;
pub mod signature;
