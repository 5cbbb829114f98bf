//! Plan, client and ledger → `Outcome`: the schedule, the executor and the crash-safe protocol.

pub mod event;
pub mod run;
