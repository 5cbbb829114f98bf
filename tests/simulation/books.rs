//! The ledger stores of the crash tests: in memory, or a shared store in memory, with a crash point before and after
//! every write.

use std::rc::Rc;
use std::time::Duration;

use stead::config::stack::model::Stack;
use stead::ledger::journal::error::StoreError;
use stead::ledger::journal::record::Record;
use stead::ledger::journal::store::Store;
use stead::ledger::state::holder::{LeaseHolder, ProcessIdentity};
use stead::ledger::state::ledger::Ledger;
use stead::ledger::stores::open_options::OpenOptions;
use stead::ledger::stores::shared::backend::{BackendError, LeaseVersion, SharedBackend, StoredLease};
use stead::ledger::stores::shared::lease::Lease;
use stead::ledger::stores::shared::memory_backend::MemoryBackend;
use stead::ledger::stores::shared::store::SharedStore;
use stead::model::clock::Random;

use super::disaster::Outside;
use super::machine::{SimClock, SimRandom, wall};
use super::process::identity;

/// A ledger store: memory that outlives the process, or a shared store.
pub enum SimBooks {
    Memory(SimStore),
    Shared(Box<SharedStore<PointShelf, SimClock>>),
}

impl SimBooks {
    /// Opens the store; its earlier holder is dead.
    pub async fn open(outside: &Rc<Outside>, stack: &Stack) -> Result<Self, StoreError> {
        if outside.shelf.is_none() {
            return Ok(Self::Memory(SimStore(Rc::clone(outside))));
        }
        let identity = identity(stack);
        let process = ProcessIdentity { boot: "b".into(), namespace: "n".into(), id: 1, started: 1 };
        let session = SimRandom::new(outside.machine.elapsed().as_nanos() as u64).uuid();
        let since = wall(outside.machine.elapsed());
        let holder = LeaseHolder { session, who: "sim@sim".to_owned(), process: Some(process), since };
        let (effect, clock) = (Duration::from_mins(1), SimClock(Rc::clone(&outside.machine)));
        let opening = OpenOptions {
            seal: None,
            identity: &identity,
            holder,
            effect,
            is_dead: &|_| true,
            force: None,
        };
        let store = SharedStore::open(PointShelf(Rc::clone(outside)), clock, &opening).await?;
        Ok(Self::Shared(Box::new(store)))
    }
}

impl Store for SimBooks {
    async fn load(&self) -> Result<Vec<Record>, StoreError> {
        match self {
            Self::Memory(store) => store.load().await,
            Self::Shared(store) => store.load().await,
        }
    }

    async fn append(&self, records: &[Record]) -> Result<(), StoreError> {
        match self {
            Self::Memory(store) => store.append(records).await,
            Self::Shared(store) => store.append(records).await,
        }
    }

    async fn condense(&self, ledger: &Ledger) -> Result<(), StoreError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Shared(store) => store.condense(ledger).await,
        }
    }

    fn held_for(&self) -> Option<Duration> {
        match self {
            Self::Memory(store) => store.held_for(),
            Self::Shared(store) => store.held_for(),
        }
    }

    async fn keep_lease(&self) -> StoreError {
        match self {
            Self::Memory(store) => store.keep_lease().await,
            Self::Shared(store) => store.keep_lease().await,
        }
    }

    async fn release(&self) -> Result<(), StoreError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Shared(store) => store.release().await,
        }
    }
}

/// A shared store with a crash point before and after each write.
pub struct PointShelf(Rc<Outside>);

impl PointShelf {
    async fn write<T>(
        &self,
        what: &str,
        write: impl AsyncFnOnce(&MemoryBackend) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        self.0.point(&format!("before the shelf's {what}")).await;
        let shelf = self.0.shelf.as_ref().unwrap();
        shelf.0.now.set(self.0.machine.elapsed());
        let result = write(shelf).await;
        self.0.point(&format!("after the shelf's {what}")).await;
        result
    }

    fn shelf(&self) -> &MemoryBackend {
        let shelf = self.0.shelf.as_ref().unwrap();
        shelf.0.now.set(self.0.machine.elapsed());
        shelf
    }
}

impl SharedBackend for PointShelf {
    fn display_location(&self) -> String {
        "simulation".to_owned()
    }

    async fn lease(&self) -> Result<Option<StoredLease>, BackendError> {
        self.shelf().lease().await
    }

    async fn put_lease(
        &self,
        lease: &Lease,
        mark: Option<&LeaseVersion>,
    ) -> Result<LeaseVersion, BackendError> {
        self.write("lease", async |shelf| shelf.put_lease(lease, mark).await).await
    }

    async fn lines(&self, after: u64) -> Result<Vec<(u64, Vec<u8>)>, BackendError> {
        self.shelf().lines(after).await
    }

    async fn put_line(&self, number: u64, epoch: u64, line: &[u8]) -> Result<(), BackendError> {
        self.write("line", async |shelf| {
            shelf.put_line(number, epoch, line).await?;
            // The oracle reads along; the birth is known.
            let records: Vec<Record> = serde_json::from_slice(&line[74..]).unwrap();
            let new = records.into_iter().filter(|record| !matches!(record, Record::Born { .. }));
            self.0.records.borrow_mut().extend(new);
            Ok(())
        })
        .await
    }

    async fn summaries(&self) -> Result<Vec<u64>, BackendError> {
        self.shelf().summaries().await
    }

    async fn summary(&self, number: u64) -> Result<Option<Vec<u8>>, BackendError> {
        self.shelf().summary(number).await
    }

    async fn put_summary(&self, number: u64, summary: &[u8]) -> Result<(), BackendError> {
        self.write("summary", async |shelf| shelf.put_summary(number, summary).await).await
    }

    async fn prune(&self, before: u64) -> Result<(), BackendError> {
        self.write("pruning", async |shelf| shelf.prune(before).await).await
    }
}

/// A journal store in memory that outlives the process.
pub struct SimStore(pub Rc<Outside>);

impl Store for SimStore {
    async fn load(&self) -> Result<Vec<Record>, StoreError> {
        Ok(self.0.records.borrow().clone())
    }

    async fn append(&self, records: &[Record]) -> Result<(), StoreError> {
        self.0.point("before an append").await;
        if self.0.append_fails() {
            let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Err(StoreError::Io { action: "write", place: "simulation".to_owned(), source });
        }
        if self.0.is_taken() {
            return Err(taken());
        }
        self.0.records.borrow_mut().extend(records.iter().cloned());
        self.0.point("after an append").await;
        Ok(())
    }

    fn held_for(&self) -> Option<Duration> {
        self.0.lease_until.map(|until| until.saturating_sub(self.0.machine.elapsed()))
    }

    async fn keep_lease(&self) -> StoreError {
        match self.0.taken_at {
            Some(at) => self.0.machine.sleep(at.saturating_sub(self.0.machine.elapsed())).await,
            None => std::future::pending().await,
        }
        taken()
    }
}

fn taken() -> StoreError {
    StoreError::Displaced { by: "eve@sim".to_owned() }
}
