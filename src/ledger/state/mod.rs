//! What a ledger remembers, as plain data: entries, kept secrets, earlier readings, runs and open questions. Nothing here
//! reads or writes a file.

pub mod ambiguous_intent;
pub mod entry;
pub mod holder;
pub mod kept_secrets;
pub mod ledger;
pub mod origins;
pub mod run_history;
pub mod verification;
