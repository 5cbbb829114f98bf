//! Arithmetic on whole numbers and exact decimals, without binary rounding. Two whole numbers have a whole result; with
//! a decimal the result is a decimal. An overflow and a division by zero are errors.

use cel::common::ast::operators;
use rust_decimal::Decimal;

use super::evaluation::{EvaluationResult, evaluation_failure, is_text};
use super::item::CelValue;
use crate::model::values::value::Value;

/// Returns a number as a decimal; `None` for any other value. Unlike `Value::as_decimal` it does not parse strings: an
/// expression must convert them explicitly.
pub(super) fn as_decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::Integer(_) | Value::Decimal(_) => value.as_decimal(),
        _ => None,
    }
}

/// Computes `+`, `-`, `*`, `/` or `%` on two numbers. The division of whole numbers truncates toward zero.
pub(super) fn compute_arithmetic<'a>(
    operator: &str,
    left: &CelValue<'a>,
    right: &CelValue<'a>,
) -> EvaluationResult<'a> {
    let sign = operator.trim_matches('_');
    let wrong = || {
        // The operands are a string and another type, so the user most likely wants to concatenate.
        let helps = operator == operators::ADD && is_text(left) != is_text(right);
        let hint = if helps { "; `string(…)` converts a number to a text" } else { "" };
        let (left, right) = (left.type_name(), right.type_name());
        evaluation_failure(format!("`{sign}` does not work on {left} and {right}{hint}"))
    };
    let (CelValue::Scalar(a), CelValue::Scalar(b)) = (left, right) else { return Err(wrong()) };
    let too_large =
        || evaluation_failure(format!("the result of `{sign}` is too large, or divides by zero"));
    if let (Value::Integer(a), Value::Integer(b)) = (a, b) {
        let (a, b) = (*a, *b);
        let result = match operator {
            operators::ADD => a.checked_add(b),
            operators::SUBSTRACT => a.checked_sub(b),
            operators::MULTIPLY => a.checked_mul(b),
            operators::DIVIDE => a.checked_div(b),
            _ => a.checked_rem(b),
        };
        return result.map(|n| CelValue::Scalar(Value::Integer(n))).ok_or_else(too_large);
    }
    let (Some(a), Some(b)) = (as_decimal(a), as_decimal(b)) else { return Err(wrong()) };
    let result = match operator {
        operators::ADD => a.checked_add(b),
        operators::SUBSTRACT => a.checked_sub(b),
        operators::MULTIPLY => a.checked_mul(b),
        operators::DIVIDE => a.checked_div(b),
        _ => a.checked_rem(b),
    };
    result.map(|n| CelValue::Scalar(Value::Decimal(n))).ok_or_else(too_large)
}
