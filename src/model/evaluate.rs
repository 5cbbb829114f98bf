//! The value of an attribute's expression over live objects. In: an `Expression`, and an `AttributeLookup` with the
//! known attributes of the objects. Out: a `Value`, which is unknown while an object that it reads does not exist yet.
//!
//! Invariant: each intermediate value is charged to a budget before it is built.

use super::address::{Address, Name};
use super::budget::Budget;
use super::cel::{CelObject, CelProgram, CelValue, ExpressionScope, bind_path, evaluate_program};
use super::expression::{AttributeLookup, CelExpression, EvaluationError, Expression};
use super::values::derived::{Derivation, DerivedSecret};
use super::values::secret::Secret;
use super::values::value::Value;

/// Computes the value from the live objects in `lookup`.
///
/// An unknown part makes the interpolation or CEL around it unknown, but only that entry of a list or map. A
/// secret part makes the interpolation or CEL around it secret.
///
/// # Errors
/// When a CEL expression fails or runs too long, or the value is too large.
pub fn evaluate_expression(
    expression: &Expression,
    lookup: &dyn AttributeLookup,
) -> Result<Value, EvaluationError> {
    match expression {
        // The code that built the value has already charged it.
        Expression::Value(value) => Ok(value.clone()),
        other => {
            let own = Budget::default();
            evaluate_within(other, lookup, lookup.budget().unwrap_or(&own))
        }
    }
}

/// Computes the value within a budget. Only the result stays charged: intermediate values are refunded.
///
/// # Errors
/// When a CEL expression fails or runs too long, or the value is too large.
pub fn evaluate_within(
    expression: &Expression,
    lookup: &dyn AttributeLookup,
    budget: &Budget,
) -> Result<Value, EvaluationError> {
    let before = budget.mark();
    let value = evaluate_charged(expression, lookup, budget);
    budget.release(before);
    let value = value?;
    budget.charge_value(&value)?;
    Ok(value)
}

/// Computes the value and charges each intermediate value before it is built.
fn evaluate_charged(
    expression: &Expression,
    lookup: &dyn AttributeLookup,
    budget: &Budget,
) -> Result<Value, EvaluationError> {
    match expression {
        Expression::Value(value) => {
            budget.charge_value(value)?;
            Ok(value.clone())
        }
        Expression::Reference(reference) => {
            let attribute = reference.attribute.as_deref();
            let value = lookup.attribute(&reference.address, attribute);
            budget.charge_value(&value)?;
            Ok(name_secrets(value, &format!("{}.{}", reference.address, attribute.unwrap_or("id"))))
        }
        Expression::List(parts) => {
            budget.charge_nodes(1)?;
            parts
                .iter()
                .map(|part| evaluate_charged(part, lookup, budget))
                .collect::<Result<_, _>>()
                .map(Value::List)
        }
        Expression::Map(map) => {
            budget.charge_map(map.len())?;
            map.iter()
                .map(|(key, part)| Ok((key.clone(), evaluate_charged(part, lookup, budget)?)))
                .collect::<Result<_, _>>()
                .map(Value::Map)
        }
        Expression::Text(parts) => {
            let parts = parts
                .iter()
                .map(|part| evaluate_charged(part, lookup, budget))
                .collect::<Result<Vec<_>, _>>()?;
            concatenate_parts(&parts, budget)
        }
        Expression::Cel(cel) => evaluate_cel(cel, lookup, budget),
    }
}

/// Concatenates the evaluated parts of an interpolation. A secret part makes the result a computed secret, and an
/// unknown part makes it unknown.
pub(super) fn concatenate_parts(parts: &[Value], budget: &Budget) -> Result<Value, EvaluationError> {
    let length = |part: &Value| match part {
        Value::Text(text) => text.len(),
        Value::Secret(part) => part.computable_text().map_or(0, str::len),
        _ => 0,
    };
    budget.charge_text(parts.iter().map(length).sum())?;
    let mut unknown: Vec<Address> = parts.iter().flat_map(Value::waits_for).collect();
    if parts.iter().any(Value::is_unknown) {
        unknown.sort();
        unknown.dedup();
        let is_secret = parts.iter().any(Value::hides_secret);
        return Ok(Value::unknown(unknown).mark_secret(is_secret));
    }
    if !parts.iter().any(|part| matches!(part, Value::Secret(_))) {
        return Ok(Value::text(join_known(parts)?.unwrap_or_default()));
    }
    let all: Option<Vec<_>> = parts.iter().map(Derivation::from_value).collect();
    let derivation = Derivation::node("interpolation", &[], all.unwrap_or_default());
    let is_withheld = |part: &Value| matches!(part, Value::Secret(secret) if secret.is_withheld());
    let derived = match join_known(parts) {
        Ok(Some(text)) => DerivedSecret::new(derivation, Value::text(text)),
        Ok(None) => DerivedSecret::unavailable(derivation),
        Err(_) if parts.iter().any(is_withheld) => DerivedSecret::unavailable(derivation),
        Err(_) => return Err(EvaluationError::Sensitive),
    };
    Ok(Value::Secret(Secret::Derived(Box::new(derived))))
}

/// Concatenates known parts; `None` when the text of a secret is not available in this run. Null, a list and
/// a map are errors.
fn join_known(parts: &[Value]) -> Result<Option<String>, EvaluationError> {
    let mut text = String::new();
    for part in parts {
        let opened = match part {
            Value::Secret(Secret::Derived(derived)) => derived.to_computable(),
            _ => None,
        };
        match opened.as_ref().unwrap_or(part) {
            Value::Secret(secret) => match secret.computable_text() {
                Some(part) => text.push_str(part),
                None => return Ok(None),
            },
            part @ (Value::Null | Value::List(_) | Value::Map(_)) => {
                return Err(EvaluationError::Failed(format!(
                    "{} cannot be inserted into a text",
                    part.type_name()
                )));
            }
            part => text.push_str(&part.to_string()),
        }
    }
    Ok(Some(text))
}

/// Evaluates a CEL expression over its bindings and the live objects that it names.
pub(super) fn evaluate_cel(
    cel: &CelExpression,
    lookup: &dyn AttributeLookup,
    budget: &Budget,
) -> Result<Value, EvaluationError> {
    let program = CelProgram::parse(&cel.source).map_err(|error| EvaluationError::Failed(error.message))?;
    let waiting: Vec<(&Name, Value)> = cel
        .waiting
        .iter()
        .map(|(path, part)| Ok((path, evaluate_charged(part, lookup, budget)?)))
        .collect::<Result<_, EvaluationError>>()?;
    let objects: Vec<CelObject> = cel
        .objects
        .iter()
        .map(|address| {
            let (mut attributes, complete) = lookup.object(address);
            budget.charge_map(attributes.len())?;
            attributes.values().try_for_each(|value| budget.charge_value(value))?;
            for (name, value) in attributes.iter_mut().filter(|(_, value)| value.is_secret()) {
                *value = name_secrets(std::mem::take(value), &format!("{address}.{name}"));
            }
            Ok(CelObject { address: address.clone(), attributes, complete })
        })
        .collect::<Result<_, EvaluationError>>()?;
    let mut scope = ExpressionScope { budget: Some(budget), ..ExpressionScope::default() };
    for (root, value) in &cel.bindings {
        scope.roots.insert(root.clone(), CelValue::from_borrowed(value));
    }
    for object in &objects {
        // Inside a module, an object outside it is reachable only through the expressions in `waiting`.
        if let Some(path) = object.address.strip_module(&cel.module) {
            bind_path(&mut scope.roots, path.split('.'), CelValue::of_object(object));
        }
    }
    for (path, value) in &waiting {
        // A reference to a whole resource is its object inside CEL, so that its attributes are there.
        let item = match cel.waiting.get(*path) {
            Some(Expression::Reference(reference)) if reference.attribute.is_none() => objects
                .iter()
                .find(|object| object.address == reference.address)
                .map_or_else(|| CelValue::from_borrowed(value), CelValue::of_object),
            _ => CelValue::from_borrowed(value),
        };
        bind_path(&mut scope.roots, path.split('.'), item);
    }
    evaluate_program(&program, &scope)
}

/// Names the secrets of another resource's attribute after the path of that attribute: during planning they come from
/// its block, and later from the live object.
fn name_secrets(value: Value, path: &str) -> Value {
    match value {
        Value::Secret(secret) => Value::Secret(secret.into_reference(path)),
        Value::List(items) => Value::List(items.into_iter().map(|item| name_secrets(item, path)).collect()),
        Value::Map(map) => {
            let part = |(key, part): (Name, Value)| {
                let part = name_secrets(part, &format!("{path}.{key}"));
                (key, part)
            };
            Value::Map(map.into_iter().map(part).collect())
        }
        value => value,
    }
}
