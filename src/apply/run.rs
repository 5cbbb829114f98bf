//! `run` applies a plan; `resolve_open_intents` finishes what an earlier run left open.

use std::pin::pin;

use futures_util::future::{Either, select};

use super::context::Context;
use super::event::{Outcome, StepError};
use super::executor;
use super::run_state::Session;
use crate::cloud::http::message::Cloud;
use crate::ledger::journal::store::Store;
use crate::model::clock::{Clock, Random};
use crate::plan::model::change::Plan;

/// Resolves every open intent of the ledger. Called before anything is planned or sent.
///
/// # Errors
/// When the service cannot be read or the ledger not be written.
pub async fn resolve_open_intents<C: Cloud, K: Clock, R: Random, S: Store>(
    context: &Context<'_, C, K, R, S>,
) -> Result<(), StepError> {
    let session = Session::new(context, None);
    // It only reads and records, so it can be dropped anywhere.
    match select(pin!(session.resolve_open_intents()), pin!(context.journal.keep_lease())).await {
        Either::Left((result, _)) => {
            result.map_err(|error| error.redact_error(&|text| context.client.redact(&text)))
        }
        Either::Right((lost, _)) => session.cut_off(&lost),
    }
}

/// Runs a plan's steps to the end, or as far as they go. Never fails as a whole: the outcome says
/// what happened to each resource.
pub async fn run<C: Cloud, K: Clock, R: Random, S: Store>(
    context: &Context<'_, C, K, R, S>,
    plan: &Plan,
) -> Outcome {
    let session = Session::new(context, Some(plan));
    let outcome = session.run_under_lease(executor::execute_plan(&session, plan)).await;
    outcome.redact_outcome(&|text| context.client.redact(&text))
}
