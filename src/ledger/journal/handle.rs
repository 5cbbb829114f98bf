//! `Journal`: a store and the ledger that its records make, kept in step.

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

/// Records after which a journal is condensed, and no sooner than there are entries: so the whole work
/// stays linear.
const CHECKPOINT_AFTER_RECORDS: u64 = 4_096;

/// A ledger open for writing. Commits wait for one another, in order; many may read.
pub struct Journal<S> {
    store: S,
    /// Held by the commit that is under way.
    turn: Mutex<()>,
    ledger: RefCell<Ledger>,
    /// The serial up to which the store's records are summed up.
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

    /// Makes records durable, then part of the ledger: all or none.
    ///
    /// # Errors
    /// When a record is no legal move (nothing is written), or the store fails: then nothing is
    /// certain any more, and every later commit fails.
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
            // What is durable and cannot be taken in leaves nobody certain either.
            let unsure = PoisonGuard(Some(&self.poisoned));
            let mut ledger = self.ledger.borrow_mut();
            for record in records {
                apply_record(&mut ledger, record)?;
            }
            unsure.disarm_guard();
        }
        if self.is_long() { self.condense().await } else { Ok(()) }
    }

    /// Waits for a write of the store. One that fails, or is dropped half-way, leaves nobody certain:
    /// nothing is written any more. While it is under way, what was durable before stays so, and what was
    /// intended before may be sent: others do not wait for it.
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

    /// Makes MACs of a key cover the ledger from here on, in place of none or of another key's. The history keeps that
    /// it was begun. Killed at any moment, the ledger is as before or as afterwards.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn enable_macs(&self, key: &MacKey, who: &str, at: Timestamp) -> Result<(), StoreError> {
        let what = IncidentKind::Sealed { key: key.id().clone() };
        // A line of its own: what is summed up up to it was never summed up before.
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

    /// Returns the digests that its store knows.
    pub fn trail(&self) -> HeadHistory {
        self.store.trail()
    }

    /// Ends the writing well: sums the records up, so that the next load is short, and gives the place
    /// back. After a failed write it only gives the place back, as far as that goes.
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

    /// Gives the place back without summing anything up: the process ends in a hurry. What was
    /// committed stays durable; an open request is looked up by the next run.
    pub async fn abandon(&self) {
        self.poisoned.set(true);
        // There is nobody left to tell.
        let _ = self.store.release().await;
    }

    /// Keeps the place while work goes on. When it is lost, nothing is committed any more and no
    /// request may leave; returns why.
    pub async fn keep_lease(&self) -> StoreError {
        let lost = self.store.keep_lease().await;
        self.poisoned.set(true);
        lost
    }

    /// Tells for how long nobody else can take the place; `None`: as long as this process lives.
    pub fn held_for(&self) -> Option<Duration> {
        if self.poisoned.get() { Some(Duration::ZERO) } else { self.store.held_for() }
    }

    /// Tells whether what became of a lost request must always be asked.
    pub fn is_strict(&self) -> bool {
        self.store.is_strict()
    }

    async fn condense(&self) -> Result<(), StoreError> {
        // A copy, because a future may not hold the borrow while it waits.
        let ledger = self.ledger.borrow().clone();
        self.write_or_poison(self.store.condense(&ledger)).await?;
        self.condensed.set(ledger.serial);
        Ok(())
    }
}

/// Poisons a journal when it is dropped, unless it was spared.
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
