//! Numbers: whole ones and exact decimals, never rounded to binary.

use cel::common::ast::operators;
use rust_decimal::Decimal;

use super::item::Item;
use super::walk::{Outcome, failed, is_text};
use crate::model::value::Value;

/// Returns a number as a decimal.
pub(super) fn number(value: &Value) -> Option<Decimal> {
    match value {
        Value::Integer(_) | Value::Decimal(_) => value.as_decimal(),
        _ => None,
    }
}

/// Computes `+`, `-`, `*`, `/` or `%`.
pub(super) fn arithmetic<'a>(operator: &str, left: &Item<'a>, right: &Item<'a>) -> Outcome<'a> {
    let sign = operator.trim_matches('_');
    let wrong = || {
        // What is put together is a text with something else in it.
        let helps = operator == operators::ADD && is_text(left) != is_text(right);
        let hint = if helps { "; `string(…)` makes a text of a number" } else { "" };
        let (left, right) = (left.type_name(), right.type_name());
        failed(format!("`{sign}` does not work on {left} and {right}{hint}"))
    };
    let (Item::Scalar(a), Item::Scalar(b)) = (left, right) else { return Err(wrong()) };
    let too_large = || failed(format!("the result of `{sign}` is too large, or divides by zero"));
    if let (Value::Integer(a), Value::Integer(b)) = (a, b) {
        let (a, b) = (*a, *b);
        let result = match operator {
            operators::ADD => a.checked_add(b),
            operators::SUBSTRACT => a.checked_sub(b),
            operators::MULTIPLY => a.checked_mul(b),
            operators::DIVIDE => a.checked_div(b),
            _ => a.checked_rem(b),
        };
        return result.map(|n| Item::Scalar(Value::Integer(n))).ok_or_else(too_large);
    }
    let (Some(a), Some(b)) = (number(a), number(b)) else { return Err(wrong()) };
    let result = match operator {
        operators::ADD => a.checked_add(b),
        operators::SUBSTRACT => a.checked_sub(b),
        operators::MULTIPLY => a.checked_mul(b),
        operators::DIVIDE => a.checked_div(b),
        _ => a.checked_rem(b),
    };
    result.map(|n| Item::Scalar(Value::Decimal(n))).ok_or_else(too_large)
}
