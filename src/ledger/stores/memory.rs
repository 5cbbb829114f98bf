//! `MemoryStore`: a store in memory that fails when it is told to, for tests and simulations.

use std::cell::{Cell, RefCell};

use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::MacKey;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::store::Store;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::ledger::Ledger;

/// How an append fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendFault {
    /// Nothing was written.
    BeforeWrite,
    /// Everything was written, and yet an error is reported.
    AfterWrite,
}

/// Records in memory. What is durable survives a crash: `restarted` returns a new store with it.
#[derive(Debug, Default)]
pub struct MemoryStore {
    records: RefCell<Vec<Record>>,
    appends: Cell<usize>,
    fault: Cell<Option<(usize, AppendFault)>>,
    poisoned: Cell<bool>,
}

impl MemoryStore {
    /// Returns the store of a ledger that is born now.
    #[must_use]
    pub fn new(identity: &LedgerIdentity) -> Self {
        Self::with_records(vec![Record::birth(identity)])
    }

    /// Returns a store with durable records.
    #[must_use]
    pub fn with_records(records: Vec<Record>) -> Self {
        Self { records: RefCell::new(records), ..Self::default() }
    }

    /// Makes the append of a number, counted from 0, fail.
    pub fn fail_at(&self, append: usize, fault: AppendFault) {
        self.fault.set(Some((append, fault)));
    }

    /// Returns what is durable.
    #[must_use]
    pub fn durable_records(&self) -> Vec<Record> {
        self.records.borrow().clone()
    }

    /// Returns how many appends there were, failed ones included.
    #[must_use]
    pub fn append_count(&self) -> usize {
        self.appends.get()
    }

    /// Returns a new store with what is durable: the world after a crash.
    #[must_use]
    pub fn after_restart(&self) -> Self {
        Self::with_records(self.durable_records())
    }
}

/// A store that a test keeps a hand on.
impl Store for &MemoryStore {
    async fn load(&self) -> Result<Vec<Record>, StoreError> {
        Ok(self.durable_records())
    }

    async fn append(&self, records: &[Record]) -> Result<(), StoreError> {
        if self.poisoned.get() {
            return Err(StoreError::Poisoned);
        }
        let number = self.appends.get();
        self.appends.set(number + 1);
        let fault = self.fault.get().filter(|(at, _)| *at == number).map(|(_, fault)| fault);
        if fault != Some(AppendFault::BeforeWrite) {
            self.records.borrow_mut().extend_from_slice(records);
        }
        if fault.is_none() {
            return Ok(());
        }
        self.poisoned.set(true);
        Err(disk_full_error())
    }

    async fn condense_with_macs(&self, ledger: &Ledger, _key: &MacKey) -> Result<(), StoreError> {
        if self.poisoned.get() {
            return Err(StoreError::Poisoned);
        }
        *self.records.borrow_mut() = vec![Record::Condensed(Box::new(ledger.clone()))];
        Ok(())
    }
}

fn disk_full_error() -> StoreError {
    let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
    StoreError::Io { action: "write", place: "memory".to_owned(), source }
}

impl Store for MemoryStore {
    async fn load(&self) -> Result<Vec<Record>, StoreError> {
        (&self).load().await
    }

    async fn append(&self, records: &[Record]) -> Result<(), StoreError> {
        (&self).append(records).await
    }

    async fn condense_with_macs(&self, ledger: &Ledger, key: &MacKey) -> Result<(), StoreError> {
        (&self).condense_with_macs(ledger, key).await
    }
}
