//! `MemoryBackend`: a backend in memory, shared by all handles, that fails and violates its guarantees on
//! request, for tests and simulations.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use super::backend::{BackendError, LeaseVersion, SharedBackend, StoredLease};
use super::lease::Lease;

/// A condition that the backend does not enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokenGuarantee {
    /// A lease is created although there is one.
    CreateIfAbsent,
    /// A lease is replaced although it has changed.
    ReplaceIfUnchanged,
    /// A line overwrites another one.
    LineIfAbsent,
}

/// The content of a backend in memory.
#[derive(Debug, Default)]
pub struct MemoryContents {
    /// The lease, the number of its last write, and the time of that write.
    pub lease: RefCell<Option<(Lease, u64, Duration)>>,
    /// Lines by their number.
    pub lines: RefCell<BTreeMap<u64, Vec<u8>>>,
    /// Checkpoints by their number.
    pub summaries: RefCell<BTreeMap<u64, Vec<u8>>>,
    /// Guarantee that the backend violates on purpose, for tests; `None` for a correct backend.
    pub lax: Cell<Option<BrokenGuarantee>>,
    /// The backend's own clock.
    pub now: Cell<Duration>,
    /// Makes all further writes fail without an effect.
    pub down: Cell<bool>,
}

/// A handle to a backend in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryBackend(pub Rc<MemoryContents>);

impl MemoryBackend {
    fn check_available(&self, action: &str) -> Result<(), BackendError> {
        if self.0.down.get() {
            return Err(BackendError::Failed {
                action: action.to_owned(),
                reason: "it is down".to_owned(),
            });
        }
        Ok(())
    }

    fn is_lax(&self, laxity: BrokenGuarantee) -> bool {
        self.0.lax.get() == Some(laxity)
    }
}

impl SharedBackend for MemoryBackend {
    fn display_location(&self) -> String {
        "memory".to_owned()
    }

    async fn lease(&self) -> Result<Option<StoredLease>, BackendError> {
        self.check_available("read the lease")?;
        Ok(self.0.lease.borrow().as_ref().map(|(lease, number, at)| StoredLease {
            lease: lease.clone(),
            mark: LeaseVersion(number.to_string()),
            age: self.0.now.get().saturating_sub(*at),
        }))
    }

    async fn put_lease(
        &self,
        lease: &Lease,
        mark: Option<&LeaseVersion>,
    ) -> Result<LeaseVersion, BackendError> {
        self.check_available("write the lease")?;
        let mut kept = self.0.lease.borrow_mut();
        let known = kept.as_ref().map(|(_, number, _)| LeaseVersion(number.to_string()));
        let excused = match mark {
            None => self.is_lax(BrokenGuarantee::CreateIfAbsent),
            Some(_) => known.is_some() && self.is_lax(BrokenGuarantee::ReplaceIfUnchanged),
        };
        if known.as_ref() != mark && !excused {
            return Err(BackendError::Conflict);
        }
        let number = kept.as_ref().map_or(0, |(_, number, _)| *number) + 1;
        *kept = Some((lease.clone(), number, self.0.now.get()));
        Ok(LeaseVersion(number.to_string()))
    }

    async fn lines(&self, after: u64) -> Result<Vec<(u64, Vec<u8>)>, BackendError> {
        self.check_available("read lines")?;
        let lines = self.0.lines.borrow();
        Ok(lines.range(after + 1..).map(|(number, line)| (*number, line.clone())).collect())
    }

    async fn put_line(&self, number: u64, _epoch: u64, line: &[u8]) -> Result<(), BackendError> {
        self.check_available("write a line")?;
        let mut lines = self.0.lines.borrow_mut();
        if lines.contains_key(&number) && !self.is_lax(BrokenGuarantee::LineIfAbsent) {
            return Err(BackendError::Conflict);
        }
        lines.insert(number, line.to_vec());
        Ok(())
    }

    async fn summaries(&self) -> Result<Vec<u64>, BackendError> {
        self.check_available("list summaries")?;
        Ok(self.0.summaries.borrow().keys().copied().collect())
    }

    async fn summary(&self, number: u64) -> Result<Option<Vec<u8>>, BackendError> {
        self.check_available("read a summary")?;
        Ok(self.0.summaries.borrow().get(&number).cloned())
    }

    async fn put_summary(&self, number: u64, summary: &[u8]) -> Result<(), BackendError> {
        self.check_available("write a summary")?;
        let mut summaries = self.0.summaries.borrow_mut();
        if summaries.contains_key(&number) {
            return Err(BackendError::Conflict);
        }
        summaries.insert(number, summary.to_vec());
        Ok(())
    }

    async fn prune(&self, before: u64) -> Result<(), BackendError> {
        self.check_available("remove old lines")?;
        self.0.summaries.borrow_mut().retain(|number, _| *number >= before);
        self.0.lines.borrow_mut().retain(|number, _| *number > before);
        Ok(())
    }
}
