//! Plan, client and ledger → `Outcome`: the schedule, the executor and the crash-safe protocol.

mod baseline;
mod binding;
pub mod context;
mod create;
mod delete;
mod dependants;
pub mod event;
mod execute;
mod fence;
mod finish;
mod recover;
mod resolve;
mod rollout;
pub mod run;
pub mod schedule;
mod scribe;
mod session;
mod step;
mod update;
mod upload;
mod verify;
mod wait;
mod wire;
mod world;
