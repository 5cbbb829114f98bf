//! Decisions: one for each address: create, update, replace, delete, keep or freeze. In: the joined state and the
//! diffs. Out: decisions, dependencies first, and blockers. Invariant: no decision deletes an object that is protected,
//! or that contains data, without approval.

pub(super) mod adoption;
pub mod byproducts;
pub mod checks;
pub(super) mod classify;
pub mod conflicts;
pub(super) mod deposed;
pub(super) mod final_snapshot;
pub(super) mod name_handover;
pub(super) mod project_assignment;
pub(super) mod reactivation;
pub(super) mod replacement_order;
pub(super) mod retention;
