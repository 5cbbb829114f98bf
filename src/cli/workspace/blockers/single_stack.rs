//! What the other stacks of a repository have to do with the plan of one that is planned alone. In: the stack, its ledger and
//! its plan. Out: the plan with the readers of its outputs, blocked if it deletes or forgets an object that a `moved` entry of
//! another stack moves there. Only a plan that deletes or forgets pays for the entries: the headers of all stacks are read, the
//! stacks with entries, and the ledgers of those whose entry names such an object. Nothing is read for an untrusted stack.

use std::collections::BTreeMap;
use std::path::Path;

use super::declared_moves::{DeclaredMoves, MoveSources, unread_stacks};
use super::misplaced_ledgers::{NewUnit, find_misplaced};
use crate::cli::files::stack_files;
use crate::cli::ledger::inspection;
use crate::cli::process::settings::Settings;
use crate::cli::process::settings::unit_settings::UnitSettings;
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::repository_walk::{self, FoundStack};
use crate::cli::workspace::loaded_unit::WorkspaceUnit;
use crate::cli::workspace::output_readers;
use crate::cli::workspace::units::{UnreadableStack, load_units};
use crate::config::load::DirectoryContents;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Address;
use crate::plan::artifact::fingerprint::with_blockers;
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::change::{Action, Plan};
use crate::workspace::conflicts::transfer_claims::UnreadStack;
use crate::workspace::unit::Unit;

/// Adds to the plan of a stack that was planned alone the readers of its outputs, and the blockers by other stacks.
pub(in crate::cli) async fn with_other_stacks(
    (settings, sources): (&Settings, &UnitSettings),
    (project, ledger): (&LoadedStack, &Ledger),
    (plan, options): (Plan, &PlanningOptions),
) -> Plan {
    let planned = (plan, options.selects_resources());
    let plan = Box::pin(output_readers::with_readers(settings, sources, project, planned)).await;
    let plan = Box::pin(with_place_blocker(settings, (project, ledger), plan)).await;
    let removed = plan.changes.iter();
    let removed = removed.filter(|change| matches!(change.action, Action::Delete | Action::Forget));
    let removed: Vec<&Address> = removed.map(|change| &change.address).collect();
    if settings.untrusted || removed.is_empty() {
        return plan;
    }
    let root = repository_walk::repository_root(&settings.dir);
    let own = own_unit(&root, settings, project);
    let (others, unread) = stacks_with_moves((settings, sources), &root);
    let listed = others.iter().map(|one| (&one.unit, one.loaded.as_ref().ok()));
    let units = [(&own, Some(project))].into_iter().chain(listed).collect();
    let known = BTreeMap::from([(0, Some(ledger))]);
    let mut moves = DeclaredMoves::of_units(MoveSources { root: &root, units, unread }, &known);
    for number in moves.claiming_units(0, &removed) {
        let Some(one) = number.checked_sub(1).and_then(|index| others.get(index)) else { continue };
        // Without its ledger, a move counts as one that is not done.
        if let Ok(found) = Box::pin(inspection::inspect_unit(&one.header())).await {
            moves.add_addresses(number, found.as_ref());
        }
    }
    let units = [&own].into_iter().chain(others.iter().map(|one| &one.unit));
    let mut blockers = moves.conflicts_of(units, |number| (number == 0).then_some(&plan));
    match blockers.remove(&0) {
        Some(blockers) => with_blockers(plan, blockers),
        None => plan,
    }
}

/// Blocks a plan that creates objects while the ledger of the stack is in another directory.
async fn with_place_blocker(
    settings: &Settings,
    (project, ledger): (&LoadedStack, &Ledger),
    plan: Plan,
) -> Plan {
    let name = project.unit_name();
    let Some(new) = NewUnit::new(&name, settings, (&plan, ledger)) else { return plan };
    let found =
        find_misplaced(&repository_walk::repository_root(&settings.dir), &BTreeMap::from([(0, new)])).await;
    if found.is_empty() { plan } else { with_blockers(plan, found.into_values()) }
}

/// Returns the unit of the stack itself.
fn own_unit(root: &Path, settings: &Settings, project: &LoadedStack) -> Unit {
    // Both paths can be relative to the working directory, with and without `..`.
    let full = |path: &Path| stack_files::real_path(path).unwrap_or_else(|| path.to_owned());
    Unit {
        name: project.unit_name(),
        directory: repository_walk::relative_name(&full(root), &full(&settings.dir)),
        has_environments: !project.stack.environments.is_empty(),
        is_removed: false,
        upstream: Vec::new(),
    }
}

/// Loads the other stacks with `moved` entries. Also returns those whose entries are not known.
fn stacks_with_moves(
    (settings, sources): (&Settings, &UnitSettings),
    root: &Path,
) -> (Vec<WorkspaceUnit>, Vec<UnreadStack>) {
    let own = stack_files::real_path(&settings.dir);
    // Entries do not depend on secrets, or on an environment that the command line names.
    let command = Settings { needs_secrets: false, env: None, ..settings.clone() };
    let (mut units, mut unreadable) = (Vec::new(), Vec::new());
    for FoundStack { directory, contents, failure } in repository_walk::find_stacks(settings, root) {
        if stack_files::real_path(&directory) == own {
            continue;
        }
        let name = repository_walk::relative_name(root, &directory);
        let unread = match contents {
            DirectoryContents::Stack(header) if header.has_moves => {
                let loaded = load_units(&command, sources, (root, &name, &header), &mut LoadedStack::open);
                loaded.map(|loaded| units.extend(loaded)).err()
            }
            DirectoryContents::Invalid => failure.or_else(|| {
                let settings = Settings { dir: directory, ..command.clone() };
                LoadedStack::open(&settings).err()
            }),
            DirectoryContents::Stack(_) | DirectoryContents::NoStack => None,
        };
        unreadable.extend(unread.map(|failure| UnreadableStack { directory: name, failure }));
    }
    let unread = unread_stacks(&units, &unreadable);
    (units, unread)
}
