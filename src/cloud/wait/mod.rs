//! Waiting until objects are ready or gone, with one list request per kind and tick.

pub mod run_records;
pub mod waiter;
