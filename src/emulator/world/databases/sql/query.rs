//! Runs queries of the SQL subset on the rows of one table: filter, order, page, then the select list.

use std::cmp::Ordering;

use serde_json::{Value, json};

use super::catalog::{self, QueryContext, RowSet};
use super::statement::{ComparisonOp, Condition, Operand, Select, SelectItem, SumTerms};
use crate::emulator::world::engine::message::ErrorResponse;

/// Limit on the rows of an answer ("Limits").
const MAX_ROWS: usize = 5_000;
/// Time limit of a query in seconds ("Limits"). Only `sleep` and long series reach it.
const QUERY_TIMEOUT_SECS: f64 = 15.0;

/// The result of a query or change; a change has no columns and rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::emulator::world) struct QueryResult {
    pub(in crate::emulator::world) columns: Vec<String>,
    pub(in crate::emulator::world) rows: Vec<Vec<Value>>,
    /// Number of rows returned or changed.
    pub(in crate::emulator::world) count: usize,
    pub(in crate::emulator::world) truncated: bool,
}

impl QueryResult {
    /// Returns an answer with the given rows, truncated to the limit; `count` is the number that is left.
    pub(in crate::emulator::world) fn from_rows(columns: Vec<String>, mut rows: Vec<Vec<Value>>) -> Self {
        let truncated = rows.len() > MAX_ROWS;
        rows.truncate(MAX_ROWS);
        Self { columns, count: rows.len(), rows, truncated }
    }
}

/// Runs a `SELECT` on a database.
pub(in crate::emulator::world) fn run_select(
    place: QueryContext<'_>,
    select: &Select,
) -> Result<QueryResult, ErrorResponse> {
    let (columns, mut rows) = match &select.from {
        Some(source) => catalog::load_source(place, source)?,
        // Without a source there is one row with no columns.
        None => (Vec::new(), vec![Vec::new()]),
    };
    let tests = resolve_tests(&columns, &select.filter)?;
    rows.retain(|row| row_matches(&tests, row));
    if let Some((column, descends)) = &select.order {
        let at = column_position(&columns, column)?;
        let key = |row: &Vec<Value>| row.get(at).cloned().unwrap_or_default();
        rows.sort_by(|a, b| {
            let order = compare_cells(&key(a), &key(b));
            if *descends { order.reverse() } else { order }
        });
    }
    if select.items.contains(&SelectItem::Count) {
        return count_rows(select, rows.len());
    }
    rows.drain(..select.offset.min(rows.len()));
    // One row more than the limit shows that the answer is truncated.
    rows.truncate(select.limit.unwrap_or(usize::MAX).min(MAX_ROWS + 1));
    evaluate_items(place, select, (columns, rows))
}

fn count_rows(select: &Select, rows: usize) -> Result<QueryResult, ErrorResponse> {
    if select.items.len() > 1 {
        return Err(ErrorResponse::bad_request("count(*) stands alone here: the emulator groups nothing"));
    }
    Ok(QueryResult::from_rows(vec!["count".to_owned()], vec![vec![json!(rows)]]))
}

/// Evaluates the select list for each row.
fn evaluate_items(
    place: QueryContext<'_>,
    select: &Select,
    (columns, rows): RowSet,
) -> Result<QueryResult, ErrorResponse> {
    let mut headings = Vec::new();
    for item in &select.items {
        match item {
            SelectItem::All if select.from.is_none() => {
                return Err(ErrorResponse::bad_request("SELECT * needs a table"));
            }
            SelectItem::All => headings.extend(columns.iter().cloned()),
            SelectItem::Sum(_, heading) => headings.push(heading.clone()),
            SelectItem::Count => {}
        }
    }
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let mut cells = Vec::with_capacity(headings.len());
        for item in &select.items {
            match item {
                SelectItem::All => cells.extend(row.iter().cloned()),
                SelectItem::Sum(sum, _) => cells.push(evaluate_sum(place, sum, &columns, &row)?),
                SelectItem::Count => {}
            }
        }
        found.push(cells);
    }
    Ok(QueryResult::from_rows(headings, found))
}

fn column_position(columns: &[String], name: &str) -> Result<usize, ErrorResponse> {
    let found = columns.iter().position(|column| column == name);
    found.ok_or_else(|| ErrorResponse::bad_request(format!("column {name} does not exist")))
}

fn evaluate_sum(
    place: QueryContext<'_>,
    sum: &SumTerms,
    columns: &[String],
    row: &[Value],
) -> Result<Value, ErrorResponse> {
    if let [(false, product)] = sum.as_slice()
        && let [factor] = product.as_slice()
    {
        return evaluate_factor(place, factor, columns, row);
    }
    let mut total = 0_i64;
    for (minus, product) in sum {
        let mut result = 1_i64;
        for factor in product {
            let factor = evaluate_factor(place, factor, columns, row)?;
            let Some(number) = factor.as_i64() else {
                return Err(ErrorResponse::bad_request("the emulator calculates with whole numbers only"));
            };
            result = result.checked_mul(number).ok_or_else(overflow_error)?;
        }
        let next = if *minus { total.checked_sub(result) } else { total.checked_add(result) };
        total = next.ok_or_else(overflow_error)?;
    }
    Ok(json!(total))
}

fn overflow_error() -> ErrorResponse {
    ErrorResponse::bad_request("integer out of range")
}

fn evaluate_factor(
    place: QueryContext<'_>,
    factor: &Operand,
    columns: &[String],
    row: &[Value],
) -> Result<Value, ErrorResponse> {
    match factor {
        Operand::Literal(value) => Ok(value.clone()),
        Operand::Column(name) => Ok(row.get(column_position(columns, name)?).cloned().unwrap_or_default()),
        Operand::Call(name, arguments) => call_function(place, name, arguments),
    }
}

fn call_function(place: QueryContext<'_>, name: &str, arguments: &[Value]) -> Result<Value, ErrorResponse> {
    let database = place.database;
    match (name, arguments) {
        ("version", []) => Ok(json!(format!("{} {}", database.engine, database.engine_version))),
        ("now" | "current_timestamp", []) => Ok(json!(place.now)),
        ("current_user" | "user", []) => Ok(json!(place.owner)),
        ("current_database" | "database" | "currentdatabase", []) => {
            Ok(json!(if database.engine == "clickhouse" { "default" } else { "defaultdb" }))
        }
        ("pg_sleep" | "sleep", [seconds]) => match seconds.as_f64() {
            Some(seconds) if seconds > QUERY_TIMEOUT_SECS => Err(catalog::too_slow()),
            Some(_) => Ok(json!(0)),
            None => Err(ErrorResponse::bad_request(format!("{name} takes seconds"))),
        },
        _ => {
            Err(ErrorResponse::bad_request(format!("function {name} does not exist with these arguments")))
        }
    }
}

/// A condition with the index of its column.
type ResolvedCondition<'a> = (usize, &'a Condition);

/// Resolves the columns of the conditions; an error 400 for an unknown one.
pub(super) fn resolve_tests<'a>(
    columns: &[String],
    tests: &'a [Condition],
) -> Result<Vec<ResolvedCondition<'a>>, ErrorResponse> {
    tests.iter().map(|test| Ok((column_position(columns, &test.column)?, test))).collect()
}

/// Returns whether a row meets all conditions. As in SQL, a comparison with null is never true.
pub(super) fn row_matches(tests: &[ResolvedCondition<'_>], row: &[Value]) -> bool {
    tests.iter().all(|(at, test)| {
        let cell = row.get(*at).unwrap_or(&Value::Null);
        let known = !cell.is_null() && !test.value.is_null();
        let order = compare_cells(cell, &test.value);
        match test.op {
            ComparisonOp::Null => cell.is_null(),
            ComparisonOp::NotNull => !cell.is_null(),
            ComparisonOp::Equal => known && order.is_eq(),
            ComparisonOp::NotEqual => known && order.is_ne(),
            ComparisonOp::Less => known && order.is_lt(),
            ComparisonOp::LessOrEqual => known && order.is_le(),
            ComparisonOp::Greater => known && order.is_gt(),
            ComparisonOp::GreaterOrEqual => known && order.is_ge(),
            ComparisonOp::Like => match (cell.as_str(), test.value.as_str()) {
                (Some(text), Some(pattern)) => matches_pattern(text, pattern, '%', '_'),
                _ => false,
            },
        }
    })
}

/// Orders cells by type: null, booleans, numbers, strings; then by value.
fn compare_cells(a: &Value, b: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        _ => 3,
    };
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(one), Value::Number(other)) => match (one.as_i64(), other.as_i64()) {
            (Some(one), Some(other)) => one.cmp(&other),
            _ => one.as_f64().partial_cmp(&other.as_f64()).unwrap_or(Ordering::Equal),
        },
        (Value::String(a), Value::String(b)) => a.cmp(b),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Returns whether a string matches a pattern with the wildcards `any` (any characters) and `one` (one character).
/// Backtracking returns to the last `any` only, so that the number of steps is at most the product of both lengths.
pub(in crate::emulator::world) fn matches_pattern(text: &str, pattern: &str, any: char, one: char) -> bool {
    let (text, pattern): (Vec<_>, Vec<_>) = (text.chars().collect(), pattern.chars().collect());
    let (mut at, mut fits) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while at < text.len() {
        let wanted = pattern.get(fits);
        if wanted == Some(&any) {
            back = Some((fits, at));
            fits += 1;
        } else if wanted.is_some_and(|wanted| *wanted == one || text.get(at) == Some(wanted)) {
            (at, fits) = (at + 1, fits + 1);
        } else if let Some((sign, from)) = back {
            back = Some((sign, from + 1));
            (at, fits) = (from + 1, sign + 1);
        } else {
            return false;
        }
    }
    pattern.iter().skip(fits).all(|letter| *letter == any)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Tells the same in the plainest way.
    fn fits(text: &[char], pattern: &[char]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, left) => left.is_none(),
            (Some(('%', rest)), left) => {
                fits(text, rest) || left.is_some_and(|(_, others)| fits(others, pattern))
            }
            (Some((wanted, rest)), Some((letter, others))) => {
                (*wanted == '_' || wanted == letter) && fits(others, rest)
            }
            (Some(_), None) => false,
        }
    }

    proptest! {
        #[test]
        fn pattern_matching_equals_a_reference_implementation(text in "[ab]{0,8}", pattern in "[ab%_]{0,8}") {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(matches_pattern(&text, &pattern, '%', '_'), fits(&letters(&text), &letters(&pattern)));
        }
    }

    #[test]
    fn a_hostile_pattern_matches_in_bounded_time() {
        assert!(!matches_pattern(&"a".repeat(2_000), &"%a".repeat(500).replace("%a", "%a%b"), '%', '_'));
    }
}
