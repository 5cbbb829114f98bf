//! Evaluation of expressions as far as the configuration alone allows: a reference to an attribute that another block
//! writes has that value. In: a stack and one of its expressions; out: the expression with fewer references. Pure.

use std::cell::Cell;

use super::model::Stack;
use crate::model::address::Address;
use crate::model::budget::Budget;
use crate::model::evaluate::evaluate_expression;
use crate::model::expression::{AttributeLookup, Expression};
use crate::model::schema::Presence;
use crate::model::values::value::{Attributes, Value};

/// Maximum length of a chain of references that is followed.
const MAX_STEPS: usize = 64;
/// Maximum number of values that are followed for one expression: with two references per
/// block, their number grows exponentially.
const MAX_VALUES: usize = 10_000;

/// Returns an expression with every reference to a written attribute replaced by its value;
/// references to live values stay.
#[must_use]
pub fn substitute_known_values(stack: &Stack, expression: &Expression) -> Expression {
    KnownValueLookup { stack, steps: Cell::new(0), values: Cell::new(0), budget: Budget::default() }
        .substitute_known(expression)
}

/// Written attributes of the blocks, as expressions see them.
struct KnownValueLookup<'s> {
    stack: &'s Stack,
    steps: Cell<usize>,
    values: Cell<usize>,
    budget: Budget,
}

impl KnownValueLookup<'_> {
    fn substitute_known(&self, expression: &Expression) -> Expression {
        match expression {
            Expression::List(parts) => {
                Expression::List(parts.iter().map(|part| self.substitute_known(part)).collect())
            }
            Expression::Map(map) => Expression::Map(
                map.iter().map(|(key, part)| (key.clone(), self.substitute_known(part))).collect(),
            ),
            Expression::Value(_) => expression.clone(),
            other => match evaluate_expression(other, self) {
                Ok(value) if is_known(&value) => Expression::Value(value),
                _ => match other {
                    Expression::Text(parts) => {
                        Expression::Text(parts.iter().map(|part| self.substitute_known(part)).collect())
                    }
                    other => other.clone(),
                },
            },
        }
    }

    /// Returns the written value of an attribute; `None` if it is not written, or not known.
    fn written_value(&self, address: &Address, name: &str) -> Option<Value> {
        let resource = self.stack.resources.get(address)?;
        let setting = resource.attributes.get(name)?;
        let steps = self.steps.get();
        if steps == MAX_STEPS || self.values.get() == MAX_VALUES {
            return None;
        }
        self.values.set(self.values.get() + 1);
        self.steps.set(steps + 1);
        let value = evaluate_expression(&setting.expression, self);
        self.steps.set(steps);
        match (value.ok()?, resource.kind.attribute(name)?.presence) {
            (Value::Null, Presence::Default(literal)) => Some(literal.value()),
            (Value::Null, _) => None,
            (value, _) => Some(value),
        }
    }
}

impl AttributeLookup for KnownValueLookup<'_> {
    fn attribute(&self, address: &Address, attribute: Option<&str>) -> Value {
        let known = attribute.and_then(|name| self.written_value(address, name));
        known.unwrap_or_else(|| Value::unknown(vec![address.clone()]))
    }

    fn object(&self, address: &Address) -> (Attributes, bool) {
        let Some(resource) = self.stack.resources.get(address) else { return (Attributes::new(), false) };
        let names = resource.attributes.keys();
        let known = names.filter_map(|name| Some((name.clone(), self.written_value(address, name)?)));
        (known.filter(|(_, value)| is_known(value)).collect(), false)
    }

    fn budget(&self) -> Option<&Budget> {
        Some(&self.budget)
    }
}

fn is_known(value: &Value) -> bool {
    match value {
        Value::List(items) => items.iter().all(is_known),
        Value::Map(map) => map.values().all(is_known),
        value => !value.is_unknown(),
    }
}
