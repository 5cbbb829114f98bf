//! Changes in place: one durable intent for each call, absolute target values, and a read before and after.
//! Before a call its attributes must have the values that the plan saw, or the target values already, so that
//! the change of another writer is not overwritten.

use std::collections::BTreeMap;

use super::deliver_secret::still_lacks_secret;
use super::perform_call::perform_call;
use super::planned_call::PreparedCall;
use super::rollout::{explain_failure, foresee_rollout, roll_out, roll_out_parent};
use super::verify_written::{VerifiedWrite, WrittenValues, verify};
use super::wait::{has_failed, wait_until_ready};
use crate::apply::event::StepError;
use crate::apply::request_encoding::ledger_entry;
use crate::apply::step::{MutationTarget, StepContext};
use crate::apply::step_parts::StepParts;
use crate::cloud::http::message::Transport;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::store::Store;
use crate::ledger::state::entry::{Entry, OwnedObject};
use crate::model::address::name_map::NameMap;
use crate::model::address::{Address, Name};
use crate::model::clock::{Clock, Random};
use crate::model::expression::Expression;
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::values::value::Attributes;
use crate::plan::model::step::{LedgerMetadata, PlannedCall};

/// The plan's part of a change in place.
pub(in crate::apply) struct PlannedUpdate<'p> {
    pub(in crate::apply) object: Option<&'p ObjectKey>,
    pub(in crate::apply) calls: &'p [PlannedCall],
    pub(in crate::apply) desired: &'p NameMap<Expression>,
    pub(in crate::apply) remember: &'p LedgerMetadata,
}

/// Changes an object by calls, in order, verifies the values and records the entry. Returns the object's id.
///
/// # Errors
/// When a call fails; and, after the entry is recorded, when the service did not keep a value.
pub(in crate::apply) async fn update_object<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    change: &PlannedUpdate<'_>,
) -> Result<Name, StepError> {
    if let Some(old) = change.object.and_then(|key| find_deposed(parts, job.address, key)) {
        return let_go(parts, job, &old, change).await;
    }
    let owned = find_current_object(parts, job, change)?;
    let target = MutationTarget::from_owned(job.kind, &owned);
    let values = parts.evaluate_stored(job.address, change.desired).await?;
    // Before the calls: their roll-out is recognized as one that did not exist before.
    let rollout = Box::pin(foresee_rollout(parts, job, &target, change.calls)).await?;
    let object = make_calls(parts, job, &target, change, &values).await?;
    // The call that should bring the object back did not.
    if job.kind.revival.is_some() && has_failed(job.kind, &object) {
        let text = format!("{} {} has failed", job.kind.name, target.key.id);
        return Err(Box::pin(explain_failure(parts, job, &target, StepError::NotReady(text))).await);
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
    let written = WrittenValues { values: &values, unverified, sent: Some(sent) };
    let VerifiedWrite { object, verification, failure } =
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

/// Returns the object that an address owns now, which must be the one that the plan changes.
fn find_current_object<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    change: &PlannedUpdate<'_>,
) -> Result<OwnedObject, StepError> {
    let Some(owned) = parts.current_object(job.address) else {
        return Err(StepError::ObjectChanged(format!("{} owns no object any more", job.address)));
    };
    if let Some(key) = change.object.filter(|key| key.id != owned.id) {
        let text = format!("{} owns {} now, not {}", job.address, owned.id, key.id);
        return Err(StepError::ObjectChanged(text));
    }
    Ok(owned)
}

/// Makes the calls in order, and returns the object once it is ready after the last one.
async fn make_calls<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    change: &PlannedUpdate<'_>,
    values: &Attributes,
) -> Result<Object, StepError> {
    let mut object = None;
    let mut reached = Attributes::new();
    for planned in change.calls {
        let step = evaluate_call(parts, job, (planned, change.remember)).await?;
        object = match perform_call(parts, job, target, &step, values, &reached).await {
            Ok(object) => Some(object),
            // The later calls are made all the same: values that were not kept are reported at the end.
            Err(StepError::NotKept(_)) => None,
            Err(error) => return Err(error),
        };
        reached.extend(step.targets());
    }
    match object {
        Some(object) => Ok(object),
        None => wait_until_ready(parts, job, target, None).await,
    }
}

/// Undoes the links of a deposed object, which prevent its deletion.
async fn let_go<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    old: &OwnedObject,
    change: &PlannedUpdate<'_>,
) -> Result<Name, StepError> {
    let target = MutationTarget::from_owned(job.kind, old);
    let nothing = Attributes::new();
    for planned in change.calls {
        let step = evaluate_call(parts, job, (planned, change.remember)).await?;
        perform_call(parts, job, &target, &step, &nothing, &nothing).await?;
    }
    Ok(old.id.clone())
}

/// Returns the deposed object of an address that a key names; `None` if the key names no deposed one.
fn find_deposed<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    address: &Address,
    key: &ObjectKey,
) -> Option<OwnedObject> {
    let ledger = parts.context.journal.ledger();
    ledger.entries.get(address)?.deposed.iter().find(|owned| owned.id == key.id).cloned()
}

async fn evaluate_call<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    (planned, remember): (&PlannedCall, &LedgerMetadata),
) -> Result<PreparedCall, StepError> {
    let call = job.kind.call(&planned.call).ok_or_else(|| {
        StepError::Failed(format!(
            "this stead does not know the call {} of {}",
            planned.call, job.kind.name
        ))
    })?;
    let mut attributes = BTreeMap::new();
    for (name, (before, after)) in &planned.attributes {
        let live = remember.unverified.contains(name).then_some(before);
        let after = parts.evaluate_beside(job.address, name, (after, live)).await?;
        attributes.insert(name.clone(), (before.clone(), after));
    }
    Ok(PreparedCall { call, attributes })
}
