//! File access for a configuration in which edited files replace those on disk, so that an edit is checked before it
//! is written. Only shared files are overlaid: the stack's own are given to the loader directly.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::stack_files::ConfinedFiles;
use crate::config::input::files::{DirectoryEntry, Files};
use crate::model::address::Name;

/// Files on disk, overlaid by edited contents.
pub(in crate::cli) struct OverlayFiles {
    /// Access to the files on disk.
    pub(in crate::cli) disk: ConfinedFiles,
    /// Contents of the edited files, by path from the root for shared configuration.
    pub(in crate::cli) edited: BTreeMap<PathBuf, String>,
}

impl Files for OverlayFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.disk.read(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        self.disk.open(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        self.disk.list(path)
    }

    fn path_from_root(&self) -> Vec<Name> {
        self.disk.path_from_root()
    }

    fn read_shared(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.edited.get(path) {
            Some(text) => Ok(text.clone().into_bytes()),
            None => self.disk.read_shared(path),
        }
    }

    fn names_shared(&self, path: &Path) -> io::Result<Vec<String>> {
        self.disk.names_shared(path)
    }

    fn in_dir(&self, path: &Path) -> Option<Rc<dyn Files>> {
        self.disk.in_dir(path)
    }
}
