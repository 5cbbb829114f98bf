//! Runs statements that change the contents of a database. Types, keys and constraints are not checked.

use serde_json::Value;

use super::query::{resolve_tests, row_matches};
use super::statement::{Condition, Statement};
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::records::database_contents::{DatabaseContents, DatabaseTable};

const MAX_COLUMNS: usize = 256;

/// Applies a statement to the contents; returns the number of affected rows. On an error the contents may be changed
/// in part: the caller works on a copy.
pub(in crate::emulator::world) fn apply_statement(
    contents: &mut DatabaseContents,
    statement: &Statement,
) -> Result<usize, ErrorResponse> {
    match statement {
        Statement::Select(_) => Ok(0),
        Statement::Create { table, columns, if_absent } => {
            create_table(contents, table, columns, *if_absent)
        }
        Statement::Drop { table, if_present } => match contents.tables.remove(table) {
            None if !if_present => Err(missing_table(table)),
            _ => Ok(0),
        },
        Statement::Insert { table, columns, rows } => {
            insert_rows(find_table(contents, table)?, columns.as_deref(), rows)
        }
        Statement::Update { table, set, filter } => update_rows(find_table(contents, table)?, set, filter),
        Statement::Delete { table, filter } => {
            let table = find_table(contents, table)?;
            let names = column_names(table);
            let tests = resolve_tests(&names, filter)?;
            let before = table.rows.len();
            table.rows.retain(|row| !row_matches(&tests, row));
            Ok(before - table.rows.len())
        }
    }
}

fn missing_table(table: &str) -> ErrorResponse {
    ErrorResponse::bad_request(format!("table {table} does not exist"))
}

fn find_table<'a>(
    contents: &'a mut DatabaseContents,
    table: &str,
) -> Result<&'a mut DatabaseTable, ErrorResponse> {
    contents.tables.get_mut(table).ok_or_else(|| missing_table(table))
}

fn column_names(table: &DatabaseTable) -> Vec<String> {
    table.columns.iter().map(|(name, _)| name.clone()).collect()
}

fn create_table(
    contents: &mut DatabaseContents,
    table: &str,
    columns: &[(String, String)],
    if_absent: bool,
) -> Result<usize, ErrorResponse> {
    if contents.tables.contains_key(table) {
        return if if_absent {
            Ok(0)
        } else {
            Err(ErrorResponse::bad_request(format!("table {table} exists already")))
        };
    }
    if columns.is_empty() || columns.len() > MAX_COLUMNS {
        return Err(ErrorResponse::bad_request(format!("a table has 1 to {MAX_COLUMNS} columns")));
    }
    let rows = DatabaseTable { columns: columns.to_vec(), rows: Vec::new() };
    contents.tables.insert(table.to_owned(), rows);
    Ok(0)
}

fn insert_rows(
    table: &mut DatabaseTable,
    columns: Option<&[String]>,
    rows: &[Vec<Value>],
) -> Result<usize, ErrorResponse> {
    let names = column_names(table);
    let columns = columns.unwrap_or(&names);
    let places: Result<Vec<_>, _> = columns.iter().map(|column| column_index(&names, column)).collect();
    let places = places?;
    let mut added = Vec::with_capacity(rows.len());
    for row in rows {
        if row.len() != places.len() {
            let (wanted, got) = (places.len(), row.len());
            return Err(ErrorResponse::bad_request(format!(
                "{wanted} values are needed for each row, and one has {got}"
            )));
        }
        let mut cells = vec![Value::Null; names.len()];
        for (at, value) in places.iter().zip(row) {
            if let Some(cell) = cells.get_mut(*at) {
                cell.clone_from(value);
            }
        }
        added.push(cells);
    }
    table.rows.extend(added);
    Ok(rows.len())
}

fn column_index(names: &[String], column: &str) -> Result<usize, ErrorResponse> {
    let found = names.iter().position(|name| name == column);
    found.ok_or_else(|| ErrorResponse::bad_request(format!("column {column} does not exist")))
}

fn update_rows(
    table: &mut DatabaseTable,
    set: &[(String, Value)],
    filter: &[Condition],
) -> Result<usize, ErrorResponse> {
    let names = column_names(table);
    let tests = resolve_tests(&names, filter)?;
    let set: Result<Vec<_>, ErrorResponse> =
        set.iter().map(|(column, value)| Ok((column_index(&names, column)?, value))).collect();
    let set = set?;
    let mut changed = 0;
    for row in table.rows.iter_mut().filter(|row| row_matches(&tests, row)) {
        for (at, value) in &set {
            if let Some(cell) = row.get_mut(*at) {
                Value::clone_from(cell, value);
            }
        }
        changed += 1;
    }
    Ok(changed)
}
