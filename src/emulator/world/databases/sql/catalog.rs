//! Resolves the names in a query to tables and to the system catalogs of each engine.

use serde_json::{Value, json};

use super::statement::RowSource;
use crate::emulator::world::Time;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::records::database::Database;

/// Maximum length of a generated series; a longer one exceeds the query's time limit.
const MAX_SERIES_LEN: i64 = 100_000;

/// The database that a query runs on, the login of its owner, and the current time.
#[derive(Clone, Copy)]
pub(in crate::emulator::world) struct QueryContext<'a> {
    pub(in crate::emulator::world) database: &'a Database,
    pub(in crate::emulator::world) owner: &'a str,
    pub(in crate::emulator::world) now: Time,
}

/// A result table: column names, then rows.
pub(super) type RowSet = (Vec<String>, Vec<Vec<Value>>);

/// Returns the schemas of an engine; the first one contains the user's tables, the others system catalogs.
pub(in crate::emulator::world) fn schema_names(engine: &str) -> &'static [&'static str] {
    match engine {
        "mysql" => &["defaultdb", "information_schema", "mysql"],
        "clickhouse" => &["default", "information_schema", "system"],
        _ => &["public", "information_schema", "pg_catalog"],
    }
}

/// A system catalog table: schema, name and columns.
struct SystemCatalog {
    schema: &'static str,
    name: &'static str,
    columns: &'static [&'static str],
    rows: fn(QueryContext<'_>) -> Vec<Vec<Value>>,
}

static CATALOGS: [SystemCatalog; 12] = [
    SystemCatalog {
        schema: "information_schema",
        name: "tables",
        columns: &["table_schema", "table_name", "table_type"],
        rows: |place| {
            let own = schema_names(&place.database.engine).first();
            let names = place.database.contents.tables.keys();
            names.map(|name| vec![json!(own), json!(name), json!("BASE TABLE")]).collect()
        },
    },
    SystemCatalog {
        schema: "information_schema",
        name: "columns",
        columns: &["table_name", "column_name", "ordinal_position", "data_type"],
        rows: column_rows,
    },
    SystemCatalog {
        schema: "information_schema",
        name: "schemata",
        columns: &["schema_name"],
        rows: |place| schema_names(&place.database.engine).iter().map(|name| vec![json!(name)]).collect(),
    },
    SystemCatalog { schema: "pg_catalog", name: "pg_user", columns: &["usename"], rows: user_rows },
    SystemCatalog { schema: "pg_catalog", name: "pg_roles", columns: &["rolname"], rows: user_rows },
    SystemCatalog { schema: "pg_catalog", name: "pg_tables", columns: &["tablename"], rows: table_rows },
    SystemCatalog { schema: "pg_catalog", name: "pg_database", columns: &["datname"], rows: database_rows },
    SystemCatalog { schema: "mysql", name: "user", columns: &["user"], rows: user_rows },
    SystemCatalog { schema: "system", name: "users", columns: &["name"], rows: user_rows },
    SystemCatalog { schema: "system", name: "tables", columns: &["name"], rows: table_rows },
    SystemCatalog { schema: "system", name: "databases", columns: &["name"], rows: database_rows },
    SystemCatalog { schema: "system", name: "one", columns: &["dummy"], rows: |_| vec![vec![json!(0)]] },
];

fn user_rows(place: QueryContext<'_>) -> Vec<Vec<Value>> {
    let names = place.database.users.keys().map(String::as_str);
    [place.owner].into_iter().chain(names).map(|name| vec![json!(name)]).collect()
}

fn table_rows(place: QueryContext<'_>) -> Vec<Vec<Value>> {
    place.database.contents.tables.keys().map(|name| vec![json!(name)]).collect()
}

fn database_rows(place: QueryContext<'_>) -> Vec<Vec<Value>> {
    let name = if place.database.engine == "clickhouse" { "default" } else { "defaultdb" };
    vec![vec![json!(name)]]
}

fn column_rows(place: QueryContext<'_>) -> Vec<Vec<Value>> {
    let tables = place.database.contents.tables.iter();
    let columns = tables.flat_map(|(table, rows)| {
        rows.columns
            .iter()
            .enumerate()
            .map(move |(at, (name, kind))| vec![json!(table), json!(name), json!(at + 1), json!(kind)])
    });
    columns.collect()
}

/// Returns the names of the tables of a schema, sorted in the user's one; `None` for an unknown schema.
pub(in crate::emulator::world) fn tables_of(place: QueryContext<'_>, schema: &str) -> Option<Vec<String>> {
    let known = schema_names(&place.database.engine);
    if !known.contains(&schema) {
        return None;
    }
    if known.first() == Some(&schema) {
        return Some(place.database.contents.tables.keys().cloned().collect());
    }
    let catalogs = CATALOGS.iter().filter(|catalog| catalog.schema == schema);
    Some(catalogs.map(|catalog| catalog.name.to_owned()).collect())
}

/// Returns the columns of a table with their types, in order; `None` for an unknown table. Catalogs have text only.
pub(in crate::emulator::world) fn columns_of(
    place: QueryContext<'_>,
    schema: &str,
    table: &str,
) -> Option<Vec<(String, String)>> {
    if schema_names(&place.database.engine).first() == Some(&schema) {
        return place.database.contents.tables.get(table).map(|rows| rows.columns.clone());
    }
    let catalog = CATALOGS.iter().find(|catalog| catalog.schema == schema && catalog.name == table)?;
    Some(catalog.columns.iter().map(|name| ((*name).to_owned(), "text".to_owned())).collect())
}

/// Returns the columns and rows of a source; an error 400 if it does not exist.
pub(super) fn load_source(place: QueryContext<'_>, source: &RowSource) -> Result<RowSet, ErrorResponse> {
    match source {
        RowSource::Series(name, arguments) => load_series(place, name, arguments),
        RowSource::Table { schema, name } => load_table(place, schema.as_deref(), name),
    }
}

fn load_table(place: QueryContext<'_>, schema: Option<&str>, name: &str) -> Result<RowSet, ErrorResponse> {
    let known = schema_names(&place.database.engine);
    let own = known.first().copied().unwrap_or_default();
    if schema.is_none_or(|schema| schema == own)
        && let Some(table) = place.database.contents.tables.get(name)
    {
        let columns = table.columns.iter().map(|(name, _)| name.clone()).collect();
        return Ok((columns, table.rows.clone()));
    }
    let catalog = CATALOGS.iter().find(|catalog| {
        let there = known.contains(&catalog.schema) && catalog.name == name;
        // Only postgres searches its system catalog for names without a schema.
        there && schema.map_or(catalog.schema == "pg_catalog", |schema| schema == catalog.schema)
    });
    let catalog =
        catalog.ok_or_else(|| ErrorResponse::bad_request(format!("table {name} does not exist")))?;
    let columns = catalog.columns.iter().map(|name| (*name).to_owned()).collect();
    Ok((columns, (catalog.rows)(place)))
}

fn load_series(place: QueryContext<'_>, name: &str, arguments: &[Value]) -> Result<RowSet, ErrorResponse> {
    let numbers: Vec<_> = arguments.iter().filter_map(Value::as_i64).collect();
    let (first, last, column) = match (place.database.engine.as_str(), name, numbers.as_slice()) {
        ("postgres", "generate_series", [first, last]) => (*first, *last, "generate_series"),
        ("clickhouse", "numbers", [count]) => (0, count.saturating_sub(1), "number"),
        _ => {
            return Err(ErrorResponse::bad_request(format!(
                "table function {name} does not exist with these arguments"
            )));
        }
    };
    if last.saturating_sub(first) >= MAX_SERIES_LEN {
        return Err(too_slow());
    }
    Ok((vec![column.to_owned()], (first..=last).map(|number| vec![json!(number)]).collect()))
}

/// Returns the refusal for a query that exceeds the time limit of 15 seconds ("Limits").
pub(super) fn too_slow() -> ErrorResponse {
    ErrorResponse::bad_request("the query was canceled: it took longer than 15 seconds")
}
