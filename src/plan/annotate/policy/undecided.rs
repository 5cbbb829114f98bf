//! Conditions that depend on values which are known only after a part of the apply. In: a condition, and the facts with
//! unknown values. Out: an expression that computes it from the live objects, for the evaluation before a step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::program::PolicyProgram;
use super::values::{ChangeValues, ContextValues};
use crate::model::address::{Address, Name};
use crate::model::expression::{CelExpression, Expression};
use crate::model::values::value::Value;
use crate::plan::join::joined_state::{JoinedState, ResourceState};

/// Returns the condition of a policy on a kind for one resource: what its block computes from other objects is computed
/// then; what only the service decides stays unknown.
pub(super) fn condition_of_resource(
    program: &PolicyProgram<'_>,
    context: &ContextValues,
    seen: Value,
    subject: &ResourceState<'_>,
) -> Expression {
    let mut waiting = BTreeMap::new();
    if let (Value::Map(facts), Some(resource)) = (&seen, subject.resource) {
        for (name, _) in facts.iter().filter(|(_, value)| has_unknown(value)) {
            if let Some(setting) = resource.attributes.get(name) {
                waiting.insert(Name::new(format!("self.{name}")), setting.expression.clone());
            }
        }
    }
    condition(program, context, ("self", seen), waiting)
}

/// Returns the resources before whose steps the condition of a policy on the plan is evaluated again, and the condition.
pub(super) fn condition_of_plan(
    joined: &JoinedState<'_>,
    program: &PolicyProgram<'_>,
    context: &ContextValues,
    (seen, changes): (Value, &[(Address, ChangeValues)]),
) -> (Vec<Address>, Expression) {
    let mut addresses = Vec::new();
    let unknown: BTreeMap<&str, BTreeMap<Name, Expression>> = changes
        .iter()
        .filter_map(|(address, values)| {
            let resource = joined.inputs.stack.resources.get(address);
            let waits =
                values.after.iter().filter(|(_, value)| has_unknown(value)).filter_map(|(name, _)| {
                    Some((name.clone(), resource?.attributes.get(name)?.expression.clone()))
                });
            let waits: BTreeMap<Name, Expression> = waits.collect();
            (!waits.is_empty()).then_some((address.as_str(), waits))
        })
        .collect();
    let mut waiting = BTreeMap::new();
    if let Value::Map(facts) = &seen
        && let Some(Value::List(items)) = facts.get("changes")
    {
        let items = items.iter().map(|item| {
            let Value::Map(fields) = item else { return Expression::Value(item.clone()) };
            let address = fields.get("address").and_then(Value::as_text).unwrap_or_default();
            let Some(waits) = unknown.get(address) else { return Expression::Value(item.clone()) };
            addresses.extend(Address::parse(address));
            Expression::Map(
                fields
                    .iter()
                    .map(|(name, value)| (name.clone(), with_waiting(name, value, waits)))
                    .collect(),
            )
        });
        waiting.insert(Name::new_static("plan.changes"), Expression::List(items.collect()));
    }
    (addresses, condition(program, context, ("plan", seen), waiting))
}

fn with_waiting(name: &str, value: &Value, waits: &BTreeMap<Name, Expression>) -> Expression {
    match value {
        Value::Map(after) if name == "after" => Expression::Map(
            after
                .iter()
                .map(|(name, value)| {
                    let waiting = waits.get(name).cloned();
                    (name.clone(), waiting.unwrap_or_else(|| Expression::Value(value.clone())))
                })
                .collect(),
        ),
        value => Expression::Value(value.clone()),
    }
}

fn condition(
    program: &PolicyProgram<'_>,
    context: &ContextValues,
    (root, seen): (&'static str, Value),
    waiting: BTreeMap<Name, Expression>,
) -> Expression {
    let deny = &program.policy.deny;
    let mut bindings = deny.bindings.clone();
    bindings.extend(context.roots().map(|(name, value)| (Name::new_static(name), value.clone())));
    bindings.insert(Name::new_static(root), seen);
    let objects: BTreeSet<&Address> = waiting.values().flat_map(Expression::addresses).collect();
    let objects = objects.into_iter().cloned().collect();
    Expression::Cel(Arc::new(CelExpression {
        source: deny.source.clone(),
        bindings,
        objects,
        waiting,
        module: Name::default(),
    }))
}

fn has_unknown(value: &Value) -> bool {
    !value.waits_for().is_empty() || value.is_unknown()
}
