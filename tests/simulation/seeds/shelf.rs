//! A shelf of a simulation: each operation takes time, can be where a process dies, and can lose its
//! answer before or after its effect.

use std::rc::Rc;
use std::time::Duration;

use stead::ledger::stores::shared::backend::{BackendError, LeaseVersion, SharedBackend, StoredLease};
use stead::ledger::stores::shared::lease::Lease;
use stead::ledger::stores::shared::memory_backend::MemoryBackend;

use super::process::Process;
use super::schedule::Fault;
use super::universe::Universe;

pub struct SimShelf(pub Rc<Universe>, pub Rc<Process>);

/// One way to the shelf.
const WAY: Duration = Duration::from_millis(5);

impl SimShelf {
    /// Does an operation, unless something is wrong.
    async fn operate<T>(
        &self,
        writes: bool,
        operation: impl AsyncFnOnce(&MemoryBackend) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        let Self(universe, process) = self;
        let number = universe.shelf_operations.get();
        universe.shelf_operations.set(number + 1);
        process.point(universe, "before the shelf").await;
        universe.machine.sleep(WAY).await;
        let failed =
            || BackendError::Failed { action: "reach it".to_owned(), reason: "simulated".to_owned() };
        let mut lost = None;
        for fault in universe.faults() {
            match fault {
                Fault::Down(at, seconds) if *at == number => {
                    universe.shelf_down_until.set(universe.now() + Duration::from_secs(*seconds));
                }
                Fault::Shelf(at, effect) if *at == number => lost = Some(*effect),
                _ => {}
            }
        }
        if lost == Some(false) || (universe.shelf_down_until.get() > universe.now() && !universe.calm.get())
        {
            universe.note(|| format!("shelf operation {number} fails"), 11);
            return Err(failed());
        }
        universe.shelf.0.now.set(universe.now());
        let result = operation(&universe.shelf).await;
        if writes {
            process.point(universe, "after the shelf").await;
        }
        universe.machine.sleep(WAY).await;
        if lost == Some(true) {
            universe.note(|| format!("the answer of shelf operation {number} is lost"), 12);
            return Err(failed());
        }
        result
    }
}

impl SharedBackend for SimShelf {
    fn display_location(&self) -> String {
        "simulation".to_owned()
    }

    async fn lease(&self) -> Result<Option<StoredLease>, BackendError> {
        self.operate(false, async |shelf| shelf.lease().await).await
    }

    async fn put_lease(
        &self,
        lease: &Lease,
        mark: Option<&LeaseVersion>,
    ) -> Result<LeaseVersion, BackendError> {
        self.operate(true, async |shelf| shelf.put_lease(lease, mark).await).await
    }

    async fn lines(&self, after: u64) -> Result<Vec<(u64, Vec<u8>)>, BackendError> {
        self.operate(false, async |shelf| shelf.lines(after).await).await
    }

    async fn put_line(&self, number: u64, epoch: u64, line: &[u8]) -> Result<(), BackendError> {
        let Self(universe, process) = self;
        self.operate(true, async |shelf| {
            shelf.put_line(number, epoch, line).await?;
            universe.line_of(process.number, epoch, line);
            Ok(())
        })
        .await
    }

    async fn summaries(&self) -> Result<Vec<u64>, BackendError> {
        self.operate(false, async |shelf| shelf.summaries().await).await
    }

    async fn summary(&self, number: u64) -> Result<Option<Vec<u8>>, BackendError> {
        self.operate(false, async |shelf| shelf.summary(number).await).await
    }

    async fn put_summary(&self, number: u64, summary: &[u8]) -> Result<(), BackendError> {
        self.operate(true, async |shelf| shelf.put_summary(number, summary).await).await
    }

    async fn prune(&self, before: u64) -> Result<(), BackendError> {
        self.operate(true, async |shelf| shelf.prune(before).await).await
    }
}
