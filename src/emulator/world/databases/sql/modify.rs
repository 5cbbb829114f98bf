//! Runs a change.

use serde_json::Value;

use super::query::{holds, resolve};
use super::statement::{Statement, Test};
use crate::emulator::world::databases::contents::{Contents, Rows};
use crate::emulator::world::engine::message::Refusal;

const MOST_COLUMNS: usize = 256;

/// Changes contents; returns how many rows that concerned.
pub(in crate::emulator::world) fn change(
    contents: &mut Contents,
    statement: &Statement,
) -> Result<usize, Refusal> {
    match statement {
        Statement::Select(_) => Ok(0),
        Statement::Create { table, columns, if_absent } => create(contents, table, columns, *if_absent),
        Statement::Drop { table, if_present } => match contents.tables.remove(table) {
            None if !if_present => Err(absent(table)),
            _ => Ok(0),
        },
        Statement::Insert { table, columns, rows } => {
            insert(find(contents, table)?, columns.as_deref(), rows)
        }
        Statement::Update { table, set, filter } => update(find(contents, table)?, set, filter),
        Statement::Delete { table, filter } => {
            let table = find(contents, table)?;
            let names = names(table);
            let tests = resolve(&names, filter)?;
            let before = table.rows.len();
            table.rows.retain(|row| !holds(&tests, row));
            Ok(before - table.rows.len())
        }
    }
}

fn absent(table: &str) -> Refusal {
    Refusal::bad(format!("table {table} does not exist"))
}

fn find<'a>(contents: &'a mut Contents, table: &str) -> Result<&'a mut Rows, Refusal> {
    contents.tables.get_mut(table).ok_or_else(|| absent(table))
}

fn names(table: &Rows) -> Vec<String> {
    table.columns.iter().map(|(name, _)| name.clone()).collect()
}

fn create(
    contents: &mut Contents,
    table: &str,
    columns: &[(String, String)],
    if_absent: bool,
) -> Result<usize, Refusal> {
    if contents.tables.contains_key(table) {
        return if if_absent { Ok(0) } else { Err(Refusal::bad(format!("table {table} exists already"))) };
    }
    if columns.is_empty() || columns.len() > MOST_COLUMNS {
        return Err(Refusal::bad(format!("a table has 1 to {MOST_COLUMNS} columns")));
    }
    let rows = Rows { columns: columns.to_vec(), rows: Vec::new() };
    contents.tables.insert(table.to_owned(), rows);
    Ok(0)
}

fn insert(table: &mut Rows, columns: Option<&[String]>, rows: &[Vec<Value>]) -> Result<usize, Refusal> {
    let names = names(table);
    let columns = columns.unwrap_or(&names);
    let places: Result<Vec<_>, _> = columns.iter().map(|column| place(&names, column)).collect();
    let places = places?;
    let mut added = Vec::with_capacity(rows.len());
    for row in rows {
        if row.len() != places.len() {
            let (wanted, got) = (places.len(), row.len());
            return Err(Refusal::bad(format!(
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

fn place(names: &[String], column: &str) -> Result<usize, Refusal> {
    let found = names.iter().position(|name| name == column);
    found.ok_or_else(|| Refusal::bad(format!("column {column} does not exist")))
}

fn update(table: &mut Rows, set: &[(String, Value)], filter: &[Test]) -> Result<usize, Refusal> {
    let names = names(table);
    let tests = resolve(&names, filter)?;
    let set: Result<Vec<_>, Refusal> =
        set.iter().map(|(column, value)| Ok((place(&names, column)?, value))).collect();
    let set = set?;
    let mut changed = 0;
    for row in table.rows.iter_mut().filter(|row| holds(&tests, row)) {
        for (at, value) in &set {
            if let Some(cell) = row.get_mut(*at) {
                Value::clone_from(cell, value);
            }
        }
        changed += 1;
    }
    Ok(changed)
}
