//! What a load read, by path from the repository's root. A path outside of the repository is absolute.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use gix_hash::ObjectId;

use crate::config::input::files::UsedEntries;

/// The reads of a stack's load.
#[derive(Debug, Clone, Default)]
pub struct RecordedReads {
    reads: BTreeMap<PathBuf, Vec<Observation>>,
    /// Whether the load failed: what it would have read is not known.
    is_incomplete: bool,
}

/// What one read saw.
#[derive(Debug, Clone)]
pub enum Observation {
    /// A regular file with this content, by the id of Git's object for it.
    Content(ObjectId),
    /// A directory with these entries.
    Listing(Listing),
    /// Nothing.
    Absent,
    /// A link, a file that is too large or changed meanwhile, or anything else that gave no result to compare.
    Unusable,
}

/// The entries of a directory that a reader used, and which others it would have used.
#[derive(Clone)]
pub struct Listing {
    entries: BTreeMap<OsString, Option<ListedKind>>,
    uses: UsedEntries,
}

/// Kind of an entry in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedKind {
    /// A directory. A reader that uses one also lists it.
    Directory,
    /// A regular file. A reader that uses one also reads it.
    File {
        /// Whether it has execute permission.
        executable: bool,
    },
    /// A symbolic link, by the id of Git's object for its target.
    Link(ObjectId),
    /// Something that Git does not store.
    Special,
}

impl RecordedReads {
    /// Adds a read.
    pub fn add(&mut self, path: PathBuf, seen: Observation) {
        let known = self.reads.entry(path).or_default();
        let is_known = match &seen {
            Observation::Content(id) => {
                known.iter().any(|other| matches!(other, Observation::Content(other) if other == id))
            }
            Observation::Absent => known.iter().any(|other| matches!(other, Observation::Absent)),
            Observation::Unusable => known.iter().any(|other| matches!(other, Observation::Unusable)),
            Observation::Listing(_) => false,
        };
        if !is_known {
            known.push(seen);
        }
    }

    /// Adds the reads of another load of the same stack, in another environment.
    pub fn extend(&mut self, other: Self) {
        self.is_incomplete |= other.is_incomplete;
        for (path, seen) in other.reads {
            for seen in seen {
                self.add(path.clone(), seen);
            }
        }
    }

    /// Marks the load as failed.
    pub fn mark_incomplete(&mut self) {
        self.is_incomplete = true;
    }

    /// Returns whether the load failed.
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Iterates over the reads, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &Observation)> {
        self.reads.iter().flat_map(|(path, seen)| seen.iter().map(move |seen| (path.as_path(), seen)))
    }
}

impl Listing {
    /// Returns a listing of which only names count.
    pub fn of_names(names: impl IntoIterator<Item = OsString>, uses: UsedEntries) -> Self {
        let used = names.into_iter().filter(|name| uses(name, false));
        Self { entries: used.map(|name| (name, None)).collect(), uses }
    }

    /// Returns a listing of which names and kinds count.
    pub fn of_kinds(entries: impl IntoIterator<Item = (OsString, ListedKind)>, uses: UsedEntries) -> Self {
        let used = entries.into_iter().filter(|(name, kind)| uses(name, *kind == ListedKind::Directory));
        Self { entries: used.map(|(name, kind)| (name, Some(kind))).collect(), uses }
    }

    /// Iterates over the used entries; the kind is `None` if only the name counts.
    pub fn entries(&self) -> impl Iterator<Item = (&OsStr, Option<ListedKind>)> {
        self.entries.iter().map(|(name, kind)| (name.as_os_str(), *kind))
    }

    /// Returns whether the listing has a used entry of this name.
    pub fn contains(&self, name: &OsStr) -> bool {
        self.entries.contains_key(name)
    }

    /// Returns whether the reader would have used an entry that the listing does not have.
    pub fn would_use(&self, name: &OsStr, is_directory: bool) -> bool {
        (self.uses)(name, is_directory)
    }
}

impl fmt::Debug for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.entries).finish()
    }
}
