//! `AnyStore`: a ledger in any of the supported storage locations. A new store adds its variant to `AnyStore` and
//! `AnyAccess`, and its arms to `connect`, `open` and `with_store`.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;

use super::file::store::{FileStore, LedgerDirectory};
use super::http::store::{HttpStore, StateServerSettings, http_variables};
#[cfg(feature = "postgres")]
use super::location;
use super::location::LedgerLocation;
use super::memory::MemoryStore;
use super::open_options::OpenOptions;
#[cfg(feature = "postgres")]
use super::postgres::{address::PostgresAddress, backend::PostgresBackend};
#[cfg(feature = "s3")]
use super::s3::backend::{self, S3Backend};
use super::shared::lease::LeaseInfo;
#[cfg(any(feature = "postgres", feature = "s3"))]
use super::shared::store::SharedStore;
use super::store_access::StoreAccess;
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::MacKey;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::store::Store;
use crate::ledger::journal::trail::HeadHistory;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::is_legal_segment;
use crate::model::clock::Clock;

/// A ledger open for writing, in any location.
pub enum AnyStore<K> {
    /// In a local directory.
    File(Box<FileStore>),
    /// In a PostgreSQL database.
    #[cfg(feature = "postgres")]
    Postgres(Box<SharedStore<PostgresBackend, K>>),
    /// In an S3 bucket.
    #[cfg(feature = "s3")]
    S3(Box<SharedStore<S3Backend, K>>),
    /// On an HTTP state server.
    Http(Box<HttpStore<K>>),
    /// In memory, for a cloud that ends with the process.
    Memory(Box<MemoryStore>),
}

/// Access to the ledger of one stack and environment, in any location.
enum AnyAccess {
    File(LedgerDirectory),
    #[cfg(feature = "postgres")]
    Postgres(Box<PostgresBackend>),
    #[cfg(feature = "s3")]
    S3(Box<S3Backend>),
    Http(StateServerSettings),
}

/// Evaluates one expression for the store of each variant that both types have, and of the named one: the variants
/// differ in type, and an `async` method of a trait has no trait object.
macro_rules! with_store {
    ($value:expr, $variants:ident $(:: $other:ident)?, $store:ident => $result:expr) => {
        match $value {
            $($variants::$other($store) => $result,)?
            $variants::File($store) => $result,
            #[cfg(feature = "postgres")]
            $variants::Postgres($store) => $result,
            #[cfg(feature = "s3")]
            $variants::S3($store) => $result,
            $variants::Http($store) => $result,
        }
    };
}

impl AnyAccess {
    /// Reads the settings of the location's store, without a request to the ledger.
    ///
    /// # Errors
    /// When the settings are invalid, or this build does not support the location.
    async fn connect(place: &LedgerLocation, owner: (&str, &str)) -> Result<Self, StoreError> {
        match place {
            LedgerLocation::Directory(directory) => Ok(Self::File(LedgerDirectory(directory.clone()))),
            #[cfg(feature = "postgres")]
            LedgerLocation::Postgres(address) => {
                let backend = PostgresBackend::new(address, owner.0, owner.1);
                let backend = backend.map_err(|error| StoreError::Shared {
                    action: "open",
                    place: location::without_password(address),
                    reason: error.to_string(),
                })?;
                Ok(Self::Postgres(Box::new(backend)))
            }
            #[cfg(feature = "s3")]
            LedgerLocation::S3 { bucket, prefix } => {
                let backend = S3Backend::open(bucket, prefix, owner, backend::s3_variables()).await?;
                Ok(Self::S3(Box::new(backend)))
            }
            LedgerLocation::Http(address) => {
                Ok(Self::Http(StateServerSettings::new(address, owner, http_variables())))
            }
            #[allow(unreachable_patterns, reason = "a build may have every place")]
            _ => Err(StoreError::Shared {
                action: "use",
                place: "the ledger's location".to_owned(),
                reason: "this build of stead does not support it".to_owned(),
            }),
        }
    }
}

impl<K: Clock> AnyStore<K> {
    /// Opens a ledger for writing. The future is boxed, so that its code is built once for all callers.
    ///
    /// # Errors
    /// When another process holds it, the location cannot be used, or it holds another stack's ledger.
    pub fn open<'a>(
        place: &'a LedgerLocation,
        clock: K,
        options: &'a OpenOptions<'_>,
    ) -> LocalBoxFuture<'a, Result<Self, StoreError>>
    where
        K: 'a,
    {
        let opening = async move {
            let owner = (options.identity.stack.as_str(), options.identity.environment.as_str());
            Ok(match AnyAccess::connect(place, owner).await? {
                AnyAccess::File(access) => Self::File(Box::new(access.open(clock, options).await?)),
                #[cfg(feature = "postgres")]
                AnyAccess::Postgres(access) => {
                    Self::Postgres(Box::new((*access).open(clock, options).await?))
                }
                #[cfg(feature = "s3")]
                AnyAccess::S3(access) => Self::S3(Box::new((*access).open(clock, options).await?)),
                AnyAccess::Http(access) => Self::Http(Box::new(access.open(clock, options).await?)),
            })
        };
        opening.boxed_local()
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
    pub fn read_with_trail<'a>(
        place: &'a LedgerLocation,
        stack: &'a str,
        environment: &'a str,
        key: Option<&'a MacKey>,
    ) -> LocalBoxFuture<'a, Result<Option<(Ledger, HeadHistory)>, StoreError>> {
        let reading = async move {
            let owner = (stack, environment);
            let access = AnyAccess::connect(place, owner).await?;
            with_store!(&access, AnyAccess, access => access.read_with_trail::<K>(owner, key).await)
        };
        reading.boxed_local()
    }
}

/// Lists the ledgers in the same shared location, the given one included: stack and environment. A directory is listed
/// by the caller, which knows what it is shared for; a state server cannot list its documents.
///
/// # Errors
/// When the place cannot be read.
pub async fn list_ledgers(
    place: &LedgerLocation,
    owner: (&str, &str),
) -> Result<Vec<(String, String)>, StoreError> {
    let access = AnyAccess::connect(place, owner).await?;
    let names = with_store!(&access, AnyAccess, access => access.list_ledgers().await);
    let names = names.map_err(|error| StoreError::Shared {
        action: "list",
        place: place.to_string(),
        reason: error.to_string(),
    })?;
    let pair = |name: &String| {
        let (stack, environment) = name.split_once('/')?;
        let legal = is_legal_segment(stack) && is_legal_segment(environment);
        legal.then(|| (stack.to_owned(), environment.to_owned()))
    };
    Ok(names.iter().filter_map(pair).collect())
}

/// Returns a normalized form of a location without its password: the key under which a machine stores its knowledge
/// about a ledger. A directory is written as the location has it; an address that cannot be parsed is not normalized.
#[must_use]
pub fn normalize_location(place: &LedgerLocation) -> String {
    match place {
        #[cfg(feature = "postgres")]
        LedgerLocation::Postgres(address) => PostgresAddress::parse(address)
            .map_or_else(|_| place.to_string(), |address| address.normalized_text()),
        #[cfg(feature = "s3")]
        LedgerLocation::S3 { .. } => format!("{place}#{}", backend::endpoint_urls().join(" ")),
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

/// Returns the holder of a ledger without keeping the lease; `None` when it is free.
///
/// # Errors
/// When the location cannot be read, or its settings are invalid.
pub async fn find_holder(
    place: &LedgerLocation,
    options: &OpenOptions<'_>,
) -> Result<Option<LeaseInfo>, StoreError> {
    let owner = (options.identity.stack.as_str(), options.identity.environment.as_str());
    let access = AnyAccess::connect(place, owner).await?;
    with_store!(&access, AnyAccess, access => access.find_holder(options).await)
}

impl<K: Clock> Store for AnyStore<K> {
    async fn load(&self) -> Result<Vec<Record>, StoreError> {
        with_store!(self, AnyStore::Memory, store => store.load().await)
    }

    async fn append(&self, records: &[Record]) -> Result<(), StoreError> {
        with_store!(self, AnyStore::Memory, store => store.append(records).await)
    }

    async fn condense(&self, ledger: &Ledger) -> Result<(), StoreError> {
        with_store!(self, AnyStore::Memory, store => store.condense(ledger).await)
    }

    async fn condense_with_macs(&self, ledger: &Ledger, key: &MacKey) -> Result<(), StoreError> {
        with_store!(self, AnyStore::Memory, store => store.condense_with_macs(ledger, key).await)
    }

    fn trail(&self) -> HeadHistory {
        with_store!(self, AnyStore::Memory, store => store.trail())
    }

    fn held_for(&self) -> Option<Duration> {
        with_store!(self, AnyStore::Memory, store => store.held_for())
    }

    async fn keep_lease(&self) -> StoreError {
        with_store!(self, AnyStore::Memory, store => store.keep_lease().await)
    }

    async fn release(&self) -> Result<(), StoreError> {
        with_store!(self, AnyStore::Memory, store => store.release().await)
    }

    fn is_strict(&self) -> bool {
        with_store!(self, AnyStore::Memory, store => store.is_strict())
    }
}
