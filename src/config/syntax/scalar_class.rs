//! What a scalar may be read as, however it is written.

use super::document::{Form, Scalar};
use super::quoting;

/// What a scalar may be read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) enum Class {
    /// Text only.
    Text,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
}

/// Returns what a scalar may be read as.
pub(in crate::config) fn scalar_class(scalar: &Scalar) -> Class {
    match scalar.form {
        Form::Text => Class::Text,
        Form::Number => Class::Number,
        Form::Boolean => Class::Boolean,
        Form::Plain => plain_class(&scalar.text),
    }
}

/// Returns what a plain scalar of YAML may be read as.
pub(in crate::config) fn plain_class(text: &str) -> Class {
    match text {
        "true" | "false" => Class::Boolean,
        _ if quoting::is_number(text) || text.parse::<rust_decimal::Decimal>().is_ok() => Class::Number,
        _ => Class::Text,
    }
}
