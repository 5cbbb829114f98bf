//! Tree walk over an expression: operators, paths and comprehensions. In: a tree and a scope. Out: the value, and
//! whether a secret influenced it. Invariant: each node costs a step, so that every walk ends.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, MapExpr, SelectExpr, operators,
};

use super::access::{evaluate_index, select_member};
use super::arithmetic::compute_arithmetic;
use super::comparison::{are_equal, compare_items, is_in};
use super::evaluation::{Evaluation, EvaluationResult, evaluation_failure, is_text, merge_unknowns};
use super::functions;
use super::item::{CelValue, boolean_or_unknown, index_item};
use super::scope::ExpressionScope;
use crate::model::budget::Budget;
use crate::model::expression::EvaluationError;
use crate::model::values::value::{Value, parse_decimal};

/// The result of the walk over a whole tree.
pub(super) struct EvaluationOutput {
    /// The value, or the reason why there is none.
    pub(super) outcome: Result<Value, EvaluationError>,
    /// Whether the expression inspected a secret: then neither the value nor the reason may be shown.
    pub(super) is_sensitive: bool,
    /// Whether a call failed on the substitute of a secret that is withheld from this run.
    pub(super) fails_on_withheld: bool,
}

/// Computes the value of a tree. The caller must check `is_sensitive` before it uses the outcome.
pub(super) fn evaluate_tree(
    tree: &IdedExpr,
    scope: &ExpressionScope<'_>,
    budget: &Budget,
) -> EvaluationOutput {
    let mut evaluation = Evaluation::new(scope, budget);
    let outcome = evaluate_root(&mut evaluation, &tree.expr).map(CelValue::into_value);
    EvaluationOutput {
        outcome,
        is_sensitive: evaluation.taint.secret,
        fails_on_withheld: evaluation.fails_on_withheld,
    }
}

/// Computes the whole expression and charges its result.
fn evaluate_root<'s, 'a>(evaluation: &mut Evaluation<'s, 'a>, expr: &'s Expr) -> EvaluationResult<'a> {
    let item = evaluate_part(evaluation, expr)?;
    item.charge(evaluation.budget)?;
    Ok(item)
}

/// Computes an operand whose content is inspected.
fn evaluate_opened<'s, 'a>(evaluation: &mut Evaluation<'s, 'a>, expr: &'s Expr) -> EvaluationResult<'a> {
    let item = evaluate_part(evaluation, expr)?;
    evaluation.open_secret(item)
}

/// Computes an operand that is passed on unchanged: a secret stays a secret.
fn evaluate_part<'s, 'a>(evaluation: &mut Evaluation<'s, 'a>, expr: &'s Expr) -> EvaluationResult<'a> {
    evaluation.charge(1)?;
    let item = match expr {
        Expr::Literal(literal) => literal_item(literal)?,
        Expr::Ident(name) => evaluation.resolve_name(name)?,
        Expr::Select(select) => evaluate_select(evaluation, select)?,
        Expr::List(list) => {
            evaluation.charge_items(list.elements.len())?;
            CelValue::list(
                list.elements
                    .iter()
                    .map(|element| evaluate_part(evaluation, &element.expr))
                    .collect::<Result<_, _>>()?,
            )
        }
        Expr::Map(map) => evaluate_map(evaluation, map)?,
        Expr::Call(call) => evaluate_call(evaluation, call)?,
        Expr::Comprehension(comprehension) => evaluate_comprehension(evaluation, comprehension)?,
        Expr::Struct(_) | Expr::Unspecified => {
            return Err(evaluation_failure("message types are not part of the language"));
        }
    };
    item.charge_copy(evaluation.budget)?;
    Ok(item)
}

fn evaluate_select<'s, 'a>(
    evaluation: &mut Evaluation<'s, 'a>,
    select: &'s SelectExpr,
) -> EvaluationResult<'a> {
    let operand = evaluate_opened(evaluation, &select.operand.expr)?;
    if operand.unknown_addresses().is_some() {
        return Ok(operand);
    }
    if select.test {
        return Ok(match (&operand, operand.entry(&select.field)) {
            (_, Some(item)) if item.unknown_addresses().is_some() => item,
            // A field that the service leaves empty is read as null, so null counts as missing.
            (_, Some(item)) => {
                CelValue::Scalar(Value::Bool(!matches!(item, CelValue::Scalar(Value::Null))))
            }
            (CelValue::Object(object, _), None) if !object.complete => {
                CelValue::Scalar(Value::unknown(vec![object.address.clone()]))
            }
            (_, None) => CelValue::Scalar(Value::Bool(false)),
        });
    }
    select_member(&operand, &select.field, false)
}

fn evaluate_map<'s, 'a>(evaluation: &mut Evaluation<'s, 'a>, map: &'s MapExpr) -> EvaluationResult<'a> {
    evaluation.budget.charge_map(map.entries.len())?;
    let mut made = BTreeMap::new();
    for entry in &map.entries {
        let EntryExpr::MapEntry(entry) = &entry.expr else {
            return Err(evaluation_failure("message types are not part of the language"));
        };
        let key = evaluate_opened(evaluation, &entry.key.expr)?;
        if key.unknown_addresses().is_some() {
            return Ok(key);
        }
        let key = evaluation.key_text(&key)?;
        if made.insert(key.clone(), evaluate_part(evaluation, &entry.value.expr)?).is_some() {
            return Err(evaluation_failure(format!("the key `{key}` occurs twice in a map")));
        }
    }
    Ok(CelValue::Map(Rc::new(made)))
}

fn evaluate_call<'s, 'a>(evaluation: &mut Evaluation<'s, 'a>, call: &'s CallExpr) -> EvaluationResult<'a> {
    let args = call.args.as_slice();
    match (call.func_name.as_str(), args) {
        (operators::LOGICAL_AND, [left, right]) => {
            evaluate_logic(evaluation, &left.expr, &right.expr, false)
        }
        (operators::LOGICAL_OR, [left, right]) => evaluate_logic(evaluation, &left.expr, &right.expr, true),
        (operators::CONDITIONAL, [condition, yes, no]) => {
            let condition = evaluate_opened(evaluation, &condition.expr)?;
            if condition.unknown_addresses().is_some() {
                return Ok(condition);
            }
            let chosen = if condition_value(&condition)? { yes } else { no };
            evaluate_part(evaluation, &chosen.expr)
        }
        (operators::ADD, [left, right]) => evaluate_add(evaluation, &left.expr, &right.expr),
        (name, _) => {
            let all = call.target.iter().map(|target| &target.expr).chain(args.iter().map(|arg| &arg.expr));
            // Only a call whose arguments depend on a withheld secret may succeed with the real secret.
            let before = std::mem::take(&mut evaluation.taint.withheld);
            let items = all.map(|arg| evaluate_opened(evaluation, arg)).collect::<Result<Vec<_>, _>>();
            let is_given = std::mem::replace(&mut evaluation.taint.withheld, before);
            evaluation.taint.withheld |= is_given;
            let items = items?;
            if let Some(unknown) = merge_unknowns(&items) {
                return Ok(unknown);
            }
            let result = apply_operator(evaluation, name, &items);
            evaluation.fails_on_withheld |=
                result.is_err() && (is_given || items.iter().any(CelValue::is_withheld));
            result
        }
    }
}

fn apply_operator<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    name: &str,
    items: &[CelValue<'a>],
) -> EvaluationResult<'a> {
    let bool = |b: bool| Ok(CelValue::Scalar(Value::Bool(b)));
    match (name, items) {
        (operators::NOT_STRICTLY_FALSE, [item]) => {
            bool(!matches!(item, CelValue::Scalar(Value::Bool(false))))
        }
        (operators::LOGICAL_NOT, [item]) => bool(!condition_value(item)?),
        (operators::EQUALS, [left, right]) => are_equal(evaluation, left, right).map(boolean_or_unknown),
        (operators::NOT_EQUALS, [left, right]) => {
            are_equal(evaluation, left, right).map(|equal| boolean_or_unknown(equal.map(|equal| !equal)))
        }
        (operators::LESS, [left, right]) => bool(compare_items(evaluation, left, right)? == Ordering::Less),
        (operators::LESS_EQUALS, [left, right]) => {
            bool(compare_items(evaluation, left, right)? != Ordering::Greater)
        }
        (operators::GREATER, [left, right]) => {
            bool(compare_items(evaluation, left, right)? == Ordering::Greater)
        }
        (operators::GREATER_EQUALS, [left, right]) => {
            bool(compare_items(evaluation, left, right)? != Ordering::Less)
        }
        (operators::INDEX, [operand, key]) => evaluate_index(evaluation, operand, key),
        (operators::IN, [wanted, all]) => is_in(evaluation, wanted, all),
        (operators::NEGATE, [item]) => {
            compute_arithmetic(operators::SUBSTRACT, &CelValue::Scalar(Value::Integer(0)), item)
        }
        (
            operators::SUBSTRACT | operators::MULTIPLY | operators::DIVIDE | operators::MODULO,
            [left, right],
        ) => compute_arithmetic(name, left, right),
        _ => functions::call_function(evaluation, name, items),
    }
}

/// Evaluates `&&` and `||`: a decisive side takes precedence over a failure or an unknown on the other side.
fn evaluate_logic<'s, 'a>(
    evaluation: &mut Evaluation<'s, 'a>,
    left: &'s Expr,
    right: &'s Expr,
    decisive: bool,
) -> EvaluationResult<'a> {
    let decides = |item: &EvaluationResult<'a>| matches!(item, Ok(CelValue::Scalar(Value::Bool(b))) if *b == decisive);
    let left = evaluate_opened(evaluation, left);
    if decides(&left) || matches!(left, Err(EvaluationError::TooLong(_) | EvaluationError::TooLarge)) {
        return left;
    }
    let right = evaluate_opened(evaluation, right);
    if decides(&right) || matches!(right, Err(EvaluationError::TooLong(_) | EvaluationError::TooLarge)) {
        return right;
    }
    let both = [left?, right?];
    if let Some(unknown) = merge_unknowns(&both) {
        return Ok(unknown);
    }
    for item in &both {
        condition_value(item)?;
    }
    Ok(CelValue::Scalar(Value::Bool(!decisive)))
}

fn evaluate_add<'s, 'a>(
    evaluation: &mut Evaluation<'s, 'a>,
    left: &'s Expr,
    right: &'s Expr,
) -> EvaluationResult<'a> {
    // The list that a macro accumulates is moved out of its variable, so that it is not copied for each element.
    let taken = match left {
        Expr::Ident(name) if name.starts_with('@') => evaluation
            .locals
            .iter_mut()
            .rev()
            .find(|(local, _)| local == name)
            .map(|(_, item)| std::mem::replace(item, CelValue::Scalar(Value::Null))),
        _ => None,
    };
    let left = match taken {
        Some(item) => item,
        None => evaluate_opened(evaluation, left)?,
    };
    let right = evaluate_opened(evaluation, right)?;
    if let (CelValue::List(_), CelValue::List(_)) = (&left, &right) {
        evaluation.charge_items(right.len().unwrap_or(0))?;
        let (CelValue::List(mut left), CelValue::List(right)) = (left, right) else {
            return Err(evaluation_failure("two lists were expected"));
        };
        // A list with another reference must be copied.
        if Rc::strong_count(&left) > 1 {
            evaluation.charge_items(left.len())?;
        }
        Rc::make_mut(&mut left).extend(right.iter().cloned());
        return Ok(CelValue::List(left));
    }
    if let Some(unknown) = merge_unknowns(&[left.clone(), right.clone()]) {
        return Ok(unknown);
    }
    if let (Some(a), Some(b)) = (evaluation.charged_elements(&left)?, evaluation.charged_elements(&right)?)
    {
        return Ok(CelValue::list(a.into_iter().chain(b).collect()));
    }
    if is_text(&left) && is_text(&right) {
        let (left, right) = (evaluation.text_of(&left)?, evaluation.text_of(&right)?);
        evaluation.charge_text(left.len() + right.len())?;
        return Ok(CelValue::text(format!("{left}{right}")));
    }
    compute_arithmetic(operators::ADD, &left, &right)
}

fn evaluate_comprehension<'s, 'a>(
    evaluation: &mut Evaluation<'s, 'a>,
    c: &'s ComprehensionExpr,
) -> EvaluationResult<'a> {
    let range = evaluate_opened(evaluation, &c.iter_range.expr)?;
    if range.unknown_addresses().is_some() {
        return Ok(range);
    }
    let pairs: Vec<(CelValue<'a>, CelValue<'a>)> = if let Some(items) =
        evaluation.charged_elements(&range)?
    {
        items.into_iter().enumerate().map(|(n, item)| (index_item(n), item)).collect()
    } else if let Some(entries) = evaluation.charged_entries(&range)? {
        entries.into_iter().map(|(key, item)| (CelValue::Scalar(Value::Text(key)), item)).collect()
    } else if let CelValue::Object(object, _) = range {
        return Ok(CelValue::Scalar(Value::unknown(vec![object.address.clone()])));
    } else {
        return Err(evaluation_failure(format!("{} has no elements to iterate over", range.type_name())));
    };
    let is_list = range.element(0).is_some();
    let init = evaluate_opened(evaluation, &c.accu_init.expr)?;
    let depth = evaluation.locals.len();
    evaluation.locals.push((&c.accu_var, init));
    let result = iterate_pairs(evaluation, c, pairs, is_list, depth);
    evaluation.locals.truncate(depth);
    result
}

fn iterate_pairs<'s, 'a>(
    evaluation: &mut Evaluation<'s, 'a>,
    c: &'s ComprehensionExpr,
    pairs: Vec<(CelValue<'a>, CelValue<'a>)>,
    is_list: bool,
    depth: usize,
) -> EvaluationResult<'a> {
    // `all` and `exists` continue after a failing element: a later one may decide.
    let mut failure = None;
    for (key, item) in pairs {
        evaluation.locals.truncate(depth + 1);
        if c.iter_var2.is_some() {
            evaluation.locals.push((&c.iter_var, key));
            evaluation.locals.extend(c.iter_var2.as_deref().map(|name| (name, item)));
        } else {
            evaluation.locals.push((&c.iter_var, if is_list { item } else { key }));
        }
        if let CelValue::Scalar(Value::Bool(false)) = evaluate_opened(evaluation, &c.loop_cond.expr)? {
            break;
        }
        match evaluate_opened(evaluation, &c.loop_step.expr) {
            Ok(item) => evaluation.locals[depth].1 = item,
            Err(error @ EvaluationError::Failed(_)) if is_logic(&c.loop_step.expr) => {
                failure = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    evaluation.locals.truncate(depth + 1);
    let decided =
        matches!(evaluate_opened(evaluation, &c.loop_cond.expr)?, CelValue::Scalar(Value::Bool(false)));
    match failure {
        Some(error) if !decided => Err(error),
        _ => evaluate_part(evaluation, &c.result.expr),
    }
}

fn is_logic(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(call)
        if [operators::LOGICAL_AND, operators::LOGICAL_OR].contains(&call.func_name.as_str()))
}

fn literal_item<'a>(literal: &LiteralValue) -> EvaluationResult<'a> {
    Ok(CelValue::Scalar(match literal {
        LiteralValue::Boolean(b) => Value::Bool(*b.inner()),
        LiteralValue::Int(n) => Value::Integer(*n.inner()),
        LiteralValue::UInt(n) => Value::Integer(
            i64::try_from(*n.inner()).map_err(|_| evaluation_failure("the number is too large"))?,
        ),
        LiteralValue::Double(n) => Value::Decimal(
            parse_decimal(&n.inner().to_string())
                .ok_or_else(|| evaluation_failure("the number has no exact decimal representation"))?,
        ),
        LiteralValue::String(text) => Value::text(text.inner()),
        LiteralValue::Null => Value::Null,
        LiteralValue::Bytes(_) => return Err(evaluation_failure("bytes are not part of the language")),
    }))
}

fn condition_value(item: &CelValue<'_>) -> Result<bool, EvaluationError> {
    match item {
        CelValue::Scalar(Value::Bool(b)) => Ok(*b),
        other => Err(evaluation_failure(format!("true or false was expected, not {}", other.type_name()))),
    }
}
