//! What a scalar may be read as, however it is written.

use super::document::{Scalar, ScalarForm};
use super::quoting;

/// What a scalar may be read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) enum ScalarClass {
    /// Text only.
    Text,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
}

/// Returns what a scalar may be read as.
pub(in crate::config) fn scalar_class(scalar: &Scalar) -> ScalarClass {
    match scalar.form {
        ScalarForm::Text => ScalarClass::Text,
        ScalarForm::Number => ScalarClass::Number,
        ScalarForm::Boolean => ScalarClass::Boolean,
        ScalarForm::Plain => plain_class(&scalar.text),
    }
}

/// Returns what a plain scalar of YAML may be read as.
pub(in crate::config) fn plain_class(text: &str) -> ScalarClass {
    match text {
        "true" | "false" => ScalarClass::Boolean,
        _ if quoting::is_number(text) || text.parse::<rust_decimal::Decimal>().is_ok() => {
            ScalarClass::Number
        }
        _ => ScalarClass::Text,
    }
}
