//! Objects that other ledgers of the repository, the backend or the built-in cloud own, so that no stack
//! adopts or deletes them.

use std::collections::BTreeMap;
use std::path::Path;

use super::high_water_mark::HighWaterMarkStore;
use super::ledger_listing::{self, ListedLedger};
use super::open::{CommandStore, seal_key};
use super::remote_stacks;
use crate::cli::files::stack_files::{self, SharedRoot};
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::process::output::Ui;
use crate::cli::process::settings::CloudEndpoint;
use crate::cli::service::embedded_cloud;
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::repository_walk;
use crate::ledger::journal::error::{MacError, StoreError};
use crate::ledger::journal::mac::MacKey;
use crate::ledger::state::entry::{Entry, LedgerIdentity};
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::any_store;
use crate::ledger::stores::location::LedgerLocation;
use crate::model::address::{Address, Name};
use crate::model::live::snapshot::ObjectKey;

/// Returns the objects of other ledgers, each with its owner: those of the stack's other environments, of the stacks
/// that it reads, and of all ledgers in the same directory, database or bucket. For an untrusted stack, the ledgers
/// of a shared backend and of the stacks that it reads are left out.
///
/// # Errors
/// When one cannot be read or is damaged.
pub(in crate::cli) async fn objects_of_other_ledgers(
    project: &LoadedStack,
    place: &LedgerLocation,
) -> Result<BTreeMap<ObjectKey, Name>, CliFailure> {
    let (stack, key) = (&project.stack, seal_key(&project.settings)?);
    let own = &stack.environment.name;
    let mut owned = BTreeMap::new();
    for other in stack.environments.iter().filter(|name| *name != own) {
        let ledger = read_other_environment(project, place, other, key.as_ref()).await?;
        owned.extend(ledger.iter().flat_map(owned_objects));
    }
    // Other ledgers can have other MAC keys, so they are not authenticated: only their owned objects are read, and
    // nothing is changed because of them.
    for ListedLedger { place, stack, environment } in Box::pin(neighbor_ledgers(project)).await? {
        let ledger = CommandStore::read(&place, &stack, &environment, None).await?;
        owned.extend(ledger.iter().flat_map(owned_objects));
    }
    if !project.settings.untrusted {
        for (name, environment) in any_store::list_ledgers(place, (&stack.name, own)).await? {
            if name != stack.name.as_str() {
                let ledger = CommandStore::read(place, &name, &environment, None).await?;
                owned.extend(ledger.iter().flat_map(owned_objects));
            }
        }
    }
    for (name, other) in stack.stacks.iter().filter(|_| !project.settings.untrusted) {
        let ledger = remote_stacks::read_remote_ledger(project, name, other).await?;
        let ledger = ledger
            .filter(|ledger| (&ledger.identity.stack, &ledger.identity.environment) != (&stack.name, own));
        owned.extend(ledger.iter().flat_map(owned_objects));
    }
    Ok(owned)
}

/// Reads the ledger of another environment; `None` if it does not exist. One without MACs is accepted with a
/// warning, since each environment gets MACs separately; but not if this machine has seen MACs in it.
async fn read_other_environment(
    project: &LoadedStack,
    place: &LedgerLocation,
    environment: &Name,
    key: Option<&MacKey>,
) -> Result<Option<Ledger>, CliFailure> {
    let stack = &project.stack.name;
    let lenient = key.map(MacKey::accepting_unsealed);
    let ledger = CommandStore::read(place, stack, environment, lenient.as_ref()).await?;
    let unsealed = ledger.as_ref().filter(|ledger| ledger.sealed.is_none() && !ledger.is_blank());
    if let (Some(key), Some(ledger)) = (key, unsealed) {
        let marks =
            HighWaterMarkStore::new(&project.settings, Some(key.clone()), place, (stack, environment));
        if marks.saw_macs(Some(ledger))? {
            return Err(about_environment(environment, MacError::MissingMacs.into()));
        }
        Ui::write_error(&format!(
            "warning: ledger of environment `{environment}` not authenticated: it has no MACs. Add them with: stead \
             state seal -e {environment}"
        ));
    }
    Ok(ledger)
}

/// Returns the failure for the ledger of another environment, which its message names.
fn about_environment(environment: &Name, error: StoreError) -> CliFailure {
    let failure = CliFailure::from(error);
    CliFailure { message: format!("environment `{environment}`: {}", failure.message), ..failure }
}

/// Returns the objects that a ledger owns, deposed ones included, each with `ADDRESS of STACK/ENVIRONMENT`.
pub(in crate::cli) fn owned_objects(ledger: &Ledger) -> Vec<(ObjectKey, Name)> {
    let LedgerIdentity { stack, environment, .. } = &ledger.identity;
    let of = |(address, entry): (&Address, &Entry)| {
        let whose = Name::new(format!("{address} of {stack}/{environment}"));
        let objects = entry.current.iter().chain(&entry.deposed);
        objects.map(|object| (object.key(&entry.kind), whose.clone())).collect::<Vec<_>>()
    };
    let own = ledger.entries.iter().flat_map(of);
    own.chain(objects_between_ledgers(ledger)).collect()
}

/// Returns the objects that are on their way from or to a ledger, each with its owner.
pub(in crate::cli) fn objects_between_ledgers(ledger: &Ledger) -> Vec<(ObjectKey, Name)> {
    let LedgerIdentity { stack, environment, .. } = &ledger.identity;
    let moving = ledger.transfers.objects_on_the_way().map(|(key, address, peer)| {
        let whose = match peer {
            Some(peer) => Name::new(format!("{address} of {peer}")),
            None => Name::new(format!("{address} of {stack}/{environment}")),
        };
        (key, whose)
    });
    moving.collect()
}

/// Returns the ledgers of other stacks in the same configured directory, or without a backend those of the other stacks of the
/// repository; empty for a backend that is not a directory, and for an untrusted stack without one.
///
/// # Errors
/// When a directory cannot be listed.
async fn neighbor_ledgers(project: &LoadedStack) -> Result<Vec<ListedLedger>, CliFailure> {
    let (settings, stack) = (&project.settings, &project.stack);
    if settings.cloud == CloudEndpoint::Local {
        let cloud = |directory: &Path| stack_files::real_path(&embedded_cloud::data_directory(directory));
        let own = cloud(&project.directory);
        return neighbors_in_repository(project, &|directory| cloud(directory) == own);
    }
    let all = match settings.backend.as_deref().map(LedgerLocation::parse) {
        Some(Ok(all @ LedgerLocation::Directory(_))) => all,
        None if !settings.untrusted => return neighbors_in_repository(project, &|_| true),
        _ => return Ok(Vec::new()),
    };
    let mut found = ledger_listing::list_backend(&all, (&stack.name, &stack.environment.name)).await?;
    found.retain(|one| one.stack != stack.name);
    Ok(found)
}

/// Returns the ledgers that the other stacks of the repository have in their own directories, as far as they share the objects.
fn neighbors_in_repository(
    project: &LoadedStack,
    shares_objects: &dyn Fn(&Path) -> bool,
) -> Result<Vec<ListedLedger>, CliFailure> {
    let root = SharedRoot::find_root(&project.directory, false).root;
    let own = stack_files::real_path(&project.directory);
    let mut found = Vec::new();
    for stack in repository_walk::find_stacks(&project.settings, &root) {
        let is_other = stack_files::real_path(&stack.directory) != own;
        let is_neighbor = is_other && shares_objects(&stack.directory);
        let Some(header) = stack.header().filter(|_| is_neighbor) else { continue };
        let place = ledger_settings::local_directory(&project.settings, &stack.directory);
        found.extend(ledger_listing::list_environments(&place, &header.name)?);
    }
    Ok(found)
}
