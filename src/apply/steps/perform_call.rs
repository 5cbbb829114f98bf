//! One call that changes an object: a durable intent, one request, and a read before and after. In: the call
//! with all its values. Out: the object after it, or why it has not changed. Invariant: a call whose response
//! is lost is sent again only when the bounds have passed without an effect, with an intent of its own.

use std::cell::Cell;

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;

use super::planned_call::{CallProgress, PreparedCall, call_progress, is_told};
use super::resolve_intent::presume_absent;
use super::upload::{begun_by, rested_before, to_send, wait_until_finished};
use super::wait::{POLL_INTERVAL, at_rest, read_when_stable, wait_for_dependencies};
use crate::apply::event::StepError;
use crate::apply::request_encoding::{self, missing_value_error};
use crate::apply::step::{DurableIntent, MutationScope, MutationTarget, StepContext};
use crate::apply::step_parts::StepParts;
use crate::cloud::error::MutationOutcome;
use crate::cloud::http::message::Transport;
use crate::cloud::wait::run_records;
use crate::cloud::write::mutation::MutationClient;
use crate::ledger::journal::record::{ClosedOutcome, Record};
use crate::ledger::journal::store::Store;
use crate::ledger::state::entry::{Intent, IntentAction};
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::Object;
use crate::model::schema::{Attribute, Kind, RunSchema};
use crate::model::values::value::{Attributes, Value};

/// The limit on requests for one call.
const MAX_CALL_ATTEMPTS: usize = 3;

/// The reason of an ambiguous call in strict mode.
pub(in crate::apply) const LOST_CALL_REASON: &str =
    "it has had no visible effect, and it is not known whether it will";

/// Makes one call and verifies its effect. Returns the object after it. `values` are all written attributes,
/// for fields that the call always contains; `reached` are the targets of the step's earlier calls, which the
/// object may show already. The future is boxed, so that its code is built once for all callers.
pub(in crate::apply) fn perform_call<'a, C: Transport, K: Clock, R: Random, S: Store>(
    parts: &'a StepParts<'_, C, K, R, S>,
    job: &'a StepContext<'_>,
    target: &'a MutationTarget,
    step: &'a PreparedCall,
    values: &'a Attributes,
    reached: &'a Attributes,
) -> LocalBoxFuture<'a, Result<Object, StepError>> {
    attempt_call(parts, job, target, step, values, reached).boxed_local()
}

/// Attempts a call until its effect is seen, it is refused, or all attempts remained without an answer.
async fn attempt_call<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    step: &PreparedCall,
    values: &Attributes,
    reached: &Attributes,
) -> Result<Object, StepError> {
    let key = parts.secret_key();
    let (to_send, until) = to_send(parts, job, target, step).await?;
    let job = &StepContext { until, ..*job };
    let (mut open, mut broken): (Option<Intent>, _) = (None, None);
    for _ in 0..MAX_CALL_ATTEMPTS {
        let object = rested_before(parts, job, target, step).await?;
        match call_progress(job.kind, step, reached, &object, &key) {
            CallProgress::Applied => return finish_call(parts, job, step, open, object).await,
            CallProgress::Diverged(name) => {
                return Err(report_conflict(parts, job.kind, open, step, (&name, &object)).await);
            }
            CallProgress::NotApplied => {}
        }
        if let Some(intent) = open.take() {
            // The bounds have passed without an effect. Every attempt has an intent of its own, whose time bounds
            // when its request may have left.
            give_up(parts, &intent, step).await?;
        }
        let armed = intend_move(parts, job, target, step, &object).await?;
        let sent = step.with_what_stays(&to_send, &object, &key);
        let (mutation, run) = send_move(parts, job, &armed, target, (step, &sent, values, &object)).await?;
        match mutation {
            MutationOutcome::Done(answer, _) => {
                if let Some((run, id)) = run {
                    see_through(parts, job, target, &armed.intent, (run, &id)).await?;
                }
                let object = wait_for_effect(parts, job, target, step, answer.map(|object| *object)).await;
                return record_call_result(parts, job, step, armed.intent, object).await;
            }
            MutationOutcome::Refused(refusal) => {
                parts.close(&armed.intent, ClosedOutcome::Refused).await?;
                if refusal.status != 409 {
                    return Err(StepError::Refused(refusal));
                }
                if !wait_for_dependencies(parts, job).await? {
                    // Another change, such as the deletion of a link's target, may have made what the call asks for.
                    let seen = read_when_stable(parts, job, target).await.ok();
                    let progress = |object: &Object| call_progress(job.kind, step, reached, object, &key);
                    let done = seen.filter(|object| matches!(progress(object), CallProgress::Applied));
                    return done.ok_or(StepError::Refused(refusal));
                }
            }
            MutationOutcome::NotSent(reason) => {
                parts.not_sent(&armed.intent).await?;
                parts.emit_progress(job, format!("{reason}; trying again"));
            }
            MutationOutcome::Unknown { reason, settled, answer } => {
                parts.emit_progress(job, format!("{reason}; checking whether the call took effect"));
                parts.wait_until_visible(settled).await;
                (open, broken) = (Some(armed.intent), answer);
            }
        }
    }
    let text = format!("{} got no answer in {MAX_CALL_ATTEMPTS} attempts", step.call.name);
    Err(StepError::from_unanswered(text, broken))
}

async fn intend_move<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    step: &PreparedCall,
    object: &Object,
) -> Result<DurableIntent, StepError> {
    let before: Attributes = step
        .attributes
        .keys()
        .map(|name| (name.clone(), step.mark_live_secrets(job.kind, name, object.attributes.get(name))))
        .collect();
    let action = IntentAction::Update {
        id: target.key.id.clone(),
        call: step.call.name.into(),
        before: request_encoding::sealed_all(job.kind, &before, &parts.secret_key()),
        target: request_encoding::sealed_all(job.kind, &step.targets(), &parts.secret_key()),
    };
    // Before the request: a dependent that is refused meanwhile must wait for this object again.
    parts.objects.mark_changing(job.address);
    parts.record_intent(job, MutationScope::from_target(target), action).await
}

async fn send_move<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    armed: &DurableIntent,
    target: &MutationTarget,
    (step, to_send, values, object): (&PreparedCall, &Attributes, &Attributes, &Object),
) -> Result<(MutationOutcome, Option<(&'static RunSchema, Name)>), StepError> {
    let standing = |name: &str| values.get(name).or_else(|| object.attributes.get(name)).cloned();
    let body =
        request_encoding::call_body(job.kind, step.call, to_send, standing).map_err(missing_value_error)?;
    let (call, project) = (step.call, target.project.as_ref());
    let Some(run) = begun_by(job.kind, call, to_send) else {
        let request = async |changes: MutationClient<'_, C, K, R>| {
            changes.send_call(job.kind, call, &target.key, project, body).await
        };
        return Ok((parts.send_mutation(job, armed, request).await?, None));
    };
    let begun = Cell::new(None);
    let request = async |changes: MutationClient<'_, C, K, R>| {
        let (mutation, id) =
            run_records::begin_run(&changes, job.kind, call, (&target.key, project), run, body).await;
        begun.set(id);
        mutation
    };
    let mutation = parts.send_mutation(job, armed, request).await?;
    Ok((mutation, begun.take().map(|id| (run, id))))
}

/// Waits for the end of the record that an accepted call began. If it failed, the call counts as done, but none
/// of its values are recorded as applied: the next plan makes the same call again.
async fn see_through<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    intent: &Intent,
    run: (&'static RunSchema, &str),
) -> Result<(), StepError> {
    let ended = wait_until_finished(parts, job, target, run).await;
    if let Err(StepError::NotReady(_)) = &ended {
        parts.close(intent, ClosedOutcome::Done).await?;
    }
    ended
}

/// Reads until the object shows the effect of an accepted call, within the listing bound. An object that does
/// not show the attributes is returned at once.
///
/// # Errors
/// `NotKept` when the bound has passed and the object shows another value.
async fn wait_for_effect<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    step: &PreparedCall,
    answer: Option<Object>,
) -> Result<Object, StepError> {
    let key = parts.secret_key();
    let shows_all =
        |object: &Object| step.attributes.keys().all(|name| object.attributes.contains_key(name));
    if let Some(object) = answer.filter(|object| at_rest(job.kind, object) && shows_all(object))
        && call_progress(job.kind, step, &Attributes::new(), &object, &key) == CallProgress::Applied
    {
        return Ok(object);
    }
    let mut patience = None;
    loop {
        let object = read_when_stable(parts, job, target).await?;
        let unlike = match call_progress(job.kind, step, &Attributes::new(), &object, &key) {
            CallProgress::Applied => return Ok(object),
            _ if !is_told(job.kind, step, &object) => return Ok(object),
            CallProgress::NotApplied => "the old state",
            CallProgress::Diverged(_) => "something else",
        };
        let now = parts.clock().elapsed();
        if now >= *patience.get_or_insert(now + parts.context.bounds.listing) {
            return Err(StepError::NotKept(format!(
                "{} was accepted, but the object still shows {unlike}",
                step.call.name
            )));
        }
        parts.clock().sleep(POLL_INTERVAL).await;
    }
}

/// Ends a call whose object shows the target values, and records the open intent of a lost attempt, if there
/// is one, as done.
async fn finish_call<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    step: &PreparedCall,
    open: Option<Intent>,
    object: Object,
) -> Result<Object, StepError> {
    match open {
        Some(intent) => record_call_result(parts, job, step, intent, Ok(object)).await,
        None => Ok(object),
    }
}

async fn record_call_result<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    step: &PreparedCall,
    intent: Intent,
    object: Result<Object, StepError>,
) -> Result<Object, StepError> {
    if let Err(StepError::NotReady(_) | StepError::ObjectChanged(_) | StepError::NotKept(_)) | Ok(_) =
        &object
    {
        parts.commit(completed_call_records(parts, job, &intent, &step.targets())).await?;
    }
    object
}

/// Returns the records of a call that had its effect. The ledger's applied values are those of the current object:
/// undoing the links of a deposed object changes none of them.
pub(in crate::apply) fn completed_call_records<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    intent: &Intent,
    targets: &Attributes,
) -> Vec<Record> {
    let mut records = vec![Record::Closed { op: intent.op, outcome: ClosedOutcome::Done }];
    let IntentAction::Update { id, before, .. } = &intent.action else { return records };
    let entry = parts.context.journal.ledger().entries.get(job.address).cloned();
    let entry = entry.filter(|entry| entry.current.as_ref().is_some_and(|owned| owned.id == *id));
    if let Some(entry) = entry {
        // `Null` marks an attribute that was reset.
        let mut attributes = request_encoding::sealed_all(job.kind, targets, &parts.secret_key());
        let written = |name: &Name| job.kind.attribute(name).is_some_and(Attribute::is_writable);
        attributes.retain(|name, _| written(name));
        request_encoding::keep_own(job.kind, &mut attributes, before, &entry.applied);
        records.push(Record::Merged { address: job.address.clone(), attributes });
    }
    records
}

/// Closes a lost call whose bounds have passed without an effect.
async fn give_up<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    intent: &Intent,
    step: &PreparedCall,
) -> Result<(), StepError> {
    presume_absent(parts, intent, &format!("{}: {LOST_CALL_REASON}", step.call.name)).await
}

async fn report_conflict<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    kind: &Kind,
    open: Option<Intent>,
    step: &PreparedCall,
    (name, object): (&Name, &Object),
) -> StepError {
    if let Some(intent) = open
        && let Err(error) = give_up(parts, &intent, step).await
    {
        return error;
    }
    let key = parts.secret_key();
    let shown = |value: &Value| {
        kind.attribute(name).map(|attribute| request_encoding::fingerprint_value(attribute, value, &key))
    };
    let live = shown(&step.mark_live_secrets(kind, name, object.attributes.get(name))).unwrap_or_default();
    let before = step.attributes.get(name).and_then(|(before, _)| shown(before)).unwrap_or_default();
    let (before, live) = (before.to_string(), live.to_string());
    StepError::ObjectChanged(if before == live {
        // The values differ only in parts that are redacted.
        format!("{name}, {live}, is not what it was when the plan was made")
    } else {
        format!("{name} was {before} when the plan was made and is {live} now")
    })
}
