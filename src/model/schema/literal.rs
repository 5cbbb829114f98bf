//! A constant of a kind's table: a default, or what a call always sends.

use crate::model::value::Value;

/// A value that a table can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Literal {
    /// Not set.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Text.
    Text(&'static str),
    /// A list without entries.
    Empty,
}

impl Literal {
    /// Returns the value.
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
