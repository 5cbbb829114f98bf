//! A step under way: whose it is, until when it may run, and which object and project its requests name.

use std::cell::Cell;
use std::time::Duration;

use super::event::StepError;
use crate::cloud::error::ReadError;
use crate::ledger::state::entry::{Intent, OwnedObject};
use crate::model::address::{Address, Name};
use crate::model::schema::Kind;
use crate::model::snapshot::ObjectKey;

/// A durable intent, and when it was recorded by the clock that decides.
pub(super) struct DurableIntent {
    pub(super) intent: Intent,
    pub(super) since: Duration,
}

/// A step under way, or an intent being resolved.
#[derive(Clone, Copy)]
pub(super) struct StepContext<'p> {
    /// The step's number; an intent of an earlier run has none.
    pub(super) step: Option<usize>,
    /// Which resource.
    pub(super) address: &'p Address,
    /// Its kind.
    pub(super) kind: &'static Kind,
    /// When its patience ends, in the clock's elapsed time.
    pub(super) until: Duration,
    /// Resources that it refers to.
    pub(super) needs: &'p [Address],
    /// Its place among the steps that have sent nothing yet.
    pub(super) entrance: Option<&'p ConcurrencySlot<'p>>,
}

/// A place among the steps that have sent nothing yet. It is given back when the step's first request
/// is answered, or the step ends.
pub(super) struct ConcurrencySlot<'p> {
    entering: &'p Cell<usize>,
    left: Cell<bool>,
}

impl<'p> ConcurrencySlot<'p> {
    pub(super) fn new(entering: &'p Cell<usize>) -> Self {
        entering.set(entering.get() + 1);
        Self { entering, left: Cell::new(false) }
    }

    pub(super) fn release_slot(&self) {
        if !self.left.replace(true) {
            self.entering.set(self.entering.get() - 1);
        }
    }
}

impl Drop for ConcurrencySlot<'_> {
    fn drop(&mut self) {
        self.release_slot();
    }
}

/// An object and the project in whose name it is changed.
#[derive(Clone)]
pub(super) struct MutationTarget {
    pub(super) key: ObjectKey,
    pub(super) project: Option<Name>,
}

impl MutationTarget {
    pub(super) fn from_owned(kind: &Kind, owned: &OwnedObject) -> Self {
        let key = owned.key(kind.name);
        Self { key, project: owned.project.clone() }
    }
}

/// Where a request goes: the parent object of a child, and the project.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MutationScope {
    pub(super) parent: Option<Name>,
    pub(super) project: Option<Name>,
}

impl MutationScope {
    pub(super) fn from_target(target: &MutationTarget) -> Self {
        Self { parent: target.key.parent.clone(), project: target.project.clone() }
    }
}

/// Says of a step what a failed read means.
pub(super) fn read_failed(error: ReadError) -> StepError {
    match error {
        ReadError::Refused { refusal, .. } => StepError::Refused(refusal),
        ReadError::ServerError { refusal, .. } => StepError::ServerError(refusal),
        error @ (ReadError::Failed { .. }
        | ReadError::ListChanging { .. }
        | ReadError::Untrusted { .. }) => StepError::Unreachable(error.to_string()),
    }
}
