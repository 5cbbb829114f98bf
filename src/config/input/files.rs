//! File access of a configuration: which files it may read besides the stack's own. All are below the stack's
//! directory, and no link is followed. Configuration may come from others, so it must not read what
//! its reader did not mean to give.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use super::discovery::is_stack_file;
use crate::config::types::relative_path::path_refusal;
use crate::model::address::Name;

/// Largest file, in bytes, that an expression may read.
const MAX_FILE_BYTES: usize = 1 << 20;

/// Files below the stack's directory. No path leaves it, and no link is followed.
pub trait Files {
    /// Reads a small file whole, by its path from the stack's directory.
    ///
    /// # Errors
    /// When it cannot be read, or is too large.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Opens a regular file of any size.
    ///
    /// # Errors
    /// When it cannot be opened, is a link or no regular file.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        self.read(path).map(|bytes| Box::new(io::Cursor::new(bytes)) as Box<dyn Read>)
    }

    /// Lists a directory, in any order.
    ///
    /// # Errors
    /// When it cannot be read, is a link or no directory.
    fn list(&self, _path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        Err(io::ErrorKind::NotFound.into())
    }

    /// Lists a directory like `list`, for a reader that uses only some of its entries: an implementation that
    /// records reads ignores the others.
    ///
    /// # Errors
    /// Those of `list`.
    fn list_used(&self, path: &Path, _uses: &UsedEntries) -> io::Result<Vec<DirectoryEntry>> {
        self.list(path)
    }

    /// Returns the path of the stack's directory, one name per component, from the root within which
    /// configuration is shared; empty when the stack's directory is that root.
    fn path_from_root(&self) -> Vec<Name> {
        Vec::new()
    }

    /// Reads a file of configuration, by its path from the root.
    ///
    /// # Errors
    /// When it cannot be read, is a link or no regular file.
    fn read_shared(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read(path)
    }

    /// Returns the names in a directory, by its path from the root.
    ///
    /// # Errors
    /// When it cannot be read, is a link or no directory.
    fn names_shared(&self, path: &Path) -> io::Result<Vec<String>> {
        let listed = self.list(path)?;
        Ok(listed.into_iter().filter_map(|entry| entry.name.into_string().ok()).collect())
    }

    /// Returns the sorted names of the stack files in a directory, by its path from the root.
    ///
    /// # Errors
    /// Those of `names_shared`.
    fn stack_files_shared(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = self.names_shared(path)?;
        names.retain(|name| is_stack_file(name));
        // The order of a directory listing differs between machines.
        names.sort();
        Ok(names)
    }

    /// Returns access to the files below a module's directory, by its path from the root; `None` if that
    /// directory cannot be accessed.
    fn in_dir(&self, _path: &Path) -> Option<Rc<dyn Files>> {
        None
    }
}

/// A function that reads small files is enough where no directory is listed and nothing is shared.
impl<F: Fn(&Path) -> io::Result<Vec<u8>>> Files for F {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self(path)
    }
}

/// Whether a reader uses an entry of a directory, by its name and whether it is a directory.
pub type UsedEntries = Arc<dyn Fn(&OsStr, bool) -> bool + Send + Sync>;

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// File name without its directory.
    pub name: OsString,
    /// Type of the entry, with its metadata.
    pub what: DirectoryEntryKind,
}

/// Type of a directory entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectoryEntryKind {
    /// A directory, which may be listed in turn.
    Directory,
    /// A regular file with its metadata.
    File {
        /// Size of the file in bytes.
        size: u64,
        /// Whether the owner has execute permission.
        executable: bool,
    },
    /// A symbolic link, with its target as written.
    Link(PathBuf),
    /// A pipe, a socket or a device.
    Special,
}

/// Reads a UTF-8 file below the stack's directory.
///
/// # Errors
/// A message when the path must not be used, or when the file cannot be read, is too large or is not UTF-8.
pub(in crate::config) fn read_text(files: &dyn Files, path: &str) -> Result<String, String> {
    if let Some(why) = path_refusal(path) {
        return Err(format!("`{path}` cannot be read: {why}"));
    }
    let bytes = files.read(Path::new(path)).map_err(|error| format!("`{path}` cannot be read: {error}"))?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(format!("`{path}` is larger than {MAX_FILE_BYTES} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| format!("`{path}` is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_utf8_files_are_read() {
        let read = |path: &Path| match path.to_str() {
            Some("big") => Ok(vec![b'a'; MAX_FILE_BYTES + 1]),
            Some("bytes") => Ok(vec![0xff]),
            Some("good") => Ok(b"hello".to_vec()),
            _ => Err(io::ErrorKind::NotFound.into()),
        };
        assert_eq!(read_text(&read, "good"), Ok("hello".into()));
        for path in ["big", "bytes", "none", "../good"] {
            assert!(read_text(&read, path).is_err(), "{path}");
        }
    }
}
