//! Waiting until objects are ready, visible or gone. Concurrent waits for objects of one list share its reads, so that
//! the number of requests does not grow with the number of objects. Also reads the records of runs.

pub(super) mod list_poll;
pub mod run_records;
pub mod waiter;
