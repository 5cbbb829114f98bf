//! What a query says.

use serde_json::Value;

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::emulator::world) enum Statement {
    Select(Select),
    Create { table: String, columns: Vec<(String, String)>, if_absent: bool },
    Drop { table: String, if_present: bool },
    Insert { table: String, columns: Option<Vec<String>>, rows: Vec<Vec<Value>> },
    Update { table: String, set: Vec<(String, Value)>, filter: Vec<Condition> },
    Delete { table: String, filter: Vec<Condition> },
}

/// A query of one source, or of none.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::emulator::world) struct Select {
    pub(super) items: Vec<SelectItem>,
    pub(super) from: Option<RowSource>,
    pub(super) filter: Vec<Condition>,
    /// A column, and whether it descends.
    pub(super) order: Option<(String, bool)>,
    pub(super) offset: usize,
    pub(super) limit: Option<usize>,
}

/// Where rows come from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RowSource {
    Table {
        schema: Option<String>,
        name: String,
    },
    /// A function with its arguments.
    Series(String, Vec<Value>),
}

/// One thing that a query asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SelectItem {
    All,
    Count,
    Sum(SumTerms, String),
}

/// Products, each with whether it is taken away.
pub(super) type SumTerms = Vec<(bool, Vec<Operand>)>;

/// What a product is made of.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operand {
    Literal(Value),
    Column(String),
    Call(String, Vec<Value>),
}

/// A condition on a column; all of a query's must hold.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::emulator::world) struct Condition {
    pub(super) column: String,
    pub(super) op: ComparisonOp,
    pub(super) value: Value,
}

/// How a column is compared.
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
