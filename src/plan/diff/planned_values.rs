//! `PlannedValues`: the planned values, for evaluating expressions while the plan is made.
//!
//! A written attribute has the block's value (a catalog attribute its written name), any other the live value. A
//! resource without an object, or whose object is replaced, has only its written attributes; its id and
//! all other attributes are unknown.

use super::free_billing::ended_free;
use super::lost_values::is_displaced;
use crate::model::address::Address;
use crate::model::budget::Budget;
use crate::model::expression::AttributeLookup;
use crate::model::schema::{Attribute, EVERY_CHANGE, Effect, Kind, Presence};
use crate::model::values::value::{Attributes, Value};
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::compare::is_unset;

/// The attribute that expressions read of the object itself, whatever its kind: no table of a kind has it.
pub(in crate::plan) const ID: &str = "id";

/// The scope of expressions while the decisions are made, dependencies first, and after it.
pub(in crate::plan) struct PlannedValues<'s, 'a> {
    /// The present state of all resources.
    pub joined: &'s JoinedState<'a>,
    /// The decisions so far.
    pub decisions: KnownDecisions<'s, 'a>,
}

/// Decisions by resource number.
#[derive(Clone, Copy)]
pub(in crate::plan) enum KnownDecisions<'s, 'a> {
    /// Those that are made already; the values of a resource that is not decided yet (`None`) are unknown.
    SoFar(&'s [Option<Decision<'a>>]),
    /// Those of all resources.
    All(&'s [Decision<'a>]),
}

impl<'s, 'a> KnownDecisions<'s, 'a> {
    fn of(self, number: usize) -> Option<&'s Decision<'a>> {
        match self {
            Self::SoFar(decisions) => decisions[number].as_ref(),
            Self::All(decisions) => Some(&decisions[number]),
        }
    }
}

impl<'a> PlannedValues<'_, 'a> {
    fn find_subject(&self, address: &Address) -> Option<(&ResourceState<'a>, &Decision<'a>)> {
        let n = *self.joined.index.get(address)?;
        Some((&self.joined.subjects[n], self.decisions.of(n)?))
    }

    /// Returns whether the plan changes a resource, or has not decided about it yet.
    pub fn may_change(&self, address: &Address) -> bool {
        let stays =
            |decision: &Decision<'_>| matches!(decision.act, DecisionKind::Keep | DecisionKind::Frozen);
        self.find_subject(address).is_none_or(|(_, decision)| !stays(decision))
    }
}

impl AttributeLookup for PlannedValues<'_, '_> {
    fn attribute(&self, address: &Address, attribute: Option<&str>) -> Value {
        let waits = || Value::unknown(vec![address.clone()]);
        let Some((subject, decision)) = self.find_subject(address) else { return waits() };
        match attribute.filter(|name| *name != ID) {
            None => object_id(subject, decision).unwrap_or_else(waits),
            Some(name) => planned_value(subject, decision, name)
                .unwrap_or_else(waits)
                .mark_secret(subject.kind.is_secret(name)),
        }
    }

    fn object(&self, address: &Address) -> (Attributes, bool) {
        let Some((subject, decision)) = self.find_subject(address) else {
            return (Attributes::new(), false);
        };
        let mut whole = true;
        let mut found = Attributes::new();
        let names = subject.kind.attributes.iter().map(|attribute| attribute.name);
        for (name, value) in names
            .map(|name| (name, planned_value(subject, decision, name)))
            .chain(std::iter::once((ID, object_id(subject, decision))))
        {
            match value {
                Some(value) if !value.is_unknown() => {
                    found.insert(name.into(), value);
                }
                _ => {
                    whole = false;
                    // Without an entry it would be unknown, too, and not known to be a secret.
                    if subject.kind.is_secret(name) {
                        let unknown = Value::unknown(vec![address.clone()]);
                        found.insert(name.into(), unknown.mark_secret(true));
                    }
                }
            }
        }
        (found, whole)
    }

    fn budget(&self) -> Option<&Budget> {
        Some(&self.joined.budget)
    }
}

fn object_id(subject: &ResourceState<'_>, decision: &Decision<'_>) -> Option<Value> {
    if subject.kind.api.id != ID {
        return planned_value(subject, decision, subject.kind.api.id);
    }
    let object = subject.object().filter(|_| !decision.is_new())?;
    Some(Value::Text(object.id.clone()))
}

/// Returns the planned value of an attribute; `None` if it is known only after apply, or if the kind
/// has no such attribute.
pub(in crate::plan) fn planned_value(
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    name: &str,
) -> Option<Value> {
    // A resource outside the plan's scope keeps its live values.
    let stays = decision.act == DecisionKind::Frozen && subject.object().is_some();
    if let Some(want) = decision.find_attribute(name).filter(|_| !stays) {
        return Some(want.value.clone());
    }
    let attribute = subject.kind.attribute(name);
    if is_displaced(subject.kind, decision, name) {
        return Some(Value::Null);
    }
    let Some(object) = subject.object().filter(|_| !decision.is_new()) else {
        return match attribute?.presence {
            Presence::Default(literal) => Some(literal.value()),
            _ => None,
        };
    };
    let live = object.attributes.get(name).cloned().unwrap_or_default();
    let applied = subject.entry.and_then(|entry| entry.applied.get(name));
    let live = match attribute {
        Some(attribute) => attribute.hidden([applied, None], live),
        None => live,
    };
    let updated = attribute.filter(|_| decision.act == DecisionKind::Update);
    let unsettled = updated.is_some_and(|attribute| {
        let follows = follows_change(subject, attribute, decision);
        // An empty value is final once the object is ready: then only a change that the attribute follows fills it.
        let fills = is_unset(&live) && !is_settled(subject.kind, &object.attributes);
        follows || !attribute.is_writable() && (fills || changes_address(decision))
    });
    (!unsettled).then_some(live)
}

/// Returns whether the service has finished working on an object, as far as its status shows; true for a
/// kind without a status.
pub(in crate::plan) fn is_settled(kind: &Kind, attributes: &Attributes) -> bool {
    kind.api.ready.is_none_or(|ready| {
        let status = attributes.get(ready.attribute).and_then(Value::as_text).unwrap_or_default();
        ready.wanted.contains(&status) || ready.resting.contains(&status)
    })
}

/// Returns the value of an attribute after the plan was applied. An attribute that no call changes keeps its live
/// value, whatever the block writes: one that can only grow, or whose drift is ignored.
pub(in crate::plan) fn value_after_apply(
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    name: &str,
) -> Option<Value> {
    let object = subject.object().filter(|_| !decision.is_new());
    let live = object.and_then(|object| object.attributes.get(name));
    let written = subject.kind.attribute(name).is_some_and(Attribute::is_writable);
    let (Some(live), true) = (live, written) else { return planned_value(subject, decision, name) };
    if is_displaced(subject.kind, decision, name) {
        return Some(Value::Null);
    }
    let follows =
        subject.kind.attribute(name).is_some_and(|attribute| follows_change(subject, attribute, decision));
    if !decision.changes(&[name]) && !follows {
        return Some(live.clone());
    }
    match (live, planned_value(subject, decision, name)) {
        // Live keys that no block writes are kept.
        (Value::Map(live), Some(Value::Map(wanted))) => {
            let mut all = live.clone();
            all.extend(wanted);
            Some(Value::Map(all))
        }
        (_, foreseen) => foreseen,
    }
}

/// Returns whether the service may give an attribute another value because of a change.
pub(in crate::plan) fn follows_change(
    subject: &ResourceState<'_>,
    attribute: &Attribute,
    decision: &Decision<'_>,
) -> bool {
    let is_payment = || {
        let choice = ended_free(subject, &decision.differences);
        choice.is_some_and(|choice| choice.attribute == attribute.name)
    };
    attribute.follows == EVERY_CHANGE || decision.changes(attribute.follows) || is_payment()
}

fn changes_address(decision: &Decision<'_>) -> bool {
    decision.differences.iter().any(|d| d.attribute.effects.contains(&Effect::AddressChange))
}
