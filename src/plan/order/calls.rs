//! The calls that change an object in place: which ones, in which order, with which values. In: the differences
//! of one resource; out: calls, each with the values before and after. Values with secrets are fingerprints,
//! which an apply replaces from the configuration or the object.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::address::Name;
use crate::model::address::name_map::NameMap;
use crate::model::expression::Expression;
use crate::model::schema::{ApiCall, Attribute, Kind, Type, UpdateStrategy};
use crate::model::values::value::{Value, ValueMap};
use crate::plan::decide::reactivation;
use crate::plan::decision::{AttributeDiff, Decision};
use crate::plan::diff::attributes::{ignores_drift, is_exclusive};
use crate::plan::diff::current_value::present_value;
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::compare::protect_live_value;
use crate::plan::model::step::PlannedCall;

/// The calls of one update, in the order of the kind's table.
pub(in crate::plan) struct UpdateCalls {
    planned: Vec<PlannedCall>,
}

/// Returns the calls that remove a resource's differences, a revival first. `released`: links that
/// an earlier step undoes.
pub(in crate::plan) fn plan_calls(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    released: &[&'static str],
) -> Vec<PlannedCall> {
    let first = decision.revival.and_then(|revival| reactivation::revival_call(subject, revival));
    let mut calls = UpdateCalls { planned: first.into_iter().collect() };
    let mut last = "";
    for difference in &decision.differences {
        // All keys of a map are sent in one call.
        if std::mem::replace(&mut last, difference.attribute.name) != difference.attribute.name {
            calls.add_difference(joined, subject, decision, difference, released);
        }
    }
    // The roll-out of an upload is waited for separately: as the last call, it replaces roll-outs of other calls.
    let mut planned = calls.planned;
    planned.sort_by_key(|planned| delivers_upload(subject.kind, planned));
    planned
}

/// Returns whether a call names an upload and begins a record whose end is waited for.
fn delivers_upload(kind: &Kind, planned: &PlannedCall) -> bool {
    let mut attributes = planned.attributes.keys().filter_map(|name| kind.attribute(name));
    attributes.any(|attribute| matches!(attribute.change, UpdateStrategy::Upload { run: Some(_), .. }))
}

/// Returns a call that only undoes a link; `None` if the attribute is not a link.
pub(in crate::plan) fn release_call(attribute: &'static Attribute, before: Value) -> Option<PlannedCall> {
    let UpdateStrategy::Link { unset, .. } = attribute.change else { return None };
    let link = (before, Expression::Value(Value::Null));
    Some(PlannedCall {
        call: unset.name.into(),
        attributes: BTreeMap::from([(attribute.name.into(), link)]),
    })
}

impl UpdateCalls {
    fn add_difference(
        &mut self,
        joined: &JoinedState<'_>,
        subject: &ResourceState<'_>,
        decision: &Decision<'_>,
        difference: &AttributeDiff<'_>,
        released: &[&'static str],
    ) {
        let attribute = difference.attribute;
        let before = before_value(joined, subject, decision, attribute);
        let after = target_value(joined, subject, decision, attribute);
        match attribute.change {
            UpdateStrategy::Patch { call, .. } => {
                self.add_call(call, attribute.name, before, after);
                for name in call.always {
                    self.add_companion(joined, subject, decision, call, name);
                }
            }
            UpdateStrategy::Switch(choices) => {
                let chosen = choices.iter().find(|(word, _)| difference.after.as_text() == Some(word));
                if let Some((_, call)) = chosen {
                    self.add_call(call, attribute.name, before, after);
                }
            }
            UpdateStrategy::Link { set, unset, .. } => {
                let linked = before != Value::Null && !released.contains(&attribute.name);
                if linked {
                    self.add_call(unset, attribute.name, before, Expression::Value(Value::Null));
                }
                if after != Expression::Value(Value::Null) {
                    self.add_call(set, attribute.name, Value::Null, after);
                }
            }
            UpdateStrategy::Upload { deliver, .. } => self.add_call(deliver, attribute.name, before, after),
            UpdateStrategy::Replace | UpdateStrategy::Never => {}
        }
    }

    fn add_call(&mut self, call: &ApiCall, attribute: &str, before: Value, after: Expression) {
        let change = (attribute.into(), (before, after));
        if let Some(found) = self.planned.iter_mut().find(|planned| planned.call == call.name) {
            found.attributes.extend([change]);
        } else {
            let attributes = BTreeMap::from([change]);
            self.planned.push(PlannedCall { call: call.name.into(), attributes });
        }
    }

    /// Adds an attribute that the call contains even when it does not change (`always` in the table): the
    /// service would reset it otherwise, or refuse the call.
    fn add_companion(
        &mut self,
        joined: &JoinedState<'_>,
        subject: &ResourceState<'_>,
        decision: &Decision<'_>,
        call: &ApiCall,
        name: &str,
    ) {
        let Some(attribute) = subject.kind.attribute(name) else { return };
        let there = self.planned.iter().any(|p| p.call == call.name && p.attributes.contains_key(name));
        if there {
            return;
        }
        let before = before_value(joined, subject, decision, attribute);
        // A live value that the plan leaves alone is sent as it is.
        let is_left = ignores_drift(joined, subject, name) && !decision.changes(&[name]);
        let after = match decision.find_attribute(name) {
            Some(_) if !is_left => target_value(joined, subject, decision, attribute),
            _ => Expression::Value(before.clone()),
        };
        self.add_call(call, name, before, after);
    }
}

/// Returns the current value of an attribute, with fingerprints where a secret was or will be, and where another writer
/// may have set one.
fn before_value(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    attribute: &Attribute,
) -> Value {
    let written = decision.find_attribute(attribute.name).map(|want| &want.value);
    let applied = subject.entry.and_then(|entry| entry.applied.get(attribute.name));
    protect_live_value(attribute, [written, applied], &present_value(subject, attribute), joined.key())
}

/// Returns the whole new value of an attribute; for a map, with the unmanaged live keys. The parts of a map or record that
/// `ignore_drift` leaves alone keep their live values. A part that may be another writer's secret is a fingerprint: apply
/// reads its value from the object.
fn target_value(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    attribute: &Attribute,
) -> Expression {
    let Some(want) = decision.find_attribute(attribute.name) else { return Expression::Value(Value::Null) };
    let after = want.to_expression(joined.key());
    if !matches!(attribute.ty, Type::Map(_) | Type::Record(_)) {
        return after;
    }
    let before = before_value(joined, subject, decision, attribute);
    let (Value::Map(live), false) = (before, attribute.secret) else { return after };
    let written = match after.into_entries() {
        Ok(entries) => entries,
        Err(other) => return other,
    };
    let written = without_ignored(joined, subject, decision, attribute, (written, &live));
    if let Type::Record(_) = attribute.ty {
        return known_map(written);
    }
    let applied = subject.entry.and_then(|entry| match entry.applied.get(attribute.name)? {
        Value::Map(map) => Some(map),
        _ => None,
    });
    let exclusive = is_exclusive(want);
    let managed = |key: &Name| exclusive || applied.is_some_and(|map| map.contains_key(key));
    let extra = live.into_iter().filter(|(key, _)| !managed(key) && !written.contains_key(key));
    let mut all: NameMap<Expression> = extra.map(|(key, value)| (key, Expression::Value(value))).collect();
    all.extend(written);
    known_map(all)
}

/// Returns the written keys of a map or record as its call sends them: under `ignore_drift`, a key that no difference names
/// keeps what is live, also that it is missing.
fn without_ignored(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    attribute: &Attribute,
    (written, live): (NameMap<Expression>, &ValueMap),
) -> NameMap<Expression> {
    if !ignores_drift(joined, subject, attribute.name) {
        return written;
    }
    let changed: BTreeSet<&str> =
        decision.differences.iter().map(|difference| difference.path.as_str()).collect();
    let is_changed = |key: &Name| changed.contains(format!("{}.{key}", attribute.name).as_str());
    let sent = written.into_iter().filter_map(|(key, value)| {
        if is_changed(&key) {
            return Some((key, value));
        }
        live.get(&key).map(|live| (key, Expression::Value(live.clone())))
    });
    sent.collect()
}

/// Converts a map to a value if all its values are known; otherwise it stays an expression.
fn known_map(map: NameMap<Expression>) -> Expression {
    if map.values().all(|part| part.known_value().is_some()) {
        let known = map.into_iter().filter_map(|(key, part)| match part {
            Expression::Value(value) => Some((key, value)),
            _ => None,
        });
        return Expression::Value(Value::Map(known.collect()));
    }
    Expression::Map(map)
}
