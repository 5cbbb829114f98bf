//! Parts that plan, apply, drift and destroy share: reading the live state, progress, and approval.

pub mod approval;
pub(super) mod claims;
pub(super) mod data_consent;
pub(super) mod inventory;
pub(super) mod progress;
pub(super) mod prune;
pub(super) mod refresh;
