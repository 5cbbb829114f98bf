//! Verification after a write: compares the written attributes with what the object shows. In: the values that were
//! sent, and the object once it is ready. Out: the values that the service did not keep. An attribute that a call sets
//! is sent once more, as a step of its own in the journal, and a roll-out that it begins is waited for; a value that
//! differs after that fails the step, and the ledger records what was shown.
//!
//! Invariant: only what the service shows is compared, and nothing counts as not kept before the listing bound has
//! passed: until then an answer may be old.

use std::collections::BTreeSet;
use std::time::Duration;

use super::perform_call::perform_call;
use super::planned_call::PreparedCall;
use super::rollout::{foresee_own_rollout, roll_out};
use super::wait::{POLL_INTERVAL, read_when_stable};
use crate::apply::event::{ApiError, StepError};
use crate::apply::request_encoding;
use crate::apply::step::{MutationTarget, StepContext};
use crate::apply::step_parts::StepParts;
use crate::cloud::http::message::Transport;
use crate::ledger::journal::store::Store;
use crate::ledger::state::verification::{ValueVerification, Verification};
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::reading::{AttributeReading, told_part};
use crate::model::live::snapshot::Object;
use crate::model::schema::meaning::{self, part_type};
use crate::model::schema::{Attribute, Kind, Type, UpdateStrategy};
use crate::model::values::secret::FingerprintKey;
use crate::model::values::value::{Attributes, Value};

/// The written values, and which of them are compared.
pub(in crate::apply) struct WrittenValues<'w> {
    /// The values of the written attributes.
    pub(in crate::apply) values: &'w Attributes,
    /// Attributes that are not compared.
    pub(in crate::apply) unverified: &'w BTreeSet<Name>,
    /// Attributes that this step has sent by calls; `None`: it created the object.
    pub(in crate::apply) sent: Option<BTreeSet<Name>>,
}

/// A written value that the object does not show.
struct ValueMismatch {
    attribute: &'static Attribute,
    path: Name,
    sent: Value,
    /// The shown value, with a secret wherever `sent` has one.
    shown: Value,
}

/// The comparison of an object with the written values.
#[derive(Default)]
struct WriteComparison {
    not_kept: Vec<ValueMismatch>,
    not_shown: BTreeSet<Name>,
}

/// The result of the verification.
pub(in crate::apply) struct VerifiedWrite {
    pub(in crate::apply) object: Object,
    pub(in crate::apply) verification: Verification,
    /// Why the step fails; `None` if the service kept every value that the step sent.
    pub(in crate::apply) failure: Option<StepError>,
}

/// Compares an object with the written values, and resends once those that differ and that a call sets. A value that is
/// not kept is not an `Err`: it is in `VerifiedWrite::failure`, so that the caller records the entry first.
pub(in crate::apply) async fn verify<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    written: &WrittenValues<'_>,
    object: Object,
) -> Result<VerifiedWrite, StepError> {
    let known = known_not_kept(parts, job, written);
    // After a creation, one pass sets what it left out, and another one what those calls changed besides.
    let mut passes = if written.sent.is_none() { 2 } else { 1 };
    let mut object = match written.sent {
        None => send_unread(parts, job, target, written.values, object).await?,
        Some(_) => object,
    };
    let mut refused: Option<ApiError> = None;
    let mut sent = written.sent.clone().unwrap_or_default();
    let mut written_at = parts.clock().elapsed();
    loop {
        let (seen, comparison) = compare_in_time(parts, job, target, written, (object, written_at)).await?;
        object = seen;
        let is_open = |one: &&ValueMismatch| known.get(&one.path) != Some(&recorded_value(parts, one));
        let open: Vec<&ValueMismatch> = comparison.not_kept.iter().filter(is_open).collect();
        let moves = if passes == 0 { Vec::new() } else { correcting_calls(&open, written.values, &object) };
        if moves.is_empty() {
            let failure = not_kept_error(&open, refused.as_ref());
            let shown =
                comparison.not_kept.iter().map(|one| (one.path.clone(), recorded_value(parts, one)));
            let not_kept = shown.collect();
            let mut verification = Verification { not_kept, not_shown: comparison.not_shown };
            take_over_unconfirmed(parts, job, written, &object, &mut verification);
            return Ok(VerifiedWrite { object, verification, failure });
        }
        passes -= 1;
        let targets: BTreeSet<Name> =
            moves.iter().flat_map(PreparedCall::targets).map(|(name, _)| name).collect();
        let rollout = Box::pin(foresee_own_rollout(parts, job, target, targets.iter())).await?;
        for step in &moves {
            written_at = parts.clock().elapsed();
            match perform_call(parts, job, target, step, written.values, &Attributes::new()).await {
                // Reported for the attribute at the end.
                Ok(_) | Err(StepError::NotKept(_)) => {}
                // The service has the value already, or does not accept it: the shown value is recorded.
                Err(StepError::Refused(refusal)) if is_resent(step, &sent, &refusal) => {
                    refused = Some(refusal);
                    passes = 0;
                }
                Err(error) => return Err(error),
            }
            sent.extend(step.targets().into_iter().map(|(name, _)| name));
        }
        object = read_when_stable(parts, job, target).await?;
        if let Some(rollout) = rollout {
            Box::pin(roll_out(parts, job, &object, &rollout)).await?;
            object = read_when_stable(parts, job, target).await?;
        }
    }
}

/// Sends the attributes that a creation does not take and no response shows: a source.
async fn send_unread<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    values: &Attributes,
    mut object: Object,
) -> Result<Object, StepError> {
    let later = job.kind.attributes.iter().filter(|a| !a.at_creation && a.is_writable());
    for attribute in later {
        let Some(wanted) = values.get(attribute.name) else { continue };
        let is_told = AttributeReading::new(attribute, &object).comparable_value().is_some();
        if is_told || request_encoding::is_equivalent(attribute, wanted, &Value::Null) {
            continue;
        }
        for (call, before, after) in request_encoding::calls_between(attribute, &Value::Null, wanted) {
            let step = PreparedCall::new(call, attribute, (before, after));
            object = perform_call(parts, job, target, &step, values, &Attributes::new()).await?;
        }
    }
    Ok(object)
}

/// Reads an object until it shows the written values, at most until the listing bound has passed since the last
/// write. An object from a list is read in full if the list omitted something.
async fn compare_in_time<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    target: &MutationTarget,
    written: &WrittenValues<'_>,
    (mut object, written_at): (Object, Duration),
) -> Result<(Object, WriteComparison), StepError> {
    let key = parts.secret_key();
    let compared =
        |object: &Object| compare_written(job.kind, (written.values, written.unverified), object, &key);
    let mut comparison = compared(&object);
    let is_partial = !comparison.not_kept.is_empty() || !comparison.not_shown.is_empty();
    if !object.detailed && is_partial && job.kind.api.read.is_some() {
        object = read_when_stable(parts, job, target).await?;
        comparison = compared(&object);
    }
    while !comparison.not_kept.is_empty()
        && parts.clock().elapsed() < written_at + parts.context.bounds.listing
    {
        parts.clock().sleep(POLL_INTERVAL).await;
        object = read_when_stable(parts, job, target).await?;
        comparison = compared(&object);
    }
    Ok((object, comparison))
}

/// Carries over what an earlier reading recorded of the attributes that are not compared and differ now.
fn take_over_unconfirmed<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    written: &WrittenValues<'_>,
    object: &Object,
    verification: &mut Verification,
) {
    let ledger = parts.context.journal.ledger();
    // Before a creation is done, the ledger's entry is about another object.
    let entry = ledger.entries.get(job.address).filter(|_| written.sent.is_some());
    let earlier = entry.and_then(|entry| entry.verified.as_ref());
    for name in written.unverified {
        let attribute = job.kind.attribute(name).filter(|a| a.is_writable() && a.is_readable());
        let Some((attribute, sent)) = attribute.zip(written.values.get(name)) else { continue };
        let told = AttributeReading::new(attribute, object).comparable_value();
        let shown = told.map(|live| attribute.hidden([Some(sent), None], live));
        let is_shown =
            |shown: Value| request_encoding::same_sealed(attribute, sent, &shown, &parts.secret_key());
        if !shown.is_some_and(is_shown) {
            verification.take_over(earlier, name);
        }
    }
}

/// Returns the values that, according to the ledger, the object already showed in place of the same written
/// values, where this step did not resend them; empty after a creation.
fn known_not_kept<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    written: &WrittenValues<'_>,
) -> Attributes {
    let ledger = parts.context.journal.ledger();
    let (Some(entry), Some(sent)) = (ledger.entries.get(job.address), &written.sent) else {
        return Attributes::new();
    };
    let applied = parts.fingerprint_secrets(job.kind, written.values);
    let mut known = Attributes::new();
    for (name, value) in applied.iter().filter(|(name, _)| !sent.contains(*name)) {
        let Some(before) = entry.applied.get(name) else { continue };
        let parts = match (value, before) {
            (Value::Map(value), Value::Map(before)) => {
                let same = value.keys().filter(|key| value.get(*key) == before.get(*key));
                same.map(|key| smol_str::format_smolstr!("{name}.{key}")).collect()
            }
            _ if value == before => vec![name.clone()],
            _ => Vec::new(),
        };
        for path in parts {
            if let ValueVerification::Different(shown) = entry.confirmation(&path) {
                known.insert(path.clone(), shown.clone());
            }
        }
    }
    known
}

/// Returns the form in which the ledger records a value that was not kept: secrets as fingerprints.
fn recorded_value<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    one: &ValueMismatch,
) -> Value {
    request_encoding::fingerprint_value(one.attribute, &one.shown, &parts.secret_key())
}

/// Returns whether a refusal is only about values that were accepted before: then the service has them, or does
/// not let them be set again.
fn is_resent(step: &PreparedCall, sent: &BTreeSet<Name>, refusal: &ApiError) -> bool {
    matches!(refusal.status, 400 | 409 | 422) && step.targets().keys().all(|name| sent.contains(name))
}

/// Compares an object with the written values.
fn compare_written(
    kind: &Kind,
    (values, unverified): (&Attributes, &BTreeSet<Name>),
    object: &Object,
    key: &FingerprintKey,
) -> WriteComparison {
    let mut found = WriteComparison::default();
    for (name, sent) in values {
        let compared = kind.attribute(name).filter(|a| a.is_writable() && a.is_readable());
        let Some(attribute) = compared.filter(|_| !unverified.contains(name)) else { continue };
        if *sent == Value::Null && !attribute.ty.can_be_emptied() || is_moved_by_service(attribute, object)
        {
            continue;
        }
        let Some(live) = AttributeReading::new(attribute, object).comparable_value() else {
            found.not_shown.insert(name.clone());
            continue;
        };
        let shown = attribute.hidden([Some(sent), None], live);
        match (&attribute.ty, sent) {
            (ty @ (Type::Map(_) | Type::Record(_)), Value::Map(parts)) => {
                for (part, sent) in parts {
                    let told = part_type(ty, part).zip(told_part(ty, &shown, part));
                    let Some((ty, live)) = told else { continue };
                    let form = |value: &Value| {
                        meaning::to_comparable(ty, &request_encoding::seal_parts(value, key))
                    };
                    if !meaning::are_equivalent(ty, sent, live)
                        && !request_encoding::is_equal_by_fingerprint(&form(sent), &form(live), key)
                    {
                        let path = smol_str::format_smolstr!("{name}.{part}");
                        found.not_kept.push(ValueMismatch {
                            attribute,
                            path,
                            sent: sent.clone(),
                            shown: live.clone(),
                        });
                    }
                }
            }
            _ if request_encoding::same_sealed(attribute, sent, &shown, key) => {}
            _ => found.not_kept.push(ValueMismatch {
                attribute,
                path: name.clone(),
                sent: sent.clone(),
                shown,
            }),
        }
    }
    found
}

fn is_moved_by_service(attribute: &Attribute, object: &Object) -> bool {
    let mode = |name| object.attributes.get(name).and_then(Value::as_text);
    let is_mode = |mode: &str, modes: &[(&str, _)]| modes.iter().any(|(word, _)| *word == mode);
    attribute.moved_by.is_some_and(|(name, modes)| mode(name).is_some_and(|mode| is_mode(mode, modes)))
}

/// Returns the calls that set the differing values; attributes with the same call are sent together.
fn correcting_calls(open: &[&ValueMismatch], values: &Attributes, object: &Object) -> Vec<PreparedCall> {
    let mut moves: Vec<PreparedCall> = Vec::new();
    let mut seen = BTreeSet::new();
    for attribute in open.iter().map(|one| one.attribute) {
        let wanted = values.get(attribute.name).filter(|_| seen.insert(attribute.name));
        let Some(wanted) = wanted else { continue };
        let live = AttributeReading::new(attribute, object).comparable_value().unwrap_or_default();
        if attribute.grow_only && wanted.as_decimal() < live.as_decimal() {
            continue;
        }
        let wanted = with_other_keys(attribute, wanted, &live);
        for (call, before, after) in request_encoding::calls_between(attribute, &live, &wanted) {
            let travels = matches!(attribute.change, UpdateStrategy::Patch { .. });
            match moves.iter_mut().find(|step| travels && step.call.name == call.name) {
                Some(step) => step.add_attribute(attribute, (before, after)),
                None => moves.push(PreparedCall::new(call, attribute, (before, after))),
            }
        }
    }
    moves
}

/// Adds the live keys of a map that no block writes: a call sends the whole map.
fn with_other_keys(attribute: &Attribute, wanted: &Value, live: &Value) -> Value {
    match (attribute.ty, wanted, live) {
        (Type::Map(_), Value::Map(wanted), Value::Map(live)) => {
            let mut all = live.clone();
            all.extend(wanted.iter().map(|(key, value)| (key.clone(), value.clone())));
            Value::Map(all)
        }
        (_, wanted, _) => wanted.clone(),
    }
}

/// Returns the error that names the values which the service did not keep; `None` if it kept all.
fn not_kept_error(open: &[&ValueMismatch], refused: Option<&ApiError>) -> Option<StepError> {
    let said = open.iter().map(|one| {
        let ValueMismatch { path, sent, shown, attribute } = one;
        let shown_text = meaning::in_words(shown);
        let is_start = meaning::is_unset(shown)
            || *shown == meaning::or_default(attribute, &Value::Null)
            || attribute.usual.is_some_and(|usual| *shown == usual.value());
        if is_start {
            format!(
                "the service did not keep `{path}`: `{sent}` was sent, and the object shows {shown_text}"
            )
        } else {
            format!(
                "`{path}` shows {shown_text} after `{sent}` was sent: the service or somebody else set it"
            )
        }
    });
    let refused = refused.map(|refusal| format!("sent again, it was refused: {refusal}"));
    let said: Vec<String> = said.chain(refused).collect();
    (!open.is_empty()).then(|| StepError::NotKept(said.join("; ")))
}
