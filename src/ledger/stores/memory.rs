//! `MemoryStore`: a store in memory that fails on request, for tests and simulations.

use std::cell::{Cell, RefCell};

use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::MacKey;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::store::Store;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::ledger::Ledger;

/// The moment at which an append fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendFault {
    /// It fails before anything is written.
    BeforeWrite,
    /// It reports an error although everything was written.
    AfterWrite,
}

/// Records in memory. Durable records survive a crash: `restarted` returns a new store with them.
#[derive(Debug, Default)]
pub struct MemoryStore {
    records: RefCell<Vec<Record>>,
    appends: Cell<usize>,
    fault: Cell<Option<(usize, AppendFault)>>,
    poisoned: Cell<bool>,
}

impl MemoryStore {
    /// Returns the store of a new ledger.
    #[must_use]
    pub fn new(identity: &LedgerIdentity) -> Self {
        Self::with_records(vec![Record::birth(identity)])
    }

    /// Returns a store with durable records.
    #[must_use]
    pub fn with_records(records: Vec<Record>) -> Self {
        Self { records: RefCell::new(records), ..Self::default() }
    }

    /// Makes the append with this number, counted from 0, fail.
    pub fn fail_at(&self, append: usize, fault: AppendFault) {
        self.fault.set(Some((append, fault)));
    }

    /// Returns the durable records.
    #[must_use]
    pub fn durable_records(&self) -> Vec<Record> {
        self.records.borrow().clone()
    }

    /// Returns the number of appends, failed ones included.
    #[must_use]
    pub fn append_count(&self) -> usize {
        self.appends.get()
    }

    /// Returns a new store with the durable records: the state after a crash.
    #[must_use]
    pub fn after_restart(&self) -> Self {
        Self::with_records(self.durable_records())
    }
}

/// Lets a test keep access to the store that it passes to a journal.
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
