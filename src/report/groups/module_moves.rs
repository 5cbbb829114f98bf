//! The lines of a plan: one per change, and a single one for a module whose resources all move without any other
//! change: renaming a module would otherwise hide the changes that matter.

use std::collections::BTreeMap;

use crate::plan::model::change::{Action, Change, ModuleMove};

/// What one line of a plan describes.
#[derive(Debug, Clone)]
pub(super) enum ChangeLine<'p> {
    /// A change with a line of its own.
    Single(&'p Change),
    /// A module's move, and the resources that move with it; at least two.
    Module(&'p ModuleMove, Vec<&'p Change>),
}

/// Returns the lines of a plan, in the plan's order, each with the number of its first change.
pub(super) fn plan_lines(changes: &[Change]) -> impl Iterator<Item = (usize, ChangeLine<'_>)> {
    let mut moved: BTreeMap<(&str, &str), Vec<&Change>> = BTreeMap::new();
    for change in changes {
        if let Some(module) = module_move(change) {
            moved.entry((&module.from, &module.to)).or_default().push(change);
        }
    }
    let mut line = move |change| match module_move(change) {
        // The module stands where its first resource does.
        Some(module) => {
            let members = moved.remove(&(&*module.from, &*module.to))?;
            Some(if members.len() > 1 {
                ChangeLine::Module(module, members)
            } else {
                ChangeLine::Single(change)
            })
        }
        None => Some(ChangeLine::Single(change)),
    };
    changes.iter().enumerate().filter_map(move |(number, change)| Some((number, line(change)?)))
}

/// Returns the module that a resource moves with; `None` if something else changes, too.
fn module_move(change: &Change) -> Option<&ModuleMove> {
    let only_moves =
        change.action == Action::Move && change.attributes.is_empty() && change.reason.is_none();
    change.was.as_ref().filter(|_| only_moves)?.module.as_ref()
}
