//! Waiting until objects are ready or gone, with one list request per kind and tick.

pub(super) mod list_poll;
pub mod run_records;
pub mod waiter;
