//! Secrets: their sources, their sinks, their storage in the ledger, and the redaction of output. A secret exists in
//! plain text only in memory, in requests, and in the sinks that the stack names; no message and no plan contains one.

pub(super) mod deferred_secrets;
pub(super) mod identity;
pub(super) mod kept_secrets;
pub(super) mod lost_secrets;
pub(super) mod output_secrets;
pub(super) mod prompt;
pub(super) mod redaction;
pub(super) mod secret_sinks;
