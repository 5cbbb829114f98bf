//! Functions that plan, apply, drift, destroy and import share: reading the live state, progress, and approval.
//! `refresh` makes the plan; nothing in this folder changes an object or writes the ledger.

pub mod approval;
pub(super) mod claims;
pub(super) mod data_consent;
pub(super) mod inventory;
pub(super) mod key_rights;
pub(super) mod progress;
pub(super) mod prune;
pub(super) mod refresh;
pub(super) mod remedies;
