//! The units of the repository that read the outputs of one stack. In: the stack, and the plan of it alone. Out: the plan
//! with the readers of each output that changes. Reads files, and for a destroy the readers' ledgers; nothing for an untrusted
//! stack. A stack that cannot be loaded without its secrets may read each output of the stacks that its header names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::edges;
use super::loaded_unit::WorkspaceUnit;
use super::units::load_units;
use crate::cli::ledger::inspection;
use crate::cli::process::settings::unit_settings::UnitSettings;
use crate::cli::process::settings::{Settings, printed_commands};
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::repository_walk::{self, FoundStack};
use crate::config::check::remote_outputs::find_misfit;
use crate::config::load::{DirectoryContents, StackHeader};
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::plan::artifact::fingerprint::with_blockers;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::Plan;
use crate::workspace::conflicts::outside_readers::{self, LoneDestroyRemedy, OutsideUse};
use crate::workspace::output_changes;
use crate::workspace::unit::{Unit, UnitName, UpstreamUnit};

/// Adds the readers to the plan of a stack that was planned alone. A destroy is blocked while a unit with objects reads an
/// output that it removes: no other plan says that it loses it. `is_selected`: the command line selects resources of the stack.
pub(in crate::cli) async fn with_readers(
    settings: &Settings,
    sources: &UnitSettings,
    project: &LoadedStack,
    (plan, is_selected): (Plan, bool),
) -> Plan {
    if settings.untrusted || plan.output_changes().next().is_none() {
        return plan;
    }
    let root = repository_walk::repository_root(&settings.dir);
    let found = repository_walk::find_stacks(settings, &root);
    let mut readers = reading_units(settings, sources, (&root, &found), &project.stack.name);
    let is_unreadable = |one: &&FoundStack| one.contents == DirectoryContents::Invalid;
    let unreadable: Vec<Name> = found
        .iter()
        .filter(is_unreadable)
        .map(|one| repository_walk::relative_name(&root, &one.directory))
        .collect();
    let name = project.unit_name();
    let blockers = if plan.base.destroy {
        let not_read = unreadable.iter().map(|directory| outside_readers::unreadable_blocker(directory));
        let mut blockers: Vec<Blocker> = not_read.collect();
        blockers.extend(destroy_blockers(settings, (&name, &plan), &readers, is_selected).await);
        blockers
    } else {
        add_misfits(project, &name, &mut readers);
        Vec::new()
    };
    let readers: Vec<&Unit> = readers.iter().map(|one| &one.unit).collect();
    let unreadable: Vec<&Name> = unreadable.iter().collect();
    with_blockers(output_changes::with_readers(plan, &name, &readers, &unreadable), blockers)
}

/// Adds to the readers of a stack why an output of it does not fit as it is declared now.
fn add_misfits(project: &LoadedStack, own: &UnitName, readers: &mut [WorkspaceUnit]) {
    for one in readers {
        let WorkspaceUnit { unit, loaded, .. } = one;
        let Ok(reader) = loaded else { continue };
        for edge in unit.upstream.iter_mut().filter(|edge| edge.unit == *own) {
            edge.misfit = find_misfit(REGISTRY, &reader.stack, (&edge.alias, &project.stack));
        }
    }
}

/// Returns a blocker for each unit that reads an output that the destroy of a unit alone removes, and has objects.
async fn destroy_blockers(
    settings: &Settings,
    (own, plan): (&UnitName, &Plan),
    readers: &[WorkspaceUnit],
    is_selected: bool,
) -> Vec<Blocker> {
    let loses = |edge: &UpstreamUnit| {
        edge.unit == *own && plan.output_changes().any(|output| edge.may_read(&output.name))
    };
    let reading = readers.iter().filter(|one| one.unit.upstream.iter().any(loses));
    // A command over many stacks names the environment by the unit.
    let flags = printed_commands::flags_except(&settings.said, &["-e"]);
    let mut blockers = Vec::new();
    for one in reading {
        let how = match inspection::inspect_unit(&one.header()).await {
            Ok(ledger) => OutsideUse::of_reader(ledger.as_ref()),
            Err(_) => Some(OutsideUse::Unread),
        };
        let Some(how) = how else { continue };
        let name = &one.unit.name;
        let command = |units: &str| {
            printed_commands::command_line(&flags, &format!("destroy --all --stacks {units}"))
        };
        // A command over many stacks selects none of their resources: it would delete more.
        let remedy = if is_selected {
            LoneDestroyRemedy::ReaderFirst { reader: command(&name.to_string()) }
        } else {
            LoneDestroyRemedy::Both {
                both: command(&format!("{own} --stacks {name}")),
                forced: command(&format!("{own} --force-readers {name}")),
            }
        };
        blockers.push(outside_readers::lone_destroy_blocker(name, &how, &remedy));
    }
    blockers
}

/// Returns the units that read outputs of other stacks, each with what it reads; but not those of the stack itself.
fn reading_units(
    settings: &Settings,
    sources: &UnitSettings,
    (root, found): (&Path, &[FoundStack]),
    own: &Name,
) -> Vec<WorkspaceUnit> {
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
    let connect = |mut one: WorkspaceUnit| {
        one.unit.upstream = edges::upstream_units(&one, &headers, &BTreeSet::new()).0;
        one
    };
    units.flatten().map(connect).collect()
}
