//! All attributes of all resources before and after the apply, and what their blocks say. In: the decisions, the live
//! objects and the stack. Out: `PlanValues`, without the text of secrets.

use std::collections::{BTreeMap, BTreeSet};

use super::recorded_value;
use crate::config::stack::model::Resource;
use crate::model::address::{Address, Name};
use crate::model::expression::{Expression, Reference};
use crate::model::values::secret::{FingerprintKey, Secret};
use crate::model::values::value::{Attributes, Value};
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::compare::fingerprint_secrets;
use crate::plan::model::resource_values::{PlanValues, ResourceValues, WrittenValue};

/// Returns the values of all resources.
pub(in crate::plan) fn plan_values(joined: &JoinedState<'_>, decisions: &[Decision<'_>]) -> PlanValues {
    let stack = joined.inputs.stack;
    let resources = joined.subjects.iter().zip(decisions).filter_map(|(subject, decision)| {
        let values = resource_values(subject, decision, joined.key());
        let exists = values.before.is_some() || values.after.is_some();
        exists.then(|| (subject.address.clone(), values))
    });
    PlanValues {
        resources: resources.collect(),
        modules: stack.modules.keys().cloned().collect(),
        outputs: stack
            .outputs
            .iter()
            .map(|(name, output)| (name.clone(), written(&output.expression)))
            .collect(),
    }
}

fn resource_values(
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    key: &FingerprintKey,
) -> ResourceValues {
    let before = subject.object().map(|_| live_values(subject, decision, key));
    let after = match decision.act {
        DecisionKind::Delete | DecisionKind::Forget => None,
        DecisionKind::Keep | DecisionKind::Frozen if before.is_none() => None,
        DecisionKind::Frozen => before.clone(),
        _ => Some(planned_values(subject, decision, key)),
    };
    let block = subject.resource.or(subject.block);
    ResourceValues {
        kind: Name::new_static(subject.kind.name),
        parent: block.and_then(|block| block.parent.clone()),
        key: block.and_then(|block| block.key.clone()),
        before,
        after,
        written: block.map(written_attributes).unwrap_or_default(),
        depends_on: block.map(|block| block.depends_on.clone()).unwrap_or_default(),
        is_declared: block.is_some(),
    }
}

/// Returns all attributes of the live object, null where it has none.
fn live_values(subject: &ResourceState<'_>, decision: &Decision<'_>, key: &FingerprintKey) -> Attributes {
    let mut values = Attributes::new();
    let Some(object) = subject.object() else { return values };
    for attribute in subject.kind.attributes {
        let live = object.attributes.get(attribute.name).cloned().unwrap_or_default();
        let applied = subject.entry.and_then(|entry| entry.applied.get(attribute.name));
        let wanted = decision.find_attribute(attribute.name).map(|want| &want.value);
        let live = attribute.hidden([applied, wanted], live);
        values.insert(attribute.name.into(), fingerprint_secrets(&live, key));
    }
    values.insert("id".into(), Value::Text(object.id.clone()));
    values
}

/// Returns all attributes after the apply, unknown where only the apply shows them.
fn planned_values(
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    key: &FingerprintKey,
) -> Attributes {
    let unknown = || Value::unknown(vec![subject.address.clone()]);
    let planned = |name: &str| recorded_value(subject, decision, name).unwrap_or_else(unknown);
    let mut values = Attributes::new();
    for attribute in subject.kind.attributes {
        values.insert(
            attribute.name.into(),
            fingerprint_secrets(&planned(attribute.name), key).mark_secret(attribute.secret),
        );
    }
    let object = subject.object().filter(|_| !decision.is_new());
    values.insert("id".into(), object.map_or_else(unknown, |object| Value::Text(object.id.clone())));
    values
}

fn written_attributes(block: &Resource) -> BTreeMap<Name, WrittenValue> {
    block.attributes.iter().map(|(name, setting)| (name.clone(), written(&setting.expression))).collect()
}

/// Returns what an expression says: a constant, or what it is computed from.
fn written(expression: &Expression) -> WrittenValue {
    match expression.known_value() {
        Some(value) if !value.is_secret() => WrittenValue::Constant(value.clone()),
        _ => {
            let mut found = BTreeSet::new();
            collect_references(expression, &mut found);
            WrittenValue::References(found.into_iter().collect())
        }
    }
}

fn collect_references(expression: &Expression, into: &mut BTreeSet<Name>) {
    match expression {
        Expression::Reference(Reference { address, attribute }) => {
            let attribute = attribute.as_deref().unwrap_or("id");
            into.insert(Name::new(format!("{address}.{attribute}")));
            into.insert(address_name(address));
        }
        Expression::Text(parts) | Expression::List(parts) => {
            for part in parts {
                collect_references(part, into);
            }
        }
        Expression::Map(map) => {
            for part in map.values() {
                collect_references(part, into);
            }
        }
        Expression::Cel(cel) => {
            into.extend(cel.objects.iter().map(address_name));
            cel.waiting.values().for_each(|part| collect_references(part, into));
        }
        Expression::Value(_) => {}
    }
    expression.each_value(&mut |value| collect_secrets(value, into));
}

fn address_name(address: &Address) -> Name {
    Name::new(address.as_str())
}

/// Collects the names of the secrets in a value.
fn collect_secrets(value: &Value, into: &mut BTreeSet<Name>) {
    match value {
        Value::Secret(Secret::Derived(derived)) => into.extend(derived.input_names().cloned()),
        Value::Secret(secret) => into.extend(secret.name().cloned()),
        Value::List(items) => items.iter().for_each(|item| collect_secrets(item, into)),
        Value::Map(map) => map.values().for_each(|part| collect_secrets(part, into)),
        _ => {}
    }
}
