//! `Contents`: a tree read part by part, and its digest on the way.

use std::io::{self, Read};

use super::digester::Digester;
use super::error::{SourceError, display_source_path};
use super::tree::{Body, Entry, Tree};
use crate::config::input::files::Files;

/// Bytes of a file that are read at once.
const BUFFER: usize = 128 << 10;

/// A tree that is being read.
pub(super) struct Contents<'f> {
    files: &'f dyn Files,
    pub(super) tree: Tree,
    next: usize,
    open: Option<Open>,
    buffer: Vec<u8>,
    digester: Digester,
}

/// The file that is being read.
struct Open {
    reader: Box<dyn Read>,
    left: u64,
}

/// A part of a tree.
pub(super) enum Part<'c> {
    /// An entry begins; a file's bytes follow.
    Entry(&'c Entry),
    /// Bytes of the file.
    Data(&'c [u8]),
    /// The file of so many bytes ends.
    End(u64),
}

impl<'f> Contents<'f> {
    pub(super) fn new(files: &'f dyn Files, tree: Tree) -> Self {
        let (buffer, digester) = (vec![0; BUFFER], Digester::new());
        Self { files, tree, next: 0, open: None, buffer, digester }
    }

    /// Returns the next part; `None` when all were read.
    pub(super) fn next_part(&mut self) -> Result<Option<Part<'_>>, SourceError> {
        if self.open.is_some() {
            return self.go_on().map(Some);
        }
        let Some(entry) = self.tree.entries.get(self.next) else { return Ok(None) };
        self.next += 1;
        self.digester.begin_entry(entry);
        if let Body::File { size, .. } = entry.body {
            let path = self.tree.root.join(&entry.path);
            let reader = self.files.open(&path).map_err(|error| SourceError::from_io(&path, &error))?;
            self.open = Some(Open { reader, left: size });
        }
        Ok(Some(Part::Entry(entry)))
    }

    /// Reads on in the open file. It has the size that it was listed with, or it changed.
    fn go_on(&mut self) -> Result<Part<'_>, SourceError> {
        let entry = &self.tree.entries[self.next - 1];
        let path = self.tree.root.join(&entry.path);
        let Some(open) = &mut self.open else { return Ok(Part::End(0)) };
        let read = loop {
            match open.reader.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.map_err(|error| SourceError::from_io(&path, &error))?,
            }
        };
        match (read as u64, open.left) {
            (0, 0) => {
                self.open = None;
                Ok(Part::End(entry.size()))
            }
            (0, _) => Err(SourceError::Changed(display_source_path(&path))),
            (read, left) if read > left => Err(SourceError::Changed(display_source_path(&path))),
            (read, _) => {
                open.left -= read;
                let data = &self.buffer[..usize::try_from(read).unwrap_or(BUFFER)];
                self.digester.add_data(data);
                Ok(Part::Data(data))
            }
        }
    }

    /// Returns the digest of what was read.
    pub(super) fn digest(&self) -> String {
        self.digester.digest_text()
    }
}
