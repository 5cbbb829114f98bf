//! `run` applies a plan; `resolve_open_intents` finishes what an earlier run left open. Both own the parts that
//! their steps share, renew the ledger's lease while they run, and redact secrets from what they return.

use std::pin::pin;

use futures_util::future::{Either, select};
use futures_util::lock::Mutex;

use super::context::ExecutionContext;
use super::dependents::Dependents;
use super::evaluation_scope::{ReadyObjects, looked_into_by};
use super::event::{Outcome, StepError};
use super::protocol::journal_writer::JournalWriter;
use super::protocol::preexisting::PreexistingObjects;
use super::protocol::write_fence::{WriteFence, run_under_lease};
use super::step_parts::StepParts;
use super::{executor, open_intents};
use crate::cloud::http::message::Transport;
use crate::ledger::journal::store::Store;
use crate::model::clock::{Clock, Random};
use crate::plan::model::change::Plan;

/// Resolves every open intent of the ledger. Call it before anything is planned or sent: a plan would otherwise
/// create what an earlier request has created already. `preexisting` is the same for all stacks that this process applies to
/// the account.
///
/// # Errors
/// When the service cannot be read, the ledger cannot be written, or its lease is lost. An ambiguous intent is
/// recorded, and is no error.
pub async fn resolve_open_intents<C: Transport, K: Clock, R: Random, S: Store>(
    context: &ExecutionContext<'_, C, K, R, S>,
    preexisting: &PreexistingObjects,
) -> Result<(), StepError> {
    let session = RunState::new(context, preexisting, None);
    let parts = session.parts();
    // It only reads and records, so it can be dropped at any await point.
    match select(pin!(open_intents::resolve_open_intents(&parts)), pin!(context.journal.keep_lease())).await
    {
        Either::Left((result, _)) => {
            result.map_err(|error| error.redact_error(&|text| context.client.redact(&text)))
        }
        Either::Right((lost, _)) => parts.fence.record_lost_lease(parts.writer, &lost),
    }
}

/// Runs a plan's steps to the end, or as far as possible. Never fails as a whole: the outcome states
/// what happened to each resource. `preexisting` is that of `resolve_open_intents`.
pub async fn run<C: Transport, K: Clock, R: Random, S: Store>(
    context: &ExecutionContext<'_, C, K, R, S>,
    preexisting: &PreexistingObjects,
    plan: &Plan,
) -> Outcome {
    let session = RunState::new(context, preexisting, Some(plan));
    let parts = session.parts();
    let outcome =
        run_under_lease(context.journal, parts.writer, executor::execute_plan(&parts, plan)).await;
    outcome.redact_outcome(&|text| context.client.redact(&text))
}

/// The state of one apply, or of one resolution of open intents: it owns what the steps share.
struct RunState<'a, C, K, R, S> {
    context: &'a ExecutionContext<'a, C, K, R, S>,
    preexisting: &'a PreexistingObjects,
    dependants: Dependents,
    writer: JournalWriter,
    fence: WriteFence,
    uploads: Mutex<()>,
    objects: ReadyObjects,
}

impl<'a, C: Transport, K: Clock, R: Random, S: Store> RunState<'a, C, K, R, S> {
    fn new(
        context: &'a ExecutionContext<'a, C, K, R, S>,
        preexisting: &'a PreexistingObjects,
        plan: Option<&Plan>,
    ) -> Self {
        let dependants = {
            let ledger = context.journal.ledger();
            preexisting.mark_ledger(&ledger);
            Dependents::from_ledger(&ledger, context.client.registry())
        };
        Self {
            context,
            preexisting,
            dependants,
            writer: JournalWriter::default(),
            fence: WriteFence::default(),
            uploads: Mutex::default(),
            objects: ReadyObjects::new(plan.map(looked_into_by).unwrap_or_default()),
        }
    }

    /// Borrows the state for steps.
    fn parts(&self) -> StepParts<'_, C, K, R, S> {
        StepParts {
            context: self.context,
            preexisting: self.preexisting,
            dependants: &self.dependants,
            writer: &self.writer,
            fence: &self.fence,
            uploads: &self.uploads,
            objects: &self.objects,
        }
    }
}
