//! The tree of the base commit, as the comparison asks for it. Paths are relative to the repository's root.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use gix_hash::ObjectId;

/// Access to the tree of the base commit. Contents of files are not needed: their ids are compared.
pub trait BaseTree {
    /// Why the tree cannot be read.
    type Error;

    /// Returns what a path is at the base.
    ///
    /// # Errors
    /// When an object of the base commit cannot be read.
    fn entry(&self, path: &Path) -> Result<BaseEntry, Self::Error>;

    /// Returns the entries of a directory that `entry` reports as `Directory`.
    ///
    /// # Errors
    /// Those of `entry`.
    fn entries(&self, directory: &Path) -> Result<BTreeMap<OsString, BaseEntry>, Self::Error>;

    /// Returns whether Git leaves out a file of the working tree because of an ignore rule.
    fn is_ignored(&self, path: &Path) -> bool;
}

/// What a path is at the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseEntry {
    /// There is nothing.
    Absent,
    /// A regular file.
    File {
        /// Id of its content.
        id: ObjectId,
        /// Whether it has execute permission.
        executable: bool,
    },
    /// A symbolic link; the content of its object is the target.
    Link(ObjectId),
    /// A directory, or a submodule.
    Directory,
    /// A directory above it is a file or a link, which no reader passes.
    Blocked,
    /// It is below a submodule whose commit at the base is not in this clone.
    InMissingSubmodule,
}
