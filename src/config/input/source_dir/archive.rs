//! `SourceArchive`: a directory as a reproducible gzipped tarball, in chunks: the same bytes for the same files.
//!
//! It is packed on demand, so that the caller can do other work between chunks, and only the chunk that was
//! not yet taken is in memory.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use super::contents::{SourceTreePart, SourceTreeReader};
use super::error::SourceError;
use super::tree::{SourceEntry, SourceEntryKind, SourceTree};
use crate::config::input::files::Files;

/// Maximum size in bytes of an archive (Limits: app source archive).
pub const MAX_ARCHIVE_BYTES: u64 = 100_000_000;

/// A chunk is returned once it has so many bytes, or once so many were read for it.
const CHUNK_BYTES: usize = 256 << 10;

/// Modification time of every entry, for reproducibility: the year 2000, because some formats
/// cannot store times before 1980.
const MODIFIED_UNIX_SECS: u64 = 946_684_800;

/// Iterator over the chunks of a directory's archive. A chunk may be empty, so that the caller regains
/// control while input is read.
pub struct SourceArchive<'f> {
    contents: SourceTreeReader<'f>,
    /// `None` once the last chunk was returned, or after an error.
    tarball: Option<Builder<GzEncoder<Vec<u8>>>>,
    packed: u64,
    most: u64,
    expected: Option<String>,
}

impl<'f> SourceArchive<'f> {
    /// Creates an archive of a tree; files are read as chunks are requested.
    #[must_use]
    pub fn new(files: &'f dyn Files, tree: SourceTree) -> Self {
        // 255 means an unknown operating system, so that the bytes do not depend on this one.
        let gzip = GzBuilder::new().mtime(0).operating_system(255);
        let encoder = gzip.write(Vec::with_capacity(CHUNK_BYTES), Compression::default());
        let tarball = Some(Builder::new(encoder));
        Self {
            contents: SourceTreeReader::new(files, tree),
            tarball,
            packed: 0,
            most: MAX_ARCHIVE_BYTES,
            expected: None,
        }
    }

    /// Makes the iteration end in an error unless the digest of the packed content equals `digest`.
    #[must_use]
    pub fn expect_digest(mut self, digest: impl Into<String>) -> Self {
        self.expected = Some(digest.into());
        self
    }

    pub(super) fn at_most(mut self, most: u64) -> Self {
        self.most = most;
        self
    }

    /// Returns the digest of the content packed so far.
    pub(super) fn digest(&self) -> String {
        self.contents.digest()
    }

    fn next_piece(
        &mut self,
        mut tarball: Builder<GzEncoder<Vec<u8>>>,
    ) -> Result<(Vec<u8>, bool), SourceError> {
        let mut read = 0;
        loop {
            let Some(part) = self.contents.next_part()? else {
                let rest =
                    tarball.into_inner().and_then(GzEncoder::finish).map_err(|e| self.tarball_error(&e))?;
                return Ok((rest, true));
            };
            read += match &part {
                SourceTreePart::Data(data) => data.len(),
                SourceTreePart::Entry(_) | SourceTreePart::End(_) => 512,
            };
            let put = append_part(&mut tarball, &part);
            put.map_err(|error| self.tarball_error(&error))?;
            if read >= CHUNK_BYTES || tarball.get_ref().get_ref().len() >= CHUNK_BYTES {
                let piece = std::mem::take(tarball.get_mut().get_mut());
                self.tarball = Some(tarball);
                return Ok((piece, false));
            }
        }
    }

    fn tarball_error(&self, error: &io::Error) -> SourceError {
        SourceError::Unreadable { path: self.contents.tree.display_path(), why: error.to_string() }
    }

    /// Checks the size of the archive so far and, after the last chunk, the digest of its content.
    fn check_limits(&mut self, length: usize, is_last: bool) -> Result<(), SourceError> {
        self.packed += length as u64;
        if self.packed > self.most {
            return Err(self.contents.tree.too_large());
        }
        match &self.expected {
            Some(expected) if is_last && *expected != self.digest() => {
                Err(SourceError::Moved(self.contents.tree.display_path()))
            }
            _ => Ok(()),
        }
    }
}

impl Iterator for SourceArchive<'_> {
    type Item = Result<Bytes, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let tarball = self.tarball.take()?;
        let piece = self.next_piece(tarball).and_then(|(piece, is_last)| {
            self.check_limits(piece.len(), is_last)?;
            Ok(Bytes::from(piece))
        });
        if piece.is_err() {
            self.tarball = None;
        }
        Some(piece)
    }
}

fn append_part(tarball: &mut Builder<GzEncoder<Vec<u8>>>, part: &SourceTreePart<'_>) -> io::Result<()> {
    match part {
        SourceTreePart::Entry(entry) => append_header(tarball, entry),
        SourceTreePart::Data(data) => tarball.get_mut().write_all(data),
        SourceTreePart::End(size) => {
            let over = usize::try_from(size % 512).unwrap_or_default();
            let padding = [0; 512];
            tarball.get_mut().write_all(if over == 0 { &[] } else { &padding[over..] })
        }
    }
}

/// Writes the header of an entry. The bytes of a file are appended separately, in parts.
fn append_header(tarball: &mut Builder<GzEncoder<Vec<u8>>>, entry: &SourceEntry) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_mtime(MODIFIED_UNIX_SECS);
    header.set_uid(0);
    header.set_gid(0);
    match &entry.body {
        SourceEntryKind::File { size, executable } => {
            header.set_entry_type(EntryType::Regular);
            header.set_mode(if *executable { 0o755 } else { 0o644 });
            header.set_size(*size);
            tarball.append_data(&mut header, &entry.path, io::empty())
        }
        SourceEntryKind::Link(target) => {
            header.set_entry_type(EntryType::Symlink);
            header.set_mode(0o777);
            header.set_size(0);
            tarball.append_link(&mut header, &entry.path, target)
        }
    }
}
