//! Steps and their order. In: decisions. Out: steps, each after those that it waits for, or the cycle among them.
//! Invariant: an object is deleted only after everything that refers to it has stopped doing so.

pub(super) mod calls;
pub(super) mod dependency_cycle;
pub(super) mod durations;
pub(super) mod hold;
pub(super) mod ledger_metadata;
pub(super) mod ledger_updates;
mod nodes;
mod parents;
pub(super) mod steps;
