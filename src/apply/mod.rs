//! Plan, client and ledger → `Outcome`: the schedule, the executor and the crash-safe protocol.

pub mod context;
mod dependents;
mod evaluation_scope;
pub mod event;
mod executor;
mod finalize;
mod open_intents;
mod planned_secrets;
mod protocol;
mod request_encoding;
pub mod run;
pub mod schedule;
mod step;
mod step_parts;
mod steps;
