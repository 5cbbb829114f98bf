//! The units of the repository that read the outputs of one stack. In: the stack, and the plan of it alone. Out: the plan
//! with the readers of each output that changes. Reads files only, and none for an untrusted stack. A stack
//! that cannot be loaded without its secrets may read each output of the stacks that its header names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::edges;
use super::loaded_unit::WorkspaceUnit;
use super::units::load_units;
use crate::cli::process::settings::Settings;
use crate::cli::process::settings::unit_settings::UnitSettings;
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::repository_walk::{self, FoundStack};
use crate::config::load::{DirectoryContents, StackHeader};
use crate::model::address::Name;
use crate::plan::model::change::Plan;
use crate::workspace::output_changes;
use crate::workspace::unit::Unit;

/// Adds the readers to the plan of a stack that was planned alone.
pub(in crate::cli) fn with_readers(
    settings: &Settings,
    sources: &UnitSettings,
    project: &LoadedStack,
    plan: Plan,
) -> Plan {
    if settings.untrusted || plan.output_changes().next().is_none() {
        return plan;
    }
    let root = repository_walk::repository_root(&settings.dir);
    let found = repository_walk::find_stacks(settings, &root);
    let readers = reading_units(settings, sources, (&root, &found), &project.stack.name);
    let is_unreadable = |one: &&FoundStack| one.contents == DirectoryContents::Invalid;
    let unreadable: Vec<Name> = found
        .iter()
        .filter(is_unreadable)
        .map(|one| repository_walk::relative_name(&root, &one.directory))
        .collect();
    let readers: Vec<&Unit> = readers.iter().collect();
    let unreadable: Vec<&Name> = unreadable.iter().collect();
    output_changes::with_readers(plan, &project.unit_name(), &readers, &unreadable)
}

/// Returns the units that read outputs of other stacks, each with what it reads; but not those of the stack itself.
fn reading_units(
    settings: &Settings,
    sources: &UnitSettings,
    (root, found): (&Path, &[FoundStack]),
    own: &Name,
) -> Vec<Unit> {
    let headers: BTreeMap<Name, StackHeader> = found
        .iter()
        .filter_map(|one| {
            Some((repository_walk::relative_name(root, &one.directory), one.header()?.clone()))
        })
        .collect();
    // What a stack reads does not depend on its secrets, or on an environment that the command line names.
    let settings = Settings { needs_secrets: false, env: None, ..settings.clone() };
    let readers = headers.iter().filter(|(_, header)| !header.stacks.is_empty() && header.name != *own);
    let units = readers.filter_map(|(directory, header)| {
        load_units(&settings, sources, (root, directory, header), &mut LoadedStack::open).ok()
    });
    let connect = |one: WorkspaceUnit| {
        let (upstream, _) = edges::upstream_units(&one, &headers, &BTreeSet::new());
        Unit { upstream, ..one.unit }
    };
    units.flatten().map(connect).collect()
}
