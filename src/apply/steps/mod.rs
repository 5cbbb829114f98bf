//! The steps, on top of the protocol: create, update, delete, upload, wait for roll-outs, verify what was written, and
//! resolve an intent whose answer is lost. In: one operation of the plan; out: the ledger's records of what happened. A
//! step that fails leaves the ledger in a state from which the next plan continues.

pub(super) mod create;
pub(super) mod delete;
mod deliver_secret;
pub(super) mod perform_call;
pub(super) mod planned_call;
pub(super) mod policies;
pub(super) mod resolve_intent;
pub(super) mod rollout;
pub(super) mod update;
pub(super) mod upload;
pub(super) mod verify_written;
pub(super) mod wait;
