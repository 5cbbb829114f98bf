//! Where the ledger is kept in a simulation: a disk that fails, or a shelf that many share.

use std::rc::Rc;
use std::time::Duration;

use stead::ledger::journal::error::StoreError;
use stead::ledger::journal::record::Record;
use stead::ledger::journal::store::Store;
use stead::ledger::state::ledger::Ledger;
use stead::ledger::stores::shared::store::SharedStore;

use super::process::{Process, Watch};
use super::schedule::{Fault, Writing};
use super::shelf::SimShelf;
use super::universe::Universe;

/// A journal on a disk.
pub struct Disk(pub Rc<Universe>, pub Rc<Process>);

/// Either place.
pub enum Kept {
    Disk(Disk),
    Shelf(Box<SharedStore<SimShelf, Watch>>),
}

fn full() -> StoreError {
    let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
    StoreError::Io { action: "write", place: "simulation".to_owned(), source }
}

impl Disk {
    async fn append(&self, records: &[Record]) -> Result<(), StoreError> {
        let Self(universe, process) = self;
        process.point(universe, "before an append").await;
        let number = universe.appends.get();
        universe.appends.set(number + 1);
        let fault = universe.faults().find_map(|fault| match fault {
            Fault::Append(at, how) if *at == number => Some(*how),
            _ => None,
        });
        if fault == Some(Writing::ReadOnly) {
            process.read_only.set(true);
        }
        if fault == Some(Writing::Before) || process.read_only.get() {
            universe.note(|| format!("append {number} fails"), 9);
            return Err(full());
        }
        universe.disk.borrow_mut().extend_from_slice(records);
        universe.followed(process.number, records);
        process.point(universe, "after an append").await;
        if fault == Some(Writing::After) {
            universe.note(|| format!("append {number} fails although it is durable"), 10);
            return Err(full());
        }
        Ok(())
    }
}

impl Store for Kept {
    async fn load(&self) -> Result<Vec<Record>, StoreError> {
        match self {
            Self::Disk(Disk(universe, _)) => Ok(universe.disk.borrow().clone()),
            Self::Shelf(store) => store.load().await,
        }
    }

    async fn append(&self, records: &[Record]) -> Result<(), StoreError> {
        match self {
            Self::Disk(disk) => disk.append(records).await,
            Self::Shelf(store) => store.append(records).await,
        }
    }

    async fn condense(&self, ledger: &Ledger) -> Result<(), StoreError> {
        match self {
            Self::Disk(_) => Ok(()),
            Self::Shelf(store) => store.condense(ledger).await,
        }
    }

    fn held_for(&self) -> Option<Duration> {
        match self {
            Self::Disk(_) => None,
            Self::Shelf(store) => store.held_for(),
        }
    }

    async fn keep_lease(&self) -> StoreError {
        match self {
            Self::Disk(_) => std::future::pending().await,
            Self::Shelf(store) => store.keep_lease().await,
        }
    }

    async fn release(&self) -> Result<(), StoreError> {
        match self {
            Self::Disk(_) => Ok(()),
            Self::Shelf(store) => store.release().await,
        }
    }
}
