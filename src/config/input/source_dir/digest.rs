//! The digest of a directory: over names, modes and contents, so that it is the same whatever packs it.

use sha2::{Digest, Sha256};

use super::archive::{Archive, LARGEST};
use super::contents::Contents;
use super::error::SourceError;
use super::tree::{Body, Entry, Tree, path_bytes};
use crate::config::input::files::Files;
use crate::model::hex::encode_hex;

/// What one file takes in an archive besides its bytes, at most: a header, a padding, and both again
/// for a long name.
const FRAME: u64 = 4 * 512 + 4_096;

/// Returns the digest of a directory that can be uploaded: `sha256:` and 64 hexadecimal digits.
///
/// # Errors
/// When a file cannot be read, or the archive would be too large.
pub fn directory_digest(files: &dyn Files, tree: Tree) -> Result<String, SourceError> {
    at_most(files, tree, LARGEST)
}

/// Does the same for an archive of another size at most.
pub(super) fn at_most(files: &dyn Files, tree: Tree, most: u64) -> Result<String, SourceError> {
    let frames = FRAME.saturating_mul(tree.entries.len() as u64);
    if tree.size().saturating_add(frames) > most {
        // Only packing tells how large the archive is.
        let mut archive = Archive::new(files, tree).at_most(most);
        return archive.by_ref().find_map(Result::err).map_or_else(|| Ok(archive.digest()), Err);
    }
    let mut contents = Contents::new(files, tree);
    while contents.next_part()?.is_some() {}
    Ok(contents.digest())
}

/// A digest that is being made.
#[derive(Debug)]
pub(super) struct Digester(Sha256);

impl Digester {
    pub(super) fn new() -> Self {
        Self(Sha256::new_with_prefix("stead sources 1\n"))
    }

    /// Takes in what an entry is, all but a file's bytes. Every part is told apart by its length.
    pub(super) fn begin_entry(&mut self, entry: &Entry) {
        let (mark, length) = match &entry.body {
            Body::File { size, executable: false } => (b'f', *size),
            Body::File { size, executable: true } => (b'x', *size),
            Body::Link(target) => (b'l', path_bytes(target).len() as u64),
        };
        let path = path_bytes(&entry.path);
        self.0.update([mark]);
        self.0.update((path.len() as u64).to_le_bytes());
        self.0.update(path);
        self.0.update(length.to_le_bytes());
        if let Body::Link(target) = &entry.body {
            self.0.update(path_bytes(target));
        }
    }

    /// Takes in bytes of a file.
    pub(super) fn add_data(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn digest_text(&self) -> String {
        format!("sha256:{}", encode_hex(&self.0.clone().finalize()))
    }
}
