//! Secrets: their sources, their sinks, their storage in the ledger, and the redaction of output.

pub(super) mod deferred_secrets;
pub(super) mod identity;
pub(super) mod kept_secrets;
pub(super) mod lost_secrets;
pub(super) mod prompt;
pub(super) mod redaction;
pub(super) mod secret_sinks;
