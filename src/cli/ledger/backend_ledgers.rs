//! The ledgers that share the backends of some units: those of other repositories, of stacks that no longer exist, and of
//! other environments. In: where the units' own ledgers are. Out: the objects that the others own, and why some are not
//! known. Nothing is changed because of them, so they are not authenticated: they can have other MAC keys.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::ledger_listing::{self, ListedLedger};
use super::open::CommandStore;
use super::other_ledgers::owned_objects;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::process::settings::Settings;
use crate::ledger::stores::any_store;
use crate::ledger::stores::location::LedgerLocation;
use crate::model::address::Name;
use crate::model::live::snapshot::ObjectKey;

/// The ledger of a unit.
pub(in crate::cli) struct UnitLedger<'a> {
    pub(in crate::cli) settings: &'a Settings,
    pub(in crate::cli) stack: &'a Name,
    pub(in crate::cli) environment: &'a Name,
    pub(in crate::cli) place: LedgerLocation,
}

/// A place that can have several ledgers.
enum LedgerBackend {
    /// A backend that several stacks can use.
    Shared(LedgerLocation),
    /// The directory of one stack, with one directory for each environment.
    Environments(PathBuf),
}

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
    let mut backends: BTreeMap<String, (LedgerBackend, &UnitLedger<'_>)> = BTreeMap::new();
    for unit in units {
        let backend = backend_of(unit);
        backends.entry(backend.key()).or_insert((backend, unit));
    }
    let mut found = BackendObjects::default();
    for (backend, unit) in backends.values() {
        let listed = match backend {
            LedgerBackend::Environments(own) => ledger_listing::list_environments(own, unit.stack),
            LedgerBackend::Shared(place) => {
                ledger_listing::list_backend(place, (unit.stack, unit.environment)).await
            }
        };
        let listed = match listed {
            Ok(listed) => listed,
            Err(failure) => {
                found.unknown.push(failure.message);
                continue;
            }
        };
        for ListedLedger { place, stack, environment } in listed {
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
            Some(all) if ledger_settings::is_shared(unit.settings) => {
                LedgerBackend::Shared(LedgerLocation::Directory(all.to_owned()))
            }
            _ => LedgerBackend::Environments(own.clone()),
        },
        shared => LedgerBackend::Shared(shared.clone()),
    }
}

impl LedgerBackend {
    /// Returns what is the same for two places with the same ledgers.
    fn key(&self) -> String {
        match self {
            Self::Shared(place) => location_key(place),
            Self::Environments(own) => own.display().to_string(),
        }
    }
}
