//! The digest of a directory, computed entry by entry: names, kinds, modes and contents, in the order of the tree.

use sha2::{Digest as _, Sha256};

use super::tree::{SourceEntry, SourceEntryKind, path_bytes};
use crate::model::crypto::hex::encode_hex;

/// Incremental SHA-256 over entries. The prefix is the version of this form: a change of the form needs another one.
#[derive(Debug)]
pub(super) struct SourceDigester(Sha256);

impl SourceDigester {
    pub(super) fn new() -> Self {
        Self(Sha256::new_with_prefix("stead sources 1\n"))
    }

    /// Adds the metadata of an entry, without a file's bytes. Each part is prefixed by its length, so that
    /// different trees cannot have the same input.
    pub(super) fn begin_entry(&mut self, entry: &SourceEntry) {
        let (mark, length) = match &entry.body {
            SourceEntryKind::File { size, executable: false } => (b'f', *size),
            SourceEntryKind::File { size, executable: true } => (b'x', *size),
            SourceEntryKind::Link(target) => (b'l', path_bytes(target).len() as u64),
        };
        let path = path_bytes(&entry.path);
        self.0.update([mark]);
        self.0.update((path.len() as u64).to_le_bytes());
        self.0.update(path);
        self.0.update(length.to_le_bytes());
        if let SourceEntryKind::Link(target) = &entry.body {
            self.0.update(path_bytes(target));
        }
    }

    /// Adds bytes of a file.
    pub(super) fn add_data(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn digest_text(&self) -> String {
        format!("sha256:{}", encode_hex(&self.0.clone().finalize()))
    }
}
