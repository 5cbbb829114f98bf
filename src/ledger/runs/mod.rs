//! Runs that several workers share: a worker claims a task, does it under the ledger's own lease, and records how it
//! ended. In: the tasks of an approved apply. Out: which task a worker may do now, and how the run stands.
//!
//! Invariant: a claim only decides who tries. What fences two workers from each other is the lease of the unit's ledger.

pub mod board;
pub mod memory_board;
pub mod row;
