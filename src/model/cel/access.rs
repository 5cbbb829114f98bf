//! Access to the parts of a map, a list or a live object by name or key. A missing part of a map or list is an error
//! that names similar or existing keys; a missing attribute of an object is null, or unknown while it may still appear.

use super::evaluation::{Evaluation, EvaluationResult, evaluation_failure};
use super::item::CelValue;
use crate::model::diagnostic::nearest_name;
use crate::model::values::value::Value;

/// Maximum number of map keys in one message.
const MAX_LISTED_KEYS: usize = 10;

/// Computes `operand[key]`: an element of a list, counted from 0, or the value of a map's key.
pub(super) fn evaluate_index<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    operand: &CelValue<'a>,
    key: &CelValue<'a>,
) -> EvaluationResult<'a> {
    if let (Some(len), CelValue::Scalar(Value::Integer(n))) = (operand.len(), key) {
        if let Some(item) = usize::try_from(*n).ok().and_then(|n| operand.element(n)) {
            return Ok(item);
        }
        if operand.entries().is_none() {
            return Err(evaluation_failure(format!(
                "there is no element {}: the list has {len}",
                evaluation.display_argument(n)
            )));
        }
    }
    let key = evaluation.key_text(key)?;
    select_member(operand, &key, evaluation.hides_arguments())
}

/// Returns the entry of a map under a key, or the attribute of an object. The error names the key only if
/// it is not `secret`.
pub(super) fn select_member<'a>(operand: &CelValue<'a>, field: &str, secret: bool) -> EvaluationResult<'a> {
    if let Some(item) = operand.entry(field) {
        return Ok(item);
    }
    if let CelValue::Object(object, _) = operand {
        return Ok(CelValue::Scalar(if object.complete {
            Value::Null
        } else {
            Value::unknown(vec![object.address.clone()])
        }));
    }
    let shown = if secret { "(secret)" } else { field };
    let Some(entries) = operand.entries() else {
        return Err(evaluation_failure(format!("{} has no `{shown}`", operand.type_name())));
    };
    let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
    let hint = match (nearest_name(field, keys.iter().copied()), keys.as_slice()) {
        (Some(near), _) if !secret => format!("; did you mean `{near}`?"),
        (_, []) => ", which is empty".to_owned(),
        (_, few) if few.len() <= MAX_LISTED_KEYS => format!("; it has {}", few.join(", ")),
        (_, many) => format!("; it has {}, …", many[..MAX_LISTED_KEYS].join(", ")),
    };
    Err(evaluation_failure(format!("there is no `{shown}` in this map{hint}")))
}
