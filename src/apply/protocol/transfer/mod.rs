//! Moves of objects between the ledgers of two stacks: which are possible, and the runner that survives a kill at any
//! moment.

pub mod closing;
pub mod requirements;
pub mod runner;
