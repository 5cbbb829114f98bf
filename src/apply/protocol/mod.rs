//! The crash-safe protocol: the intent is durable before a request is sent, the fence is checked with it, and an object
//! is bound only if it did not exist before. Invariant: no request is sent twice without proof about the first.

pub(super) mod journal_writer;
pub mod preexisting;
pub(super) mod sent_requests;
pub mod transfer;
pub(super) mod write_fence;
