//! Checks of the decisions: each blocks the plan, or one resource of it, with a reason and a remedy.

pub(in crate::plan) mod catalog_rules;
pub mod declarations;
pub(in crate::plan) mod guards;
pub mod kept_secrets;
pub(in crate::plan) mod ledger_origin;
pub mod lost_ledger;
