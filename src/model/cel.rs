//! CEL, bounded: the evaluation of `${…}`, with the language's added functions.

use super::expression::{Cel, EvaluationError, Lookup};
use super::value::Value;

/// Joins the evaluated parts of an interpolated text.
pub(super) fn concatenate(_parts: &[Value]) -> Result<Value, EvaluationError> {
    unimplemented!("RESOLVE")
}

/// Evaluates a CEL expression over its bindings and the live objects that it names.
pub(super) fn evaluate(_cel: &Cel, _lookup: &dyn Lookup) -> Result<Value, EvaluationError> {
    unimplemented!("RESOLVE")
}
