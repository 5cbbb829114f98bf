//! Values of an object that no block writes, and that a change takes away although no difference of a written attribute says so:
//! those that a new object does not have, and the one of two attributes that ends when the other is set. In: a resource with its
//! decision. Out: differences from the live values to those after the apply.

use super::attributes::{AttributeDiffer, display_value, ignores_drift};
use crate::model::address::Name;
use crate::model::schema::meaning::is_unset;
use crate::model::schema::{Attribute, Kind, Literal, Presence, RuleCheck, Type};
use crate::model::values::value::Value;
use crate::plan::decision::{AttributeDiff, Decision, DecisionKind, DesiredAttribute};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::compare::{are_equivalent, protect_live_value, protect_unwritten_value};

/// Returns the differences that a decision makes in attributes that its block does not write, in the order of the kind's table.
pub(in crate::plan) fn lost_values<'a>(
    joined: &JoinedState<'a>,
    subject: &ResourceState<'a>,
    decision: &Decision<'a>,
) -> Vec<AttributeDiff<'a>> {
    let is_replaced = matches!(decision.act, DecisionKind::Replace { .. });
    let Some(differ) = AttributeDiffer::new(joined, subject)
        .filter(|_| is_replaced || decision.act == DecisionKind::Update)
    else {
        return Vec::new();
    };
    let lost = LostValues { joined, differ, decision };
    let attributes = subject.kind.attributes.iter().filter(|attribute| attribute.is_writable());
    let ended =
        |attribute: &&Attribute| is_replaced || is_displaced(subject.kind, decision, attribute.name);
    let attributes = attributes.filter(ended);
    let mut found: Vec<AttributeDiff<'a>> =
        attributes.flat_map(|attribute| lost.of_attribute(attribute)).collect();
    let ignores = |want: &DesiredAttribute<'_>| ignores_drift(joined, subject, want.attribute.name);
    if is_replaced && decision.wants.iter().any(ignores) {
        found.extend(ended_drift(joined, subject, decision));
    }
    found
}

/// Returns the differences that a block ignores in a live object, and that its replacement ends.
fn ended_drift<'a>(
    joined: &JoinedState<'a>,
    subject: &ResourceState<'a>,
    decision: &Decision<'a>,
) -> Vec<AttributeDiff<'a>> {
    let is_shown = |path: &Name| decision.differences.iter().any(|shown| shown.path == *path);
    let differ = AttributeDiffer::new(joined, subject).map(AttributeDiffer::heeding_ignored);
    let all = differ.map(|differ| differ.differences(&decision.wants)).unwrap_or_default();
    all.into_iter()
        .filter(|one| ignores_drift(joined, subject, one.attribute.name) && !is_shown(&one.path))
        .collect()
}

/// Returns whether the service ends the value of an attribute because the plan sets another one, with which it cannot be.
pub(in crate::plan) fn is_displaced(kind: &Kind, decision: &Decision<'_>, name: &str) -> bool {
    let is_set = |name: &str| {
        decision.changes(&[name])
            && decision.find_attribute(name).is_some_and(|want| want.value != Value::Null)
    };
    decision.find_attribute(name).is_none()
        && kind.rules.iter().any(|rule| match rule.check {
            RuleCheck::NotBoth { attributes } => {
                attributes.contains(&name) && attributes.iter().any(|other| *other != name && is_set(other))
            }
            _ => false,
        })
}

/// Returns the value that a new object has of an attribute that its block does not write; `None` if the service chooses it.
pub(in crate::plan) fn initial_value(attribute: &Attribute) -> Option<Value> {
    match attribute.presence {
        Presence::Default(literal) => Some(literal.value()),
        _ => attribute.usual.map(Literal::value),
    }
}

struct LostValues<'d, 'a> {
    joined: &'d JoinedState<'a>,
    differ: AttributeDiffer<'d, 'a>,
    decision: &'d Decision<'a>,
}

impl<'a> LostValues<'_, 'a> {
    fn of_attribute(&self, attribute: &'static Attribute) -> Vec<AttributeDiff<'a>> {
        let applied = self.differ.last_applied_value(attribute);
        let live = self.differ.live_attribute(attribute, None).or_else(|| applied.cloned());
        let Some(live) = live.filter(|live| !is_unset(live)) else { return Vec::new() };
        let written = self.decision.find_attribute(attribute.name);
        match (&attribute.ty, &live) {
            (Type::Map(_), Value::Map(entries)) => {
                let is_written = |key: &str| match written.map(|want| &want.value) {
                    Some(Value::Map(map)) => map.contains_key(key),
                    written => written.is_some(),
                };
                let path = |key: &str| smol_str::format_smolstr!("{}.{key}", attribute.name);
                let is_shown =
                    |key: &str| self.decision.differences.iter().any(|shown| shown.path == path(key));
                let lost = entries.iter().filter(|(key, _)| !is_written(key) && !is_shown(key));
                lost.map(|(key, value)| {
                    let known =
                        applied.is_some_and(|map| matches!(map, Value::Map(map) if map.contains_key(key)));
                    let before = if known {
                        value.clone()
                    } else {
                        protect_unwritten_value(attribute, value, self.joined.key())
                    };
                    self.difference(attribute, path(key), &before, Value::Null)
                })
                .collect()
            }
            _ if written.is_some() => Vec::new(),
            _ => {
                let after = initial_value(attribute);
                // What the service chose for the old object, it chooses for the new one, too.
                let can_be_empty = attribute.ty.can_be_emptied();
                let is_chosen = after.is_none() && applied.is_none() && !can_be_empty;
                let after = after.unwrap_or_default();
                let before = display_value(attribute, &live, &self.joined.names);
                if is_chosen || are_equivalent(&attribute.ty, &before, &after) {
                    return Vec::new();
                }
                vec![self.difference(attribute, attribute.name.into(), &before, after)]
            }
        }
    }

    fn difference(
        &self,
        attribute: &'static Attribute,
        path: Name,
        before: &Value,
        after: Value,
    ) -> AttributeDiff<'a> {
        let applied = self.differ.last_applied_value(attribute);
        AttributeDiff {
            attribute,
            path,
            before: protect_live_value(attribute, [None, applied], before, self.joined.key()),
            after,
            last_applied: None,
            cause: self.decision.cause,
            setting: None,
        }
    }
}
