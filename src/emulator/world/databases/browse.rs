//! Browsing the contents of a database level by level: schemas and tables, keys, or topics and messages; and the
//! consumer groups of its topics. Reading moves no offset.

use serde_json::{Value, json};

use super::access::owner_login;
use super::database::find_database;
use super::sql::{self, QueryContext};
use super::user::find_running_database;
use crate::emulator::world::Time;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::database::Database;
use crate::emulator::world::records::database_contents::{MAX_PARTITIONS, Topic, TopicMessage};
use crate::emulator::world::request::call::{Call, Reply, success_response};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Post, "/api/v1/databases/{id}/browse", Access::Project, browse_database),
    Route::new(Method::Get, "/api/v1/databases/{id}/consumers", Access::Account, list_consumers),
];

/// Maximum number of names in a path, over all engines.
const MAX_PATH_DEPTH: usize = 2;
/// Limit on the messages shown per partition; the newest ones are shown.
const MAX_MESSAGES: usize = 100;
/// Limit on the entries in a response, as for the rows of a query; the rest is omitted.
const MAX_ENTRIES: usize = 5_000;

fn browse_database(call: &mut Call<'_>) -> Reply {
    let record = find_running_database(call)?;
    let path =
        call.body.optional_field("path", |field| field.list(MAX_PATH_DEPTH, BodyField::name_or_number))?;
    let path = path.unwrap_or_default();
    let parts: Vec<_> = path.iter().map(String::as_str).collect();
    let mut entries = match record.body.engine.as_str() {
        "kafka" => browse_topics(&record.body, &parts)?,
        "valkey" => browse_keys(&record.body, &parts)?,
        _ => browse_tables(record, call.now, &parts)?,
    };
    entries.truncate(MAX_ENTRIES);
    Ok(success_response(200, "", |fields| {
        fields.write_object("data", |fields| {
            fields.write_field("path", &path);
            fields.write_field("entries", &entries);
        });
    }))
}

fn browse_tables(
    record: &TableRecord<Database>,
    now: Time,
    path: &[&str],
) -> Result<Vec<Value>, ErrorResponse> {
    let engine = &record.body.engine;
    let place = QueryContext { database: &record.body, owner: owner_login(engine), now };
    match path {
        [] => Ok(sql::schema_names(engine)
            .iter()
            .map(|name| json!({"name": name, "type": "schema"}))
            .collect()),
        [schema] => {
            let names = sql::tables_of(place, schema).ok_or_else(|| ErrorResponse::not_found("schema"))?;
            Ok(names.iter().map(|name| json!({"name": name, "type": "table"})).collect())
        }
        [schema, table, ..] => {
            let columns =
                sql::columns_of(place, schema, table).ok_or_else(|| ErrorResponse::not_found("table"))?;
            let entry = |(name, kind): &(String, String)| json!({"name": name, "type": "column", "data_type": kind});
            Ok(columns.iter().map(entry).collect())
        }
    }
}

fn browse_keys(database: &Database, path: &[&str]) -> Result<Vec<Value>, ErrorResponse> {
    let keys = &database.contents.keys;
    match path {
        [] => Ok(keys.keys().map(|name| json!({"name": name, "type": "string"})).collect()),
        [key] => {
            let value = keys.get(*key).ok_or_else(|| ErrorResponse::not_found("key"))?;
            Ok(vec![json!({"name": key, "type": "string", "value": value})])
        }
        _ => Err(ErrorResponse::bad_request("path: below a key there is nothing")),
    }
}

/// Lists topics, or the newest messages of one topic or partition, newest first; consumer offsets do not change.
fn browse_topics(database: &Database, path: &[&str]) -> Result<Vec<Value>, ErrorResponse> {
    let topics = &database.contents.topics;
    let find = |name: &str| topics.get(name).ok_or_else(|| ErrorResponse::not_found("topic"));
    match path {
        [] => {
            let entry = |(name, topic): (&String, &Topic)| json!({"name": name, "type": "topic", "partitions": topic.partitions});
            Ok(topics.iter().map(entry).collect())
        }
        [name] => {
            let topic = find(name)?;
            let partitions = 0..topic.partitions.min(MAX_PARTITIONS);
            Ok(partitions.flat_map(|partition| newest_messages(topic, partition)).collect())
        }
        [name, partition, ..] => {
            let topic = find(name)?;
            let partition = partition.parse().ok().filter(|partition| *partition < topic.partitions);
            Ok(newest_messages(topic, partition.ok_or_else(|| ErrorResponse::not_found("partition"))?))
        }
    }
}

fn newest_messages(topic: &Topic, partition: usize) -> Vec<Value> {
    let messages = topic.of_partition(partition).rev().take(MAX_MESSAGES);
    let entry = |(offset, message): (usize, &TopicMessage)| {
        json!({
            "type": "message", "partition": partition, "offset": offset,
            "key": message.key, "value": message.value,
        })
    };
    messages.map(entry).collect()
}

fn list_consumers(call: &mut Call<'_>) -> Reply {
    let record = find_database(call)?;
    if record.body.engine != "kafka" {
        return Err(ErrorResponse::new(501, "Not Implemented", "only kafka databases have consumers"));
    }
    let topics = record.body.contents.topics.iter();
    let readers = topics.flat_map(|(name, topic)| {
        topic.readers.iter().map(move |(group, read)| (group, name, topic, read))
    });
    let mut readers: Vec<_> = readers.collect();
    readers.sort_by_key(|(group, name, ..)| (*group, *name));
    call.list_of(&readers, |fields, (group, name, topic, read)| {
        fields.write_field("group", group);
        fields.write_field("topic", name);
        fields.write_field("partitions", &topic.partitions);
        fields.write_field("lag", &topic.lag(read));
    })
}
