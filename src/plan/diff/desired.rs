//! Desired attributes: the attributes of a block, evaluated as far as live values allow: references resolved,
//! catalog names with their ids, `null` as the API's default. An expression that fails adds a blocker and is
//! unknown. Invariant: a run without the secrets' values decides as a run with them.

use std::collections::BTreeMap;

use super::planned_values::PlannedValues;
use crate::config::stack::model::{AttributeSetting, Resource};
use crate::model::address::Name;
use crate::model::diagnostic::blocker_code;
use crate::model::diagnostic::nearest_name;
use crate::model::evaluate::evaluate_expression;
use crate::model::expression::EvaluationError;
use crate::model::schema::{Attribute, Presence, Type, UpdateStrategy};
use crate::model::values::secret::Secret;
use crate::model::values::value::Value;
use crate::plan::blockers::Blockers;
use crate::plan::decision::DesiredAttribute;
use crate::plan::join::joined_state::{JoinedState, ResourceState};

/// Returns the written attributes of a block, in the order of the kind's table.
pub(in crate::plan) fn desired_attributes<'a>(
    joined: &JoinedState<'a>,
    subject: &ResourceState<'a>,
    resource: &'a Resource,
    outlook: &PlannedValues<'_, 'a>,
    blocks: &mut Blockers<'_, 'a>,
) -> Vec<DesiredAttribute<'a>> {
    let mut found = Vec::with_capacity(resource.attributes.len());
    for attribute in subject.kind.attributes.iter().filter(|attribute| attribute.is_writable()) {
        match resource.attributes.get(attribute.name) {
            Some(setting) => {
                found.push(desired_attribute(joined, subject, attribute, setting, outlook, blocks));
            }
            None => found.extend(released_link(joined, subject, attribute)),
        }
    }
    found
}

fn desired_attribute<'a>(
    joined: &JoinedState<'a>,
    subject: &ResourceState<'a>,
    attribute: &'static Attribute,
    setting: &'a AttributeSetting,
    outlook: &PlannedValues<'_, 'a>,
    blocks: &mut Blockers<'_, 'a>,
) -> DesiredAttribute<'a> {
    let value = evaluate_expression(&setting.expression, outlook).unwrap_or_else(|error| {
        let text = format!("{}.{} has no value: {error}.", subject.address, attribute.name);
        let help = match error {
            EvaluationError::TooLarge => "Shorten the values that it is made of (stead explain S0218).",
            _ => "Correct the expression.",
        };
        blocks.add_for_subject(blocker_code::EXPRESSION, subject, Some(setting.span), text, help.into());
        Value::unknown(Vec::new())
    });
    let value = match (value, attribute.presence) {
        (Value::Null, Presence::Default(literal)) => literal.value(),
        (value, _) => value,
    };
    let applied = subject.entry.and_then(|entry| entry.applied.get(attribute.name));
    let value = applied.into_iter().fold(with_recorded_inputs(value, &joined.recorded_inputs), in_use);
    let id = match attribute.ty {
        Type::Catalog(table) => catalog_id(joined, subject, (attribute, table), &value, setting, blocks),
        _ => None,
    };
    let sources = setting.expression.addresses().into_iter();
    let changing_sources = sources.filter(|address| outlook.may_change(address)).collect();
    DesiredAttribute { attribute, setting: Some(setting), value, id, changing_sources }
}

/// Replaces the inputs of computed secrets that are not available in this run by the fingerprints that the ledger
/// recorded: a changed expression is detected with the secrets and without.
fn with_recorded_inputs(value: Value, recorded: &BTreeMap<Name, Name>) -> Value {
    match value {
        Value::Secret(Secret::Derived(derived)) => Value::Secret(Secret::Derived(Box::new(
            derived.with_inputs(&|name| recorded.get(name).cloned()),
        ))),
        Value::Secret(secret) if secret.is_withheld() => {
            let print = secret.name().and_then(|name| recorded.get(name));
            let print = print.map(|print| Secret::Fingerprint(Some(print.clone())));
            Value::Secret(print.unwrap_or(secret))
        }
        Value::List(items) => {
            Value::List(items.into_iter().map(|item| with_recorded_inputs(item, recorded)).collect())
        }
        Value::Map(map) => {
            let part = |(key, part)| (key, with_recorded_inputs(part, recorded));
            Value::Map(map.into_iter().map(part).collect())
        }
        value => value,
    }
}

/// Replaces secrets that are not available in this run by the applied ones: the plan, and its fingerprint, are the same
/// as with the secrets.
fn in_use(value: Value, applied: &Value) -> Value {
    match (value, applied) {
        (Value::Secret(secret), Value::Secret(applied)) if secret.is_withheld() => {
            Value::Secret(applied.clone())
        }
        (Value::Secret(secret), Value::List(_) | Value::Map(_)) if secret.is_undecided() => {
            if applied.is_secret() { applied.clone() } else { Value::Secret(secret) }
        }
        (Value::Map(map), Value::Map(applied)) => {
            let part = |(name, part)| {
                let part = applied.get(&name).into_iter().fold(part, in_use);
                (name, part)
            };
            Value::Map(map.into_iter().map(part).collect())
        }
        (Value::List(items), Value::List(applied)) => Value::List(items_in_use(items, applied)),
        (value, _) => value,
    }
}

/// Replaces unavailable secrets of a list by the applied ones, where the ledger may have them in another order:
/// only if both lists have equally many secrets, and all of the written ones are unavailable.
fn items_in_use(items: Vec<Value>, applied: &[Value]) -> Vec<Value> {
    let is_secret = |item: &&Value| matches!(item, Value::Secret(_));
    let is_withheld = |item: &Value| matches!(item, Value::Secret(secret) if secret.is_withheld());
    let mut in_use = applied.iter().filter(is_secret);
    let mut secrets = items.iter().filter(is_secret);
    if in_use.clone().count() != secrets.clone().count() || !secrets.all(is_withheld) {
        return items;
    }
    let taken =
        |item: Value| if is_withheld(&item) { in_use.next().cloned().unwrap_or(item) } else { item };
    items.into_iter().map(taken).collect()
}

/// Returns the id of a catalog name; `None`, with a blocker, if the catalog does not have it, and without one
/// if the name is unknown or not set.
fn catalog_id<'a>(
    joined: &JoinedState<'a>,
    subject: &ResourceState<'a>,
    (attribute, table): (&Attribute, &'static str),
    named: &Value,
    setting: &AttributeSetting,
    blocks: &mut Blockers<'_, 'a>,
) -> Option<Value> {
    if named.is_unknown() || *named == Value::Null {
        return None;
    }
    if let Some(record) = joined.names.find(table, named) {
        return Some(record.id.clone());
    }
    if joined.inputs.registry.catalog(table).is_some_and(|table| table.versions) {
        let present = subject.object().and_then(|object| object.attributes.get(attribute.name));
        if let Some(record) = joined.names.find_version(table, named, present) {
            return Some(record.id.clone());
        }
    }
    // A live value that the catalog no longer offers can stay as it is.
    if subject.entry.is_some_and(|entry| entry.applied.values().any(|value| value == named)) {
        return Some(named.clone());
    }
    let text = format!("{}: the service's {table} catalog has no `{named}`.", subject.address);
    let wrong = named.to_string();
    let help = match nearest_name(&wrong, joined.names.slugs(table)) {
        Some(name) => format!("Did you mean `{name}`?"),
        None => format!("It has {}.", joined.names.slugs(table).take(12).collect::<Vec<_>>().join(", ")),
    };
    blocks.add_for_subject(blocker_code::CATALOG, subject, Some(setting.span), text, help);
    None
}

/// Returns the undoing of a link that stead made and that no block mentions any more, if its target is deleted:
/// otherwise the service would refuse the deletion. `None` if the link is gone or its target stays.
fn released_link<'a>(
    joined: &JoinedState<'a>,
    subject: &ResourceState<'a>,
    attribute: &'static Attribute,
) -> Option<DesiredAttribute<'a>> {
    let UpdateStrategy::Link { .. } = attribute.change else { return None };
    let linked = subject.entry?.applied.get(attribute.name)?;
    let live = subject.object()?.attributes.get(attribute.name)?;
    let leaves = |n: &usize| {
        let other = &joined.subjects[*n];
        other.resource.is_none() && other.object().is_some_and(|o| live.as_text() == Some(o.id.as_str()))
    };
    let gone = linked == live && subject.held.iter().any(leaves);
    gone.then_some(DesiredAttribute {
        attribute,
        setting: None,
        value: Value::Null,
        id: None,
        changing_sources: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_withheld_secret_in_a_list_equals_the_applied_one() {
        let seal = |text: &str| Value::Secret(Secret::Fingerprint(Some(text.into())));
        let kept = || Value::Secret(Secret::new_withheld());
        let list = Value::List;
        let applied = list(vec!["a".into(), seal("1"), seal("2")]);
        for (written, wanted) in [
            (vec![kept(), kept(), "a".into()], vec![seal("1"), seal("2"), "a".into()]),
            (vec![kept(), "b".into(), kept()], vec![seal("1"), "b".into(), seal("2")]),
        ] {
            assert_eq!(in_use(list(written), &applied), list(wanted));
        }
        // Which of them it is cannot be told.
        for written in [vec![kept(), "a".into()], vec![kept(), Value::Secret(Secret::new("x"))]] {
            assert_eq!(in_use(list(written.clone()), &applied), list(written));
        }
    }
}
