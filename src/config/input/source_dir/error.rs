//! `SourceError`: why a directory cannot be uploaded.

use std::path::Path;
use std::{fmt, io};

use thiserror::Error;

/// Reason why a directory cannot be uploaded. The messages contain file names unescaped: the caller
/// escapes them before display.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SourceError {
    /// A file or directory cannot be read.
    #[error("`{path}` cannot be read: {why}")]
    Unreadable {
        /// Path of the file or directory.
        path: String,
        /// Reason, as a clause for the message.
        why: String,
    },
    /// The directory has no files to upload.
    #[error("`{0}` contains no file to upload")]
    Empty(String),
    /// A link that would mean something else, or nothing, where the archive is unpacked.
    #[error("`{path}` is a link to `{target}`, which may be outside of the directory")]
    Outside {
        /// Path of the symbolic link.
        path: String,
        /// Target as the link states it.
        target: String,
    },
    /// A pipe, a socket or a device.
    #[error("`{0}` is a pipe, a socket or a device")]
    Special(String),
    /// The directory has more files than the limit.
    #[error("`{0}` holds more than {MAX_ENTRIES} files")]
    TooMany(String),
    /// The archive exceeds the service's limit.
    #[error("`{directory}` is too large: an archive has 100 MB at most; the largest files are {largest}")]
    TooLarge {
        /// Path of the directory.
        directory: String,
        /// Largest files of the directory, as candidates to leave out.
        largest: LargestFiles,
    },
    /// A line of the ignore file is no pattern.
    #[error("line {line} of `{IGNORE_FILE}` is not a pattern: {why}")]
    Pattern {
        /// Number of the line, from 1.
        line: usize,
        /// Reason, as a clause for the message.
        why: String,
    },
    /// A file changed its size, or was replaced, while it was read.
    #[error("`{0}` changed while it was read")]
    Changed(String),
    /// The files differ from those that the plan was made with.
    #[error("the files in `{0}` are not those that the plan was made with")]
    Moved(String),
}

impl SourceError {
    /// Returns what the user can do about the error, as a clause; `None` where the error itself says it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Outside { .. } => {
                Some(format!("replace the link by a copy, or list it in `{IGNORE_FILE}`"))
            }
            Self::Special(_) | Self::TooMany(_) | Self::TooLarge { .. } => {
                Some(format!("list the files in `{IGNORE_FILE}` that are not needed to build and run it"))
            }
            _ => None,
        }
    }

    /// Returns whether the files changed, while they were read or since the plan was made.
    #[must_use]
    pub fn is_moved(&self) -> bool {
        matches!(self, Self::Changed(_) | Self::Moved(_))
    }

    pub(super) fn from_io(path: &Path, error: &io::Error) -> Self {
        Self::Unreadable { path: display_source_path(path), why: error.to_string() }
    }
}

/// Returns a path for a message, not escaped; bytes that are not UTF-8 are replaced.
pub(super) fn display_source_path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Largest files of a directory with their sizes in bytes, largest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargestFiles(pub(super) Vec<(String, u64)>);

impl fmt::Display for LargestFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (path, size)) in self.0.iter().enumerate() {
            let tenths = size / 100_000;
            write!(f, "{}`{path}` ({}.{} MB)", if n == 0 { "" } else { ", " }, tenths / 10, tenths % 10)?;
        }
        Ok(())
    }
}

/// Name of the file with patterns of files to leave out.
pub(super) const IGNORE_FILE: &str = ".steadignore";

/// Maximum number of files and directories in one tree, ignored ones included.
pub(super) const MAX_ENTRIES: usize = 100_000;
