//! Export of a whole ledger as one document with its own digest, for copies. Pure.
//!
//! The format is a checkpoint without a journal before it. It contains the key of the secrets' fingerprints, and
//! no secret as plaintext.

use super::invariants;
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::{MacKey, MacVerifier, check_ledger};
use crate::ledger::journal::{chain, checkpoint};
use crate::ledger::state::ledger::Ledger;

/// Returns the export document of a ledger. It has a MAC only if there is a key and the ledger requires MACs.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn write_document(ledger: &Ledger, key: Option<&MacKey>) -> Result<Vec<u8>, StoreError> {
    checkpoint::serialize_checkpoint(Vec::new(), ledger, &chain::first_head(), key)
        .map_err(|source| StoreError::Io { action: "write", place: "the document".to_owned(), source })
}

/// Reads an export document. The document of an authenticated ledger has a MAC, which is verified where there is a key.
/// `place` names the document in errors.
///
/// # Errors
/// When it is not an export document, was changed, contradicts itself, or has no MAC though there is a key.
pub fn parse(bytes: &[u8], place: &str, key: Option<&MacKey>) -> Result<Ledger, StoreError> {
    let corrupt = |reason: String| StoreError::Corrupt { place: place.to_owned(), reason };
    let read = checkpoint::parse(bytes, &mut MacVerifier::new(key));
    let (ledger, _) = read.map_err(|reason| corrupt(reason.to_owned()))?;
    check_ledger(&ledger, key)?;
    match invariants::find_contradictions(&ledger).into_iter().next() {
        Some(flaw) => Err(corrupt(flaw)),
        None => Ok(ledger),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::fixture::{adopted, identity};
    use crate::ledger::journal::replay::apply_record;

    #[test]
    fn an_exported_document_equals_the_ledger_and_detects_changes() {
        let mut ledger = Ledger::new(identity());
        apply_record(&mut ledger, &adopted(1, "x")).unwrap();
        let mut bytes = write_document(&ledger, None).unwrap();
        assert_eq!(parse(&bytes, "it", None).unwrap(), ledger);
        for at in 0..bytes.len() {
            bytes[at] ^= 1;
            assert!(parse(&bytes, "it", None).is_err(), "byte {at}");
            bytes[at] ^= 1;
        }
        assert!(parse(b"", "it", None).unwrap_err().to_string().contains("digest"));
    }
}
