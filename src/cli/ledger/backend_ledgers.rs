//! The ledgers that share the backends of some units: those of other repositories, of stacks that no longer exist, and of
//! other environments. In: where the units' own ledgers are. Out: the objects that the others own, and why some are not
//! known. Nothing is changed because of them, so they are not authenticated: they can have other MAC keys.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::open::CommandStore;
use super::other_ledgers::owned_objects;
use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::process::settings::Settings;
use crate::ledger::stores::any_store;
use crate::ledger::stores::file::dir_handle::DirHandle;
use crate::ledger::stores::location::LedgerLocation;
use crate::model::address::{Name, is_legal_segment};
use crate::model::live::snapshot::ObjectKey;

/// The ledger of a unit.
pub(in crate::cli) struct UnitLedger<'a> {
    pub(in crate::cli) settings: &'a Settings,
    pub(in crate::cli) stack: &'a Name,
    pub(in crate::cli) environment: &'a Name,
    pub(in crate::cli) place: LedgerLocation,
}

/// A location that can have ledgers of several stacks or environments.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LedgerBackend {
    /// A directory with one directory for each stack.
    Stacks(PathBuf),
    /// The directory of one stack, with one directory for each environment.
    Environments(PathBuf),
    /// A backend that lists its ledgers itself, by its normalized location.
    Listed(String),
    /// A state server, which cannot list its ledgers, by its location.
    Server(String),
}

/// Where a ledger is, and whose it is.
type LedgerName = (LedgerLocation, Name, Name);

/// Objects of ledgers that no unit of the repository has.
#[derive(Default)]
pub(in crate::cli) struct BackendObjects {
    pub(in crate::cli) owned: BTreeSet<ObjectKey>,
    /// Why some ledgers are not known, as sentences without a full stop; empty if all were read.
    pub(in crate::cli) unknown: Vec<String>,
}

/// Reads the ledgers in the backends of some units, except the units' own ones. Each backend is listed once.
pub(in crate::cli) async fn read_backend_objects(units: &[UnitLedger<'_>]) -> BackendObjects {
    let own: BTreeSet<(String, &str, &str)> = units
        .iter()
        .map(|unit| (location_key(&unit.place), unit.stack.as_str(), unit.environment.as_str()))
        .collect();
    let mut backends: BTreeMap<LedgerBackend, &UnitLedger<'_>> = BTreeMap::new();
    for unit in units {
        backends.entry(backend_of(unit)).or_insert(unit);
    }
    let mut found = BackendObjects::default();
    for (backend, unit) in &backends {
        let listed = match list_backend(backend, unit).await {
            Ok(listed) => listed,
            Err(failure) => {
                found.unknown.push(failure.message);
                continue;
            }
        };
        for (place, stack, environment) in listed {
            if own.contains(&(location_key(&place), stack.as_str(), environment.as_str())) {
                continue;
            }
            match CommandStore::read(&place, &stack, &environment, None).await {
                Ok(ledger) => {
                    found.owned.extend(ledger.iter().flat_map(owned_objects).map(|(key, _)| key));
                }
                Err(error) => {
                    let why = CliFailure::from(error).message;
                    found
                        .unknown
                        .push(format!("the ledger of {stack}/{environment} cannot be read: {why}"));
                }
            }
        }
    }
    found
}

fn location_key(place: &LedgerLocation) -> String {
    any_store::normalize_location(place)
}

fn backend_of(unit: &UnitLedger<'_>) -> LedgerBackend {
    match &unit.place {
        LedgerLocation::Directory(own) => match own.parent() {
            Some(all) if ledger_settings::is_shared(unit.settings) => LedgerBackend::Stacks(all.to_owned()),
            _ => LedgerBackend::Environments(own.clone()),
        },
        LedgerLocation::Http(_) => LedgerBackend::Server(unit.place.to_string()),
        LedgerLocation::Postgres(_) | LedgerLocation::S3 { .. } => {
            LedgerBackend::Listed(location_key(&unit.place))
        }
    }
}

async fn list_backend(
    backend: &LedgerBackend,
    unit: &UnitLedger<'_>,
) -> Result<Vec<LedgerName>, CliFailure> {
    match backend {
        LedgerBackend::Stacks(all) => {
            let mut found = Vec::new();
            for stack in list_directory(all)? {
                found.extend(list_environments(&all.join(&stack), &Name::new(&stack))?);
            }
            Ok(found)
        }
        LedgerBackend::Environments(own) => list_environments(own, unit.stack),
        LedgerBackend::Server(place) => {
            Err(CliFailure::new(Exit::Failed, format!("the state server {place} cannot list its ledgers")))
        }
        LedgerBackend::Listed(_) => {
            let listed = any_store::list_ledgers(&unit.place, (unit.stack, unit.environment)).await?;
            let named = |(stack, environment): (String, String)| {
                (unit.place.clone(), Name::new(stack), Name::new(environment))
            };
            Ok(listed.into_iter().map(named).collect())
        }
    }
}

fn list_environments(directory: &Path, stack: &Name) -> Result<Vec<LedgerName>, CliFailure> {
    let place = || LedgerLocation::Directory(directory.to_owned());
    let environments = list_directory(directory)?.into_iter();
    Ok(environments.map(|name| (place(), stack.clone(), Name::new(name))).collect())
}

/// Lists the directories in a directory; one that does not exist yet has none.
fn list_directory(directory: &Path) -> Result<Vec<String>, CliFailure> {
    if !stack_files::path_exists(directory) {
        return Ok(Vec::new());
    }
    let listed = DirHandle::open_user_dir(directory).and_then(|folder| folder.list_below(Path::new("")));
    let listed =
        listed.map_err(|error| stack_files::add_context(&error, "read the directory", directory))?;
    let is_directory = |mode| FileType::from_raw_mode(mode) == FileType::Directory;
    let directories = listed.into_iter().filter(|(_, stat)| is_directory(stat.st_mode));
    let mut names: Vec<String> = directories.filter_map(|(name, _)| name.into_string().ok()).collect();
    names.retain(|name| is_legal_segment(name));
    names.sort();
    Ok(names)
}
