//! Which live objects could be what an open creation made: pure, for plan and apply alike.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;

use crate::ledger::state::entry::{Intent, IntentAction};
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::meaning;
use crate::model::reading::{AttributeReading, told_part};
use crate::model::schema::{Attribute, Registry};
use crate::model::snapshot::Object;
use crate::model::value::Value;

/// What is said of an object that turns up after its request was given up.
pub const LATE_EFFECT_REASON: &str =
    "this looks like the late effect of an earlier request that was given up";

/// How long a creation that was presumed without effect is watched.
pub const WATCH_DURATION: Duration = Duration::from_hours(7 * 24);

/// Tells whether a request that was given up is still watched at this time. A clock that was set back
/// ends no watch.
#[must_use]
pub fn is_watched(intent: &Intent, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(intent.at)).is_ok_and(|age| age <= WATCH_DURATION)
        || now < intent.at
}

/// Returns the objects that could have come of an open creation: of its kind, in its project or
/// under its parent, not in its baseline, owned by no address, never deleted by us, and showing every expected attribute.
///
/// What a list leaves out speaks against no object: one candidate too many asks a human, one too few
/// makes a second object.
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

/// Returns the ids of the kind (under the parent) that some address has.
fn owned_ids<'a>(intent: &Intent, ledger: &'a Ledger) -> HashSet<&'a Name> {
    let entries = ledger.entries.values().filter(|entry| entry.kind == intent.kind);
    let objects = entries.flat_map(|entry| entry.current.iter().chain(&entry.deposed));
    objects.filter(|object| object.parent == intent.parent).map(|object| &object.id).collect()
}

/// Tells whether an object can be one of which an attribute was sent. What the service does not show, and what a list
/// shows as empty, speaks against nothing.
fn may_match_sent(object: &Object, attribute: &Attribute, sent: &Value) -> bool {
    match AttributeReading::new(attribute, object) {
        AttributeReading::NotReturned | AttributeReading::InTransition => true,
        AttributeReading::Empty => !object.detailed || is_same(attribute, sent, &Value::Null),
        AttributeReading::Value(live) => is_same(attribute, sent, &live),
    }
}

/// Compares what was sent with what is shown, by what their type means. Nobody can compare a secret, and a map may
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
