//! Syntax tree of the SQL subset: what `parse` returns, and `query` and `modify` run.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub(in crate::emulator::world) enum Statement {
    Select(Select),
    Create { table: String, columns: Vec<(String, String)>, if_absent: bool },
    Drop { table: String, if_present: bool },
    Insert { table: String, columns: Option<Vec<String>>, rows: Vec<Vec<Value>> },
    Update { table: String, set: Vec<(String, Value)>, filter: Vec<Condition> },
    Delete { table: String, filter: Vec<Condition> },
}

/// A `SELECT` from one source, or without one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::emulator::world) struct Select {
    pub(super) items: Vec<SelectItem>,
    pub(super) from: Option<RowSource>,
    pub(super) filter: Vec<Condition>,
    /// The column to order by, and whether the order is descending; `None` keeps the order of the table.
    pub(super) order: Option<(String, bool)>,
    pub(super) offset: usize,
    pub(super) limit: Option<usize>,
}

/// The source of a query's rows. A table without a schema is one of the user's, or of postgres' catalog.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RowSource {
    Table {
        schema: Option<String>,
        name: String,
    },
    /// A table function with its arguments.
    Series(String, Vec<Value>),
}

/// One item of a select list.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SelectItem {
    All,
    Count,
    Sum(SumTerms, String),
}

/// Terms of a sum: each is a product of factors, and whether it is subtracted.
pub(super) type SumTerms = Vec<(bool, Vec<Operand>)>;

/// A factor of a product.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operand {
    Literal(Value),
    Column(String),
    Call(String, Vec<Value>),
}

/// A condition on one column; a row must meet all conditions of a query.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::emulator::world) struct Condition {
    pub(super) column: String,
    pub(super) op: ComparisonOp,
    pub(super) value: Value,
}

/// Comparison operator of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ComparisonOp {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Like,
    Null,
    NotNull,
}
