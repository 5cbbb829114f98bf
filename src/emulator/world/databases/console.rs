//! The console of a database: runs queries on its contents, as far as the emulator supports its engine ("Catalogue of
//! other endpoints", Databases). A query is read-only unless the body says otherwise.

use serde_json::{Value, json};

use super::access::owner_login;
use super::sql::{self, QueryContext, QueryResult};
use super::user::find_running_database;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::table::RecordKind;
use crate::emulator::world::records::database::Database;
use crate::emulator::world::records::database_contents::{DatabaseContents, Topic};
use crate::emulator::world::request::call::{Call, Reply, success_response};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] =
    &[Route::new(Method::Post, "/api/v1/databases/{id}/console", Access::Project, run_console_query)];

const MAX_QUERY_CHARS: usize = 65_535;

fn run_console_query(call: &mut Call<'_>) -> Reply {
    let record = find_running_database(call)?;
    let (id, project, engine) = (record.id, record.project, record.body.engine.clone());
    let query = call.body.required_field("query", |field| field.text(1, MAX_QUERY_CHARS))?;
    let read_only = call.body.optional_field("read_only", BodyField::boolean)?.unwrap_or(true);
    if let (false, Some(need), Some(project)) = (read_only, call.need, project) {
        // The route requires read permission only: a query that may write requires write permission, too.
        call.grant.require_permission(need.as_write(), project, Database::TITLE)?;
    }
    let place = QueryContext { database: &record.body, owner: owner_login(&engine), now: call.now };
    let (answer, changed) = match engine.as_str() {
        "kafka" => (query_topics(&record.body.contents, query)?, None),
        "valkey" => run_valkey_command(&record.body.contents, query, read_only)?,
        _ => run_sql_statement(place, query, read_only)?,
    };
    if let Some(contents) = changed {
        // The change is made on a copy, so a refused one leaves nothing behind.
        contents.check()?;
        call.update::<Database>(id, |record| record.body.contents = contents);
    }
    Ok(success_response(200, "", |fields| {
        fields.write_object("data", |fields| {
            fields.write_field("columns", &answer.columns);
            fields.write_field("rows", &answer.rows);
            fields.write_field("row_count", &answer.count);
            fields.write_field("truncated", &answer.truncated);
        });
    }))
}

/// The answer to a query, and the new contents; `None` if the query changed nothing.
type QueryOutcome = Result<(QueryResult, Option<DatabaseContents>), ErrorResponse>;

fn refuse_write() -> ErrorResponse {
    ErrorResponse::bad_request(
        "the query changes something, and the console is read-only: set read_only to false",
    )
}

fn run_sql_statement(place: QueryContext<'_>, query: &str, read_only: bool) -> QueryOutcome {
    /// First keywords of changing statements, including those that the emulator does not support: a read-only console
    /// refuses them as changes, not as syntax errors.
    const CHANGES: &[&str] = &[
        "insert", "update", "delete", "truncate", "create", "drop", "alter", "grant", "revoke", "replace",
        "merge", "copy", "vacuum", "optimize", "rename", "call", "do", "set", "lock",
    ];
    let first = query.split_whitespace().next().unwrap_or_default().to_lowercase();
    if read_only && CHANGES.contains(&first.as_str()) {
        return Err(refuse_write());
    }
    match sql::parse(query)? {
        sql::Statement::Select(select) => Ok((sql::run_select(place, &select)?, None)),
        _ if read_only => Err(refuse_write()),
        statement => {
            let mut contents = place.database.contents.clone();
            let count = sql::apply_statement(&mut contents, &statement)?;
            Ok((QueryResult { count, ..QueryResult::default() }, Some(contents)))
        }
    }
}

/// Answers the only query of a Kafka database: one row for each topic.
fn query_topics(contents: &DatabaseContents, query: &str) -> Result<QueryResult, ErrorResponse> {
    const COLUMNS: &[&str] =
        &["topic", "partitions", "copies", "retention_hours", "messages", "readers", "lag"];
    if !query.trim().trim_end_matches(';').eq_ignore_ascii_case("topics") {
        return Err(ErrorResponse::bad_request("the console of a kafka database takes the query TOPICS"));
    }
    let row = |(name, topic): (&String, &Topic)| {
        let lag: usize = topic.readers.values().map(|read| topic.lag(read)).sum();
        vec![
            json!(name),
            json!(topic.partitions),
            json!(topic.copies),
            json!(topic.retention_hours),
            json!(topic.messages.len()),
            json!(topic.readers.len()),
            json!(lag),
        ]
    };
    let columns = COLUMNS.iter().map(|name| (*name).to_owned()).collect();
    Ok(QueryResult::from_rows(columns, contents.topics.iter().map(row).collect()))
}

/// Runs a valkey command, whose words are separated by spaces; there are no quotes.
fn run_valkey_command(contents: &DatabaseContents, query: &str, read_only: bool) -> QueryOutcome {
    let words: Vec<_> = query.split_whitespace().collect();
    let (name, arguments) = words.split_first().unwrap_or((&"", &[]));
    let name = name.to_uppercase();
    let get = |key: &&str| json!(contents.keys.get(*key));
    let rows: Vec<Value> = match (name.as_str(), arguments) {
        ("PING", []) => vec![json!("PONG")],
        ("ECHO", [text]) => vec![json!(text)],
        ("GET", [key]) => vec![get(key)],
        ("MGET", [_, ..]) => arguments.iter().map(get).collect(),
        ("EXISTS", [_, ..]) => {
            vec![json!(arguments.iter().filter(|key| contents.keys.contains_key(**key)).count())]
        }
        ("KEYS", [pattern]) => {
            let fits = |key: &&String| sql::matches_pattern(key, pattern, '*', '?');
            contents.keys.keys().filter(fits).map(|key| json!(key)).collect()
        }
        ("TYPE", [key]) => vec![json!(if contents.keys.contains_key(*key) { "string" } else { "none" })],
        ("TTL", [key]) => vec![json!(if contents.keys.contains_key(*key) { -1 } else { -2 })],
        ("DBSIZE", []) => vec![json!(contents.keys.len())],
        ("SET" | "DEL" | "INCR" | "FLUSHDB" | "FLUSHALL", _) if read_only => return Err(refuse_write()),
        _ => {
            let mut changed = contents.clone();
            let result = run_write_command(&mut changed, &name, arguments)?;
            return Ok((QueryResult::from_rows(result_heading(), vec![vec![result]]), Some(changed)));
        }
    };
    Ok((QueryResult::from_rows(result_heading(), rows.into_iter().map(|cell| vec![cell]).collect()), None))
}

fn result_heading() -> Vec<String> {
    vec!["result".to_owned()]
}

/// Runs a command of valkey that changes something; refuses an unknown command.
fn run_write_command(
    contents: &mut DatabaseContents,
    name: &str,
    arguments: &[&str],
) -> Result<Value, ErrorResponse> {
    match (name, arguments) {
        ("SET", [key, value]) => {
            contents.keys.insert((*key).to_owned(), (*value).to_owned());
            Ok(json!("OK"))
        }
        ("DEL", [_, ..]) => {
            Ok(json!(arguments.iter().filter(|key| contents.keys.remove(**key).is_some()).count()))
        }
        ("INCR", [key]) => {
            let value = contents.keys.get(*key).map_or(Ok(0), |text| text.parse::<i64>());
            let next = value.ok().and_then(|number| number.checked_add(1));
            let next =
                next.ok_or_else(|| ErrorResponse::bad_request("value is not an integer or out of range"))?;
            contents.keys.insert((*key).to_owned(), next.to_string());
            Ok(json!(next))
        }
        ("FLUSHDB" | "FLUSHALL", []) => {
            contents.keys.clear();
            Ok(json!("OK"))
        }
        _ => Err(ErrorResponse::bad_request(format!(
            "unknown command {name} with {} arguments: the emulator understands PING, ECHO, GET, MGET, EXISTS, KEYS, TYPE, TTL, DBSIZE, SET, DEL, INCR and FLUSHDB",
            arguments.len()
        ))),
    }
}
