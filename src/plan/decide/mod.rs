//! Decisions: one for each address: keep, freeze, create, update, replace, delete or forget. In: the joined
//! state and the diffs. Out: decisions by resource number, and blockers. Invariant: without approval, a plan
//! that deletes a protected object, or one that contains data, has a blocker.

pub(super) mod adoption;
pub mod byproducts;
pub mod checks;
pub(super) mod classify;
pub mod conflicts;
pub(super) mod deposed;
pub(super) mod final_snapshot;
pub(super) mod name_handover;
mod payment;
pub(super) mod project_assignment;
pub(super) mod reactivation;
pub(super) mod replacement_order;
pub(super) mod retention;
