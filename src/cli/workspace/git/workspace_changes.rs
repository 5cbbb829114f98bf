//! What changed in a repository since a base: in its stacks, and which units it has no longer. In: the loaded units, with what
//! their loads read. Out: the change of each stack, and the units of the base whose stack or environment is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::base_stacks::BaseStack;
use super::changed_stacks::ChangeBase;
use crate::cli::ledger::stack_origin;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::repository_walk;
use crate::cli::workspace::loaded_unit::WorkspaceUnit;
use crate::model::address::Name;
use crate::workspace::changes::compare::StackChange;
use crate::workspace::changes::recorded_reads::RecordedReads;
use crate::workspace::selection::ChangedUnits;
use crate::workspace::unit::{Unit, UnitName};

/// What changed in a repository since a base.
pub(in crate::cli) struct WorkspaceChanges {
    /// Name of the base, as messages show it.
    pub(in crate::cli) base: String,
    /// The commit that was compared with.
    pub(in crate::cli) commit: String,
    /// Change of each stack, by its directory relative to the root.
    pub(in crate::cli) stacks: BTreeMap<Name, StackChange>,
    /// Units of the base that the repository has no longer.
    removed: BTreeMap<UnitName, Unit>,
    /// Units of the base in directories whose files cannot be read now.
    unreadable: BTreeMap<Name, Vec<Unit>>,
    /// Directories whose units at the base are not known.
    unknown: BTreeSet<Name>,
}

/// What was found and loaded of a repository.
pub(in crate::cli::workspace) struct LoadedStacks<'a> {
    pub(in crate::cli::workspace) root: &'a Path,
    pub(in crate::cli::workspace) units: &'a [WorkspaceUnit],
    /// What was read for each stack, by directory.
    pub(in crate::cli::workspace) reads: &'a [(PathBuf, RecordedReads)],
    /// All directories with stack files that the search found.
    pub(in crate::cli::workspace) searched: &'a BTreeSet<Name>,
    /// Those of them whose files cannot be read.
    pub(in crate::cli::workspace) unreadable: &'a BTreeSet<Name>,
}

impl WorkspaceChanges {
    /// Compares a repository with a base. A unit with errors counts as changed, also if only what it reads of another stack
    /// is wrong: then its own files may be as they were.
    ///
    /// # Errors
    /// When an object of the base is not in the clone, or is damaged.
    pub(in crate::cli::workspace) fn compare(
        base: &ChangeBase,
        loaded: &LoadedStacks<'_>,
    ) -> Result<Self, CliFailure> {
        let named = |(path, change): (PathBuf, StackChange)| (Name::new(path.to_string_lossy()), change);
        let mut stacks: BTreeMap<Name, StackChange> =
            base.changed_stacks(loaded.reads)?.into_iter().map(named).collect();
        for one in loaded.units.iter().filter(|one| one.loaded.is_err()) {
            stacks.insert(one.unit.directory.clone(), StackChange::FailsToLoad);
        }
        let mut changes = Self {
            base: base.name().to_string(),
            commit: base.commit(),
            stacks,
            removed: BTreeMap::new(),
            unreadable: BTreeMap::new(),
            unknown: BTreeSet::new(),
        };
        let is_sparse = stack_origin::is_sparse_checkout(loaded.root);
        let differs = |path: &Path| changes.may_differ(loaded, is_sparse, path);
        let earlier = base.stacks_at_base(&differs)?;
        changes.add_earlier(earlier, loaded);
        Ok(changes)
    }

    /// Returns whether the units of a directory can be others than at the base.
    fn may_differ(&self, loaded: &LoadedStacks<'_>, is_sparse: bool, path: &Path) -> bool {
        let directory = repository_walk::relative_name(Path::new(""), path);
        match self.stacks.get(&directory) {
            Some(change) => change.is_changed(),
            None if loaded.searched.contains(&directory) => true,
            // A sparse checkout lacks directories, and a search leaves out ignored ones: neither is a removal.
            None => !is_sparse && !repository_walk::has_own_stack_files(&loaded.root.join(path)),
        }
    }

    /// Adds the units of the base that are not among the loaded ones.
    fn add_earlier(&mut self, earlier: Vec<BaseStack>, loaded: &LoadedStacks<'_>) {
        let present: BTreeSet<&UnitName> = loaded.units.iter().map(|one| &one.unit.name).collect();
        for BaseStack { directory, units } in earlier {
            match units {
                None => drop(self.unknown.insert(directory)),
                Some(units) if loaded.unreadable.contains(&directory) => {
                    self.unreadable.insert(directory, units);
                }
                Some(units) => {
                    let gone = units.into_iter().filter(|unit| !present.contains(&unit.name));
                    self.removed.extend(gone.map(|unit| (unit.name.clone(), unit)));
                }
            }
        }
    }

    /// Returns whether a change since the base may have removed a unit whose directory was this one.
    pub(in crate::cli) fn has_removed(&self, unit: &Unit) -> bool {
        self.removed.contains_key(&unit.name) || self.unknown.contains(&unit.directory)
    }

    /// Returns the units that the base has in a directory whose files cannot be read now; `None` if they are not known.
    pub(in crate::cli::workspace) fn earlier_units(&self, directory: &Name) -> Option<&[Unit]> {
        self.unreadable.get(directory).map(Vec::as_slice)
    }

    /// Returns what a selection has to know: `removed` are the removed units that have a ledger.
    pub(in crate::cli::workspace) fn changed_units<'u>(
        &self,
        removed: impl IntoIterator<Item = &'u Unit>,
    ) -> ChangedUnits {
        let touched = self.stacks.iter().filter(|(_, change)| change.is_changed());
        let removed = removed.into_iter().filter(|unit| self.has_removed(unit));
        ChangedUnits {
            directories: touched.map(|(directory, _)| directory.clone()).collect(),
            removed: removed.map(|unit| unit.name.clone()).collect(),
        }
    }

    /// Returns a sentence about each removed unit that `is_selected` selects and that no ledger stands for: it is not among
    /// `units`. `is_searched` is whether ledgers were searched.
    pub(in crate::cli::workspace) fn removal_notes(
        &self,
        units: &[Unit],
        is_searched: bool,
        is_selected: &dyn Fn(&Unit) -> bool,
    ) -> Vec<String> {
        let what = if is_searched {
            "No ledger that was found has objects of it."
        } else {
            "No ledger was read: to see whether it has objects, run stead plan --all."
        };
        let is_listed = |unit: &&Unit| units.iter().any(|one| one.name == unit.name);
        let left = self.removed.values().filter(|unit| is_selected(unit) && !is_listed(unit));
        let now_has = |gone: &Unit| {
            let mut here = units.iter().filter(|one| one.directory == gone.directory);
            here.find(|one| one.name.stack != gone.name.stack).map(|one| &one.name.stack)
        };
        let note = |unit: &Unit| match now_has(unit) {
            Some(other) => format!(
                "{} was removed since {}: `{}` has the stack {other} now. If the stack was renamed, its objects are in the ledger of {} until that is moved.",
                unit.name, self.base, unit.directory, unit.name.stack
            ),
            None => format!("{} was removed since {}. {what}", unit.name, self.base),
        };
        left.map(note).collect()
    }

    /// Returns the sentence that says that no selected stack changed.
    pub(in crate::cli::workspace) fn unchanged_note(&self) -> String {
        let commit = self.commit.get(..7).unwrap_or(&self.commit);
        format!("No selected stack changed since {} ({commit}).", self.base)
    }
}
