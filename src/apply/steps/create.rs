//! The crash-safe creation: preexisting objects, durable intent, one request, and a durable binding before
//! anything depends on the object. An object whose response was lost is looked up, never guessed.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::deliver_secret::{DeliveryOutcome, deliver_shown_secret, end_of_rotation, still_lacks_secret};
use super::resolve_intent::{
    IntentMatch, LOST_SECRET_REASON, check_late_effects, could_be, find_created_object, lost_secret,
    owned_from_intent, record_ambiguous_intent,
};
use super::rollout::{Rollout, explain_failure, foresee_at_parent, roll_out_parent};
use super::upload::settle_new;
use super::verify_written::{VerifiedWrite, WrittenValues, verify};
use super::wait::wait_for_dependencies;
use crate::apply::event::StepError;
use crate::apply::request_encoding::{self, ledger_entry, missing_value_error};
use crate::apply::step::{MutationScope, MutationTarget, StepContext, read_failed};
use crate::apply::step_parts::StepParts;
use crate::cloud::error::{ApiError, MutationOutcome, OneTimeSecret};
use crate::cloud::http::message::{JsonBody, Transport};
use crate::cloud::write::mutation::MutationClient;
use crate::ledger::journal::record::{ClosedOutcome, Record};
use crate::ledger::journal::store::Store;
use crate::ledger::state::entry::{Entry, Intent, IntentAction, OwnedObject};
use crate::model::address::name_map::NameMap;
use crate::model::address::{Address, Name};
use crate::model::clock::{Clock, Random};
use crate::model::expression::Expression;
use crate::model::live::snapshot::Object;
use crate::model::schema::Kind;
use crate::model::values::value::Attributes;
use crate::plan::model::step::{LedgerMetadata, TargetProject};

/// Maximum requests for one creation: the next only after the last is known or presumed to have had no effect.
const MAX_CREATE_ATTEMPTS: usize = 3;

/// The plan's part of a creation.
pub(in crate::apply) struct PlannedCreate<'p> {
    pub(in crate::apply) desired: &'p NameMap<Expression>,
    pub(in crate::apply) project: &'p TargetProject,
    pub(in crate::apply) parent: Option<&'p Address>,
    pub(in crate::apply) remember: &'p LedgerMetadata,
    pub(in crate::apply) deposes: bool,
}

/// A creation with all values evaluated.
struct PreparedCreate {
    scope: MutationScope,
    values: Attributes,
    body: JsonBody,
    expected: Attributes,
    entry: Entry,
    /// Attributes whose live values are not compared with the sent ones.
    unverified: BTreeSet<Name>,
    deposes: bool,
}

/// The result of one attempt.
enum CreateAttempt {
    Bound(OwnedObject, Box<Object>),
    /// It had no effect, for this reason.
    NoEffect(StepError),
}

/// Creates an object, waits until it is ready, verifies its values and delivers its secret. Returns its id.
///
/// # Errors
/// Also after the object was created and bound: when it does not become ready, when a value was not kept, or
/// when its secret did not reach its sink. The ledger then has the object as unfinished.
pub(in crate::apply) async fn create_object<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    wish: &PlannedCreate<'_>,
) -> Result<Name, StepError> {
    let prepared = prepare_create(parts, job, wish).await?;
    let rollout = Box::pin(foresee_at_parent(parts, job, wish.parent)).await?;
    let (owned, object) = {
        let _alone =
            parts.preexisting.lock_similar_creations(job.kind, &prepared.scope, &prepared.expected).await;
        attempt_until_bound(parts, job, &prepared).await?
    };
    finish_create(parts, job, &prepared, (&owned, rollout.as_ref()), object).await?;
    Ok(owned.id)
}

async fn prepare_create<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    wish: &PlannedCreate<'_>,
) -> Result<PreparedCreate, StepError> {
    if let Some(owned) = parts.current_object(job.address).filter(|_| !wish.deposes) {
        return Err(StepError::ObjectChanged(format!("{} already owns {}", job.address, owned.id)));
    }
    let id_of = |address: &Address| match parts.current_object(address) {
        Some(owned) => Ok(owned.id),
        None => Err(StepError::Failed(format!("{address} has no object"))),
    };
    let project = match wish.project {
        TargetProject::None => None,
        TargetProject::Id(id) => Some(id.clone()),
        TargetProject::Resource(address) => Some(id_of(address)?),
    };
    let scope = MutationScope { parent: wish.parent.map(id_of).transpose()?, project };
    let values = parts.evaluate_all(job.address, wish.desired).await?;
    let body = request_encoding::create_body(job.kind, &values).map_err(missing_value_error)?;
    let at_creation = |name: &Name| job.kind.attribute(name).is_some_and(|a| a.at_creation);
    let mut applied = parts.fingerprint_secrets(job.kind, &values);
    applied.retain(|name, _| at_creation(name));
    // A shown-once secret counts as lost until it is delivered.
    let secret_lost = job.kind.shown_once.is_some();
    let entry = Entry { secret_lost, ..ledger_entry(job, wish.parent, applied, wish.remember, true) };
    let mut expected = request_encoding::expected_attributes(job.kind, &values);
    // Responses and lists, with which it is compared, name each object by one canonical id.
    parts.context.client.name_references(job.kind, &mut expected).await;
    // The object to depose may have been deleted together with another one in this run.
    let deposes = wish.deposes && parts.current_object(job.address).is_some();
    let unverified = wish.remember.unverified.clone();
    Ok(PreparedCreate { scope, values, body, expected, entry, unverified, deposes })
}

async fn attempt_until_bound<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    prepared: &PreparedCreate,
) -> Result<(OwnedObject, Object), StepError> {
    let mut attempts = 1;
    loop {
        match attempt_create(parts, job, prepared).await? {
            CreateAttempt::Bound(owned, object) => return Ok((owned, *object)),
            CreateAttempt::NoEffect(error) if attempts == MAX_CREATE_ATTEMPTS => return Err(error),
            CreateAttempt::NoEffect(error) => parts.emit_progress(job, format!("{error}; trying again")),
        }
        attempts += 1;
    }
}

/// Sends one creation with an intent of its own, and resolves its outcome.
async fn attempt_create<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    prepared: &PreparedCreate,
) -> Result<CreateAttempt, StepError> {
    // Before every attempt: an earlier request may have had its effect meanwhile.
    check_late_effects(parts, job).await?;
    let baseline = parts
        .preexisting
        .preexisting_objects(parts.context.client, job.kind, &prepared.scope, &prepared.expected)
        .await?;
    let action = IntentAction::Create {
        expected: prepared.expected.clone(),
        baseline: baseline.ids,
        server_date: baseline.date,
        entry: Box::new(prepared.entry.clone()),
        deposes: prepared.deposes,
    };
    // From here on a crash leaves the intent, by which the next run looks for the object.
    let armed = parts.record_intent(job, prepared.scope.clone(), action).await?;
    let before = parts.clock().elapsed();
    let (parent, project) = (prepared.scope.parent.as_ref(), prepared.scope.project.as_ref());
    let request = async |changes: MutationClient<'_, C, K, R>| {
        changes.create(job.kind, parent, project, prepared.body.clone()).await
    };
    let ended = parts.send_mutation(job, &armed, request).await?;
    let intent = armed.intent;
    match ended {
        MutationOutcome::Done(Some(object), secret) => {
            bind_created(parts, job, prepared, (&intent, before), *object, secret).await
        }
        MutationOutcome::Done(None, _) => {
            let error = StepError::Unreachable("the response names no object".to_owned());
            resolve_lost_request(parts, job, &intent, error, true).await
        }
        MutationOutcome::Refused(refusal) => handle_refusal(parts, job, prepared, &intent, refusal).await,
        MutationOutcome::NotSent(reason) => {
            parts.not_sent(&intent).await?;
            Ok(CreateAttempt::NoEffect(StepError::Unreachable(reason)))
        }
        MutationOutcome::Unknown { reason, settled, answer } => {
            resolve_lost_request(parts, job, &intent, StepError::from_unanswered(reason, answer), settled)
                .await
        }
    }
}

/// Handles a response that names an object: it must be new and ours before it is bound. `sent` is the earliest
/// time at which the request left.
async fn bind_created<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    prepared: &PreparedCreate,
    (intent, sent): (&Intent, Duration),
    object: Object,
    secret: Option<OneTimeSecret>,
) -> Result<CreateAttempt, StepError> {
    if let Some(oddity) = not_ours(job.kind, prepared, intent, &object) {
        return Err(report_contradiction(parts, job, intent, &oddity).await);
    }
    // A secret that the ledger keeps is delivered after one transaction recorded it with the object's binding.
    let mut secret = secret;
    let kept =
        secret.as_ref().and_then(|OneTimeSecret(text)| (parts.context.keep)(job.address, &object.id, text));
    let delivered = match &kept {
        Some(_) => None,
        None => Some(deliver_shown_secret(parts, job, &object.id, secret.take()).await),
    };
    let object = match read_back(parts, job, prepared, intent, object).await? {
        Ok(object) => object,
        Err(oddity) => return Err(report_contradiction(parts, job, intent, &oddity).await),
    };
    if !parts.preexisting.claim(job.kind, prepared.scope.parent.as_ref(), &object.id, sent) {
        let oddity = format!(
            "the response names {}, which existed before or belongs to another resource",
            object.id
        );
        return Err(report_contradiction(parts, job, intent, &oddity).await);
    }
    if matches!(delivered, Some(DeliveryOutcome::Missing)) && lost_secret(parts, job.kind.name, job.address)
    {
        return Err(record_ambiguous_intent(parts, intent, vec![object.id], LOST_SECRET_REASON).await);
    }
    let owned = owned_from_intent(intent, &object, false);
    // A secret that is only kept counts as lost: the next run delivers it, or reports that it is gone.
    let is_delivered = matches!(delivered, Some(DeliveryOutcome::Delivered));
    record_binding(parts, job, prepared, intent, &owned, (is_delivered, kept)).await?;
    let delivered = match delivered {
        Some(delivered) => delivered,
        None => deliver_kept_secret(parts, job, prepared, &object.id, secret).await?,
    };
    match delivered {
        DeliveryOutcome::Delivered | DeliveryOutcome::Missing => {
            Ok(CreateAttempt::Bound(owned, Box::new(object)))
        }
        DeliveryOutcome::StoredElsewhere(text) | DeliveryOutcome::Lost(text) => Err(StepError::Failed(
            format!("{} was created with the id {}, but its secret {text}", job.address, owned.id),
        )),
    }
}

/// Reads a new object before it is bound: a response can be right in all but the id, and only the object with
/// that id shows that it is another one. This costs nothing where the object is waited for in any case, and
/// many creations share one list. Returns the object, or why the request cannot have made it.
async fn read_back<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    prepared: &PreparedCreate,
    intent: &Intent,
    answered: Object,
) -> Result<Result<Object, String>, StepError> {
    if !request_encoding::gives_ids(job.kind) {
        return Ok(Ok(answered));
    }
    let (key, project) = (answered.key(), answered.project.as_ref().or(intent.project.as_ref()));
    let within = parts.context.bounds.listing;
    let seen = parts.context.client.wait_until_visible(job.kind, &key, project, within).await;
    let Some(seen) = seen.map_err(read_failed)? else {
        return Ok(Err(format!("the response names {}, which the service does not return", key.id)));
    };
    let oddity =
        not_ours(job.kind, prepared, intent, &seen).or_else(|| describe_mismatch(&answered, &seen));
    let created_at = seen.created_at.clone().or(answered.created_at);
    Ok(oddity.map_or_else(|| Ok(Object { created_at, ..seen }), Err))
}

/// Handles a response that cannot be true. The created object is listed once the listing bound has passed; only
/// the user can decide which object it is.
async fn report_contradiction<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    intent: &Intent,
    oddity: &str,
) -> StepError {
    parts.emit_progress(job, format!("{oddity}; checking the outcome of the request"));
    parts.wait_until_visible(true).await;
    match could_be(parts, job.kind, intent).await {
        Ok(ids) => record_ambiguous_intent(parts, intent, ids, oddity).await,
        Err(error) => error,
    }
}

/// Delivers a secret that the ledger keeps, and records that it is delivered.
async fn deliver_kept_secret<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    prepared: &PreparedCreate,
    id: &str,
    secret: Option<OneTimeSecret>,
) -> Result<DeliveryOutcome, StepError> {
    let delivered = deliver_shown_secret(parts, job, id, secret).await;
    if matches!(delivered, DeliveryOutcome::Delivered) {
        let entry = Box::new(Entry { secret_lost: false, ..prepared.entry.clone() });
        parts.commit([Record::Applied { address: job.address.clone(), entry }]).await?;
    }
    Ok(delivered)
}

async fn record_binding<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    prepared: &PreparedCreate,
    intent: &Intent,
    owned: &OwnedObject,
    (has_secret, kept): (bool, Option<Record>),
) -> Result<(), StepError> {
    parts.context.client.keep_id(&owned.key(job.kind.name));
    let mut records: Vec<Record> = kept.into_iter().collect();
    records.push(Record::Bound { op: intent.op, object: owned.clone() });
    if has_secret && prepared.entry.secret_lost {
        let entry = Box::new(Entry { secret_lost: false, ..prepared.entry.clone() });
        records.push(Record::Applied { address: job.address.clone(), entry });
        records.extend(end_of_rotation(parts, job));
    }
    let with_id = |text| {
        let (address, id) = (job.address, &owned.id);
        format!("{text}; {address} was created with the id {id}, which is not in the ledger")
    };
    parts.commit(records).await.map_err(|error| match error {
        StepError::Ledger(text) => StepError::Ledger(with_id(text)),
        StepError::LeaseLost(text) => StepError::LeaseLost(with_id(text)),
        error => error,
    })?;
    parts.objects.drop_object(job.address);
    parts
        .preexisting
        .add_created_object(job.kind, &prepared.scope, &prepared.expected, owned.id.clone())
        .await;
    Ok(())
}

/// Handles a request with an unknown outcome: waits until the bounds have passed, then looks for its object.
/// `settled`: the service has answered, so that only the listing bound counts.
async fn resolve_lost_request<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    intent: &Intent,
    error: StepError,
    settled: bool,
) -> Result<CreateAttempt, StepError> {
    parts.emit_progress(job, format!("{error}; checking the outcome of the request"));
    parts.wait_until_visible(settled).await;
    let scope = MutationScope { parent: intent.parent.clone(), project: intent.project.clone() };
    // The lost request, or another writer, may have created objects since the list was read.
    parts.preexisting.discard_list(job.kind, &scope).await;
    match find_created_object(parts, job.kind, intent).await? {
        IntentMatch::Bound(owned, object) => Ok(CreateAttempt::Bound(owned, object)),
        IntentMatch::Absent => {
            parts.close(intent, ClosedOutcome::PresumedAbsent).await?;
            Ok(CreateAttempt::NoEffect(error))
        }
    }
}

/// Handles a refusal. A conflict (409) may be the late effect of an earlier request that was given up, or be
/// caused by a dependency that is not ready: both are checked before the refusal counts.
async fn handle_refusal<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    prepared: &PreparedCreate,
    intent: &Intent,
    refusal: ApiError,
) -> Result<CreateAttempt, StepError> {
    parts.close(intent, ClosedOutcome::Refused).await?;
    let conflict = refusal.status == 409;
    let error = StepError::of_creation(refusal, job.kind, &prepared.values);
    if !conflict {
        return Err(error);
    }
    parts.preexisting.discard_list(job.kind, &prepared.scope).await;
    check_late_effects(parts, job).await?;
    if wait_for_dependencies(parts, job).await? { Ok(CreateAttempt::NoEffect(error)) } else { Err(error) }
}

/// Waits until a bound object is ready, sets the attributes that a creation does not take, and records the
/// finished entry. The entry is recorded even if a value was not kept: the error is returned after it.
async fn finish_create<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    prepared: &PreparedCreate,
    (owned, rollout): (&OwnedObject, Option<&Rollout>),
    object: Object,
) -> Result<(), StepError> {
    let target = MutationTarget::from_owned(job.kind, owned);
    let object = match settle_new(parts, job, &target, &prepared.values, object).await {
        Ok(object) => object,
        Err(error) => return Err(Box::pin(explain_failure(parts, job, &target, error)).await),
    };
    let written = WrittenValues { values: &prepared.values, unverified: &prepared.unverified, sent: None };
    let VerifiedWrite { object, verification, failure } =
        Box::pin(verify(parts, job, &target, &written, object)).await?;
    if let Some(rollout) = rollout {
        // Until the roll-out has ended, the ledger has the creation as unfinished: the next run checks it.
        Box::pin(roll_out_parent(parts, job, rollout)).await?;
    }
    let applied = parts.fingerprint_secrets(job.kind, &prepared.values);
    let secret_lost = still_lacks_secret(parts, job, &target).await?;
    let verified = Some(verification);
    let entry = Entry { applied, unfinished: false, secret_lost, verified, ..prepared.entry.clone() };
    parts.commit([Record::Applied { address: job.address.clone(), entry: Box::new(entry) }]).await?;
    parts.objects.store_ready_object(job.address, object);
    failure.map_or(Ok(()), Err)
}

/// Returns why the request cannot have made the object of the response; `None` if it can.
fn not_ours(kind: &Kind, prepared: &PreparedCreate, intent: &Intent, object: &Object) -> Option<String> {
    let known =
        matches!(&intent.action, IntentAction::Create { baseline, .. } if baseline.contains(&object.id));
    let id = &object.id;
    let mark = request_encoding::distinguishing_attribute(kind)
        .map(|attribute| attribute.name)
        .unwrap_or_default();
    if known {
        return Some(format!("the response names {id}, which existed before"));
    }
    if let Some(name) =
        request_encoding::first_mismatch(kind, &prepared.expected, object).filter(|name| *name == mark)
    {
        return Some(format!("the response names {id}, whose {name} is not the one that was sent"));
    }
    let elsewhere = object.project.is_some()
        && prepared.scope.project.is_some()
        && object.project != prepared.scope.project;
    elsewhere.then(|| format!("the response names {id}, which is in another project"))
}

/// Returns why the object that was read under an id is not that of the response; `None` if it can be, or if one
/// of them shows no creation time.
fn describe_mismatch(answered: &Object, seen: &Object) -> Option<String> {
    let time = |object: &Object| object.created_at.as_ref()?.parse::<Timestamp>().ok();
    let difference = time(answered)?.duration_since(time(seen)?).abs();
    // The service may write the two times with different fractions of a second.
    let differs = difference > SignedDuration::from_secs(1);
    differs.then(|| format!("the response names {}, created at another time than it states", seen.id))
}
