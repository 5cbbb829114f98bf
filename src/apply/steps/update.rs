//! Changes in place: one durable intent for each call, absolute targets, and a read before and after.
//! Before a call its attributes must be as the plan saw them, or already as they should be.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::planned_call::{Move, Stand, call_progress, is_told};
use super::upload::begun_by;
use super::verify_written::{Verified, Written};
use super::wait::{TICK, at_rest, has_failed};
use crate::apply::event::StepError;
use crate::apply::protocol::resolve_intent::presume_absent;
use crate::apply::request_encoding::{self, ledger_entry, missing_value_error};
use crate::apply::step::{Armed, Job, Scope, Target};
use crate::apply::step_parts::StepParts;
use crate::apply::steps::create::still_lacks_secret;
use crate::apply::steps::rollout::{explain_failure, foresee_rollout, roll_out, roll_out_parent};
use crate::apply::steps::upload::{rested_before, to_send, wait_until_finished};
use crate::apply::steps::verify_written::verify;
use crate::apply::steps::wait::{needs_come_to_rest, read_when_stable, wait_until_ready};
use crate::cloud::error::Mutation;
use crate::cloud::http::message::Cloud;
use crate::cloud::wait::run_records;
use crate::cloud::write::mutation::Changes;
use crate::ledger::journal::record::{ClosedOutcome, Record};
use crate::ledger::journal::store::Store;
use crate::ledger::state::entry::{Entry, Intent, IntentAction, Owned};
use crate::model::address::{Address, Name};
use crate::model::clock::{Clock, Random};
use crate::model::expression::Expression;
use crate::model::schema::{Attribute, Kind, Run};
use crate::model::snapshot::{Object, ObjectKey};
use crate::model::value::{Attributes, Value};
use crate::plan::model::step::{PlannedCall, Remember};

/// Requests of one call, at most.
const ATTEMPTS: usize = 3;

/// What is asked about a lost call where no bound is assumed.
pub(in crate::apply) const UNSEEN: &str =
    "its effect is not seen, and nobody knows whether it is still to come";

/// What the plan says of a change in place.
pub(in crate::apply) struct Change<'p> {
    pub(in crate::apply) object: Option<&'p ObjectKey>,
    pub(in crate::apply) calls: &'p [PlannedCall],
    pub(in crate::apply) desired: &'p BTreeMap<Name, Expression>,
    pub(in crate::apply) remember: &'p Remember,
}

/// Changes an object by calls, in order. Returns its id.
pub(in crate::apply) async fn update_object<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &Job<'_>,
    change: &Change<'_>,
) -> Result<Name, StepError> {
    if let Some(old) = change.object.and_then(|key| find_deposed(parts, job.address, key)) {
        return let_go(parts, job, &old, change).await;
    }
    let Some(owned) = parts.current_object(job.address) else {
        return Err(StepError::Moved(format!("{} owns no object any more", job.address)));
    };
    if let Some(key) = change.object.filter(|key| key.id != owned.id) {
        let text = format!("{} owns {} now, not {}", job.address, owned.id, key.id);
        return Err(StepError::Moved(text));
    }
    let target = Target::from_owned(job.kind, &owned);
    let values = parts.evaluate_stored(job.address, change.desired).await?;
    let rollout = Box::pin(foresee_rollout(parts, job, &target, change.calls)).await?;
    let mut object = None;
    let mut reached = Attributes::new();
    for planned in change.calls {
        let step = evaluate_call(parts, job, planned).await?;
        object = match perform_call(parts, job, &target, &step, &values, &reached).await {
            Ok(object) => Some(object),
            // The calls after it are made all the same: what was not kept is said in the end.
            Err(StepError::NotKept(_)) => None,
            Err(error) => return Err(error),
        };
        reached.extend(step.targets());
    }
    let object = match object {
        Some(object) => object,
        None => wait_until_ready(parts, job, &target, None).await?,
    };
    // What was to bring it back did not.
    if job.kind.revival.is_some() && has_failed(job.kind, &object) {
        let text = format!("{} {} has failed", job.kind.name, target.key.id);
        return Err(Box::pin(explain_failure(parts, job, &target, StepError::Unsettled(text))).await);
    }
    match rollout {
        Some(rollout) if job.kind.rolls_out_parent => {
            Box::pin(roll_out_parent(parts, job, &rollout)).await?;
        }
        Some(rollout) => Box::pin(roll_out(parts, job, &object, &rollout)).await?,
        None => {}
    }
    let sent = change.calls.iter().flat_map(|call| call.attributes.keys().cloned()).collect();
    let unverified = &change.remember.unverified;
    let written = Written { values: &values, unverified, sent: Some(sent) };
    let Verified { object, verification, failure } =
        Box::pin(verify(parts, job, &target, &written, object)).await?;
    let applied = parts.fingerprint_secrets(job.kind, &values);
    let parent = parts.context.journal.ledger().entries.get(job.address).and_then(|e| e.parent.clone());
    let secret_lost = still_lacks_secret(parts, job, &target).await?;
    let entry = Entry {
        secret_lost,
        verified: Some(verification),
        ..ledger_entry(job, parent.as_ref(), applied, change.remember, false)
    };
    parts.commit([Record::Applied { address: job.address.clone(), entry: Box::new(entry) }]).await?;
    parts.objects.store_ready_object(job.address, object);
    failure.map_or(Ok(owned.id), Err)
}

/// Undoes the links of an older object, which stand in the way of its deletion.
async fn let_go<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &Job<'_>,
    old: &Owned,
    change: &Change<'_>,
) -> Result<Name, StepError> {
    let target = Target::from_owned(job.kind, old);
    let nothing = Attributes::new();
    for planned in change.calls {
        let step = evaluate_call(parts, job, planned).await?;
        perform_call(parts, job, &target, &step, &nothing, &nothing).await?;
    }
    Ok(old.id.clone())
}

/// Returns the older object of an address that a key names.
fn find_deposed<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    address: &Address,
    key: &ObjectKey,
) -> Option<Owned> {
    let ledger = parts.context.journal.ledger();
    ledger.entries.get(address)?.deposed.iter().find(|owned| owned.id == key.id).cloned()
}

async fn evaluate_call<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &Job<'_>,
    planned: &PlannedCall,
) -> Result<Move, StepError> {
    let call = job.kind.call(&planned.call).ok_or_else(|| {
        StepError::Failed(format!(
            "this stead does not know the call {} of {}",
            planned.call, job.kind.name
        ))
    })?;
    let mut attributes = BTreeMap::new();
    for (name, (before, after)) in &planned.attributes {
        let after = parts.evaluate(job.address, name, after).await?;
        attributes.insert(name.clone(), (before.clone(), after));
    }
    Ok(Move { call, attributes })
}

/// Makes one call and sees to it that it has its effect. Returns the object after it.
pub(in crate::apply) async fn perform_call<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &Job<'_>,
    target: &Target,
    step: &Move,
    values: &Attributes,
    reached: &Attributes,
) -> Result<Object, StepError> {
    let key = parts.secret_key();
    let (to_send, until) = to_send(parts, job, target, step).await?;
    let job = &Job { until, ..*job };
    let (mut open, mut broken): (Option<Intent>, _) = (None, None);
    for _ in 0..ATTEMPTS {
        let object = rested_before(parts, job, target, step).await?;
        match call_progress(job.kind, step, reached, &object, &key) {
            Stand::There => return finish_call(parts, job, step, open, object).await,
            Stand::Elsewhere(name) => {
                return Err(report_conflict(parts, job.kind, open, step, (&name, &object)).await);
            }
            Stand::Before => {}
        }
        if let Some(intent) = open.take() {
            // The bounds have passed without an effect. Every attempt has an intent of its own: its
            // time says until when its request may have left.
            give_up(parts, &intent, step).await?;
        }
        let armed = intend_move(parts, job, target, step, &object).await?;
        let sent = step.with_what_stays(&to_send, &object, &key);
        let (mutation, run) = send_move(parts, job, &armed, target, (step, &sent, values, &object)).await?;
        match mutation {
            Mutation::Done(answer, _) => {
                if let Some((run, id)) = run {
                    see_through(parts, job, target, &armed.intent, (run, &id)).await?;
                }
                let object = wait_for_effect(parts, job, target, step, answer.map(|object| *object)).await;
                return record_call_result(parts, job, step, armed.intent, object).await;
            }
            Mutation::Refused(refusal) => {
                parts.close(&armed.intent, ClosedOutcome::Refused).await?;
                if refusal.status != 409 || !needs_come_to_rest(parts, job).await? {
                    return Err(StepError::Refused(refusal));
                }
            }
            Mutation::NotSent(reason) => {
                parts.not_sent(&armed.intent).await?;
                parts.emit_progress(job, format!("{reason}; trying again"));
            }
            Mutation::Unknown { reason, settled, answer } => {
                parts.emit_progress(job, format!("{reason}; looking whether the call had its effect"));
                parts.wait_until_visible(settled).await;
                (open, broken) = (Some(armed.intent), answer);
            }
        }
    }
    let text = format!("{} got no answer in {ATTEMPTS} attempts", step.call.name);
    Err(StepError::from_unanswered(text, broken))
}

async fn intend_move<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &Job<'_>,
    target: &Target,
    step: &Move,
    object: &Object,
) -> Result<Armed, StepError> {
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
    parts.objects.mark_changing(job.address);
    parts.record_intent(job, Scope::from_target(target), action).await
}

async fn send_move<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &Job<'_>,
    armed: &Armed,
    target: &Target,
    (step, to_send, values, object): (&Move, &Attributes, &Attributes, &Object),
) -> Result<(Mutation, Option<(&'static Run, Name)>), StepError> {
    let standing = |name: &str| values.get(name).or_else(|| object.attributes.get(name)).cloned();
    let body =
        request_encoding::call_body(job.kind, step.call, to_send, standing).map_err(missing_value_error)?;
    let (call, project) = (step.call, target.project.as_ref());
    let Some(run) = begun_by(job.kind, call, to_send) else {
        let request = async |changes: Changes<'_, C, K, R>| {
            changes.send_call(job.kind, call, &target.key, project, body).await
        };
        return Ok((parts.send_mutation(job, armed, request).await?, None));
    };
    let begun = Cell::new(None);
    let request = async |changes: Changes<'_, C, K, R>| {
        let (mutation, id) =
            run_records::begin_run(&changes, job.kind, call, (&target.key, project), run, body).await;
        begun.set(id);
        mutation
    };
    let mutation = parts.send_mutation(job, armed, request).await?;
    Ok((mutation, begun.take().map(|id| (run, id))))
}

/// Waits for the end of what an accepted call began. One that ended badly was accepted all the same,
/// but nothing is remembered of it: the next plan makes the same call again.
async fn see_through<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &Job<'_>,
    target: &Target,
    intent: &Intent,
    run: (&'static Run, &str),
) -> Result<(), StepError> {
    let ended = wait_until_finished(parts, job, target, run).await;
    if let Err(StepError::Unsettled(_)) = &ended {
        parts.close(intent, ClosedOutcome::Done).await?;
    }
    ended
}

/// Reads until an accepted call shows its effect, within the bound of listing.
async fn wait_for_effect<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &Job<'_>,
    target: &Target,
    step: &Move,
    answer: Option<Object>,
) -> Result<Object, StepError> {
    let key = parts.secret_key();
    let shows_all =
        |object: &Object| step.attributes.keys().all(|name| object.attributes.contains_key(name));
    if let Some(object) = answer.filter(|object| at_rest(job.kind, object) && shows_all(object))
        && call_progress(job.kind, step, &Attributes::new(), &object, &key) == Stand::There
    {
        return Ok(object);
    }
    let mut patience = None;
    loop {
        let object = read_when_stable(parts, job, target).await?;
        let unlike = match call_progress(job.kind, step, &Attributes::new(), &object, &key) {
            Stand::There => return Ok(object),
            _ if !is_told(job.kind, step, &object) => return Ok(object),
            Stand::Before => "what it was",
            Stand::Elsewhere(_) => "something else",
        };
        let now = parts.clock().elapsed();
        if now >= *patience.get_or_insert(now + parts.context.bounds.listing) {
            return Err(StepError::NotKept(format!(
                "{} was accepted, but the object still shows {unlike}",
                step.call.name
            )));
        }
        parts.clock().sleep(TICK).await;
    }
}

/// The object is as it should be; what is open is closed.
async fn finish_call<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &Job<'_>,
    step: &Move,
    open: Option<Intent>,
    object: Object,
) -> Result<Object, StepError> {
    match open {
        Some(intent) => record_call_result(parts, job, step, intent, Ok(object)).await,
        None => Ok(object),
    }
}

async fn record_call_result<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &Job<'_>,
    step: &Move,
    intent: Intent,
    object: Result<Object, StepError>,
) -> Result<Object, StepError> {
    if let Err(StepError::Unsettled(_) | StepError::Moved(_) | StepError::NotKept(_)) | Ok(_) = &object {
        parts.commit(completed_call_records(parts, job, &intent, &step.targets())).await?;
    }
    object
}

/// Returns the records of a call that had its effect. What the ledger remembers besides ids is the
/// current object's: an older one, whose links are undone before it goes, changes none of it.
pub(in crate::apply) fn completed_call_records<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &Job<'_>,
    intent: &Intent,
    targets: &Attributes,
) -> Vec<Record> {
    let mut records = vec![Record::Closed { op: intent.op, outcome: ClosedOutcome::Done }];
    let IntentAction::Update { id, before, .. } = &intent.action else { return records };
    let entry = parts.context.journal.ledger().entries.get(job.address).cloned();
    let entry = entry.filter(|entry| entry.current.as_ref().is_some_and(|owned| owned.id == *id));
    if let Some(entry) = entry {
        // A `Null` tells of an attribute that was reset.
        let mut attributes = request_encoding::sealed_all(job.kind, targets, &parts.secret_key());
        let written = |name: &Name| job.kind.attribute(name).is_some_and(Attribute::is_writable);
        attributes.retain(|name, _| written(name));
        request_encoding::keep_own(job.kind, &mut attributes, before, &entry.applied);
        records.push(Record::Merged { address: job.address.clone(), attributes });
    }
    records
}

/// Closes a lost call whose bounds have passed without an effect.
async fn give_up<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    intent: &Intent,
    step: &Move,
) -> Result<(), StepError> {
    presume_absent(parts, intent, &format!("{}: {UNSEEN}", step.call.name)).await
}

async fn report_conflict<C: Cloud, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    kind: &Kind,
    open: Option<Intent>,
    step: &Move,
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
    StepError::Moved(if before == live {
        // Only what may not be shown differs.
        format!("{name}, {live}, is not what it was when the plan was made")
    } else {
        format!("{name} was {before} when the plan was made and is {live} now")
    })
}
