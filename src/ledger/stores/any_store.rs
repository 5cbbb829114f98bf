//! `AnyStore`: a ledger in any of the supported storage locations.

use std::time::Duration;

use jiff::Timestamp;

use super::file::store::FileStore;
use super::file::{self, lock};
use super::http;
use super::http::store::HttpStore;
use super::location;
use super::location::LedgerLocation;
#[cfg(feature = "postgres")]
use super::postgres::address::{PostgresAddress, ServerHost};
#[cfg(feature = "postgres")]
use super::postgres::backend::PostgresBackend;
#[cfg(feature = "s3")]
use super::s3::backend::{self, S3Backend};
use super::shared;
use super::shared::lease::LeaseInfo;
#[cfg(feature = "s3")]
use super::shared::store::SharedStore;
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::MacKey;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::store::Store;
use crate::ledger::journal::trail::HeadHistory;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::holder::{LeaseHolder, ProcessIdentity};
use crate::ledger::state::ledger::Ledger;
use crate::model::address::is_legal_segment;
use crate::model::clock::Clock;

/// The parameters for opening a ledger for writing, in any location.
pub struct StoreOptions<'a> {
    /// The identity for a new ledger; for an existing one stack and environment must match.
    pub identity: &'a LedgerIdentity,
    /// The holder that opens it.
    pub holder: LeaseHolder,
    /// The current time, recorded in the lock as the time when it was taken.
    pub now: Timestamp,
    /// The maximum time until a request of a displaced holder takes effect.
    pub effect: Duration,
    /// Returns whether a process is proven dead.
    pub is_dead: &'a dyn Fn(&ProcessIdentity) -> bool,
    /// The reason for taking the lease from its holder, if that is requested.
    pub force: Option<&'a str>,
    /// The MAC key of the ledger, if it has one.
    pub seal: Option<&'a MacKey>,
}

impl<'a> StoreOptions<'a> {
    /// Returns the parameters for a shared backend.
    #[must_use]
    pub fn shared_options(&self) -> shared::lease_rules::SharedStoreOptions<'a> {
        shared::lease_rules::SharedStoreOptions {
            identity: self.identity,
            holder: self.holder.clone(),
            effect: self.effect,
            is_dead: self.is_dead,
            force: self.force,
            seal: self.seal,
        }
    }

    /// Returns the parameters for a state server.
    #[must_use]
    pub fn http_options(&self) -> http::store::HttpStoreOptions<'a> {
        http::store::HttpStoreOptions {
            identity: self.identity,
            holder: self.holder.clone(),
            is_dead: self.is_dead,
            force: self.force,
            seal: self.seal,
        }
    }
}

/// A ledger open for writing, in any location.
pub enum AnyStore<K> {
    /// In a local directory.
    File(Box<FileStore>, std::marker::PhantomData<K>),
    /// In a PostgreSQL database.
    #[cfg(feature = "postgres")]
    Postgres(Box<SharedStore<PostgresBackend, K>>),
    /// In an S3 bucket.
    #[cfg(feature = "s3")]
    S3(Box<SharedStore<S3Backend, K>>),
    /// On an HTTP state server.
    Http(Box<HttpStore<K>>),
}

impl<K: Clock> AnyStore<K> {
    /// Opens a ledger for writing.
    ///
    /// # Errors
    /// When another process holds it, the location cannot be used, or it holds another stack's ledger.
    pub async fn open(
        place: &LedgerLocation,
        clock: K,
        opening: &StoreOptions<'_>,
    ) -> Result<Self, StoreError> {
        match place {
            LedgerLocation::Directory(directory) => {
                let store = FileStore::open(&file::store::FileStoreOptions {
                    directory,
                    identity: opening.identity,
                    who: &opening.holder.who,
                    now: opening.now,
                    seal: opening.seal,
                })?;
                Ok(Self::File(Box::new(store), std::marker::PhantomData))
            }
            #[cfg(feature = "postgres")]
            LedgerLocation::Postgres(address) => {
                let LedgerIdentity { stack, environment, .. } = opening.identity;
                let shelf = postgres_shelf(address, stack, environment)?;
                let store = SharedStore::open(shelf, clock, &opening.shared_options()).await?;
                Ok(Self::Postgres(Box::new(store)))
            }
            #[cfg(feature = "s3")]
            LedgerLocation::S3 { bucket, prefix } => {
                let owner = (opening.identity.stack.as_str(), opening.identity.environment.as_str());
                let shelf = S3Backend::open(bucket, prefix, owner, backend::s3_variables()).await?;
                let store = SharedStore::open(shelf, clock, &opening.shared_options()).await?;
                Ok(Self::S3(Box::new(store)))
            }
            LedgerLocation::Http(address) => {
                let owner = (opening.identity.stack.as_str(), opening.identity.environment.as_str());
                let settings =
                    http::store::StateServerSettings::new(address, owner, http::store::http_variables());
                let store = HttpStore::open(&settings, clock, &opening.http_options()).await?;
                Ok(Self::Http(Box::new(store)))
            }
            #[allow(unreachable_patterns, reason = "a build may have every place")]
            _ => Err(unknown_store_error()),
        }
    }

    /// Reads a ledger without a lock; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or is another stack's.
    pub async fn read(
        place: &LedgerLocation,
        stack: &str,
        environment: &str,
        key: Option<&MacKey>,
    ) -> Result<Option<Ledger>, StoreError> {
        Ok(Self::read_with_trail(place, stack, environment, key).await?.map(|(ledger, _)| ledger))
    }

    /// Does the same as `read`, and returns the digests of the lines.
    ///
    /// # Errors
    /// The errors of `read`.
    pub async fn read_with_trail(
        place: &LedgerLocation,
        stack: &str,
        environment: &str,
        key: Option<&MacKey>,
    ) -> Result<Option<(Ledger, HeadHistory)>, StoreError> {
        match place {
            LedgerLocation::Directory(directory) => {
                FileStore::read_with_trail(directory, stack, environment, key)
            }
            #[cfg(feature = "postgres")]
            LedgerLocation::Postgres(address) => {
                let shelf = postgres_shelf(address, stack, environment)?;
                SharedStore::<_, K>::read_with_trail(&shelf, stack, environment, key).await
            }
            #[cfg(feature = "s3")]
            LedgerLocation::S3 { bucket, prefix } => {
                let shelf =
                    S3Backend::open(bucket, prefix, (stack, environment), backend::s3_variables()).await?;
                SharedStore::<_, K>::read_with_trail(&shelf, stack, environment, key).await
            }
            LedgerLocation::Http(address) => {
                let settings = http::store::StateServerSettings::new(
                    address,
                    (stack, environment),
                    http::store::http_variables(),
                );
                HttpStore::<K>::read_with_trail(&settings, stack, environment, key).await
            }
            #[allow(unreachable_patterns, reason = "a build may have every place")]
            _ => Err(unknown_store_error()),
        }
    }
}

/// Lists the ledgers in the same shared location, the given one included: stack and environment. A directory is listed
/// by the caller, which knows what it is shared for; a state server cannot list its documents.
///
/// # Errors
/// When the place cannot be read.
pub async fn list_ledgers(
    place: &LedgerLocation,
    (stack, environment): (&str, &str),
) -> Result<Vec<(String, String)>, StoreError> {
    let names: Vec<String> = match place {
        #[cfg(feature = "postgres")]
        LedgerLocation::Postgres(address) => {
            let shelf = postgres_shelf(address, stack, environment)?;
            shelf.list_ledgers().await.map_err(|error| listing_error(place, &error))?
        }
        #[cfg(feature = "s3")]
        LedgerLocation::S3 { bucket, prefix } => {
            let shelf =
                S3Backend::open(bucket, prefix, (stack, environment), backend::s3_variables()).await?;
            shelf.list_ledgers().await.map_err(|error| listing_error(place, &error))?
        }
        _ => Vec::new(),
    };
    let pair = |name: &String| {
        let (stack, environment) = name.split_once('/')?;
        let legal = is_legal_segment(stack) && is_legal_segment(environment);
        legal.then(|| (stack.to_owned(), environment.to_owned()))
    };
    Ok(names.iter().filter_map(pair).collect())
}

#[cfg(any(feature = "postgres", feature = "s3"))]
fn listing_error(place: &LedgerLocation, error: &shared::backend::BackendError) -> StoreError {
    StoreError::Shared { action: "list", place: place.to_string(), reason: error.to_string() }
}

/// Returns a normalized text of a location without its password: a machine stores its knowledge about a ledger under
/// it. A directory is written as its full path.
#[must_use]
pub fn normalize_location(place: &LedgerLocation) -> String {
    match place {
        #[cfg(feature = "postgres")]
        LedgerLocation::Postgres(address) => PostgresAddress::parse(address).map_or_else(
            |_| place.to_string(),
            |address| {
                let PostgresAddress { host, port, database, schema, .. } = address;
                let host = match host {
                    ServerHost::Tcp(name) => name.to_lowercase(),
                    ServerHost::Socket(directory) => directory.display().to_string(),
                };
                format!("postgres://{host}:{port}/{database}#{}", schema.unwrap_or_default())
            },
        ),
        #[cfg(feature = "s3")]
        LedgerLocation::S3 { .. } => {
            // The same bucket name is another bucket at another service.
            let named = |(name, _): &(String, String)| name.starts_with("AWS_ENDPOINT_URL");
            let mut endpoints: Vec<_> = backend::s3_variables().into_iter().filter(named).collect();
            endpoints.sort();
            let urls = endpoints.iter().map(|(_, url)| url.trim_end_matches('/').to_lowercase());
            format!("{place}#{}", urls.collect::<Vec<_>>().join(" "))
        }
        LedgerLocation::Http(address) => reqwest::Url::parse(address).map_or_else(
            |_| place.to_string(),
            |mut url| {
                // Neither call fails for a URL with a host.
                let _ = (url.set_username(""), url.set_password(None));
                url.to_string()
            },
        ),
        _ => place.to_string(),
    }
}

/// The parameters for inspecting the lease of a ledger.
pub struct InspectOptions<'a> {
    /// The identity of the ledger's stack and environment.
    pub identity: &'a LedgerIdentity,
    /// The inspecting process: a state server shows a lock only to a client that tries to take it.
    pub holder: LeaseHolder,
    /// The maximum time until a request of a displaced holder takes effect.
    pub effect: Duration,
    /// Returns whether a process is proven dead.
    pub is_dead: &'a dyn Fn(&ProcessIdentity) -> bool,
}

/// Returns the holder of a ledger without taking the lease; `None` when it is free.
///
/// # Errors
/// When the place cannot be read.
pub async fn find_holder(
    place: &LedgerLocation,
    looking: &InspectOptions<'_>,
) -> Result<Option<LeaseInfo>, StoreError> {
    let InspectOptions { identity, holder, effect, is_dead } = looking;
    let (stack, environment) = (identity.stack.as_str(), identity.environment.as_str());
    match place {
        LedgerLocation::Directory(directory) => lock::read_lock_holder(directory, environment),
        #[cfg(feature = "postgres")]
        LedgerLocation::Postgres(address) => {
            shared::store::find_lease_holder(
                &postgres_shelf(address, stack, environment)?,
                *effect,
                is_dead,
            )
            .await
        }
        #[cfg(feature = "s3")]
        LedgerLocation::S3 { bucket, prefix } => {
            let shelf =
                S3Backend::open(bucket, prefix, (stack, environment), backend::s3_variables()).await?;
            shared::store::find_lease_holder(&shelf, *effect, is_dead).await
        }
        LedgerLocation::Http(address) => {
            let settings = http::store::StateServerSettings::new(
                address,
                (stack, environment),
                http::store::http_variables(),
            );
            http::store::find_lock_holder(&settings, holder, identity).await
        }
        #[allow(unreachable_patterns, reason = "a build may have every place")]
        _ => Err(unknown_store_error()),
    }
}

#[cfg(feature = "postgres")]
fn postgres_shelf(address: &str, stack: &str, environment: &str) -> Result<PostgresBackend, StoreError> {
    PostgresBackend::new(address, stack, environment).map_err(|error| StoreError::Shared {
        action: "open",
        place: location::without_password(address),
        reason: error.to_string(),
    })
}

fn unknown_store_error() -> StoreError {
    StoreError::Shared {
        action: "use",
        place: "the ledger's location".to_owned(),
        reason: "this build of stead does not support it".to_owned(),
    }
}

impl<K: Clock> Store for AnyStore<K> {
    async fn load(&self) -> Result<Vec<Record>, StoreError> {
        match self {
            Self::File(store, _) => store.load().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.load().await,
            #[cfg(feature = "s3")]
            Self::S3(store) => store.load().await,
            Self::Http(store) => store.load().await,
        }
    }

    async fn append(&self, records: &[Record]) -> Result<(), StoreError> {
        match self {
            Self::File(store, _) => store.append(records).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.append(records).await,
            #[cfg(feature = "s3")]
            Self::S3(store) => store.append(records).await,
            Self::Http(store) => store.append(records).await,
        }
    }

    async fn condense(&self, ledger: &Ledger) -> Result<(), StoreError> {
        match self {
            Self::File(store, _) => store.condense(ledger).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.condense(ledger).await,
            #[cfg(feature = "s3")]
            Self::S3(store) => store.condense(ledger).await,
            Self::Http(store) => store.condense(ledger).await,
        }
    }

    async fn condense_with_macs(&self, ledger: &Ledger, key: &MacKey) -> Result<(), StoreError> {
        match self {
            Self::File(store, _) => store.condense_with_macs(ledger, key).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.condense_with_macs(ledger, key).await,
            #[cfg(feature = "s3")]
            Self::S3(store) => store.condense_with_macs(ledger, key).await,
            Self::Http(store) => store.condense_with_macs(ledger, key).await,
        }
    }

    fn trail(&self) -> HeadHistory {
        match self {
            Self::File(store, _) => store.trail(),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.trail(),
            #[cfg(feature = "s3")]
            Self::S3(store) => store.trail(),
            Self::Http(store) => store.trail(),
        }
    }

    fn held_for(&self) -> Option<Duration> {
        match self {
            Self::File(store, _) => store.held_for(),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.held_for(),
            #[cfg(feature = "s3")]
            Self::S3(store) => store.held_for(),
            Self::Http(store) => store.held_for(),
        }
    }

    async fn keep_lease(&self) -> StoreError {
        match self {
            Self::File(store, _) => store.keep_lease().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.keep_lease().await,
            #[cfg(feature = "s3")]
            Self::S3(store) => store.keep_lease().await,
            Self::Http(store) => store.keep_lease().await,
        }
    }

    async fn release(&self) -> Result<(), StoreError> {
        match self {
            Self::File(store, _) => store.release().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.release().await,
            #[cfg(feature = "s3")]
            Self::S3(store) => store.release().await,
            Self::Http(store) => store.release().await,
        }
    }

    fn is_strict(&self) -> bool {
        match self {
            Self::File(store, _) => store.is_strict(),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.is_strict(),
            #[cfg(feature = "s3")]
            Self::S3(store) => store.is_strict(),
            Self::Http(store) => store.is_strict(),
        }
    }
}
