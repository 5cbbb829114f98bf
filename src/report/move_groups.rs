//! The lines of a plan: one per change, and a single one for a module whose resources all move without any other
//! change: renaming a module would otherwise hide the changes that matter.

use std::collections::BTreeMap;

use crate::plan::model::change::{Action, Change, ModuleMove};

/// What one line of a plan describes.
#[derive(Debug, Clone, Copy)]
pub(super) enum ChangeLine<'p> {
    /// A change with a line of its own.
    Single(&'p Change),
    /// The first of several resources that move with their module; the module's move; and how many they are.
    Module(&'p Change, &'p ModuleMove, usize),
}

impl ChangeLine<'_> {
    /// Returns the number of resources that the line describes.
    pub(super) fn resource_count(&self) -> usize {
        match self {
            Self::Single(_) => 1,
            Self::Module(_, _, count) => *count,
        }
    }
}

/// Returns the lines of a plan, in the plan's order; a module stands where its first resource does.
pub(super) fn plan_lines(changes: &[Change]) -> Vec<ChangeLine<'_>> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for module in changes.iter().filter_map(module_move) {
        *counts.entry((&module.from, &module.to)).or_default() += 1;
    }
    let line = |change| match module_move(change) {
        // The first resource represents all of them.
        Some(module) => {
            let count = counts.remove(&(&*module.from, &*module.to))?;
            Some(if count > 1 {
                ChangeLine::Module(change, module, count)
            } else {
                ChangeLine::Single(change)
            })
        }
        None => Some(ChangeLine::Single(change)),
    };
    changes.iter().filter_map(line).collect()
}

/// Returns the module that a resource moves with; `None` if something else changes, too.
fn module_move(change: &Change) -> Option<&ModuleMove> {
    let only_moves =
        change.action == Action::Move && change.attributes.is_empty() && change.reason.is_none();
    change.was.as_ref().filter(|_| only_moves)?.module.as_ref()
}
