//! Resolving open intents: looks up every request whose outcome an earlier run did not record, with the code
//! that a run uses for a lost response. It only adds records, so it can be killed and run again.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::context::TimingBounds;
use super::event::{ApplyEvent, StepError};
use super::step::{MutationScope, MutationTarget, StepContext};
use super::step_parts::StepParts;
use super::steps::delete::{check_certificate, record_gone};
use super::steps::perform_call::{LOST_CALL_REASON, completed_call_records};
use super::steps::planned_call::{CallProgress, call_progress, prepared_from_intent};
use super::steps::resolve_intent::{
    IntentMatch, find_created_object, presume_absent, record_ambiguous_intent,
};
use super::steps::wait::{self, read_when_stable, wait_until_gone};
use crate::cloud::http::message::Transport;
use crate::ledger::journal::record::ClosedOutcome;
use crate::ledger::journal::store::Store;
use crate::ledger::state::entry::{Intent, IntentAction, OwnedObject};
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::ObjectKey;
use crate::model::schema::Kind;
use crate::model::values::value::Attributes;

/// Why the user must resolve a request of a holder that lost the ledger: the request may still be sent, or be
/// under way, whatever the object shows now.
const REQUEST_IN_FLIGHT_REASON: &str = "the process that sent the request lost the ledger and may still be running: the request may still take effect";

/// The reason of an ambiguous deletion in strict mode, when the object still exists.
const OBJECT_PRESENT_REASON: &str =
    "the object exists, and it is not known whether the deletion will still take effect";

/// The time limit of the wait for an object, as a multiple of its kind's usual operation time (at least 15 seconds).
const TIMEOUT_FACTOR: u32 = 4;

/// Resolves every open intent, oldest first. The ledger's lock proves that the sender of each is dead, unless
/// the intent is marked as foreign.
///
/// # Errors
/// When the service cannot be read, or the ledger cannot be written. An ambiguous intent is recorded, and is no
/// error.
pub(super) async fn resolve_open_intents<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
) -> Result<(), StepError> {
    let mut open: Vec<Intent> = parts.context.journal.ledger().intents.values().cloned().collect();
    open.sort_by_key(|intent| (intent.at, intent.op));
    let begun = parts.clock().elapsed();
    for intent in &open {
        match recover_one(parts, intent, begun).await {
            // The ambiguous intent is recorded and freezes its address; the other intents are resolved.
            Ok(()) | Err(StepError::Ambiguous(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn recover_one<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    intent: &Intent,
    begun: Duration,
) -> Result<(), StepError> {
    let kind = parts.kind(&intent.kind)?;
    if let IntentAction::Update { id, call, .. } = &intent.action
        && intent.foreign
    {
        // A late old call can undo a newer one: the object's present state proves nothing.
        let why = format!("{call} of {id}: {REQUEST_IN_FLIGHT_REASON}");
        return Err(record_ambiguous_intent(parts, intent, Vec::new(), &why).await);
    }
    let what = match &intent.action {
        IntentAction::Create { .. } => "the outcome of a creation",
        IntentAction::Update { .. } => "the outcome of a change",
        IntentAction::Delete { .. } => "the outcome of a deletion",
    };
    let text = format!("checking {what} whose response was never recorded");
    parts.emit_event(ApplyEvent::Recovering { address: intent.address.clone(), text });
    let usual = kind.estimate.create.max(kind.estimate.update).max(kind.estimate.delete);
    let patience = Duration::from_secs(u64::from(usual.max(15)) * u64::from(TIMEOUT_FACTOR));
    let wait = wait_for(parts, kind, intent, begun).await?;
    parts.clock().sleep(wait).await;
    let until = parts.clock().elapsed() + patience;
    let job = StepContext { step: None, address: &intent.address, kind, until, needs: &[], entrance: None };
    match &intent.action {
        IntentAction::Create { .. } => recover_creation(parts, &job, intent).await,
        IntentAction::Update { id, call, before, target } => {
            let step = (call, before, target);
            recover_change(parts, &job, intent, id, step).await
        }
        IntentAction::Delete { object } => recover_deletion(parts, &job, intent, object).await,
    }
}

/// Returns how long an intent must still be left alone: until its request has had its effect and shows
/// it, or never will.
async fn wait_for<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    kind: &'static Kind,
    intent: &Intent,
    begun: Duration,
) -> Result<Duration, StepError> {
    let since_begun = parts.clock().elapsed().saturating_sub(begun);
    let age = wall_age(intent.at, parts.clock().now());
    let wait = remaining_bounds(parts.context.bounds, age, since_begun);
    let IntentAction::Create { server_date: Some(date), .. } = &intent.action else { return Ok(wait) };
    if !wait.is_zero() {
        return Ok(wait);
    }
    // By this machine's clock the bounds have passed: the service's clock must agree.
    let scope = MutationScope { parent: intent.parent.clone(), project: intent.project.clone() };
    let (_, now) = parts.list_stable(kind, &scope).await?;
    let age = now.and_then(|now| wall_age(parse_http_date(date)?, parse_http_date(&now)?));
    let since_begun = parts.clock().elapsed().saturating_sub(begun);
    Ok(age.map_or(wait, |age| remaining_bounds(parts.context.bounds, Some(age), since_begun)))
}

async fn recover_creation<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    intent: &Intent,
) -> Result<(), StepError> {
    match find_created_object(parts, job.kind, intent).await? {
        IntentMatch::Bound(owned, _) => {
            parts.emit_progress(
                job,
                format!("it created {}, which is now recorded in the ledger", owned.id),
            );
            Ok(())
        }
        IntentMatch::Absent => {
            parts.close(intent, ClosedOutcome::PresumedAbsent).await?;
            parts.emit_progress(job, "it created nothing".to_owned());
            Ok(())
        }
    }
}

async fn recover_change<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    intent: &Intent,
    id: &Name,
    (call, before, target): (&Name, &Attributes, &Attributes),
) -> Result<(), StepError> {
    let key = ObjectKey { kind: intent.kind.clone(), parent: intent.parent.clone(), id: id.clone() };
    let place = MutationTarget { key, project: intent.project.clone() };
    let object = match read_when_stable(parts, job, &place).await {
        Ok(object) => Some(object),
        // The plan finds out itself that the object is gone or not ready.
        Err(StepError::ObjectChanged(_) | StepError::NotReady(_)) => None,
        Err(error) => return Err(error),
    };
    let arrived = job.kind.call(call).zip(object).is_some_and(|(call, object)| {
        let step = prepared_from_intent(call, before, target);
        call_progress(job.kind, &step, &Attributes::new(), &object, &parts.secret_key())
            == CallProgress::Applied
    });
    if arrived {
        parts.emit_progress(job, format!("{call} took effect"));
        parts.commit(completed_call_records(parts, job, intent, target)).await
    } else {
        parts.emit_progress(job, format!("{call} had no effect, or a later change replaced it"));
        presume_absent(parts, intent, &format!("{call} of {id}: {LOST_CALL_REASON}")).await
    }
}

async fn recover_deletion<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    intent: &Intent,
    object: &OwnedObject,
) -> Result<(), StepError> {
    let target = MutationTarget::from_owned(job.kind, object);
    let live = parts.get(&target.key).await?;
    if live.as_ref().is_none_or(|live| wait::is_leaving(job.kind, live)) {
        wait_until_gone(parts, job, &target).await?;
        parts.emit_progress(job, format!("{} is gone", object.id));
        return record_gone(parts, job, Some(intent), object).await;
    }
    if let Some(Err(_)) = live.map(|live| check_certificate(object, &live)) {
        parts.emit_progress(job, format!("{} is another object now", object.id));
    }
    parts.emit_progress(job, format!("{} was not deleted", object.id));
    if intent.foreign {
        let why = format!("deletion of {}: {REQUEST_IN_FLIGHT_REASON}", object.id);
        return Err(record_ambiguous_intent(parts, intent, Vec::new(), &why).await);
    }
    presume_absent(parts, intent, &format!("deletion of {}: {OBJECT_PRESENT_REASON}", object.id)).await
}

/// Returns the part of the bounds that a request has left.
///
/// The request left within the sending bound after its intent was recorded, and before its sender died, which was
/// before this recovery began. Each gives a deadline, and the earlier one counts. An age counts only if it is not
/// negative: a clock that was set back gives none.
fn remaining_bounds(bounds: TimingBounds, age: Option<Duration>, since_begun: Duration) -> Duration {
    let full = bounds.effect + bounds.listing;
    let by_death = full.saturating_sub(since_begun);
    match age {
        Some(age) => by_death.min((bounds.sending + full).saturating_sub(age)),
        None => by_death,
    }
}

/// Returns the time from `then` to `now` by the wall clock; `None` if `then` is in the future.
fn wall_age(then: Timestamp, now: Timestamp) -> Option<Duration> {
    let age: SignedDuration = now.duration_since(then);
    Duration::try_from(age).ok()
}

/// Parses the `Date` header of an HTTP response; `None` if it is malformed.
fn parse_http_date(date: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(date).ok().map(|zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: TimingBounds = TimingBounds {
        effect: Duration::from_mins(1),
        listing: Duration::from_secs(10),
        sending: Duration::from_mins(2),
    };

    #[test]
    fn an_open_intent_is_waited_for_from_its_age_or_the_start_of_the_run() {
        let secs = Duration::from_secs;
        for (age, since_begun, wait) in [
            (Some(0), 0, 70),
            (Some(100), 0, 70),
            (Some(150), 0, 40),
            (Some(190), 0, 0),
            (Some(9000), 0, 0),
            (Some(0), 30, 40),
            (Some(0), 90, 0),
            (None, 0, 70),
            (None, 70, 0),
        ] {
            assert_eq!(
                remaining_bounds(BOUNDS, age.map(secs), secs(since_begun)),
                secs(wait),
                "{age:?} {since_begun}"
            );
        }
    }

    #[test]
    fn an_intent_with_a_future_timestamp_has_no_age() {
        let noon: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let later = noon + SignedDuration::from_secs(5);
        assert_eq!(wall_age(noon, later), Some(Duration::from_secs(5)));
        assert_eq!(wall_age(later, noon), None);
    }

    #[test]
    fn the_date_header_of_a_response_is_parsed() {
        let date = parse_http_date("Sat, 21 Nov 2026 12:00:05 GMT").unwrap();
        assert_eq!(date.to_string(), "2026-11-21T12:00:05Z");
        assert_eq!(parse_http_date("yesterday"), None);
    }
}
