//! The context of a running step: its resource, its deadline, and the object and project that its requests
//! name. Plain data, passed to every function that sends a request for the step.

use std::cell::Cell;
use std::time::Duration;

use super::event::StepError;
use crate::cloud::error::ReadError;
use crate::ledger::state::entry::{Intent, OwnedObject};
use crate::model::address::{Address, Name};
use crate::model::live::snapshot::ObjectKey;
use crate::model::schema::Kind;
use crate::plan::model::step::Operation;

/// A durable intent, with the time of its recording on the monotonic clock, which decides deadlines.
pub(super) struct DurableIntent {
    pub(super) intent: Intent,
    pub(super) since: Duration,
}

/// A running step, or an intent that is being resolved.
#[derive(Clone, Copy)]
pub(super) struct StepContext<'p> {
    /// The step's number; `None` for an intent of an earlier run.
    pub(super) step: Option<usize>,
    pub(super) address: &'p Address,
    pub(super) kind: &'static Kind,
    /// The deadline, in the clock's elapsed time.
    pub(super) until: Duration,
    /// Resources that the step's resource refers to; for a deletion, also its parent. A conflict may come from
    /// one that is not ready.
    pub(super) needs: &'p [Address],
    /// Its slot among the steps that have not sent a request yet; `None` for an intent of an earlier run.
    pub(super) entrance: Option<&'p ConcurrencySlot<'p>>,
}

/// A slot among the steps that have not sent a request yet. It is freed when the step's first request is answered, or
/// when the step ends.
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

/// An object, and the project that a request for it names (Authentication); `None` where it is not known or not needed.
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

/// The scope of a request: the parent's id for a child, and the project's id; each `None` where there is none.
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

/// Converts a failed read into a step's error.
pub(super) fn read_failed(error: ReadError) -> StepError {
    match error {
        ReadError::Refused { refusal, .. } => StepError::Refused(refusal),
        ReadError::ServerError { refusal, .. } => StepError::ServerError(refusal),
        error @ (ReadError::Failed { .. }
        | ReadError::ListChanging { .. }
        | ReadError::Untrusted { .. }) => StepError::Unreachable(error.to_string()),
    }
}

/// Returns what a running step does, for its event.
pub(super) fn operation_gerund(operation: &Operation) -> &'static str {
    match operation {
        Operation::Create { deposes: true, .. } => "create replacement",
        Operation::Create { .. } => "create",
        Operation::Update { .. } => "update",
        Operation::Delete { deposed: true, .. } => "delete old",
        Operation::Delete { .. } => "delete",
    }
}

/// Returns what a finished step did, for its event.
pub(super) fn operation_past_tense(operation: &Operation) -> &'static str {
    match operation {
        Operation::Create { deposes: true, .. } => "replaced",
        Operation::Create { .. } => "created",
        Operation::Update { .. } => "updated",
        Operation::Delete { .. } => "deleted",
    }
}
