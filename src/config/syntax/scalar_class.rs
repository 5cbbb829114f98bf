//! Types as which a scalar may be read, whatever its form: two scalars of one class and one string mean the
//! same in both syntaxes.

use super::document::{Scalar, ScalarForm};
use super::quoting;

/// Types as which a scalar may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) enum ScalarClass {
    /// A string only.
    Text,
    Number,
    /// Either of `true` and `false`.
    Boolean,
}

/// Returns the types as which a scalar may be read.
pub(in crate::config) fn scalar_class(scalar: &Scalar) -> ScalarClass {
    match scalar.form {
        ScalarForm::Text => ScalarClass::Text,
        ScalarForm::Number => ScalarClass::Number,
        ScalarForm::Boolean => ScalarClass::Boolean,
        ScalarForm::Plain => plain_class(&scalar.text),
    }
}

/// Returns the types as which a plain YAML scalar may be read.
pub(in crate::config) fn plain_class(text: &str) -> ScalarClass {
    match text {
        "true" | "false" => ScalarClass::Boolean,
        _ if quoting::is_number(text) || text.parse::<rust_decimal::Decimal>().is_ok() => {
            ScalarClass::Number
        }
        _ => ScalarClass::Text,
    }
}
