//! The value of a parsed expression. In: a `CelProgram` and the names that it can use. Out: its value, or the reason
//! why it has none.
//!
//! Invariant: the result of an expression that inspects a secret is one secret, with the derivation that identifies it;
//! the reason for its failure is not shown.

use cel::common::ast::IdedExpr;

use super::derivation::{DerivationError, derive_tree, missing_function};
use super::parse::CelProgram;
use super::scope::ExpressionScope;
use super::walk::evaluate_tree;
use crate::model::budget::Budget;
use crate::model::expression::EvaluationError;
use crate::model::values::derived::DerivedSecret;
use crate::model::values::secret::Secret;
use crate::model::values::value::Value;

/// Computes the value of a program. Only the result stays charged to the scope's budget.
///
/// # Errors
/// When the expression fails on these values, runs too long or gives too large a value.
pub fn evaluate_program(
    program: &CelProgram,
    scope: &ExpressionScope<'_>,
) -> Result<Value, EvaluationError> {
    let own = Budget::default();
    let budget = scope.budget.unwrap_or(&own);
    let before = budget.mark();
    let value = evaluate_to_secret(program.tree(), scope, budget);
    budget.release(before);
    let value = value?;
    budget.charge_value(&value)?;
    Ok(value)
}

/// Computes the value of a tree.
///
/// Where an expression inspects a secret, the whole value is one secret: its content, its size and whether it exists
/// could all reveal something. A secret that is only passed on stays an entry of the list or map around it.
fn evaluate_to_secret(
    tree: &IdedExpr,
    scope: &ExpressionScope<'_>,
    budget: &Budget,
) -> Result<Value, EvaluationError> {
    let evaluated = evaluate_tree(tree, scope, budget);
    if !evaluated.is_sensitive {
        return evaluated.outcome;
    }
    if let Some(failure) = missing_function(&tree.expr) {
        return Err(failure);
    }
    let derivation = match derive_tree(tree, scope) {
        Ok(derivation) => derivation,
        Err(DerivationError::Unknown(mut addresses)) => {
            addresses.sort();
            addresses.dedup();
            return Ok(Value::unknown(addresses).mark_secret(true));
        }
        Err(DerivationError::Unreadable) => return Err(EvaluationError::Sensitive),
    };
    let derived = match evaluated.outcome {
        Ok(value) if value.is_unknown() => {
            return Ok(Value::unknown(value.waits_for()).mark_secret(true));
        }
        Ok(value) => DerivedSecret::new(derivation, value),
        // The evaluation fails on the substitute of a withheld secret; with the real secret it may succeed.
        Err(_) if evaluated.fails_on_withheld => DerivedSecret::unavailable(derivation),
        Err(_) => return Err(EvaluationError::Sensitive),
    };
    Ok(Value::Secret(Secret::Derived(Box::new(derived))))
}
