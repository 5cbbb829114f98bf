//! SHA-256 digests of data as JSON. In: serializable parts, in order; out: 64 hexadecimal digits. Each digest begins
//! with its purpose, so that equal data in two roles has two digests. A part that cannot be written as JSON is an
//! error: there is no digest of incomplete data.

use std::io;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::hex::encode_hex;

/// Bytes that are collected before they are hashed: the serializer writes in very small pieces.
const CHUNK_BYTES: usize = 8 * 1024;

/// A digest of parts that are added one after the other.
pub struct JsonDigest {
    hasher: Sha256,
    pending: Vec<u8>,
}

impl JsonDigest {
    /// Begins a digest with its purpose, such as `stead plan 2`.
    #[must_use]
    pub fn new(purpose: &str) -> Self {
        let hasher = Sha256::new_with_prefix(purpose).chain_update(b"\n");
        Self { hasher, pending: Vec::with_capacity(2 * CHUNK_BYTES) }
    }

    /// Adds a part as JSON with a newline as the separator, which compact JSON does not contain.
    ///
    /// # Errors
    /// When it cannot be written as JSON. The digest then contains a fragment of it and must be discarded.
    pub fn add(&mut self, part: &impl Serialize) -> Result<(), serde_json::Error> {
        serde_json::to_writer(&mut *self, part)?;
        self.pending.push(b'\n');
        Ok(())
    }

    /// Adds parts that were written before, each as `add` writes it.
    pub fn add_written(&mut self, parts: &[u8]) {
        self.hash_pending();
        self.hasher.update(parts);
    }

    fn hash_pending(&mut self) {
        self.hasher.update(&self.pending);
        self.pending.clear();
    }

    /// Returns the digest: 64 hexadecimal digits.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.hasher.update(&self.pending);
        encode_hex(&self.hasher.finalize())
    }
}

impl io::Write for JsonDigest {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= CHUNK_BYTES {
            self.hash_pending();
        }
        Ok(bytes.len())
    }

    // Inlined, as a serializer calls it for each bracket.
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes).map(drop)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the digest of one part: 64 hexadecimal digits.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn json_digest(purpose: &str, part: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut digest = JsonDigest::new(purpose);
    digest.add(part)?;
    Ok(digest.finish())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_digest_is_the_whole_sha256_of_purpose_and_json() {
        let expected = encode_hex(&Sha256::digest(b"stead test 1\n[1,\"a\"]\n"));
        assert_eq!(json_digest("stead test 1", &(1, "a")).unwrap(), expected);
        assert_eq!(expected.len(), 64);
        assert_ne!(json_digest("stead test 2", &(1, "a")).unwrap(), expected);
    }

    #[test]
    fn long_parts_are_hashed_in_chunks() {
        let long = "x".repeat(3 * CHUNK_BYTES + 7);
        let mut digest = JsonDigest::new("p");
        digest.add(&long).unwrap();
        digest.add(&1).unwrap();
        assert_eq!(digest.finish(), encode_hex(&Sha256::digest(format!("p\n\"{long}\"\n1\n").as_bytes())));
    }

    #[test]
    fn a_value_that_cannot_be_serialized_has_no_digest() {
        let unwritable = BTreeMap::from([(vec![1], 1)]);
        assert!(json_digest("p", &("a beginning", unwritable)).is_err());
    }
}
