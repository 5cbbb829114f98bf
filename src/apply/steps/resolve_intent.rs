//! Resolving an intent whose response is lost, once its bounds have passed: one candidate is bound unconfirmed,
//! several make the intent ambiguous, none means that the request had no effect. Invariant: nothing is presumed
//! before the bounds have passed.

use crate::apply::event::StepError;
use crate::apply::step::{MutationScope, StepContext};
use crate::apply::step_parts::StepParts;
use crate::cloud::http::message::Transport;
use crate::ledger::journal::intent_candidates::{LATE_EFFECT_REASON, creation_candidates};
use crate::ledger::journal::record::{ClosedOutcome, Record};
use crate::ledger::journal::store::Store;
use crate::ledger::state::entry::{AmbiguousIntent, Intent, OwnedObject};
use crate::model::address::{Address, Name};
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::Object;
use crate::model::schema::Kind;

/// The reason of an intent that is ambiguous because its object's secret was shown once, in a lost response.
pub(in crate::apply) const LOST_SECRET_REASON: &str = "it was created, and its secret was shown once, in a response that was lost. Replace it (surplus: the next apply deletes it and creates another), or keep it without a delivery (adopt)";

/// The result of the search for a creation's object.
pub(in crate::apply) enum IntentMatch {
    /// One candidate: it is bound, unconfirmed.
    Bound(OwnedObject, Box<Object>),
    /// No candidate. Nothing is recorded yet.
    Absent,
}

/// Looks for the object that a creation made. Must not be called before the bounds have passed: until then
/// another writer's object can be listed before ours.
///
/// # Errors
/// When several objects could be it (then the ambiguous intent is recorded), or the list cannot be read.
pub(in crate::apply) async fn find_created_object<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    kind: &'static Kind,
    intent: &Intent,
) -> Result<IntentMatch, StepError> {
    let scope = MutationScope { parent: intent.parent.clone(), project: intent.project.clone() };
    let (objects, _) = parts.list_stable(kind, &scope).await?;
    classify_candidates(parts, intent, objects).await
}

/// Decides by a list that was read after the bounds have passed.
///
/// In strict mode only the user can decide. A foreign request may still be sent, so it is never presumed
/// to have made nothing.
///
/// # Errors
/// When the intent is ambiguous (then that is recorded), or the ledger cannot be written.
pub(in crate::apply) async fn classify_candidates<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    intent: &Intent,
    objects: Vec<Object>,
) -> Result<IntentMatch, StepError> {
    let registry = parts.context.client.registry();
    let mut found: Vec<Object> = {
        let ledger = parts.context.journal.ledger();
        creation_candidates(registry, intent, &ledger, &objects).into_iter().cloned().collect()
    };
    let strict = parts.context.strict;
    let why = match found.len() {
        0 if strict => "it is not known whether the request created an object, and stead does not guess",
        0 if intent.foreign => {
            "the process that sent the request lost the ledger and may still be running: the request has had no effect yet"
        }
        1 if lost_secret(parts, &intent.kind, &intent.address) => LOST_SECRET_REASON,
        1 if strict => "the request may have created this object, or it belongs to someone else",
        0 | 1 => "",
        _ => "the request may have created any of several objects",
    };
    if !why.is_empty() {
        let ids = found.into_iter().map(|object| object.id).collect();
        return Err(record_ambiguous_intent(parts, intent, ids, why).await);
    }
    let Some(object) = found.pop() else { return Ok(IntentMatch::Absent) };
    let owned = owned_from_intent(intent, &object, true);
    parts.preexisting.mark_claimed(&intent.kind, intent.parent.as_ref(), &owned.id);
    parts.commit([Record::Bound { op: intent.op, object: owned.clone() }]).await?;
    parts.objects.drop_object(&intent.address);
    Ok(IntentMatch::Bound(owned, Box::new(object)))
}

/// Returns whether a secret is lost for good when its response is lost: the secret is wanted, and the service
/// does not show it again (API key).
pub(in crate::apply) fn lost_secret<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    kind: &str,
    address: &Address,
) -> bool {
    let kind = parts.context.client.registry().kind(kind);
    let once = kind.is_some_and(|kind| kind.shown_once.is_some() && kind.reveal().is_none());
    once && (parts.context.wants_secret)(address)
}

/// Records an ambiguous intent, which only the user can resolve, and returns it as the step's error; if the
/// ledger cannot be written, returns that error.
pub(in crate::apply) async fn record_ambiguous_intent<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    intent: &Intent,
    candidates: Vec<Name>,
    why: &str,
) -> StepError {
    let address = &intent.address;
    let text = if candidates.is_empty() {
        format!("{address}: {why}")
    } else {
        format!("{address}: {why} ({})", candidates.join(", "))
    };
    let text = parts.context.client.redact(&text);
    let question = AmbiguousIntent { intent: intent.clone(), candidates, text: text.clone() };
    match parts.commit([Record::Asked(Box::new(question))]).await {
        Ok(()) => StepError::Ambiguous(text),
        Err(error) => error,
    }
}

/// Stops a creation when an earlier one for the same address, presumed to have had no effect, turns out to have
/// made an object: a second object would be a duplicate.
///
/// # Errors
/// As `look_for_late_effect`.
pub(in crate::apply) async fn check_late_effects<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
) -> Result<(), StepError> {
    let watched: Vec<Intent> = {
        let ledger = parts.context.journal.ledger();
        let watched = ledger.watched.values().filter(|intent| intent.address == *job.address);
        watched.cloned().collect()
    };
    for intent in watched {
        look_for_late_effect(parts, job.kind, &intent).await?;
    }
    Ok(())
}

/// Records an ambiguous intent if the object of a watched creation has appeared.
///
/// # Errors
/// The ambiguous intent, once it is recorded; or when the list cannot be read.
pub(in crate::apply) async fn look_for_late_effect<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    kind: &'static Kind,
    intent: &Intent,
) -> Result<(), StepError> {
    let ids = could_be(parts, kind, intent).await?;
    if ids.is_empty() {
        Ok(())
    } else {
        Err(record_ambiguous_intent(parts, intent, ids, LATE_EFFECT_REASON).await)
    }
}

/// Returns the ids of the listed objects that a creation could have made; preexisting and owned ones
/// are not among them.
pub(in crate::apply) async fn could_be<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    kind: &'static Kind,
    intent: &Intent,
) -> Result<Vec<Name>, StepError> {
    let scope = MutationScope { parent: intent.parent.clone(), project: intent.project.clone() };
    let (objects, _) = parts.list_stable(kind, &scope).await?;
    let (registry, ledger) = (parts.context.client.registry(), parts.context.journal.ledger());
    let found = creation_candidates(registry, intent, &ledger, &objects);
    Ok(found.into_iter().map(|object| object.id.clone()).collect())
}

/// Closes a request that showed no effect within the bounds. In strict mode no bound is assumed, and only the
/// user can decide that it has no effect any more.
///
/// # Errors
/// The ambiguous intent, once it is recorded; or when the ledger cannot be written.
pub(in crate::apply) async fn presume_absent<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    intent: &Intent,
    why: &str,
) -> Result<(), StepError> {
    if parts.context.strict {
        return Err(record_ambiguous_intent(parts, intent, Vec::new(), why).await);
    }
    parts.close(intent, ClosedOutcome::PresumedAbsent).await
}

/// Returns the identity that the ledger records of an object that an intent made.
pub(in crate::apply) fn owned_from_intent(
    intent: &Intent,
    object: &Object,
    provisional: bool,
) -> OwnedObject {
    OwnedObject {
        id: object.id.clone(),
        parent: intent.parent.clone(),
        project: object.project.clone().or_else(|| intent.project.clone()),
        created_at: object.created_at.clone(),
        provisional,
    }
}
