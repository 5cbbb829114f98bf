//! `Store`: the storage of one ledger's journal, which every kind of location implements. In: records and checkpoints.
//! Out: the records of an earlier run. Invariants: a record is durable when `append` returns; a store that failed once
//! writes no more, because its end is then unknown.

use std::time::Duration;

use super::error::StoreError;
use super::mac::MacKey;
use super::record::Record;
use super::trail::HeadHistory;
use crate::ledger::state::ledger::Ledger;

/// The storage of one journal. Opening it for writing takes its lock; dropping it releases the lock.
pub trait Store {
    /// Returns all records, oldest first; none for a new ledger. If there is a checkpoint, it
    /// comes first, as `Condensed`.
    fn load(&self) -> impl Future<Output = Result<Vec<Record>, StoreError>>;

    /// Appends records, all or none; they are durable on return.
    ///
    /// After an error the store is poisoned: every later call fails, and no call retries.
    fn append(&self, records: &[Record]) -> impl Future<Output = Result<(), StoreError>>;

    /// Writes a checkpoint of everything appended so far, so that the next load is short. Durable on return; a store
    /// without checkpoints does nothing. An error poisons it like one of `append`.
    fn condense(&self, _ledger: &Ledger) -> impl Future<Output = Result<(), StoreError>> {
        std::future::ready(Ok(()))
    }

    /// Writes a checkpoint as `condense` does, in one atomic write after which MACs of this key cover the ledger.
    /// `ledger` already contains that fact, and no checkpoint has its last record yet. An error poisons
    /// it like one of `append`.
    fn condense_with_macs(
        &self,
        ledger: &Ledger,
        _key: &MacKey,
    ) -> impl Future<Output = Result<(), StoreError>> {
        self.condense(ledger)
    }

    /// Returns the digests of the lines that were read at opening and written since. A store without
    /// digests returns an empty trail.
    fn trail(&self) -> HeadHistory {
        HeadHistory::default()
    }

    /// Returns the duration for which no other process can take the ledger; `None`: for the lifetime of this process.
    /// The caller sends no request that could take longer: its outcome might not be recorded.
    fn held_for(&self) -> Option<Duration> {
        None
    }

    /// Renews the lease while work is in progress; ends only when the lease is lost. Polled concurrently with the work.
    fn keep_lease(&self) -> impl Future<Output = StoreError> {
        std::future::pending()
    }

    /// Releases the lease; the holder sends no request afterwards. A store without leases does nothing: its lock
    /// ends when the store is dropped.
    fn release(&self) -> impl Future<Output = Result<(), StoreError>> {
        std::future::ready(Ok(()))
    }

    /// Returns whether the user must always resolve a request whose outcome is unknown, because the storage cannot
    /// refuse a displaced writer.
    fn is_strict(&self) -> bool {
        false
    }
}
