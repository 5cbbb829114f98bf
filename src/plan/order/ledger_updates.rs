//! Ledger updates that need no request: objects found gone, forgotten or adopted, and changed entries. In: a
//! resource and its decision; out: updates that an apply records before its first step.

use super::ledger_metadata::build_remember;
use crate::ledger::state::entry::{Entry, OwnedObject};
use crate::model::address::Name;
use crate::model::schema::meaning::without_unset_keys;
use crate::model::values::value::{Attributes, Value};
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::diff::attributes::AttributeDiffer;
use crate::plan::diff::confirmation;
use crate::plan::join::joined_state::{AdoptionReason, JoinedState, ResourceState, owned_from_object};
use crate::plan::join::live_state::{LiveState, is_gone};
use crate::plan::model::compare::{are_equivalent, fingerprint_secrets};
use crate::plan::model::step::LedgerUpdate;

/// Returns the ledger updates of one resource; none for one that the plan freezes.
pub(in crate::plan) fn ledger_updates(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
) -> Vec<LedgerUpdate> {
    let mut found = Vec::new();
    if decision.act == DecisionKind::Frozen {
        return found;
    }
    let address = subject.address;
    let gone = objects_proven_gone(joined, subject)
        .map(|owned| LedgerUpdate::Gone(address.clone(), owned.id.clone()));
    found.extend(gone);
    if is_over(joined, subject) {
        return found;
    }
    if decision.act == DecisionKind::Forget {
        let is_there = !matches!(subject.live, LiveState::Gone(_));
        found.extend(is_there.then(|| LedgerUpdate::Forget(address.clone())));
        return found;
    }
    if subject.resource.is_some() && matches!(decision.act, DecisionKind::Keep | DecisionKind::Update) {
        found.extend(remember_update(joined, subject, decision));
    }
    found
}

/// Returns whether nothing is left of a removed resource: all its objects are proven gone.
fn is_over(joined: &JoinedState<'_>, subject: &ResourceState<'_>) -> bool {
    let owned = subject.entry.map(|entry| entry.current.iter().len() + entry.deposed.len());
    subject.resource.is_none()
        && owned.is_some_and(|owned| owned == objects_proven_gone(joined, subject).count())
}

/// Returns the owned objects that are proven gone.
fn objects_proven_gone<'s>(
    joined: &'s JoinedState<'_>,
    subject: &'s ResourceState<'_>,
) -> impl Iterator<Item = &'s OwnedObject> {
    let absent = |owned: &&OwnedObject| is_gone(&joined.inputs, subject.kind, owned);
    let current = match subject.live {
        LiveState::Gone(owned) => Some(owned),
        _ => None,
    };
    let deposed = subject.entry.into_iter().flat_map(|entry| &entry.deposed);
    deposed.filter(absent).chain(current)
}

/// Returns the changed entry of a resource whose object does not change; `None` if the entry stays the same. An
/// update records its entry itself at the end, so only an adoption is recorded before it.
fn remember_update(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
) -> Option<LedgerUpdate> {
    let object = subject.object()?;
    let update = decision.act == DecisionKind::Update;
    if update && subject.adoption.is_none() {
        return None;
    }
    let diff = AttributeDiffer::new(joined, subject)?;
    let remember = build_remember(joined, subject);
    let current = match subject.adoption {
        Some(AdoptionReason::Requested | AdoptionReason::Confirmed) => owned_from_object(object, false),
        Some(AdoptionReason::Recovered(_)) => owned_from_object(object, true),
        None => subject.owned_object()?.clone(),
    };
    let entry = Entry {
        kind: subject.kind.name.into(),
        current: Some(current),
        deposed: subject.entry.map(|entry| entry.deposed.clone()).unwrap_or_default(),
        parent: subject.parent().cloned(),
        applied: satisfied_attributes(joined, decision, &diff),
        depends_on: remember.depends_on,
        protect: remember.protect,
        keep_on_remove: remember.keep_on_remove,
        delete_on_remove: remember.delete_on_remove,
        unfinished: update,
        secret_lost: subject.entry.is_some_and(|entry| entry.secret_lost),
        secret_origin: None,
        final_snapshot: remember.final_snapshot,
        verified: confirmation::renew_verification(subject, decision, |want| diff.shows_written(want)),
    };
    let same = subject.entry.is_some_and(|before| is_same(before, &entry) && !is_renewed(before, &entry));
    (!same).then(|| LedgerUpdate::Remember(subject.address.clone(), Box::new(entry)))
}

/// Returns whether an entry would not change. A newly confirmed value alone is recorded only with the next change, but
/// a value that the service now keeps must be recorded as kept.
fn is_same(before: &Entry, entry: &Entry) -> bool {
    let verified = before.verified.clone();
    let not_kept = |entry: &Entry| entry.verified.as_ref().map(|v| v.not_kept.clone()).unwrap_or_default();
    not_kept(before) == not_kept(entry) && *before == Entry { verified, ..entry.clone() }
}

/// Returns whether the new entry replaces a short fingerprint of an earlier version by a full one.
fn is_renewed(before: &Entry, entry: &Entry) -> bool {
    let is_legacy = |name: &Name| before.applied.get(name).is_some_and(Value::has_legacy_fingerprint);
    entry.applied.iter().any(|(name, value)| is_legacy(name) && !value.has_legacy_fingerprint())
}

/// Returns the written attributes that have their desired values, without those that are unset: no apply records one. An
/// applied value in another notation with the same meaning is kept.
fn satisfied_attributes(
    joined: &JoinedState<'_>,
    decision: &Decision<'_>,
    diff: &AttributeDiffer<'_, '_>,
) -> Attributes {
    let differs =
        |name: &str| decision.differences.iter().any(|difference| difference.attribute.name == name);
    let settled =
        decision.wants.iter().filter(|want| want.setting.is_some() && !differs(want.attribute.name));
    settled
        .filter_map(|want| {
            let stored = without_unset_keys(&want.attribute.ty, want.stored_value());
            let value = fingerprint_secrets(&stored, joined.key());
            let before = diff.last_applied_value(want.attribute);
            if value == Value::Null && before.is_none() {
                return None;
            }
            // The whole fingerprint replaces the short one of an earlier version.
            let is_current = |before: &&Value| {
                are_equivalent(&want.attribute.ty, before, &value) && !before.has_legacy_fingerprint()
            };
            let kept = before.filter(is_current).cloned();
            Some((want.attribute.name.into(), kept.unwrap_or(value)))
        })
        .collect()
}
