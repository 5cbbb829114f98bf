//! The connection of a command: the client of the configured cloud, and the location of the stack's ledger.
//!
//! The built-in cloud and a real account never share a ledger or pinned ids. Opening a connection sends no request
//! to a service; it can start the built-in cloud.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use secrecy::SecretString;
use sha2::{Digest, Sha256};

use super::command_client::{CommandClient, CommandClock, CommandTransport};
use super::rate_limit_file::RateLimitFile;
#[cfg(test)]
use super::test_transport::TestCloud;
use super::{api_key, capabilities, catalog_cache, embedded_cloud};
use crate::apply::context::TimingBounds;
use crate::apply::protocol::preexisting::PreexistingObjects;
use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::process::settings::{CloudEndpoint, Settings};
use crate::cloud::client::Client;
use crate::cloud::http::https_transport::{CaBundle, HttpsTransport, TransportOptions};
use crate::cloud::http::rate_limit::SharedRateLimit;
use crate::cloud::read::account::AccountInfo;
use crate::cloud::system_clock::SystemRandom;
use crate::config::stack::model::Stack;
use crate::emulator::server::EmulatorHandle;
use crate::kinds::REGISTRY;
use crate::ledger::stores::location::LedgerLocation;
use crate::model::crypto::hex::encode_hex;
use crate::model::live::key_access::KeyAccess;
use crate::model::values::secret::Secret;

/// Time bounds of the built-in cloud: it is on this machine, so a request takes effect at once or not at all.
pub(in crate::cli) const LOCAL_BOUNDS: TimingBounds = TimingBounds {
    effect: Duration::from_secs(1),
    listing: Duration::from_secs(1),
    sending: Duration::from_mins(2),
};

/// A connection to the service for one stack.
pub(in crate::cli) struct StackConnection {
    /// Client for the service.
    pub(in crate::cli) client: Rc<CommandClient>,
    /// Location of the stack's ledger.
    pub(in crate::cli) place: LedgerLocation,
    /// Lock file with the pinned catalog names.
    pub(in crate::cli) lock_file: PathBuf,
    /// Cache file of the catalog tables that were read last; `None` if nothing is cached.
    pub(in crate::cli) catalogs: Option<PathBuf>,
    /// Speed of the service's clock, as a multiple of real time.
    pub(in crate::cli) speed: f64,
    /// Time bounds that are assumed for the service.
    pub(in crate::cli) bounds: TimingBounds,
    /// What existed in the account before its creations: shared by the stacks that use the service.
    pub(in crate::cli) preexisting: Rc<PreexistingObjects>,
    /// The key, and what it may do.
    key: Rc<ConnectionKey>,
    /// The built-in cloud, if this process runs it; dropping it ends the cloud.
    _emulator: Option<Rc<EmulatorHandle>>,
}

/// A connection to the service without a stack.
pub(in crate::cli) struct ServiceConnection {
    /// Client for the service.
    // The fields are those of `StackConnection`, which takes them over.
    pub(in crate::cli) client: Rc<CommandClient>,
    /// Lock file with the pinned catalog names.
    pub(in crate::cli) lock_file: PathBuf,
    /// Cache file of the catalog tables that were read last; `None` if nothing is cached.
    pub(in crate::cli) catalogs: Option<PathBuf>,
    /// Speed of the service's clock, as a multiple of real time.
    speed: f64,
    /// Time bounds that are assumed for the service.
    pub(in crate::cli) bounds: TimingBounds,
    /// Name of the key's request limit, which reveals neither the key nor the address; `None` without a key.
    pub(in crate::cli) limit_name: Option<String>,
    preexisting: Rc<PreexistingObjects>,
    /// The key, and what it may do.
    key: Rc<ConnectionKey>,
    /// The built-in cloud, if this process runs it; dropping it ends the cloud.
    emulator: Option<Rc<EmulatorHandle>>,
}

impl ServiceConnection {
    /// Connects to the configured cloud. For its public tables (`public`) no key is needed, and none is read.
    ///
    /// # Errors
    /// When no URL or key is configured, or the built-in cloud cannot start.
    pub(in crate::cli) fn open(
        settings: &Settings,
        directory: &Path,
        public: bool,
    ) -> Result<Self, CliFailure> {
        let find =
            |url: &str| if public { Ok(None) } else { api_key::find_api_key(settings, url).map(Some) };
        Self::open_with_key(settings, directory, settings.untrusted, find)
    }

    /// Connects with a given key for a read-only command: the transport sends only reads. `key` is `None` for the
    /// built-in cloud, which has its own.
    ///
    /// # Errors
    /// When no URL is configured, or the built-in cloud cannot start.
    pub(in crate::cli) fn open_read_only(
        settings: &Settings,
        directory: &Path,
        key: Option<Secret>,
    ) -> Result<Self, CliFailure> {
        Self::open_with_key(settings, directory, true, |_| Ok(key))
    }

    fn open_with_key(
        settings: &Settings,
        directory: &Path,
        only_looks: bool,
        key: impl FnOnce(&str) -> Result<Option<Secret>, CliFailure>,
    ) -> Result<Self, CliFailure> {
        let looks = only_looks.then_some(REGISTRY);
        if settings.cloud == CloudEndpoint::Local {
            let (mut options, emulator, speed) = embedded_cloud::open_embedded_cloud(
                &embedded_cloud::data_directory(directory),
                settings.state.as_deref(),
            )?;
            options.only_looks = looks;
            return Ok(Self {
                client: Rc::new(build_client(&options, LOCAL_BOUNDS)?),
                lock_file: lock_file_path(settings, directory),
                catalogs: catalog_cache::tables_path(settings),
                speed,
                bounds: LOCAL_BOUNDS,
                limit_name: None,
                preexisting: Rc::default(),
                key: Rc::default(),
                emulator: emulator.map(Rc::new),
            });
        }
        let CloudEndpoint::Remote(url) = &settings.cloud else {
            return Err(CliFailure::new(Exit::Usage, "no cloud is configured")
                .help("Set STEAD_API_URL (or --api-url) and STEAD_API_KEY for an account,")
                .help("or pass --cloud local for the built-in cloud."));
        };
        let key = key(url)?;
        let known = key.clone();
        let mut options = http_options(settings, url, key.as_ref())?;
        options.only_looks = looks;
        let client = build_client(&options, TimingBounds::default())?;
        share_limits(&client, settings, url, known.as_ref());
        if let Some(key) = known.as_ref().and_then(Secret::expose) {
            // A response can repeat the key; output redacts it from now on.
            client.learn_secret(key);
        }
        // Damaged capabilities are reported by `stead doctor`; here they count as missing.
        let note =
            if settings.untrusted { Ok(None) } else { capabilities::read_capabilities(settings, url) };
        if let Ok(Some(note)) = note {
            client.goes_by(note.service_capabilities());
        }
        Ok(Self {
            client: Rc::new(client),
            lock_file: lock_file_path(settings, directory),
            catalogs: catalog_cache::tables_path(settings),
            speed: 1.0,
            bounds: TimingBounds::default(),
            preexisting: Rc::default(),
            limit_name: known.as_ref().and_then(Secret::expose).map(|key| limit_name(url, key)),
            key: Rc::new(ConnectionKey { key: known, access: RefCell::default() }),
            emulator: None,
        })
    }
}

/// Returns the path of the lock file with the pinned catalog names: the built-in cloud has one of its own.
pub(in crate::cli) fn lock_file_path(settings: &Settings, directory: &Path) -> PathBuf {
    match settings.cloud {
        CloudEndpoint::Local => directory.join(".stead/local/stead.lock"),
        CloudEndpoint::Remote(_) | CloudEndpoint::Unset => directory.join("stead.lock"),
    }
}

impl StackConnection {
    /// Connects to the configured cloud, and tells the client the secrets of the stack, so that output redacts them.
    ///
    /// # Errors
    /// When no URL, key or required backend is configured, the built-in cloud cannot start, or the stack is
    /// untrusted and the cloud built in.
    pub(in crate::cli) fn open(
        settings: &Settings,
        stack: &Stack,
        directory: &Path,
    ) -> Result<Self, CliFailure> {
        let place = ledger_settings::ledger_location(settings, stack, directory)?;
        if settings.cloud == CloudEndpoint::Local && settings.untrusted {
            return Err(CliFailure::new(
                Exit::Usage,
                "the built-in cloud writes its data, and --untrusted writes nothing",
            )
            .help("Serve it from another directory with stead emulator, and name it by STEAD_API_URL."));
        }
        let service = ServiceConnection::open(settings, directory, false)?;
        Ok(Self::with_service(&service, stack, place, service.lock_file.clone()))
    }

    /// Returns the connection of a stack to a service that other stacks use, too: `lock_file` is its own.
    pub(in crate::cli) fn with_service(
        service: &ServiceConnection,
        stack: &Stack,
        place: LedgerLocation,
        lock_file: PathBuf,
    ) -> Self {
        let ServiceConnection { client, catalogs, speed, bounds, preexisting, emulator, key, .. } = service;
        // The service may return secrets that an earlier run sent, so they must be known for redaction.
        let written = stack.resources.values().flat_map(|resource| resource.attributes.values());
        for setting in written.chain(stack.named.values()) {
            setting.expression.each_value(&mut |value| {
                value.each_secret(&mut |secret| client.learn_secret(secret));
            });
        }
        Self {
            client: Rc::clone(client),
            place,
            lock_file,
            catalogs: catalogs.clone(),
            speed: *speed,
            bounds: *bounds,
            preexisting: Rc::clone(preexisting),
            key: Rc::clone(key),
            _emulator: emulator.clone(),
        }
    }
}

/// The key of a connection, and what it may do, which is read at most once.
#[derive(Default)]
struct ConnectionKey {
    /// `None` for the built-in cloud, whose key may do everything.
    key: Option<Secret>,
    access: RefCell<Option<Rc<KeyAccess>>>,
}

impl StackConnection {
    /// Returns what the key of the connection may do; `None` for the built-in cloud, whose key may do everything.
    pub(in crate::cli) async fn key_access(&self) -> Option<Rc<KeyAccess>> {
        let key = self.key.key.as_ref()?.expose()?;
        if let Some(known) = &*self.key.access.borrow() {
            return Some(Rc::clone(known));
        }
        let read = Rc::new(self.client.read_key_access(key).await);
        *self.key.access.borrow_mut() = Some(Rc::clone(&read));
        Some(read)
    }
}

/// Returns what the service at a URL reports about a key, which need not be the configured one.
///
/// # Errors
/// When the service refuses the key or does not respond.
pub(in crate::cli) async fn read_key_account(
    settings: &Settings,
    url: &str,
    key: &Secret,
) -> Result<AccountInfo, CliFailure> {
    let client = build_client(&http_options(settings, url, Some(key))?, TimingBounds::default())?;
    share_limits(&client, settings, url, Some(key));
    client.learn_secret(key.expose().unwrap_or_default());
    Ok(client.read_account(key.expose().unwrap_or_default()).await?)
}

fn http_options(
    settings: &Settings,
    url: &str,
    key: Option<&Secret>,
) -> Result<TransportOptions, CliFailure> {
    let key = key.and_then(Secret::expose).map(SecretString::from);
    let mut options = TransportOptions::new(url, key);
    if let Some(path) = &settings.ca_file {
        let pem = stack_files::read_bytes(path)?;
        options.roots = CaBundle::parse(&pem).map_err(|why| {
            CliFailure::new(
                Exit::Usage,
                format!("{} cannot be trusted: {why}", stack_files::display_path(path)),
            )
        })?;
    }
    options.only_looks = settings.untrusted.then_some(REGISTRY);
    Ok(options)
}

/// Shares the rate limiter with other commands of this user; a command that must not write has its own.
fn share_limits(client: &CommandClient, settings: &Settings, url: &str, key: Option<&Secret>) {
    if settings.untrusted {
        return;
    }
    let open = |key: Option<&Secret>| {
        let file = RateLimitFile::open(settings.state.as_deref(), url, key, &SystemRandom);
        file.map(|file| Box::new(file) as Box<dyn SharedRateLimit>)
    };
    let keyed = key.and_then(|key| open(Some(key)));
    client.share_limits(keyed, open(None));
}

/// Returns the name of a key's request limit: a digest of the address and the key.
fn limit_name(url: &str, key: &str) -> String {
    encode_hex(&Sha256::new().chain_update(url).chain_update([0]).chain_update(key).finalize())
}

fn build_client(options: &TransportOptions, bounds: TimingBounds) -> Result<CommandClient, CliFailure> {
    let http =
        HttpsTransport::new(options).map_err(|error| CliFailure::new(Exit::Usage, error.to_string()))?;
    let transport = CommandTransport::Https(Box::new(http));
    #[cfg(test)]
    let transport = TestCloud::of_this_thread().map_or(transport, CommandTransport::Test);
    let client = Client::new(transport, CommandClock::System, SystemRandom, REGISTRY);
    client.expect_lag(bounds.listing);
    Ok(client)
}
