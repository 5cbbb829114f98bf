//! `SourceTree`: the files of a directory to upload, in the same order on every machine.
//!
//! Included is what a Git checkout restores: files, their executable bit, and symbolic links with targets
//! inside the directory. Times, owners, other modes and empty directories are not. `.steadignore` in the
//! top directory names files to leave out, in the syntax of `.gitignore`; the private directories of git
//! and stead are always left out.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::error::{IGNORE_FILE, LargestFiles, MAX_ENTRIES, SourceError, display_source_path};
use crate::config::input::files::{DirectoryEntry, DirectoryEntryKind, Files, UsedEntries};

/// Names that are never uploaded, at any depth.
const ALWAYS_IGNORED: &[&str] = &[".git", ".stead"];

/// Maximum size of the ignore file in bytes; a larger one is an error.
const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;

/// Maximum number of large files that a message names.
const MAX_NAMED_FILES: usize = 5;

/// Files of a directory, sorted by name.
#[derive(Debug, Clone)]
pub struct SourceTree {
    /// Path relative to the stack's directory.
    pub(super) root: PathBuf,
    /// Entries, sorted by name.
    pub(super) entries: Vec<SourceEntry>,
}

/// One file or link.
#[derive(Debug, Clone)]
pub(super) struct SourceEntry {
    /// Path relative to the root of the tree.
    pub(super) path: PathBuf,
    pub(super) body: SourceEntryKind,
}

/// Content of an entry.
#[derive(Debug, Clone)]
pub(super) enum SourceEntryKind {
    File { size: u64, executable: bool },
    Link(PathBuf),
}

impl SourceTree {
    /// Lists a directory below the stack's directory, recursively.
    ///
    /// # Errors
    /// When it cannot be read, has no file or too many, or contains something that cannot be uploaded.
    pub fn read(files: &dyn Files, directory: &str) -> Result<Self, SourceError> {
        let mut tree = Self { root: normalize_path(directory), entries: Vec::new() };
        let ignored = Arc::new(read_ignore_rules(files, &tree.root)?);
        let (mut folders, mut seen) = (vec![PathBuf::new()], 0);
        while let Some(folder) = folders.pop() {
            let at = tree.stack_path(&folder);
            let listed = files
                .list_used(&at, &kept_entries(&ignored, &folder))
                .map_err(|error| SourceError::from_io(&at, &error))?;
            seen += listed.len();
            if seen > MAX_ENTRIES {
                return Err(SourceError::TooMany(directory.to_owned()));
            }
            for DirectoryEntry { name, what } in listed {
                let path = folder.join(&name);
                if is_left_out(&name, &path, what == DirectoryEntryKind::Directory, &ignored) {
                    continue;
                }
                match what {
                    DirectoryEntryKind::Directory => folders.push(path),
                    what => tree.entries.push(tree.read_entry(path, what)?),
                }
            }
        }
        if tree.entries.is_empty() {
            return Err(SourceError::Empty(directory.to_owned()));
        }
        tree.entries.sort_unstable_by(|a, b| path_bytes(&a.path).cmp(path_bytes(&b.path)));
        Ok(tree)
    }

    /// Returns whether a file, by its path from the stack's directory, would be part of the tree of
    /// `directory` if it existed.
    ///
    /// # Errors
    /// When the ignore file cannot be read.
    pub fn would_hold(files: &dyn Files, directory: &str, path: &str) -> Result<bool, SourceError> {
        let (root, path) = (normalize_path(directory), normalize_path(path));
        let Ok(inside) = path.strip_prefix(&root) else { return Ok(false) };
        let ignored = read_ignore_rules(files, &root)?;
        let mut at = PathBuf::new();
        for name in inside {
            at.push(name);
            if is_left_out(name, &at, at != inside, &ignored) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns a path from the stack's directory.
    fn stack_path(&self, path: &Path) -> PathBuf {
        self.root.components().chain(path.components()).collect()
    }

    fn read_entry(&self, path: PathBuf, what: DirectoryEntryKind) -> Result<SourceEntry, SourceError> {
        let body = match what {
            DirectoryEntryKind::File { size, executable } => SourceEntryKind::File { size, executable },
            DirectoryEntryKind::Link(target) if leads_inside(&path, &target) => {
                SourceEntryKind::Link(target)
            }
            DirectoryEntryKind::Link(target) => {
                let path = display_source_path(&self.stack_path(&path));
                return Err(SourceError::Outside { path, target: display_source_path(&target) });
            }
            DirectoryEntryKind::Special | DirectoryEntryKind::Directory => {
                return Err(SourceError::Special(display_source_path(&self.stack_path(&path))));
            }
        };
        Ok(SourceEntry { path, body })
    }

    /// Returns the total size of the files in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.entries.iter().map(SourceEntry::size).fold(0, u64::saturating_add)
    }

    pub(super) fn too_large(&self) -> SourceError {
        let mut all: Vec<(&Path, u64)> = self.entries.iter().map(|e| (&*e.path, e.size())).collect();
        all.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
        let largest = all
            .into_iter()
            .take(MAX_NAMED_FILES)
            .map(|(path, size)| (display_source_path(&self.stack_path(path)), size))
            .collect();
        SourceError::TooLarge { directory: self.display_path(), largest: LargestFiles(largest) }
    }

    /// Returns its path for a message.
    pub(super) fn display_path(&self) -> String {
        if self.root.as_os_str().is_empty() { ".".to_owned() } else { display_source_path(&self.root) }
    }
}

impl SourceEntry {
    pub(super) fn size(&self) -> u64 {
        match &self.body {
            SourceEntryKind::File { size, .. } => *size,
            SourceEntryKind::Link(_) => 0,
        }
    }
}

/// Returns a path without its `.` components.
fn normalize_path(path: &str) -> PathBuf {
    Path::new(path).components().filter(|part| *part != Component::CurDir).collect()
}

/// Returns a path as bytes in the encoding of the operating system.
pub(super) fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

fn is_left_out(name: &OsStr, path: &Path, is_directory: bool, ignored: &Gitignore) -> bool {
    let always = ALWAYS_IGNORED.iter().any(|kept| name == *kept) || path == Path::new(IGNORE_FILE);
    always || ignored.matched(path, is_directory).is_ignore()
}

/// Returns which entries of a folder of the tree are not left out.
fn kept_entries(ignored: &Arc<Gitignore>, folder: &Path) -> UsedEntries {
    let (ignored, folder) = (Arc::clone(ignored), folder.to_owned());
    Arc::new(move |name, is_directory| !is_left_out(name, &folder.join(name), is_directory, &ignored))
}

fn read_ignore_rules(files: &dyn Files, root: &Path) -> Result<Gitignore, SourceError> {
    let path = root.join(IGNORE_FILE);
    let mut text = String::new();
    let read = |file: Box<dyn Read>| file.take(MAX_IGNORE_FILE_BYTES + 1).read_to_string(&mut text);
    match files.open(&path).and_then(read) {
        // A part of the patterns is worse than none: a file that a later one names would be uploaded.
        Ok(bytes) if bytes as u64 > MAX_IGNORE_FILE_BYTES => {
            let why = format!("it has more than {MAX_IGNORE_FILE_BYTES} bytes");
            return Err(SourceError::Unreadable { path: path.display().to_string(), why });
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Gitignore::empty()),
        Err(error) => return Err(SourceError::from_io(&path, &error)),
    }
    let fail = |line, why: String| SourceError::Pattern { line, why };
    let mut builder = GitignoreBuilder::new("");
    for (n, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        builder.add_line(None, line).map_err(|error| fail(n + 1, error.to_string()))?;
    }
    builder.build().map_err(|error| fail(1, error.to_string()))
}

/// Returns whether a link's target is inside the tree, wherever the tree is unpacked: `..` components
/// first, then names. A `..` after a name is refused, because that name could be
/// another link that leads elsewhere.
fn leads_inside(link: &Path, target: &Path) -> bool {
    let depth = link.components().count() - 1;
    let (mut up, mut down) = (0, 0);
    for part in target.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(_) => down += 1,
            Component::ParentDir if down == 0 => up += 1,
            _ => return false,
        }
    }
    up <= depth && up + down > 0
}
