//! The services that the units of a repository use: one client for all units with the same address and key, so that each
//! account is read once. In: loaded units. Out: a connection for each unit, and the number of its account.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::loaded_unit::WorkspaceUnit;
use crate::cli::planning::refresh::{self, RefreshResult};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::process::settings::{CloudEndpoint, Settings};
use crate::cli::service::command_client::CommandClient;
use crate::cli::service::connection::{ServiceConnection, StackConnection, lock_file_path};
use crate::cli::service::embedded_cloud;
use crate::cli::stack::project::LoadedStack;
use crate::model::address::Name;
use crate::model::live::snapshot::RefreshRequest;
use crate::model::values::secret::Secret;

/// What decides which account a unit uses. Two units with equal values use the same client.
#[derive(PartialEq)]
struct AccountSettings {
    cloud: CloudEndpoint,
    /// Directory of the built-in cloud's data; `None` for a service.
    data: Option<PathBuf>,
    api_key: Option<Secret>,
    readonly_key: Option<Secret>,
    key_command: Option<Vec<String>>,
    ca_file: Option<PathBuf>,
    untrusted: bool,
}

impl AccountSettings {
    fn new(settings: &Settings) -> Self {
        let is_local = settings.cloud == CloudEndpoint::Local;
        Self {
            cloud: settings.cloud.clone(),
            data: is_local.then(|| embedded_cloud::data_directory(&settings.dir)),
            api_key: settings.api_key.clone(),
            readonly_key: settings.readonly_key.clone(),
            key_command: settings.key_command.clone(),
            ca_file: settings.ca_file.clone(),
            untrusted: settings.untrusted,
        }
    }
}

/// The services that are open, one for each account.
#[derive(Default)]
pub(in crate::cli) struct OpenAccounts {
    all: Vec<(AccountSettings, ServiceConnection)>,
}

impl OpenAccounts {
    /// Connects a unit: with the client of the units that use the same account, or a new one. Sends no request. Also
    /// returns the number of the account.
    ///
    /// # Errors
    /// When no address or key is configured, the built-in cloud cannot start, or it would have to for an untrusted stack.
    pub(in crate::cli) fn connect(
        &mut self,
        one: &WorkspaceUnit,
        project: &LoadedStack,
    ) -> Result<(usize, StackConnection), CliFailure> {
        let settings = &one.settings;
        let place = ledger_settings::ledger_location(settings, &project.stack, &project.directory)?;
        if settings.cloud == CloudEndpoint::Local && settings.untrusted {
            return Err(CliFailure::new(
                Exit::Usage,
                "the built-in cloud writes its data, and --untrusted writes nothing",
            )
            .help("Serve it from another directory with stead emulator, and name it by STEAD_API_URL."));
        }
        let wanted = AccountSettings::new(settings);
        let known = self.number_of(&wanted);
        let number = known.unwrap_or(self.all.len());
        if known.is_none() {
            let service = ServiceConnection::open(settings, &project.directory, false)?;
            self.all.push((wanted, service));
        }
        let service = &self.all[number].1;
        let lock_file = lock_file_path(settings, &project.directory);
        Ok((number, StackConnection::with_service(service, &project.stack, place, lock_file)))
    }

    /// Returns the number of the account that a unit uses; `None` if no connected unit uses it.
    pub(in crate::cli) fn number_of_unit(&self, one: &WorkspaceUnit) -> Option<usize> {
        self.number_of(&AccountSettings::new(&one.settings))
    }

    fn number_of(&self, wanted: &AccountSettings) -> Option<usize> {
        self.all.iter().position(|(known, _)| known == wanted)
    }

    /// Returns the name of each key's limit with the client that uses it; no entry for the built-in cloud.
    pub(in crate::cli) fn shared_limits(&self) -> impl Iterator<Item = (&str, &CommandClient)> {
        self.all.iter().filter_map(|(_, service)| Some((service.limit_name.as_deref()?, &*service.client)))
    }

    /// Returns the number of accounts.
    pub(in crate::cli) fn count(&self) -> usize {
        self.all.len()
    }
}

/// What a unit needs of its account: objects, and tables of the catalog.
pub(super) type AccountRequest = (RefreshRequest, BTreeSet<&'static str>);

/// Reads an account once for these units, by their numbers. If the key may not list a kind, only the units that need it fail.
/// `request_of` returns what a unit needs, and is asked again after such a refusal. `everywhere` reads all projects. Returns
/// what was read, `None` if nothing could be, and the failures of units.
pub(super) async fn read_account(
    connection: &StackConnection,
    mut units: Vec<usize>,
    request_of: &dyn Fn(usize) -> AccountRequest,
    everywhere: bool,
) -> (Option<RefreshResult>, BTreeMap<usize, CliFailure>) {
    let mut failed = BTreeMap::new();
    let mut read = read_merged(connection, &units, request_of, everywhere).await;
    if units.len() > 1 && read.as_ref().is_err_and(|failure| failure.exit == Exit::Refused) {
        let refused = refused_kinds(connection, &units, request_of).await;
        units.retain(|number| {
            let kinds = request_of(*number).0.kinds;
            let found = refused.iter().find(|(kind, _)| kinds.contains(*kind));
            failed.extend(found.map(|(_, failure)| (*number, failure.clone())));
            found.is_none()
        });
        if !failed.is_empty() && !units.is_empty() {
            read = read_merged(connection, &units, request_of, everywhere).await;
        }
    }
    match read {
        Ok(world) => (Some(world), failed),
        Err(failure) => {
            failed.extend(units.into_iter().map(|number| (number, failure.clone())));
            (None, failed)
        }
    }
}

async fn read_merged(
    connection: &StackConnection,
    units: &[usize],
    request_of: &dyn Fn(usize) -> AccountRequest,
    everywhere: bool,
) -> Result<RefreshResult, CliFailure> {
    let mut all = units.iter().map(|number| request_of(*number));
    let (mut wanted, mut tables) = all.next().unwrap_or_default();
    for (more, used) in all {
        wanted.merge(more);
        tables.extend(used);
    }
    if everywhere {
        wanted.projects = None;
    }
    refresh::read_world(connection, &wanted, &tables, None).await
}

/// Returns the kinds that the key may not list, each with the refusal; they are listed one by one.
async fn refused_kinds(
    connection: &StackConnection,
    units: &[usize],
    request_of: &dyn Fn(usize) -> AccountRequest,
) -> BTreeMap<Name, CliFailure> {
    let kinds: BTreeSet<Name> = units.iter().flat_map(|number| request_of(*number).0.kinds).collect();
    let mut refused = BTreeMap::new();
    for kind in kinds {
        let wanted = RefreshRequest { kinds: BTreeSet::from([kind.clone()]), ..RefreshRequest::default() };
        let read = refresh::read_world(connection, &wanted, &BTreeSet::new(), None).await;
        if let Some(failure) = read.err().filter(|failure| failure.exit == Exit::Refused) {
            refused.insert(kind, failure);
        }
    }
    refused
}
