//! Candidates for an ambiguous creation: the live objects that it may have created. Pure; plan and apply both use it.

use std::time::Duration;

use foldhash::HashSet;
use jiff::Timestamp;

use crate::ledger::state::entry::{Intent, IntentAction};
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::live::reading::{AttributeReading, told_part};
use crate::model::live::snapshot::Object;
use crate::model::schema::{Attribute, Registry, meaning};
use crate::model::values::value::Value;

/// The explanation for an object that appears after its request was given up.
pub const LATE_EFFECT_REASON: &str =
    "this looks like the late effect of an earlier request that was given up";

/// The time for which a creation that was presumed to have no effect is watched.
pub const WATCH_DURATION: Duration = Duration::from_hours(7 * 24);

/// Returns whether a request that was given up is still watched at this time. A clock that was set back
/// does not end the watch.
#[must_use]
pub fn is_watched(intent: &Intent, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(intent.at)).is_ok_and(|age| age <= WATCH_DURATION)
        || now < intent.at
}

/// Returns the objects that an open creation may have created: of its kind, in its project or under its parent, not
/// among the preexisting objects, owned by no address, never deleted by us, and with every expected attribute.
///
/// An attribute that a list omits excludes no object: a superfluous candidate only causes a question to the user, a
/// missing one causes a second object.
#[must_use]
pub fn creation_candidates<'a>(
    registry: Registry,
    intent: &Intent,
    ledger: &Ledger,
    objects: impl IntoIterator<Item = &'a Object>,
) -> Vec<&'a Object> {
    let IntentAction::Create { expected, baseline, .. } = &intent.action else { return Vec::new() };
    let before: HashSet<&Name> = baseline.iter().collect();
    let owned = owned_ids(intent, ledger);
    let kind = registry.kind(&intent.kind);
    let could_be = |object: &&Object| {
        object.kind == intent.kind
            && object.parent == intent.parent
            && (intent.project.is_none() || object.project.is_none() || object.project == intent.project)
            && !before.contains(&object.id)
            && !owned.contains(&object.id)
            && (object.parent.is_some() || !ledger.is_buried(&object.kind, &object.id))
            && expected.iter().all(|(name, value)| {
                let attribute = kind.and_then(|kind| kind.attribute(name));
                attribute.is_none_or(|attribute| may_match_sent(object, attribute, value))
            })
    };
    objects.into_iter().filter(could_be).collect()
}

/// Returns the ids of the kind (under the parent) that addresses own.
fn owned_ids<'a>(intent: &Intent, ledger: &'a Ledger) -> HashSet<&'a Name> {
    let entries = ledger.entries.values().filter(|entry| entry.kind == intent.kind);
    let objects = entries.flat_map(|entry| entry.current.iter().chain(&entry.deposed));
    objects.filter(|object| object.parent == intent.parent).map(|object| &object.id).collect()
}

/// Returns whether an object can be the one that was sent with this attribute. A value that the service does not show,
/// or that a list shows as empty, excludes nothing.
fn may_match_sent(object: &Object, attribute: &Attribute, sent: &Value) -> bool {
    match AttributeReading::new(attribute, object) {
        AttributeReading::NotReturned | AttributeReading::InTransition => true,
        AttributeReading::Empty => !object.detailed || is_same(attribute, sent, &Value::Null),
        AttributeReading::Value(live) => is_same(attribute, sent, &live),
    }
}

/// Compares the sent value with the live one by their type. Secrets cannot be compared, and a map may
/// have keys that others set.
fn is_same(attribute: &Attribute, sent: &Value, live: &Value) -> bool {
    match (sent, live) {
        (Value::Secret(_) | Value::Unknown(_), _) | (_, Value::Secret(_)) => true,
        (Value::Map(map), _) => map.iter().all(|(key, sent)| {
            let told = told_part(&attribute.ty, live, key);
            let ty = meaning::part_type(&attribute.ty, key);
            told.zip(ty).is_none_or(|(live, ty)| meaning::are_equivalent(ty, sent, live))
        }),
        _ => meaning::same_of(attribute, sent, live),
    }
}

#[cfg(test)]
mod tests;
