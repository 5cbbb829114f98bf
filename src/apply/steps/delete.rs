//! The crash-safe deletion: a checked identity (id, creation time, project), a durable intent, and exactly one target.
//! The ledger drops the object only when it is proven gone.

use super::rollout::{foresee_at_parent, roll_out_parent};
use super::wait::{POLL_INTERVAL, is_leaving, wait_for_dependencies, wait_until_gone};
use crate::apply::event::StepError;
use crate::apply::step::{DurableIntent, MutationScope, MutationTarget, StepContext};
use crate::apply::step_parts::StepParts;
use crate::cloud::error::{ApiError, MutationOutcome};
use crate::cloud::http::message::Transport;
use crate::cloud::write::mutation::MutationClient;
use crate::ledger::journal::record::{ClosedOutcome, Record};
use crate::ledger::journal::store::Store;
use crate::ledger::state::entry::{Entry, Intent, IntentAction, OwnedObject};
use crate::model::address::Address;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::Object;

/// The limit on requests for one deletion. Repeating is safe, as ids are never reused: it has at most one effect.
const MAX_DELETE_ATTEMPTS: u32 = 3;

/// Deletes an object that the ledger owns, and waits until it is gone. `stays` is a parent that is not deleted:
/// the roll-out that the deletion begins there is waited for.
pub(in crate::apply) async fn delete_object<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    object: &OwnedObject,
    stays: Option<&Address>,
) -> Result<(), StepError> {
    if !owns(parts, job.address, object) {
        // It was deleted together with another object in this run.
        return Ok(());
    }
    let target = MutationTarget::from_owned(job.kind, object);
    let rollout = Box::pin(foresee_at_parent(parts, job, stays)).await?;
    let intent = send_until_leaving(parts, job, &target, object).await?;
    wait_until_gone(parts, job, &target).await?;
    record_gone(parts, job, intent.as_ref(), object).await?;
    match rollout {
        Some(rollout) => Box::pin(roll_out_parent(parts, job, &rollout)).await,
        None => Ok(()),
    }
}

fn owns<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    address: &Address,
    object: &OwnedObject,
) -> bool {
    let ledger = parts.context.journal.ledger();
    ledger.entries.get(address).is_some_and(|entry| entry_owns_object(entry, object))
}

/// What one request for a deletion showed.
enum DeleteAttempt {
    /// The object is gone or about to go; the intent's outcome is decided by watching the object.
    Leaving(Intent),
    /// The service refused, for a reason that passes; the intent is closed.
    Refused(ApiError),
    /// The request was not sent; the intent is closed.
    NotSent,
    /// The outcome is unknown; the intent stays open.
    Unanswered(DurableIntent, Option<ApiError>),
}

/// Sends the deletion until it is accepted, or the object is gone already. Returns the intent that the record
/// of its end closes; `None` if the object was gone before a request was sent.
async fn send_until_leaving<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    object: &OwnedObject,
) -> Result<Option<Intent>, StepError> {
    // An intent whose request may still be under way stays open: the outcome of a later request does not decide it.
    let mut open: Option<DurableIntent> = None;
    let (mut refused, mut broken) = (None, None);
    for attempt in 0..MAX_DELETE_ATTEMPTS {
        if open.is_some() {
            // One second, then four: the earlier request may still be in progress.
            parts.clock().sleep(POLL_INTERVAL * 4_u32.pow(attempt.saturating_sub(1))).await;
        }
        match parts.get(&target.key).await? {
            None => return Ok(open.map(|armed| armed.intent)),
            Some(live) => check_certificate(object, &live)?,
        }
        let again = open.is_some();
        let armed = if let Some(armed) = open.take() {
            armed
        } else {
            let action = IntentAction::Delete { object: object.clone() };
            parts.record_intent(job, MutationScope::from_target(target), action).await?
        };
        match send_delete(parts, job, target, armed, again).await? {
            DeleteAttempt::Leaving(intent) => return Ok(Some(intent)),
            DeleteAttempt::Refused(refusal) => refused = Some(refusal),
            DeleteAttempt::NotSent => {}
            DeleteAttempt::Unanswered(armed, answer) => {
                broken = answer;
                open = Some(armed);
            }
        }
    }
    let text = format!("the deletion got no answer in {MAX_DELETE_ATTEMPTS} attempts");
    let silent = || StepError::from_unanswered(text, broken);
    Err(refused.filter(|_| open.is_none()).map_or_else(silent, StepError::Refused))
}

/// Sends one request for a deletion. `again` says that an earlier request of the same intent may still have its effect.
async fn send_delete<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    armed: DurableIntent,
    again: bool,
) -> Result<DeleteAttempt, StepError> {
    let project = target.project.as_ref();
    let request =
        async |changes: MutationClient<'_, C, K, R>| changes.delete(job.kind, &target.key, project).await;
    match parts.send_mutation(job, &armed, request).await? {
        MutationOutcome::Done(..) => Ok(DeleteAttempt::Leaving(armed.intent)),
        // A 404 may also mean a wrong project: the caller's wait proves that the object is gone.
        MutationOutcome::Refused(refusal) if refusal.status == 404 => {
            Ok(DeleteAttempt::Leaving(armed.intent))
        }
        MutationOutcome::Refused(refusal) => {
            if is_gone_or_deleting(parts, job, target).await? {
                return Ok(DeleteAttempt::Leaving(armed.intent));
            }
            if again {
                // The refusal is of this request: the earlier one may still have its effect, and
                // its intent is resolved when the bounds have passed.
                return Err(StepError::Refused(refusal));
            }
            parts.close(&armed.intent, ClosedOutcome::Refused).await?;
            if refusal.status != 409 || !wait_for_dependencies(parts, job).await? {
                return Err(StepError::Refused(refusal));
            }
            Ok(DeleteAttempt::Refused(refusal))
        }
        MutationOutcome::NotSent(reason) if again => {
            parts.check_may_send()?;
            Err(StepError::Unreachable(reason))
        }
        MutationOutcome::NotSent(reason) => {
            parts.not_sent(&armed.intent).await?;
            parts.emit_progress(job, format!("{reason}; trying again"));
            Ok(DeleteAttempt::NotSent)
        }
        MutationOutcome::Unknown { reason, answer, .. } => {
            parts.emit_progress(job, format!("{reason}; checking whether it is gone"));
            Ok(DeleteAttempt::Unanswered(armed, answer))
        }
    }
}

/// Returns whether an object is gone or being deleted.
pub(in crate::apply) async fn is_gone_or_deleting<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
) -> Result<bool, StepError> {
    let live = parts.get(&target.key).await?;
    Ok(live.is_none_or(|live| is_leaving(job.kind, &live)))
}

/// Records that an object is proven gone, and the objects that were deleted with it, in one transaction: a
/// crash in between would leave children that no read finds.
pub(in crate::apply) async fn record_gone<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    intent: Option<&Intent>,
    object: &OwnedObject,
) -> Result<(), StepError> {
    let address = job.address.clone();
    let mut records =
        vec![Record::Gone { op: intent.map(|intent| intent.op), address, id: object.id.clone() }];
    parts.objects.drop_object(job.address);
    parts.preexisting.release(job.kind, object.parent.as_ref(), &object.id);
    for address in parts.dependants.dependents_of(&object.id) {
        for owned in lost_with(parts, address, object).await? {
            records.push(Record::Gone { op: None, address: address.clone(), id: owned.id });
        }
    }
    parts.commit(records).await
}

/// Returns the objects of an address that were deleted together with `gone`: its children, and others that the
/// service does not find any more.
async fn lost_with<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    address: &Address,
    gone: &OwnedObject,
) -> Result<Vec<OwnedObject>, StepError> {
    let entry = parts.context.journal.ledger().entries.get(address).cloned();
    let Some(entry) = entry else { return Ok(Vec::new()) };
    let kind = parts.kind(&entry.kind)?;
    let mut lost = Vec::new();
    for owned in entry.current.into_iter().chain(entry.deposed) {
        let child = owned.parent.as_ref() == Some(&gone.id);
        if child || parts.get(&MutationTarget::from_owned(kind, &owned).key).await?.is_none() {
            lost.push(owned);
        }
    }
    Ok(lost)
}

fn entry_owns_object(entry: &Entry, object: &OwnedObject) -> bool {
    entry.current.iter().chain(&entry.deposed).any(|owned| owned.id == object.id)
}

/// Compares a live object with its recorded identity: an id alone is not enough to delete an object. A part
/// that either does not show is not compared.
///
/// # Errors
/// When the id, the creation time or the project differs.
pub(in crate::apply) fn check_certificate(object: &OwnedObject, live: &Object) -> Result<(), StepError> {
    let differs = |remembered: &Option<_>, shown: &Option<_>| matches!((remembered, shown), (Some(remembered), Some(shown)) if remembered != shown);
    let what = if live.id != object.id {
        "id"
    } else if differs(&object.created_at, &live.created_at) {
        "creation time"
    } else if differs(&object.project, &live.project) {
        "project"
    } else {
        return Ok(());
    };
    Err(StepError::ObjectChanged(format!(
        "{} is another object: its {what} is not the recorded one",
        object.id
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::values::value::Attributes;

    #[test]
    fn an_object_is_deleted_only_if_id_project_and_creation_time_match() {
        let (noon, night) = (Some("2026-11-21T12:00:00Z"), Some("2026-11-21T23:00:00Z"));
        for (id, project, created_at, wanted) in [
            ("a", Some("p"), noon, true),
            ("a", None, None, true),
            ("b", Some("p"), noon, false),
            ("a", Some("q"), noon, false),
            ("a", Some("p"), night, false),
        ] {
            let name = |text: Option<&str>| text.map(Into::into);
            let live = Object {
                kind: "thing".into(),
                id: id.into(),
                parent: None,
                project: name(project),
                created_at: name(created_at),
                attributes: Attributes::new(),
                detailed: true,
            };
            let owned = OwnedObject {
                id: "a".into(),
                parent: None,
                project: Some("p".into()),
                created_at: name(noon),
                provisional: false,
            };
            assert_eq!(check_certificate(&owned, &live).is_ok(), wanted, "{id} {project:?} {created_at:?}");
        }
    }
}
