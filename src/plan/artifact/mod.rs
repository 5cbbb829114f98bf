//! The plan as an artifact: its fingerprint, its signature, the saved file with its binding, and the check that a
//! recomputed plan is the same.

pub mod binding;
pub mod change_digests;
pub(super) mod consistency;
pub mod difference;
pub mod difference_part;
pub mod drift_history;
pub mod fingerprint;
pub mod recheck;
pub mod redaction;
pub mod review_difference;
pub mod saved_plan;
pub mod signature;
mod verdicts;
