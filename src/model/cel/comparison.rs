//! Equality, order and membership of values during an evaluation. A secret is compared by its text, which makes the
//! result sensitive; a comparison with an unknown is unknown unless the known parts decide it.

use std::cmp::Ordering;

use super::arithmetic::as_decimal;
use super::evaluation::{Evaluation, EvaluationResult, evaluation_failure, is_text, merge_unknowns};
use super::item::{CelValue, boolean_or_unknown};
use crate::model::address::Address;
use crate::model::expression::EvaluationError;
use crate::model::values::value::Value;

/// Returns whether two values are equal; the inner `Err` has the resources on which the result depends. Numbers are
/// equal by amount, live objects by address; values of different types are not equal.
#[allow(clippy::type_complexity)]
pub(super) fn are_equal<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    left: &CelValue<'a>,
    right: &CelValue<'a>,
) -> Result<Result<bool, Vec<Address>>, EvaluationError> {
    evaluation.charge(1)?;
    let (left, right) = (&evaluation.open_secret(left.clone())?, &evaluation.open_secret(right.clone())?);
    if let Some(CelValue::Scalar(Value::Unknown(unknown))) = merge_unknowns(&[left.clone(), right.clone()])
    {
        return Ok(Err(unknown.waits_for));
    }
    if is_text(left) && is_text(right) {
        return Ok(Ok(evaluation.text_of(left)? == evaluation.text_of(right)?));
    }
    if let (Some(a), Some(b)) = (left.elements(), right.elements()) {
        let pairs = a.into_iter().zip(b);
        return if left.len() == right.len() { all_equal(evaluation, pairs) } else { Ok(Ok(false)) };
    }
    if let (CelValue::Object(a, _), CelValue::Object(b, _)) = (left, right) {
        return Ok(Ok(a.address == b.address));
    }
    if let (Some(a), Some(b)) = (left.entries(), right.entries()) {
        let same = a.len() == b.len() && a.iter().zip(&b).all(|((a, _), (b, _))| a == b);
        let pairs = a.into_iter().map(|(_, item)| item).zip(b.into_iter().map(|(_, item)| item));
        return if same { all_equal(evaluation, pairs) } else { Ok(Ok(false)) };
    }
    Ok(Ok(match (left, right) {
        (CelValue::Scalar(a), CelValue::Scalar(b)) => match (as_decimal(a), as_decimal(b)) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        },
        _ => false,
    }))
}

#[allow(clippy::type_complexity)]
fn all_equal<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    pairs: impl Iterator<Item = (CelValue<'a>, CelValue<'a>)>,
) -> Result<Result<bool, Vec<Address>>, EvaluationError> {
    let mut unknown = None;
    for (left, right) in pairs {
        match are_equal(evaluation, &left, &right)? {
            Ok(true) => {}
            Ok(false) => return Ok(Ok(false)),
            Err(waits) => unknown = Some(waits),
        }
    }
    Ok(unknown.map_or(Ok(true), Err))
}

/// Returns the order of two numbers, or of two strings by their bytes; any other pair is an error.
pub(super) fn compare_items<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    left: &CelValue<'a>,
    right: &CelValue<'a>,
) -> Result<Ordering, EvaluationError> {
    if is_text(left) && is_text(right) {
        return Ok(evaluation.text_of(left)?.cmp(&evaluation.text_of(right)?));
    }
    if let (CelValue::Scalar(a), CelValue::Scalar(b)) = (left, right)
        && let (Some(a), Some(b)) = (as_decimal(a), as_decimal(b))
    {
        return Ok(a.cmp(&b));
    }
    Err(evaluation_failure(format!("{} and {} cannot be ordered", left.type_name(), right.type_name())))
}

/// Computes `wanted in all`: an element of a list, or a key of a map or of an object's attributes.
pub(super) fn is_in<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    wanted: &CelValue<'a>,
    all: &CelValue<'a>,
) -> EvaluationResult<'a> {
    if let Some(items) = all.elements() {
        let mut unknown = None;
        for item in items {
            match are_equal(evaluation, wanted, &item)? {
                Ok(true) => return Ok(boolean_or_unknown(Ok(true))),
                Ok(false) => {}
                Err(waits) => unknown = Some(waits),
            }
        }
        return Ok(boolean_or_unknown(unknown.map_or(Ok(false), Err)));
    }
    if let CelValue::Object(object, _) = all
        && !object.complete
    {
        return Ok(CelValue::Scalar(Value::unknown(vec![object.address.clone()])));
    }
    let key = evaluation.key_text(wanted)?;
    match all.entries() {
        Some(_) => Ok(boolean_or_unknown(Ok(all.entry(&key).is_some()))),
        None => Err(evaluation_failure(format!("`in` needs a list or a map, not {}", all.type_name()))),
    }
}
