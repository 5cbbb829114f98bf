//! The comparison of a load's reads with the base commit's tree.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::base_tree::{BaseEntry, BaseTree};
use super::recorded_reads::{ListedKind, Listing, Observation, RecordedReads};

/// Maximum number of paths that a changed stack names.
const MAX_NAMED_PATHS: usize = 5;

/// Whether a stack changed since the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StackChange {
    /// A load at the base yields the same stack.
    Unchanged,
    /// The load read something that differs at the base.
    Changed {
        /// The first paths that differ, sorted.
        paths: Vec<ChangedPath>,
        /// Number of further paths.
        more: usize,
    },
    /// The stack cannot be loaded now, so it counts as changed.
    FailsToLoad,
}

/// A path that a load read and that differs at the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPath {
    /// Path from the repository's root; absolute if it is outside of the repository.
    pub path: PathBuf,
    /// How it differs.
    pub reason: ChangeReason,
}

/// How a path differs from the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeReason {
    /// It does not exist at the base.
    Added,
    /// It exists only at the base.
    Deleted,
    /// Its content, its kind or its execute permission differs.
    Modified,
    /// It is outside of the repository, or an ignore rule keeps it out of Git: there is nothing to compare it with.
    NotInGit,
    /// It is below a submodule whose commit at the base is not in this clone.
    SubmoduleNotFetched,
    /// It is a link, or could not be read completely.
    NotComparable,
}

impl fmt::Display for ChangeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Added => "added",
            Self::Deleted => "deleted",
            Self::Modified => "modified",
            Self::NotInGit => "not in git",
            Self::SubmoduleNotFetched => "submodule's commit at the base not fetched",
            Self::NotComparable => "not comparable",
        })
    }
}

impl StackChange {
    /// Returns whether the stack must be treated as changed.
    pub fn is_changed(&self) -> bool {
        *self != Self::Unchanged
    }
}

/// Compares the reads of a load with the base.
///
/// # Errors
/// When an object of the base commit cannot be read.
pub fn compare_reads<B: BaseTree>(reads: &RecordedReads, base: &B) -> Result<StackChange, B::Error> {
    if reads.is_incomplete() {
        return Ok(StackChange::FailsToLoad);
    }
    let changed = compare_all(reads, base)?;
    if changed.is_empty() {
        return Ok(StackChange::Unchanged);
    }
    let more = changed.len().saturating_sub(MAX_NAMED_PATHS);
    let changed = changed.into_iter().take(MAX_NAMED_PATHS);
    let paths = changed.map(|(path, reason)| ChangedPath { path, reason }).collect();
    Ok(StackChange::Changed { paths, more })
}

/// Returns whether what a load read differs from a commit: whether its working tree has uncommitted changes. What Git does
/// not keep, such as an ignored file, is no change. `None` if a read cannot be compared and no other one differs.
///
/// # Errors
/// When an object of the commit cannot be read.
pub fn has_uncommitted_changes<B: BaseTree>(
    reads: &RecordedReads,
    commit: &B,
) -> Result<Option<bool>, B::Error> {
    let changed = compare_all(reads, commit)?;
    let is_change = |reason: &ChangeReason| {
        matches!(reason, ChangeReason::Added | ChangeReason::Deleted | ChangeReason::Modified)
    };
    if changed.values().any(is_change) {
        return Ok(Some(true));
    }
    let is_known = changed.values().all(|reason| *reason == ChangeReason::NotInGit);
    Ok((is_known && !reads.is_incomplete()).then_some(false))
}

/// Returns every read that differs from a commit, by path.
fn compare_all<B: BaseTree>(
    reads: &RecordedReads,
    base: &B,
) -> Result<BTreeMap<PathBuf, ChangeReason>, B::Error> {
    let mut comparison = Comparison { base, changed: BTreeMap::new() };
    for (path, seen) in reads.iter() {
        comparison.compare_read(path, seen)?;
    }
    Ok(comparison.changed)
}

struct Comparison<'b, B: BaseTree> {
    base: &'b B,
    changed: BTreeMap<PathBuf, ChangeReason>,
}

impl<B: BaseTree> Comparison<'_, B> {
    fn compare_read(&mut self, path: &Path, seen: &Observation) -> Result<(), B::Error> {
        if matches!(seen, Observation::Unusable) {
            self.add(path.to_owned(), ChangeReason::NotComparable);
            return Ok(());
        }
        if path.is_absolute() {
            self.add(path.to_owned(), ChangeReason::NotInGit);
            return Ok(());
        }
        let before = self.base.entry(path)?;
        if let Observation::Listing(listing) = seen {
            return self.compare_listing(path, listing, before);
        }
        let reason = match (seen, before) {
            (_, BaseEntry::InMissingSubmodule) => Some(ChangeReason::SubmoduleNotFetched),
            (Observation::Content(now), BaseEntry::File { id, .. }) => {
                (*now != id).then_some(ChangeReason::Modified)
            }
            (Observation::Content(_), BaseEntry::Absent) => Some(self.added(path)),
            (Observation::Content(_), _) => Some(ChangeReason::Modified),
            (_, BaseEntry::Absent) => None,
            (_, _) => Some(ChangeReason::Deleted),
        };
        if let Some(reason) = reason {
            self.add(path.to_owned(), reason);
        }
        Ok(())
    }

    fn compare_listing(
        &mut self,
        directory: &Path,
        listing: &Listing,
        before: BaseEntry,
    ) -> Result<(), B::Error> {
        let entries = match before {
            BaseEntry::Directory => self.base.entries(directory)?,
            // Git does not store an empty directory.
            BaseEntry::Absent => BTreeMap::new(),
            BaseEntry::InMissingSubmodule => {
                self.add(directory.to_owned(), ChangeReason::SubmoduleNotFetched);
                return Ok(());
            }
            BaseEntry::File { .. } | BaseEntry::Link(_) | BaseEntry::Blocked => {
                self.add(directory.to_owned(), ChangeReason::Modified);
                return Ok(());
            }
        };
        for (name, now) in listing.entries() {
            let path = directory.join(name);
            match (now, entries.get(name)) {
                // Compared by the listing of that directory, which can be empty: then Git does not store it.
                (Some(ListedKind::Directory), None) => {}
                (_, None) => {
                    let reason = self.added(&path);
                    self.add(path, reason);
                }
                (Some(now), Some(before)) if !is_same_kind(now, before) => {
                    self.add(path, ChangeReason::Modified);
                }
                (_, Some(_)) => {}
            }
        }
        for (name, before) in &entries {
            let is_directory = *before == BaseEntry::Directory;
            if !listing.contains(name) && listing.would_use(name, is_directory) {
                self.add(directory.join(name), ChangeReason::Deleted);
            }
        }
        Ok(())
    }

    fn added(&self, path: &Path) -> ChangeReason {
        if self.base.is_ignored(path) { ChangeReason::NotInGit } else { ChangeReason::Added }
    }

    /// Adds a changed path; the first of several reasons stays.
    fn add(&mut self, path: PathBuf, reason: ChangeReason) {
        self.changed.entry(path).or_insert(reason);
    }
}

fn is_same_kind(now: ListedKind, before: &BaseEntry) -> bool {
    match (now, before) {
        (ListedKind::Directory, BaseEntry::Directory) => true,
        (ListedKind::File { executable }, BaseEntry::File { executable: before, .. }) => {
            executable == *before
        }
        (ListedKind::Link(target), BaseEntry::Link(before)) => target == *before,
        _ => false,
    }
}
