//! State of a ledger as plain data: entries, stored secrets, verifications, runs and ambiguous
//! intents. No file access here.

pub mod ambiguous_intent;
pub mod entry;
pub mod holder;
pub mod kept_secrets;
pub mod key_as_hex;
pub mod ledger;
pub mod open_review;
pub mod origins;
pub mod run_details;
pub mod run_history;
pub mod secret_origin;
pub mod transfer;
pub mod verification;
