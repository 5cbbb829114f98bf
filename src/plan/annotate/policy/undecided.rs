//! Conditions that depend on values which are known only after a part of the apply. In: a condition, and the facts with
//! unknown values. Out: an expression that computes it from the live objects, for the evaluation before a step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::program::PolicyProgram;
use super::values::{ChangeValues, ContextValues};
use crate::config::stack::model::Resource;
use crate::model::address::name_map::NameMap;
use crate::model::address::{Address, Name};
use crate::model::expression::{CelExpression, Expression, Reference};
use crate::model::schema::{Presence, Type};
use crate::model::values::value::{Value, ValueMap};
use crate::plan::join::joined_state::{JoinedState, ResourceState};

/// A condition for the evaluation before a step.
pub(super) struct StepCondition {
    /// The resources before whose steps it is evaluated.
    pub addresses: Vec<Address>,
    pub condition: Expression,
    /// Whether a value that it needs becomes known before a step: otherwise its verdict never does.
    pub is_waiting: bool,
}

/// Returns the condition of a policy on a kind for one resource: what its block computes from other objects is computed
/// then; what only the service decides stays unknown.
pub(super) fn condition_of_resource(
    program: &PolicyProgram<'_>,
    context: &ContextValues,
    seen: Value,
    subject: &ResourceState<'_>,
) -> StepCondition {
    let mut waiting = NameMap::new();
    if let (Value::Map(facts), Some(resource)) = (&seen, subject.resource) {
        for (name, _) in facts.iter().filter(|(_, value)| has_unknown(value)) {
            if let Some(expression) = waiting_value(resource, name) {
                waiting.insert(Name::new(format!("self.{name}")), expression);
            }
        }
    }
    let is_waiting = !waiting.is_empty();
    let condition = condition(program, context, ("self", seen), waiting);
    StepCondition { addresses: vec![subject.address.clone()], condition, is_waiting }
}

/// Returns the condition of a policy on the plan, for the steps of all resources with a value that is not known.
pub(super) fn condition_of_plan(
    joined: &JoinedState<'_>,
    program: &PolicyProgram<'_>,
    context: &ContextValues,
    (seen, changes): (Value, &[(Address, ChangeValues)]),
) -> StepCondition {
    let mut addresses = Vec::new();
    let unknown: BTreeMap<&str, NameMap<Expression>> = changes
        .iter()
        .filter_map(|(address, values)| {
            let resource = joined.inputs.stack.resources.get(address);
            let mut unknown = values.after.iter().filter(|(_, value)| has_unknown(value)).peekable();
            unknown.peek()?;
            let waits =
                unknown.filter_map(|(name, _)| Some((name.clone(), waiting_value(resource?, name)?)));
            Some((address.as_str(), waits.collect()))
        })
        .collect();
    let mut waiting = NameMap::new();
    let mut is_waiting = false;
    if let Value::Map(facts) = &seen
        && let Some(Value::List(items)) = facts.get("changes")
    {
        let items = items.iter().map(|item| {
            let Value::Map(fields) = item else { return Expression::Value(item.clone()) };
            let address = fields.get("address").and_then(Value::as_text).unwrap_or_default();
            let Some(waits) = unknown.get(address) else { return Expression::Value(item.clone()) };
            addresses.extend(Address::parse(address));
            is_waiting |= !waits.is_empty();
            Expression::Map(
                fields
                    .iter()
                    .map(|(name, value)| (name.clone(), with_waiting(name, value, waits)))
                    .collect(),
            )
        });
        waiting.insert(Name::new_static("plan.changes"), Expression::List(items.collect()));
    }
    StepCondition { addresses, condition: condition(program, context, ("plan", seen), waiting), is_waiting }
}

/// Returns the expression for an attribute that is not known yet, as a condition reads attributes: a reference is the id,
/// and a value that is not set is the default, or empty. `None` where the value cannot be read so before the step: a
/// catalog entry has its id then, and not its name.
fn waiting_value(resource: &Resource, name: &str) -> Option<Expression> {
    let attribute = resource.kind.attribute(name)?;
    if matches!(attribute.ty.innermost(), Type::Catalog(_) | Type::Record(_)) {
        return None;
    }
    let expression = with_ids(&resource.attributes.get(name)?.expression);
    let default = match (attribute.presence, &attribute.ty) {
        (Presence::Default(literal), _) => literal.value(),
        (_, Type::List(_) | Type::Set { .. }) => Value::List(Vec::new()),
        (_, Type::Map(_)) => Value::Map(ValueMap::new()),
        _ => return Some(expression),
    };
    let objects = expression.addresses().into_iter().cloned().collect();
    let default = [(Name::new_static("default"), default)].into();
    Some(Expression::Cel(Arc::new(CelExpression {
        source: "locals.value == null ? locals.default : locals.value".to_owned(),
        bindings: [(Name::new_static("locals"), Value::Map(default))].into(),
        objects,
        waiting: [(Name::new_static("locals.value"), expression)].into(),
        module: Name::default(),
    })))
}

/// Returns an expression in which a reference to a resource is its id, as in a request, and not the resource.
fn with_ids(expression: &Expression) -> Expression {
    match expression {
        Expression::Reference(Reference { address, attribute: None }) => {
            Expression::Reference(Reference { address: address.clone(), attribute: Some("id".into()) })
        }
        Expression::List(items) => Expression::List(items.iter().map(with_ids).collect()),
        Expression::Map(map) => {
            Expression::Map(map.iter().map(|(name, item)| (name.clone(), with_ids(item))).collect())
        }
        other => other.clone(),
    }
}

fn with_waiting(name: &str, value: &Value, waits: &NameMap<Expression>) -> Expression {
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
    waiting: NameMap<Expression>,
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
