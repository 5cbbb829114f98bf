//! Checks of the decisions. In: the joined state and all decisions; out: blockers, each with a reason and a
//! remedy, and notes. Invariant: a check changes no decision; a plan with any blocker is not applied.

pub(in crate::plan) mod catalog_rules;
pub mod declarations;
pub(in crate::plan) mod guards;
pub mod kept_secrets;
pub(in crate::plan) mod ledger_origin;
pub mod lost_ledger;
