//! Planning: computes a `Plan` from stack, ledger and snapshot. Pure: it reads nothing and sends nothing,
//! so equal inputs give equal plans. Order of the phases: moves, join, decide (with diff), order,
//! annotate; `pipeline` calls them.

pub mod annotate;
pub mod artifact;
mod blockers;
pub mod decide;
mod decision;
pub mod diff;
pub mod import;
pub mod inputs;
pub mod join;
pub mod model;
pub mod moves;
mod order;
pub mod pipeline;
mod refresh_request;
pub mod restate;

#[cfg(test)]
mod tests;
