//! The digest chain of a journal: each digest covers the line and the digest of the line before it, so that no line can
//! be changed, removed or moved unnoticed.

use sha2::Digest;
use sha2::Sha256;

/// The digest of all lines up to a position.
pub(in crate::ledger) type ChainHead = [u8; 32];

/// Returns the digest that the first line of a ledger's first journal continues. Also the head of an exported document,
/// which no journal precedes.
pub(in crate::ledger) fn first_head() -> ChainHead {
    Sha256::digest(b"stead journal 1").into()
}

/// Returns the digest after a line: SHA-256 of the digest before it and the bytes of its JSON.
pub(in crate::ledger) fn line_digest(before: &ChainHead, json: &[u8]) -> ChainHead {
    Sha256::new().chain_update(before).chain_update(json).finalize().into()
}
