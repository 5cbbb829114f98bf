//! Access to a ledger on a shared backend.

use super::backend::{BackendError, SharedBackend};
use super::lease::LeaseInfo;
use super::lease_access::find_lease_holder;
use super::store::SharedStore;
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::MacKey;
use crate::ledger::journal::trail::HeadHistory;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::open_options::OpenOptions;
use crate::ledger::stores::store_access::StoreAccess;
use crate::model::clock::Clock;

impl<B: SharedBackend> StoreAccess for B {
    type Store<K: Clock> = SharedStore<B, K>;

    async fn open<K: Clock>(
        self,
        clock: K,
        options: &OpenOptions<'_>,
    ) -> Result<SharedStore<B, K>, StoreError> {
        SharedStore::open(self, clock, options).await
    }

    async fn read_with_trail<K: Clock>(
        &self,
        (stack, environment): (&str, &str),
        key: Option<&MacKey>,
    ) -> Result<Option<(Ledger, HeadHistory)>, StoreError> {
        SharedStore::<B, K>::read_with_trail(self, stack, environment, key).await
    }

    async fn find_holder(&self, options: &OpenOptions<'_>) -> Result<Option<LeaseInfo>, StoreError> {
        find_lease_holder(self, options.effect, options.is_dead).await
    }

    async fn list_ledgers(&self) -> Result<Vec<String>, BackendError> {
        SharedBackend::list_ledgers(self).await
    }
}
