//! Stack, ledger and snapshot → `Plan`. Pure.

pub mod annotate;
pub mod artifact;
pub mod block;
mod blockers;
pub mod change;
pub mod decide;
mod decision;
pub mod diff;
pub mod import;
pub mod inputs;
pub mod join;
pub mod moves;
mod order;
pub mod pipeline;
mod refresh_request;
pub mod restate;
pub mod step;

#[cfg(test)]
mod tests;
