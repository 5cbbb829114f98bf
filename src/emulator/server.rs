//! The emulator as a server: opens the data, starts the thread that owns the world, and stops it.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the emulator's shell is an edge")]

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use jiff::Timestamp;
use thiserror::Error;
use tokio::sync::{oneshot, watch};
use uuid::Uuid;

use super::clock::{ClockError, VirtualClock};
use super::control::read_export;
use super::faults;
use super::limiter::ServerRateLimiter;
use super::log::RequestLog;
use super::seed::{Seed, seed_objects, seed_shop};
use super::serve;
use super::service_state::HttpService;
use super::store::{self, StoredWorld, WorldStore, WorldStoreError, WriteQueue};
use super::world::{RateTier, World, WorldSetup, record_first_key};

/// Settings of one emulator: address, data, seed, clock, faults and limits.
#[derive(Debug, Clone, PartialEq)]
pub struct EmulatorOptions {
    /// Address to listen on; port 0 selects a free port.
    pub bind: SocketAddr,
    /// Confirmation that other machines may reach the server; required for an address that is not loopback, because
    /// the traffic, with the API key in it, is not encrypted.
    pub i_know: bool,
    /// File that stores the world; `None` for a world that is lost when the server stops. The API key is in a file
    /// beside it, with the extension `key`.
    pub data: Option<PathBuf>,
    /// Initial content of a new world; `None` for an empty one. A stored world that is not new refuses a seed.
    pub seed: Option<Seed>,
    /// Virtual seconds per real second; `None` for the stored speed, or 1.
    pub speed: Option<f64>,
    /// The faults to inject into requests to the service; the emulator's own endpoints have none.
    pub faults: faults::FaultPlan,
    /// Whether to apply the service's rate limit ("Rate limiting (per key)").
    pub limited: bool,
    /// Rate tier of `api_key`; keys that are created later have their own.
    pub tier: RateTier,
    /// The API key, which is a secret; `None` for the key in the file beside `data`, or a random one without `data`.
    pub api_key: Option<String>,
    /// Document to serve at `/openapi.json`; `None` serves none.
    pub openapi: Option<String>,
}

impl Default for EmulatorOptions {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from(([127, 0, 0, 1], 0)),
            i_know: false,
            data: None,
            seed: None,
            speed: None,
            faults: faults::FaultPlan::default(),
            limited: true,
            tier: RateTier::Standard,
            api_key: None,
            openapi: None,
        }
    }
}

/// Why the emulator could not start.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The address is not loopback, and the caller did not confirm access by other machines.
    #[error(
        "the emulator would be open to other machines on {0}: use a loopback address such as 127.0.0.1, or pass --i-know"
    )]
    NotLoopback(SocketAddr),
    /// The server cannot listen on the address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Address from the options; its port may be 0.
        address: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// The data file or the key file cannot be opened or written.
    #[error(transparent)]
    Store(#[from] WorldStoreError),
    /// The clock rejected the speed.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// The seed is not valid, the world is not new, or one of the seed's requests was refused.
    #[error("cannot start from {seed}: {reason}")]
    Seed {
        /// The seed as the user wrote it.
        seed: String,
        /// Why it cannot be used, as a clause for the message.
        reason: String,
    },
    /// The runtime or the thread of the emulator could not be started.
    #[error("the emulator's thread did not start: {0}")]
    Thread(String),
}

/// A running emulator. Dropping it stops it and blocks until its thread ends; requests in progress get
/// five seconds to finish.
#[derive(Debug)]
pub struct EmulatorHandle {
    /// Address that the server listens on, with the actual port.
    pub address: SocketAddr,
    /// API key for the header `X-API-Key`; a secret.
    pub api_key: String,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl EmulatorHandle {
    /// Returns the base URL for clients, without a slash at its end.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops the emulator: on return all changes are on disk, and requests that took more than five seconds longer
    /// are cut off without an answer.
    pub fn stop(mut self) {
        self.shut_down();
    }

    fn shut_down(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic of that thread was already printed, and nothing more can be done about it.
            let _ = thread.join();
        }
    }
}

impl Drop for EmulatorHandle {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// Starts an emulator from asynchronous code, without blocking the executor.
///
/// # Errors
/// The errors of `spawn_emulator`, and `ServeError::Thread` if the thread that starts it panics.
pub async fn spawn_emulator_async(options: EmulatorOptions) -> Result<EmulatorHandle, ServeError> {
    let (done, started) = oneshot::channel();
    // Opening the data reads files, which must not block the executor's threads.
    thread::spawn(move || done.send(spawn_emulator(options)));
    started.await.map_err(|error| ServeError::Thread(error.to_string()))?
}

/// Starts an emulator on its own thread; on return it accepts connections.
///
/// # Errors
/// When the address, the data, the seed or the speed cannot be used, or no thread can be started.
pub fn spawn_emulator(options: EmulatorOptions) -> Result<EmulatorHandle, ServeError> {
    if !options.bind.ip().is_loopback() && !options.i_know {
        return Err(ServeError::NotLoopback(options.bind));
    }
    let loopback = options.bind.ip().is_loopback();
    let listen = |source| ServeError::Listen { address: options.bind, source };
    let listener = TcpListener::bind(options.bind).map_err(listen)?;
    listener.set_nonblocking(true).map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let (shell, api_key) = open_cloud(options)?;
    let (stop, stopped) = watch::channel(false);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| ServeError::Thread(error.to_string()))?;
    let thread = thread::Builder::new()
        .name("emulator".to_owned())
        .spawn(move || {
            let local = tokio::task::LocalSet::new();
            local.block_on(&runtime, serve::run(listener, shell, loopback, stopped));
        })
        .map_err(|error| ServeError::Thread(error.to_string()))?;
    Ok(EmulatorHandle { address, api_key, stop, thread: Some(thread) })
}

/// Opens the stored world, or creates a new one.
fn open_cloud(options: EmulatorOptions) -> Result<(HttpService, String), ServeError> {
    let real = Timestamp::now();
    let opened = options.data.as_deref().map(WorldStore::open).transpose()?;
    let (store, stored) =
        opened.map_or((None, StoredWorld::default()), |(store, stored)| (Some(store), stored));
    let api_key = match (&options.api_key, options.data.as_deref()) {
        (Some(key), _) => key.clone(),
        (None, Some(data)) => store::read_or_create_key(data)?,
        (None, None) => store::random_key(),
    };
    let mut clock = match stored.clock {
        Some(clock) => clock,
        None => VirtualClock::new(real, options.speed.unwrap_or(1.0))?,
    };
    if let Some(speed) = options.speed {
        clock = clock.with_speed(real, speed)?;
    }
    let fresh = stored.rows.is_empty();
    // The account's row is always written, so a file without rows has never had a world.
    let mut world = if fresh {
        let seed = Uuid::new_v4().as_u64_pair().0;
        World::new(&WorldSetup { seed, api_key: api_key.clone(), tier: options.tier }, clock.now(real))
    } else {
        let path = options.data.clone().unwrap_or_default();
        World::from_rows(stored.rows).map_err(|reason| WorldStoreError::Corrupt { path, reason })?
    };
    world.set_key(&api_key, options.tier);
    record_first_key(&mut world, &api_key, options.tier);
    if let Some(seed) = &options.seed {
        apply_seed(&mut world, seed, fresh, &api_key, clock.now(real))?;
    }
    // An imported seed may be ahead of this machine's clock, and events are handled in the order of time.
    clock = clock.not_before(real, world.latest_time());
    // Written before the first request: a world that was seeded is either stored in full or not at all.
    if let Some(store) = &store {
        let mut rows = world.take_rows();
        rows.push(world.account_row());
        store.write(&rows, Some(clock))?;
    }
    let journal = store.map_or_else(WriteQueue::in_memory, WriteQueue::start);
    let limiter = options.limited.then(ServerRateLimiter::default);
    let (faults, openapi) = (options.faults, options.openapi);
    Ok((
        HttpService { world, clock, limiter, faults, log: RequestLog::default(), journal, openapi },
        api_key,
    ))
}

fn apply_seed(
    world: &mut World,
    seed: &Seed,
    fresh: bool,
    api_key: &str,
    now: Timestamp,
) -> Result<(), ServeError> {
    let said = match seed {
        Seed::Objects(count) => format!("objects={count}"),
        Seed::Shop => "shop".to_owned(),
        Seed::File(path) => path.display().to_string(),
    };
    let wrong = |reason| ServeError::Seed { seed: said, reason };
    if !fresh {
        return Err(wrong(
            "the data directory has a cloud already; use another data directory, or omit the seed"
                .to_owned(),
        ));
    }
    match seed {
        Seed::Objects(count) => seed_objects(world, api_key, *count, now).map_err(wrong),
        Seed::Shop => seed_shop(world, api_key, now).map_err(wrong),
        Seed::File(path) => read_seed(path).and_then(|export| world.import(export)).map_err(wrong),
    }
}

fn read_seed(path: &Path) -> Result<World, String> {
    let text = fs::read(path).map_err(|error| error.to_string())?;
    read_export(&text)
}
