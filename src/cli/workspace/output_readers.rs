//! The units of the repository that read the outputs of one stack. In: the stack, and the plan of it alone. Out: the plan
//! with the readers of each output that changes. Reads files only, and none for an untrusted stack; a stack that cannot be
//! loaded without its secrets reads nothing as far as this shows.

use std::collections::BTreeMap;

use super::edges;
use super::loaded_unit::WorkspaceUnit;
use super::units::{load_units, repository_root};
use crate::cli::process::settings::Settings;
use crate::cli::process::settings::unit_settings::UnitSettings;
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::repository_walk;
use crate::config::load::StackHeader;
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
    let readers = reading_units(settings, sources, &project.stack.name);
    output_changes::with_readers(plan, &project.unit_name(), &readers.iter().collect::<Vec<_>>())
}

/// Returns the units that read outputs of other stacks, each with what it reads; but not those of the stack itself.
fn reading_units(settings: &Settings, sources: &UnitSettings, own: &Name) -> Vec<Unit> {
    let root = repository_root(&settings.dir);
    let found = repository_walk::find_stacks(settings, &root);
    let headers: BTreeMap<Name, StackHeader> = found
        .iter()
        .filter_map(|one| {
            Some((repository_walk::relative_name(&root, &one.directory), one.header()?.clone()))
        })
        .collect();
    // What a stack reads does not depend on its secrets, or on an environment that the command line names.
    let settings = Settings { needs_secrets: false, env: None, ..settings.clone() };
    let readers = headers.iter().filter(|(_, header)| header.reads_stacks && header.name != *own);
    let units = readers.filter_map(|(directory, header)| {
        load_units(&settings, sources, (&root, directory, header), &mut LoadedStack::open).ok()
    });
    let connect = |one: WorkspaceUnit| {
        let (upstream, _) = edges::upstream_units(&one, &headers);
        Unit { upstream, ..one.unit }
    };
    units.flatten().map(connect).collect()
}
