//! Many stacks of one repository. A *unit* is a stack in one environment, with a ledger of its own. In: the resolved
//! stacks, their ledgers and one snapshot. Out: which units there are and how they depend on each other, one plan for
//! all of them, whether a later plan still fits it, and the order in which the units are applied. Pure: the commands
//! read and write, and this folder decides.
//!
//! Invariant: a unit is planned with the planned outputs of its upstream units, and never against what an earlier apply
//! left in their ledgers, unless they are outside of the selection.

pub mod blocking;
pub mod changes;
pub mod combined;
pub mod conflicts;
pub mod deletion_limit;
pub mod fit;
pub mod graph;
pub mod output_changes;
pub mod removed;
pub mod run_tasks;
pub mod schedule;
pub mod selection;
pub mod unit;
pub mod worker;
