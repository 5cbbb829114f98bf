//! `Store`: where a journal is kept. A record is durable when `append` returns.

use std::time::Duration;

use super::error::StoreError;
use super::mac::MacKey;
use super::record::Record;
use super::trail::HeadHistory;
use crate::ledger::state::ledger::Ledger;

/// A journal's place. Opening one for writing takes its lock; dropping it gives the lock back.
pub trait Store {
    /// Returns all records, oldest first.
    fn load(&self) -> impl Future<Output = Result<Vec<Record>, StoreError>>;

    /// Adds records, all or none; durable on return.
    ///
    /// After an error the store is poisoned: every later call fails, nothing is retried.
    fn append(&self, records: &[Record]) -> impl Future<Output = Result<(), StoreError>>;

    /// Sums up everything appended so far as `ledger`, so that the next load is short. Durable on
    /// return; a store that has no use for it does nothing. Poisons like `append`.
    fn condense(&self, _ledger: &Ledger) -> impl Future<Output = Result<(), StoreError>> {
        std::future::ready(Ok(()))
    }

    /// Sums up everything as `condense` does, in one write that takes effect whole or not at all, after which MACs of
    /// this key cover the ledger. `ledger` says so, and its last record is not summed up yet. Poisons like `append`.
    fn condense_with_macs(
        &self,
        ledger: &Ledger,
        _key: &MacKey,
    ) -> impl Future<Output = Result<(), StoreError>> {
        self.condense(ledger)
    }

    /// Returns the digests of the lines that were read when it was opened, and written since. A store without
    /// digests knows none.
    fn trail(&self) -> HeadHistory {
        HeadHistory::default()
    }

    /// Returns for how long nobody else can take the place; `None`: as long as this process lives. No
    /// request may leave that could be under way for longer.
    fn held_for(&self) -> Option<Duration> {
        None
    }

    /// Keeps the place while work goes on; ends only when it is lost. Polled beside the work.
    fn keep_lease(&self) -> impl Future<Output = StoreError> {
        std::future::pending()
    }

    /// Gives the place back: its holder sends nothing any more.
    fn release(&self) -> impl Future<Output = Result<(), StoreError>> {
        std::future::ready(Ok(()))
    }

    /// Tells whether what became of a lost request must always be asked: the place cannot refuse a
    /// writer that was displaced.
    fn is_strict(&self) -> bool {
        false
    }
}
