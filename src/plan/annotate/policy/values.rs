//! The values of the facts that a condition reads. In: the joined state, decisions, the plan. Out: maps of values, in which
//! secrets are replaced by their fingerprints and catalog entries have their names.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use super::program::NamedFacts;
use crate::model::address::Name;
use crate::model::cel::policy::{CHANGE_ACTIONS, PolicyFact, facts_below};
use crate::model::schema::{Attribute, Type};
use crate::model::values::secret::Secret;
use crate::model::values::value::{Attributes, Value, ValueMap};
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::diff::attributes::{AttributeDiffer, display_value};
use crate::plan::diff::planned_values::planned_value;
use crate::plan::join::joined_state::{AdoptionReason, JoinedState, ResourceState};
use crate::plan::model::change::{Action, Change, ChangeCost, Plan};
use crate::plan::model::compare::fingerprint_secrets;

/// The facts of the moment and of the environment.
pub(in crate::plan) struct ContextValues(Vec<(&'static str, Value)>);

impl ContextValues {
    /// Returns the values at the time of the plan: the service's time where it is known.
    pub fn new(joined: &JoinedState<'_>) -> Self {
        let context = &joined.inputs.options.policy;
        let now = joined.inputs.service_time();
        Self(vec![
            ("now", Value::text(format_time(now))),
            ("actor", Value::Text(context.actor.clone())),
            ("branch", Value::Text(context.branch.clone())),
        ])
    }

    /// Returns unknown values, for an evaluation that has neither a time nor an environment.
    pub fn unknown() -> Self {
        Self(["now", "actor", "branch"].map(|name| (name, Value::unknown(Vec::new()))).into())
    }

    pub fn roots(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// Returns the values of some of the facts, as texts.
    pub fn select(&self, facts: &[&'static PolicyFact]) -> BTreeMap<Name, Name> {
        let is_selected = |name: &str| facts.iter().any(|fact| fact.path == name);
        let selected = self.0.iter().filter(|(name, _)| is_selected(name));
        selected.map(|(name, value)| (Name::new_static(name), Name::new(value.to_string()))).collect()
    }
}

/// Returns a time with seconds, in UTC: texts of this form are ordered by time.
pub(in crate::plan) fn format_time(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Returns the facts about a resource that follow from its decision: the planned values, or the live ones of a resource
/// that is deleted.
pub(in crate::plan) fn resource_facts(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    named: &NamedFacts,
) -> Attributes {
    let mut seen = Attributes::new();
    for attribute in subject.kind.attributes.iter().filter(|attribute| named.covers_name(attribute.name)) {
        seen.insert(attribute.name.into(), planned_fact(joined, subject, decision, attribute));
    }
    for name in facts_below("self").filter(|name| named.covers_name(name)) {
        let value = match name {
            "address" => Value::text(subject.address.as_str()),
            "kind" => Value::text(subject.kind.name),
            "action" => Value::text(action_name(subject, decision)),
            "before" if subject.object().is_none() && named.compares_before_with_null() => Value::Null,
            "before" => Value::Map(live_facts(joined, subject, named)),
            "id" => subject.object().map_or(Value::Null, |object| Value::Text(object.id.clone())),
            "key" => instance_key(subject).map_or(Value::Null, Value::Text),
            // `add_change_facts` adds the facts about the change.
            _ => continue,
        };
        seen.insert(Name::new_static(name), value);
    }
    seen
}

/// Adds the facts about the change of a resource; `None` if it does not change.
pub(in crate::plan) fn add_change_facts(
    seen: &mut Attributes,
    named: &NamedFacts,
    change: Option<&Change>,
    cost: &ChangeCost,
) {
    for name in facts_below("self").filter(|name| named.covers_name(name)) {
        let value = match name {
            "cause" => change.map_or(Value::Null, |change| keyword_value(&change.cause)),
            "effects" => change.map_or(Value::List(Vec::new()), effect_codes),
            "due_now" => price_value(cost.due_now),
            "monthly_before" => price_value(cost.monthly_before),
            "monthly_after" => price_value(cost.monthly_after),
            _ => continue,
        };
        seen.insert(Name::new_static(name), value);
    }
}

/// The values of one change for conditions over the plan, by address.
pub(in crate::plan) struct ChangeValues {
    pub before: ValueMap,
    pub after: ValueMap,
    /// Whether there is an object, and whether there is one after the apply.
    exists: (bool, bool),
}

impl ChangeValues {
    /// Returns the live and the planned values of the attributes that a condition may read.
    pub fn new(
        joined: &JoinedState<'_>,
        subject: &ResourceState<'_>,
        decision: &Decision<'_>,
        (named, names): (&NamedFacts, &[&'static str]),
    ) -> Self {
        let goes = matches!(decision.act, DecisionKind::Delete | DecisionKind::Forget);
        let after = |attribute: &'static Attribute| {
            if goes { Value::Null } else { planned_fact(joined, subject, decision, attribute) }
        };
        // A condition over changes of several kinds reads null where a kind does not have an attribute.
        let absent: ValueMap = names.iter().map(|name| (Name::new_static(name), Value::Null)).collect();
        let (mut of_live, mut of_plan) = (absent.clone(), absent);
        let all = subject.kind.attributes.iter().filter(|one| named.covers_attribute(one.name));
        of_plan.extend(all.map(|attribute| (attribute.name.into(), after(attribute))));
        of_live.extend(live_facts(joined, subject, named));
        Self { before: of_live, after: of_plan, exists: (subject.object().is_some(), !goes) }
    }
}

fn live_facts(joined: &JoinedState<'_>, subject: &ResourceState<'_>, named: &NamedFacts) -> ValueMap {
    let all = subject.kind.attributes.iter().filter(|one| named.covers_attribute(one.name));
    all.map(|attribute| (attribute.name.into(), live_fact(joined, subject, attribute))).collect()
}

/// Returns the key of an instance; `None` for a resource without `for_each`. The address has it where no block does: of an
/// instance whose key left `for_each`.
fn instance_key(subject: &ResourceState<'_>) -> Option<Name> {
    if let Some(block) = subject.block {
        return block.key.clone();
    }
    let parts: Vec<&str> = subject.address.segments().collect();
    // An instance is `KIND.NAME.KEY`, and one of a child `COLLECTION.NAME.KEY` below its parent.
    let start = parts.len().checked_sub(3)?;
    let is_instance = match subject.parent() {
        Some(parent) => parent.segments().count() == start,
        None => parts[start] == subject.kind.name,
    };
    is_instance.then(|| Name::new(parts[parts.len() - 1]))
}

/// Returns the value of an attribute after the apply, as a condition reads it: what the service has then, also where that is
/// not what the block says.
pub(in crate::plan) fn planned_fact(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    attribute: &'static Attribute,
) -> Value {
    if is_left_alone(joined, subject, decision, attribute) {
        return live_fact(joined, subject, attribute);
    }
    let waits = || Value::unknown(vec![subject.address.clone()]);
    let absent = || if attribute.is_writable() { Value::Null } else { waits() };
    let value = planned_value(subject, decision, attribute.name).unwrap_or_else(absent);
    readable_value(joined, attribute, value)
}

/// Returns whether the object has another value than its block writes, and the apply leaves that as it is: the difference is
/// ignored, or the object is frozen.
fn is_left_alone(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    attribute: &'static Attribute,
) -> bool {
    let is_kept =
        decision.act == DecisionKind::Frozen || !(decision.is_new() || decision.changes(&[attribute.name]));
    let Some(want) = decision.find_attribute(attribute.name).filter(|_| is_kept) else { return false };
    AttributeDiffer::new(joined, subject)
        .is_some_and(|diff| diff.shows(attribute) && !diff.shows_written(want))
}

/// Returns the live value of an attribute, as a condition reads it; null without an object.
pub(in crate::plan) fn live_fact(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    attribute: &'static Attribute,
) -> Value {
    let Some(object) = subject.object() else { return Value::Null };
    let live = object.attributes.get(attribute.name).cloned().unwrap_or_default();
    readable_value(joined, attribute, live)
}

/// Returns a value as a condition reads it: an unset collection is empty, a catalog entry has its name, and a secret its
/// fingerprint.
fn readable_value(joined: &JoinedState<'_>, attribute: &'static Attribute, value: Value) -> Value {
    match (&attribute.ty, value) {
        (Type::List(_) | Type::Set { .. }, Value::Null) => Value::List(Vec::new()),
        (Type::Map(_), Value::Null) => Value::Map(ValueMap::new()),
        (Type::Catalog(_), value) => display_value(attribute, &value, &joined.names),
        // A secret that is not known yet stays one: a policy cannot read it then, either.
        (_, Value::Unknown(_)) if attribute.secret => Value::Secret(Secret::Fingerprint(None)),
        (_, value) if attribute.secret && !value.is_secret() => fingerprint_secrets(&value, joined.key()),
        (_, value) => value,
    }
}

fn action_name(subject: &ResourceState<'_>, decision: &Decision<'_>) -> &'static str {
    let adopted =
        matches!(subject.adoption, Some(AdoptionReason::Requested | AdoptionReason::Recovered(_)));
    match decision.act {
        DecisionKind::Keep | DecisionKind::Update if adopted => "adopt",
        DecisionKind::Keep | DecisionKind::Frozen => "none",
        DecisionKind::Create => "create",
        DecisionKind::Update => "update",
        DecisionKind::Replace { .. } => "replace",
        DecisionKind::Delete => "delete",
        DecisionKind::Forget => "forget",
    }
}

/// Returns the facts about a plan that a condition reads; costs are in USD a month. `changes` has the values of
/// `of_change`, by address.
pub(in crate::plan) fn plan_facts(
    plan: &Plan,
    kinds: &[&'static str],
    named: &NamedFacts,
    of_change: &BTreeMap<&str, &ChangeValues>,
) -> Attributes {
    let cost = &plan.cost;
    let mut seen = Attributes::new();
    for name in facts_below("plan").filter(|name| named.covers_name(name)) {
        let value = match name {
            "changes" => {
                Value::List(plan.changes.iter().map(|one| change_facts(one, named, of_change)).collect())
            }
            "counts" => counts_by_kind(plan, kinds),
            "destroy" => Value::Bool(plan.base.destroy),
            "due_now" => Value::Decimal(cost.due.amount),
            "env" => Value::Text(plan.base.environment.clone()),
            "stack" => Value::Text(plan.base.stack.clone()),
            "monthly_before" => Value::Decimal(cost.monthly_before),
            "monthly_after" => Value::Decimal(cost.monthly_after),
            "monthly_delta" => Value::Decimal(cost.monthly_after - cost.monthly_before),
            "unchanged" => count_value(plan.unchanged),
            "unpriced" => count_value(cost.unpriced),
            action => count_value(plan.changes.iter().filter(|one| has_action(plan, one, action)).count()),
        };
        seen.insert(Name::new_static(name), value);
    }
    seen
}

fn change_facts(change: &Change, named: &NamedFacts, of_change: &BTreeMap<&str, &ChangeValues>) -> Value {
    let values = of_change.get(change.address.as_str());
    let exists = values.map_or((true, true), |values| values.exists);
    let map =
        |pick: fn(&ChangeValues) -> &ValueMap| values.map_or_else(ValueMap::new, |one| pick(one).clone());
    let fields = facts_below("plan.changes[]").map(|name| {
        let value = match name {
            "address" => Value::text(change.address.as_str()),
            "kind" => Value::Text(change.kind.clone()),
            "action" => Value::Text(action_of(change)),
            "cause" => keyword_value(&change.cause),
            "due_now" => price_value(change.cost.due_now),
            "effects" => effect_codes(change),
            "monthly_before" => price_value(change.cost.monthly_before),
            "monthly_after" => price_value(change.cost.monthly_after),
            "before" if !exists.0 && named.compares_before_with_null() => Value::Null,
            "after" if !exists.1 && named.compares_after_with_null() => Value::Null,
            "before" => Value::Map(map(|values| &values.before)),
            _ => Value::Map(map(|values| &values.after)),
        };
        (Name::new_static(name), value)
    });
    Value::Map(fields.collect())
}

/// Returns how many changes there are by kind and action; each kind and action has an entry.
fn counts_by_kind(plan: &Plan, kinds: &[&'static str]) -> Value {
    let count = |kind: &str, action: &str| {
        let is_one = |change: &&Change| change.kind == kind && has_action(plan, change, action);
        count_value(plan.changes.iter().filter(is_one).count())
    };
    let of_kind = |kind: &str| {
        let actions = CHANGE_ACTIONS.map(|action| (Name::new_static(action), count(kind, action)));
        Value::Map(actions.into())
    };
    Value::Map(kinds.iter().map(|kind| (Name::new_static(kind), of_kind(kind))).collect())
}

/// Returns whether a change counts as one of an action: one that also deletes an older object is a deletion, too.
fn has_action(plan: &Plan, change: &Change, action: &str) -> bool {
    action_of(change) == action
        || action == Action::Delete.as_str() && plan.counts_as(change, Action::Delete)
}

fn action_of(change: &Change) -> Name {
    match keyword_value(&change.action) {
        Value::Text(word) => word,
        _ => Name::default(),
    }
}

fn effect_codes(change: &Change) -> Value {
    Value::List(change.effects.iter().map(|effect| keyword_value(&effect.code)).collect())
}

/// Returns the keyword of a value that serializes as a text.
fn keyword_value(word: &impl serde::Serialize) -> Value {
    let word = serde_json::to_value(word).ok();
    word.as_ref().and_then(|word| word.as_str()).map_or(Value::Null, Value::text)
}

fn count_value(count: usize) -> Value {
    Value::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}

fn price_value(price: Option<Decimal>) -> Value {
    price.map_or(Value::Null, Value::Decimal)
}
