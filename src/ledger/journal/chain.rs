//! The digest chain of a journal: each line is digested together with the digest of the line before it, so that a line
//! cannot be changed, removed or moved without a trace.

use sha2::Digest;
use sha2::Sha256;

/// The digest of everything up to a line.
pub(in crate::ledger) type ChainHead = [u8; 32];

/// The digest that the first journal of a ledger starts with.
pub(in crate::ledger) fn first_head() -> ChainHead {
    Sha256::digest(b"stead journal 1").into()
}

/// Returns the digest after a line.
pub(in crate::ledger) fn line_digest(before: &ChainHead, json: &[u8]) -> ChainHead {
    Sha256::new().chain_update(before).chain_update(json).finalize().into()
}
