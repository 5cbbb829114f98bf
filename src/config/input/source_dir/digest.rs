//! Digest of a directory: over names, modes and contents, so that it does not depend on the archive format. A
//! plan contains it, and the upload is refused if it differs.

use super::archive::{MAX_ARCHIVE_BYTES, SourceArchive};
use super::contents::SourceTreeReader;
use super::error::SourceError;
use super::tree::SourceTree;
use crate::config::input::files::Files;

/// Maximum number of bytes that one file adds to an archive besides its content: a header, padding, and
/// both again for a long name.
const ENTRY_OVERHEAD_BYTES: u64 = 4 * 512 + 4_096;

/// Returns the digest of a directory that can be uploaded: `sha256:` and 64 hexadecimal digits.
///
/// # Errors
/// When a file cannot be read, or the archive would be too large.
pub fn directory_digest(files: &dyn Files, tree: SourceTree) -> Result<String, SourceError> {
    at_most(files, tree, MAX_ARCHIVE_BYTES)
}

/// Returns the digest of a tree whose archive has at most `most` bytes.
pub(super) fn at_most(files: &dyn Files, tree: SourceTree, most: u64) -> Result<String, SourceError> {
    let frames = ENTRY_OVERHEAD_BYTES.saturating_mul(tree.entries.len() as u64);
    if tree.size().saturating_add(frames) > most {
        // The compressed size is only known after packing.
        let mut archive = SourceArchive::new(files, tree).at_most(most);
        return archive.by_ref().find_map(Result::err).map_or_else(|| Ok(archive.digest()), Err);
    }
    let mut contents = SourceTreeReader::new(files, tree);
    while contents.next_part()?.is_some() {}
    Ok(contents.digest())
}
