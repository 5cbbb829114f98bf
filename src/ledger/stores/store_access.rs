//! `StoreAccess`: what the program does with the ledger at a location before it holds it: open, read, inspect, list.

use std::future::ready;

use super::open_options::OpenOptions;
use super::shared::backend::BackendError;
use super::shared::lease::LeaseInfo;
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::MacKey;
use crate::ledger::journal::store::Store;
use crate::ledger::journal::trail::HeadHistory;
use crate::ledger::state::ledger::Ledger;
use crate::model::clock::Clock;

/// Access to the ledger of one stack and environment in one kind of store. Creating it reads the settings of the store
/// and sends no request to the ledger.
pub trait StoreAccess: Sized {
    /// The store of a ledger that is open for writing.
    type Store<K: Clock>: Store;

    /// Opens the ledger for writing.
    fn open<K: Clock>(
        self,
        clock: K,
        options: &OpenOptions<'_>,
    ) -> impl Future<Output = Result<Self::Store<K>, StoreError>>;

    /// Reads the ledger of this stack and environment without a lock, with the digests of its lines; `None`
    /// when there is none.
    fn read_with_trail<K: Clock>(
        &self,
        owner: (&str, &str),
        key: Option<&MacKey>,
    ) -> impl Future<Output = Result<Option<(Ledger, HeadHistory)>, StoreError>>;

    /// Returns the holder of the ledger; `None` when it is free. A state server can only be asked by taking its lock,
    /// which is released at once; other stores read the lease.
    fn find_holder(
        &self,
        options: &OpenOptions<'_>,
    ) -> impl Future<Output = Result<Option<LeaseInfo>, StoreError>>;

    /// Lists the ledgers in the same shared location as `stack/environment`, this one included; none if the
    /// store cannot list them.
    fn list_ledgers(&self) -> impl Future<Output = Result<Vec<String>, BackendError>> {
        ready(Ok(Vec::new()))
    }
}
