//! Apply: runs a plan's steps against the service. In: a plan, a client and a locked ledger. Out: an `Outcome`.
//! The schedule orders the steps, the executor runs them, and the crash-safe protocol sends their requests.
//! Invariant: at any moment the process can be killed, and the next run finds every request in the ledger.

pub mod context;
mod dependents;
mod evaluation_scope;
pub mod event;
mod executor;
mod finalize;
mod open_intents;
mod planned_secrets;
pub mod protocol;
mod request_encoding;
pub mod run;
pub mod schedule;
mod step;
mod step_parts;
mod steps;
