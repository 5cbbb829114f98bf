//! Sequential reader of a tree's files, which computes the digest as it reads. The digest and the archive share
//! it, so that both see the same bytes.

use std::io::{self, Read};

use super::digester::SourceDigester;
use super::error::{SourceError, display_source_path};
use super::tree::{SourceEntry, SourceEntryKind, SourceTree};
use crate::config::input::files::Files;

/// Size in bytes of the read buffer.
const BUFFER_BYTES: usize = 128 << 10;

/// Reader of a tree, positioned at an entry.
pub(super) struct SourceTreeReader<'f> {
    files: &'f dyn Files,
    pub(super) tree: SourceTree,
    next: usize,
    open: Option<OpenSourceFile>,
    buffer: Vec<u8>,
    digester: SourceDigester,
}

/// The file that is being read.
struct OpenSourceFile {
    reader: Box<dyn Read>,
    left: u64,
}

/// Part of a tree's content, as the reader returns it.
pub(super) enum SourceTreePart<'c> {
    /// Start of an entry; the bytes of a file follow.
    Entry(&'c SourceEntry),
    /// Bytes of the file.
    Data(&'c [u8]),
    /// End of the current file, with its size in bytes.
    End(u64),
}

impl<'f> SourceTreeReader<'f> {
    pub(super) fn new(files: &'f dyn Files, tree: SourceTree) -> Self {
        let (buffer, digester) = (vec![0; BUFFER_BYTES], SourceDigester::new());
        Self { files, tree, next: 0, open: None, buffer, digester }
    }

    /// Returns the next part; `None` at the end of the tree.
    pub(super) fn next_part(&mut self) -> Result<Option<SourceTreePart<'_>>, SourceError> {
        if self.open.is_some() {
            return self.go_on().map(Some);
        }
        let Some(entry) = self.tree.entries.get(self.next) else { return Ok(None) };
        self.next += 1;
        self.digester.begin_entry(entry);
        if let SourceEntryKind::File { size, .. } = entry.body {
            let path = self.tree.root.join(&entry.path);
            let reader = self.files.open(&path).map_err(|error| SourceError::from_io(&path, &error))?;
            self.open = Some(OpenSourceFile { reader, left: size });
        }
        Ok(Some(SourceTreePart::Entry(entry)))
    }

    /// Reads the next bytes of the open file. A size other than the listed one means that the file changed: the
    /// archive's header has the listed size already.
    fn go_on(&mut self) -> Result<SourceTreePart<'_>, SourceError> {
        let entry = &self.tree.entries[self.next - 1];
        let path = self.tree.root.join(&entry.path);
        let Some(open) = &mut self.open else { return Ok(SourceTreePart::End(0)) };
        let read = loop {
            match open.reader.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.map_err(|error| SourceError::from_io(&path, &error))?,
            }
        };
        match (read as u64, open.left) {
            (0, 0) => {
                self.open = None;
                Ok(SourceTreePart::End(entry.size()))
            }
            (0, _) => Err(SourceError::Changed(display_source_path(&path))),
            (read, left) if read > left => Err(SourceError::Changed(display_source_path(&path))),
            (read, _) => {
                open.left -= read;
                let data = &self.buffer[..usize::try_from(read).unwrap_or(BUFFER_BYTES)];
                self.digester.add_data(data);
                Ok(SourceTreePart::Data(data))
            }
        }
    }

    /// Returns the digest of the content read so far.
    pub(super) fn digest(&self) -> String {
        self.digester.digest_text()
    }
}
