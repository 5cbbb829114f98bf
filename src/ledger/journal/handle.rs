//! `Journal`: a store and the ledger replayed from its records, kept in step.

use std::cell::{Cell, Ref, RefCell};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Mutex;

use super::error::StoreError;
use super::excerpt::excerpt_ledger;
use super::mac::MacKey;
use super::record::Record;
use super::replay::load_ledger;
use super::store::Store;
use super::trail::HeadHistory;
use crate::ledger::journal::replay::apply_record;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::run_history::{Incident, IncidentKind};

/// Minimum number of records before a new checkpoint, and at least the number of entries: so
/// the total work stays linear.
const CHECKPOINT_AFTER_RECORDS: u64 = 4_096;

/// A ledger open for writing. Commits are serialized, in order; there may be many readers.
pub struct Journal<S> {
    store: S,
    /// Held by the commit in progress.
    turn: Mutex<()>,
    ledger: RefCell<Ledger>,
    /// The serial of the newest checkpoint of this process; until the first one, that of the ledger as it was loaded.
    condensed: Cell<u64>,
    poisoned: Cell<bool>,
}

impl<S: Store> Journal<S> {
    /// Returns a journal over a store whose records were replayed into `ledger`.
    pub fn new(store: S, ledger: Ledger) -> Self {
        let condensed = Cell::new(ledger.serial);
        Self {
            store,
            turn: Mutex::new(()),
            ledger: RefCell::new(ledger),
            condensed,
            poisoned: Cell::new(false),
        }
    }

    /// Loads a store's records and replays them.
    ///
    /// # Errors
    /// When the store cannot be read, or its records are no ledger.
    pub async fn open(store: S) -> Result<Self, StoreError> {
        let ledger = load_ledger(store.load().await?)?;
        Ok(Self::new(store, ledger))
    }

    /// Returns the ledger as of the last commit. Do not hold it over an await.
    pub fn ledger(&self) -> Ref<'_, Ledger> {
        self.ledger.borrow()
    }

    /// Makes records durable, then applies them to the ledger: all or none.
    ///
    /// # Errors
    /// When a record is no legal move (nothing is written), or the store fails: then nothing is certain any more, and
    /// every later commit fails.
    pub async fn commit(&self, records: &[Record]) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        if self.poisoned.get() {
            return Err(StoreError::Poisoned);
        }
        let mut trial = excerpt_ledger(&self.ledger.borrow(), records);
        for record in records {
            apply_record(&mut trial, record)?;
        }
        self.write_or_poison(self.store.append(records)).await?;
        {
            // Records that are durable but cannot be applied leave the state uncertain, too.
            let unsure = PoisonGuard(Some(&self.poisoned));
            let mut ledger = self.ledger.borrow_mut();
            for record in records {
                apply_record(&mut ledger, record)?;
            }
            unsure.disarm_guard();
        }
        if self.is_long() { self.condense().await } else { Ok(()) }
    }

    /// Waits for a write of the store. If it fails or is dropped before it finishes, the state is uncertain and no
    /// further write is allowed. While it is in progress, everything durable stays durable, and requests with a durable
    /// intent may be sent: other tasks do not wait for it.
    async fn write_or_poison(
        &self,
        write: impl Future<Output = Result<(), StoreError>>,
    ) -> Result<(), StoreError> {
        let poison = PoisonGuard(Some(&self.poisoned));
        write.await?;
        poison.disarm_guard();
        Ok(())
    }

    fn is_long(&self) -> bool {
        let ledger = self.ledger.borrow();
        ledger.serial - self.condensed.get() >= CHECKPOINT_AFTER_RECORDS.max(ledger.entries.len() as u64)
    }

    /// Begins MACs of a key over the ledger, in place of none or of another key's. The run history records it. After a
    /// crash at any moment, the ledger is in the state before or after.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn enable_macs(&self, key: &MacKey, who: &str, at: Timestamp) -> Result<(), StoreError> {
        let what = IncidentKind::Sealed { key: key.id().clone() };
        // This incident needs a line of its own, so that the store has no checkpoint at this serial yet.
        let incident = Incident { at, who: who.to_owned(), what, reason: None };
        self.commit(&[Record::Noted(incident)]).await?;
        let _turn = self.turn.lock().await;
        if self.poisoned.get() {
            return Err(StoreError::Poisoned);
        }
        let mut ledger = self.ledger.borrow().clone();
        ledger.seal_with(key.id());
        self.write_or_poison(self.store.condense_with_macs(&ledger, key)).await?;
        self.condensed.set(ledger.serial);
        *self.ledger.borrow_mut() = ledger;
        Ok(())
    }

    /// Returns the digests that the store knows.
    pub fn trail(&self) -> HeadHistory {
        self.store.trail()
    }

    /// Closes the journal: writes a checkpoint, so that the next load is short, and releases the lock. After a failed
    /// write it only tries to release the lock.
    ///
    /// # Errors
    /// When the store fails; what was committed stays durable.
    pub async fn close(self) -> Result<(), StoreError> {
        let changed = self.ledger.borrow().serial != self.condensed.get();
        if changed && !self.poisoned.get() {
            self.condense().await?;
        }
        self.store.release().await
    }

    /// Releases the lock without a checkpoint, because the process ends in a hurry. Committed records stay durable; the
    /// next run resolves an open request.
    pub async fn abandon(&self) {
        self.poisoned.set(true);
        // The process is ending, so there is no caller to report an error to.
        let _ = self.store.release().await;
    }

    /// Renews the lease while work is in progress. Returns the reason when the lease is lost; then no commit and no
    /// request is allowed any more.
    pub async fn keep_lease(&self) -> StoreError {
        let lost = self.store.keep_lease().await;
        self.poisoned.set(true);
        lost
    }

    /// Returns the duration for which no other process can take the ledger: zero after a failed write, `None` for the
    /// lifetime of this process.
    pub fn held_for(&self) -> Option<Duration> {
        if self.poisoned.get() { Some(Duration::ZERO) } else { self.store.held_for() }
    }

    /// Returns whether the user must always resolve a request whose outcome is unknown.
    pub fn is_strict(&self) -> bool {
        self.store.is_strict()
    }

    async fn condense(&self) -> Result<(), StoreError> {
        // A copy, because the future must not hold the borrow while it waits.
        let ledger = self.ledger.borrow().clone();
        self.write_or_poison(self.store.condense(&ledger)).await?;
        self.condensed.set(ledger.serial);
        Ok(())
    }
}

/// Poisons a journal on drop, unless it was disarmed.
struct PoisonGuard<'j>(Option<&'j Cell<bool>>);

impl PoisonGuard<'_> {
    fn disarm_guard(mut self) {
        self.0 = None;
    }
}

impl Drop for PoisonGuard<'_> {
    fn drop(&mut self) {
        if let Some(poisoned) = self.0 {
            poisoned.set(true);
        }
    }
}

#[cfg(test)]
mod tests;
