//! `Journal`: a store and the ledger that its records make, kept in step.

use std::cell::{Ref, RefCell};

use super::entry::Ledger;
use super::record::Record;
use super::store::{Store, StoreError};

/// A ledger open for writing. One task at a time commits; many may read.
pub struct Journal<S> {
    store: S,
    ledger: RefCell<Ledger>,
}

impl<S: Store> Journal<S> {
    /// Returns a journal over a store whose records were replayed into `ledger`.
    pub fn new(store: S, ledger: Ledger) -> Self {
        Self { store, ledger: RefCell::new(ledger) }
    }

    /// Returns the ledger as of the last commit. Do not hold it over an await.
    pub fn ledger(&self) -> Ref<'_, Ledger> {
        self.ledger.borrow()
    }

    /// Makes records durable, then part of the ledger: all or none.
    ///
    /// # Errors
    /// When a record is no legal move (nothing is written), or the store fails.
    pub async fn commit(&self, _records: &[Record]) -> Result<(), StoreError> {
        let _ = &self.store;
        unimplemented!("LEDGER")
    }
}
