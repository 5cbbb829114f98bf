//! `Literal`: a constant in a kind's table, such as a default or a field that a call always sends.
//!
//! A `Value` cannot stand in a `static` table, because lists and maps need an allocation.

use crate::model::values::value::Value;

/// A value that can be written in a static table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Literal {
    /// A value that is not set.
    Null,
    /// A boolean, `true` or `false`.
    Bool(bool),
    /// A whole number of 64 bits.
    Integer(i64),
    /// A string.
    Text(&'static str),
    /// A list without entries.
    Empty,
}

impl Literal {
    /// Returns the literal as a `Value`.
    #[must_use]
    pub fn value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(b) => Value::Bool(b),
            Self::Integer(n) => Value::Integer(n),
            Self::Text(text) => Value::text(text),
            Self::Empty => Value::List(Vec::new()),
        }
    }
}
