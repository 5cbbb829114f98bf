//! `Connection`: the client of the cloud that was asked for, and where its ledger is kept.
//!
//! The embedded cloud and a real account never share a ledger or pinned ids.

use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::SecretString;

use super::exit::Exit;
use super::failure::Failure;
use super::local;
use super::settings::{Cloud, Settings};
use crate::apply::run::Bounds;
use crate::cloud::client::Client;
use crate::cloud::system::{SystemClock, SystemRandom};
use crate::cloud::transport::{HttpCloud, Options};
use crate::emulator::server::Running;
use crate::kinds::REGISTRY;
use crate::model::secret::Secret;

/// The transport of every command.
pub(super) type Http = HttpCloud;
/// The clock of every command.
pub(super) type Time = SystemClock;
/// The chance of every command.
pub(super) type Chance = SystemRandom;

/// The bounds of the embedded cloud: it runs in this process, so nothing is under way after a crash.
const LOCAL_BOUNDS: Bounds = Bounds {
    effect: Duration::from_secs(1),
    listing: Duration::from_secs(1),
    sending: Duration::from_mins(2),
};

/// A way to the service.
pub(super) struct Connection {
    /// The client.
    pub(super) client: Client<Http, Time, Chance>,
    /// The directory of the stack's ledgers.
    pub(super) ledgers: PathBuf,
    /// The file of pinned catalog names.
    pub(super) lock_file: PathBuf,
    /// Timing assumptions that hold here.
    pub(super) bounds: Bounds,
    /// The embedded cloud, while this process runs it.
    _emulator: Option<Running>,
}

impl Connection {
    /// Connects to the cloud that was asked for.
    ///
    /// # Errors
    /// When no address or key is set, or the embedded cloud cannot start.
    pub(super) fn open(settings: &Settings, directory: &Path) -> Result<Self, Failure> {
        let data = directory.join(".stead");
        if settings.cloud == Cloud::Local {
            let (options, emulator) = local::open(&data)?;
            return Ok(Self {
                client: client(&options, LOCAL_BOUNDS)?,
                ledgers: data.join("local"),
                lock_file: data.join("local").join("stead.lock"),
                bounds: LOCAL_BOUNDS,
                _emulator: emulator,
            });
        }
        let Cloud::At(url) = &settings.cloud else {
            return Err(Failure::new(Exit::Usage, "no cloud is named")
                .help("Set STEAD_API_URL (or --api-url) and STEAD_API_KEY for an account,")
                .help("or say --cloud local for the one in this program."));
        };
        let Some(key) = settings.api_key.as_ref().and_then(Secret::expose) else {
            return Err(Failure::new(Exit::Refused, "there is no API key for the account")
                .help("Set STEAD_API_KEY. No flag takes it: flags can be seen by every process."));
        };
        let options = Options::new(url, Some(SecretString::from(key)));
        Ok(Self {
            client: client(&options, Bounds::default())?,
            ledgers: data.join("ledger"),
            lock_file: directory.join("stead.lock"),
            bounds: Bounds::default(),
            _emulator: None,
        })
    }
}

fn client(options: &Options, bounds: Bounds) -> Result<Client<Http, Time, Chance>, Failure> {
    let http = HttpCloud::new(options).map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
    let client = Client::new(http, SystemClock, SystemRandom, REGISTRY);
    client.expect_lag(bounds.listing);
    Ok(client)
}
