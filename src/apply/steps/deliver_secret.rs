//! Delivery of secrets to their sinks: of a secret that a response shows once, and of one that the ledger keeps. In: the
//! secret; out: whether its sink has it. A secret is delivered before anything else that a crash could separate from it.

use crate::apply::context::DeliveryError;
use crate::apply::event::StepError;
use crate::apply::step::{MutationTarget, StepContext, read_failed};
use crate::apply::step_parts::StepParts;
use crate::cloud::error::OneTimeSecret;
use crate::cloud::http::message::Transport;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::store::Store;
use crate::ledger::state::kept_secrets::RotationStep;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};

/// What happened to a shown-once secret.
pub(super) enum DeliveryOutcome {
    /// It is in its sink, or there was none.
    Delivered,
    /// The response did not contain it: it may be readable again.
    Missing,
    /// The secret is stored elsewhere: where, as a clause.
    StoredElsewhere(String),
    /// It is lost: the reason, as a clause.
    Lost(String),
}

/// Delivers a secret that its sink does not have yet: one that was kept, or that the service shows again. Returns
/// whether the secret is lost: then a plan replaces the object.
pub(in crate::apply) async fn still_lacks_secret<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
) -> Result<bool, StepError> {
    let lost = parts.context.journal.ledger().entries.get(job.address).is_some_and(|e| e.secret_lost);
    if !lost {
        return Ok(false);
    }
    let secret = match (parts.context.kept)(job.address, &target.key.id) {
        Some(secret) => Some(OneTimeSecret(secret)),
        None if job.kind.reveal().is_none() => return Ok(true),
        None => parts.context.client.reveal_secret(job.kind, &target.key).await.map_err(read_failed)?,
    };
    match deliver_shown_secret(parts, job, &target.key.id, secret).await {
        DeliveryOutcome::Delivered => Ok(false),
        DeliveryOutcome::Missing => Ok(true),
        DeliveryOutcome::StoredElsewhere(text) | DeliveryOutcome::Lost(text) => {
            Err(StepError::Failed(format!("the secret of {} {text}", job.address)))
        }
    }
}

/// Delivers the shown-once secret of a response, before the response is used in any other way: a crash
/// later would lose it.
pub(super) async fn deliver_shown_secret<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    id: &str,
    secret: Option<OneTimeSecret>,
) -> DeliveryOutcome {
    match (secret, job.kind.shown_once) {
        (None, None) => DeliveryOutcome::Delivered,
        (None, Some(_)) => DeliveryOutcome::Missing,
        (Some(OneTimeSecret(secret)), _) => {
            // If the ledger rejects the record, binding the object fails, but the secret is delivered.
            if let Some(record) = (parts.context.delivers)(job.address, &secret) {
                let _ = parts.commit(vec![record]).await;
            }
            match (parts.context.deliver)(job.address, id, &secret) {
                Ok(()) => DeliveryOutcome::Delivered,
                Err(DeliveryError { reason, kept: Some(place) }) => {
                    DeliveryOutcome::StoredElsewhere(format!(
                        "could not be delivered ({reason}); it is kept in {place}, from where the next \
                     apply delivers it"
                    ))
                }
                Err(DeliveryError { reason, kept: None }) => {
                    DeliveryOutcome::Lost(format!("could not be delivered and is lost: {reason}"))
                }
            }
        }
    }
}

/// Returns the record that ends a rotation, once the new object's secret is delivered; `None` if no rotation has begun.
pub(super) fn end_of_rotation<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
) -> Option<Record> {
    let address = Name::new(job.address.as_str());
    let ledger = parts.context.journal.ledger();
    let rotates = ledger.secrets.rotating.contains(&address);
    rotates.then_some(Record::SecretRotation { address, step: RotationStep::Done })
}
