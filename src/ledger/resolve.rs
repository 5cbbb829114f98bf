//! Which live objects could be what an open creation made: pure, for plan and apply alike.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;
use rust_decimal::Decimal;

use super::entry::{Intent, IntentAction, Ledger};
use crate::model::address::Name;
use crate::model::snapshot::Object;
use crate::model::value::Value;

/// What is said of an object that turns up after its request was given up.
pub const LATE_EFFECT: &str = "this looks like the late effect of an earlier request that was given up";

/// How long a creation that was presumed without effect is watched.
pub const WATCHED_FOR: Duration = Duration::from_hours(7 * 24);

/// Tells whether a request that was given up is still watched at this time. A clock that was set back
/// ends no watch.
#[must_use]
pub fn is_watched(intent: &Intent, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(intent.at)).is_ok_and(|age| age <= WATCHED_FOR) || now < intent.at
}

/// Returns the objects that could have come of an open creation: of its kind, in its project or
/// under its parent, not in its baseline, owned by no address, never deleted by us, and showing every expected attribute.
///
/// What a list leaves out speaks against no object: one candidate too many asks a human, one too few
/// makes a second object.
#[must_use]
pub fn candidates<'a>(
    intent: &Intent,
    ledger: &Ledger,
    objects: impl IntoIterator<Item = &'a Object>,
) -> Vec<&'a Object> {
    let IntentAction::Create { expected, baseline, .. } = &intent.action else { return Vec::new() };
    let before: HashSet<&Name> = baseline.iter().collect();
    let owned = owned(intent, ledger);
    let could_be = |object: &&Object| {
        object.kind == intent.kind
            && object.parent == intent.parent
            && (intent.project.is_none() || object.project.is_none() || object.project == intent.project)
            && !before.contains(&object.id)
            && !owned.contains(&object.id)
            && (object.parent.is_some() || !ledger.is_buried(&object.kind, &object.id))
            && expected.iter().all(|(name, value)| shows(object, name, value))
    };
    objects.into_iter().filter(could_be).collect()
}

/// Returns the ids of the kind (under the parent) that some address has.
fn owned<'a>(intent: &Intent, ledger: &'a Ledger) -> HashSet<&'a Name> {
    let entries = ledger.entries.values().filter(|entry| entry.kind == intent.kind);
    let objects = entries.flat_map(|entry| entry.current.iter().chain(&entry.deposed));
    objects.filter(|object| object.parent == intent.parent).map(|object| &object.id).collect()
}

fn shows(object: &Object, name: &Name, expected: &Value) -> bool {
    match object.attributes.get(name) {
        None | Some(Value::Null) if !object.detailed => true,
        live => same(expected, live.unwrap_or(&Value::Null)),
    }
}

/// Compares what was sent with what is shown: numbers as text are numbers, sets have no order, and
/// what nobody can compare is equal.
fn same(sent: &Value, live: &Value) -> bool {
    match (sent, live) {
        (Value::Secret(_) | Value::Unknown(_), _) | (_, Value::Secret(_)) => true,
        (Value::Null, Value::List(items)) | (Value::List(items), Value::Null) => items.is_empty(),
        (Value::Null, Value::Text(text)) | (Value::Text(text), Value::Null) => text.is_empty(),
        (Value::List(sent), Value::List(live)) => {
            sent.len() == live.len() && sorted(sent).iter().zip(sorted(live)).all(|(a, b)| same(a, b))
        }
        (Value::Map(sent), Value::Map(live)) => {
            sent.iter().all(|(key, value)| same(value, live.get(key).unwrap_or(&Value::Null)))
        }
        (sent, live) => sent == live || number(sent).is_some_and(|n| Some(n) == number(live)),
    }
}

fn sorted(items: &[Value]) -> Vec<&Value> {
    let mut items: Vec<_> = items.iter().collect();
    items.sort_by_cached_key(ToString::to_string);
    items
}

fn number(value: &Value) -> Option<Decimal> {
    value.as_decimal()
}

#[cfg(test)]
#[path = "resolve/tests.rs"]
mod tests;
