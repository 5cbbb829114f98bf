//! What is in a database, level by level, and who reads its topics.

use serde_json::{Value, json};

use super::access::owner;
use super::contents::{MOST_PARTITIONS, Message, Topic};
use super::database::Database;
use super::sql::{self, Place};
use super::user::settled;
use crate::emulator::world::Time;
use crate::emulator::world::engine::message::Refusal;
use crate::emulator::world::engine::request_body::Field;
use crate::emulator::world::engine::table::Record;
use crate::emulator::world::request::call::{Call, Reply, success};
use crate::emulator::world::router::{Access, Route};
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Post, "/api/v1/databases/{id}/browse", Access::Project, browse),
    Route::new(Method::Get, "/api/v1/databases/{id}/consumers", Access::Account, consumers),
];

/// Levels of a path: no engine has more.
const DEEPEST: usize = 2;
/// Newest messages of a partition that are shown.
const NEWEST: usize = 100;
/// Most entries of an answer.
const MOST: usize = 5_000;

fn browse(call: &mut Call<'_>) -> Reply {
    let record = settled(call)?;
    let path = call.body.optional("path", |field| field.list(DEEPEST, Field::name_or_number))?;
    let path = path.unwrap_or_default();
    let parts: Vec<_> = path.iter().map(String::as_str).collect();
    let mut entries = match record.body.engine.as_str() {
        "kafka" => topics(&record.body, &parts)?,
        "valkey" => keys(&record.body, &parts)?,
        _ => tables(record, call.now, &parts)?,
    };
    entries.truncate(MOST);
    Ok(success(200, "", |fields| {
        fields.object("data", |fields| {
            fields.put("path", &path);
            fields.put("entries", &entries);
        });
    }))
}

fn tables(record: &Record<Database>, now: Time, path: &[&str]) -> Result<Vec<Value>, Refusal> {
    let engine = &record.body.engine;
    let place = Place { database: &record.body, owner: owner(engine), now };
    match path {
        [] => Ok(sql::schemas(engine).iter().map(|name| json!({"name": name, "type": "schema"})).collect()),
        [schema] => {
            let names = sql::tables_of(place, schema).ok_or_else(|| Refusal::unknown("schema"))?;
            Ok(names.iter().map(|name| json!({"name": name, "type": "table"})).collect())
        }
        [schema, table, ..] => {
            let columns = sql::columns_of(place, schema, table).ok_or_else(|| Refusal::unknown("table"))?;
            let entry = |(name, kind): &(String, String)| json!({"name": name, "type": "column", "data_type": kind});
            Ok(columns.iter().map(entry).collect())
        }
    }
}

fn keys(database: &Database, path: &[&str]) -> Result<Vec<Value>, Refusal> {
    let keys = &database.contents.keys;
    match path {
        [] => Ok(keys.keys().map(|name| json!({"name": name, "type": "string"})).collect()),
        [key] => {
            let value = keys.get(*key).ok_or_else(|| Refusal::unknown("key"))?;
            Ok(vec![json!({"name": key, "type": "string", "value": value})])
        }
        _ => Err(Refusal::bad("path: below a key there is nothing")),
    }
}

/// Lists topics, or shows the newest messages; no reader's position moves.
fn topics(database: &Database, path: &[&str]) -> Result<Vec<Value>, Refusal> {
    let topics = &database.contents.topics;
    let find = |name: &str| topics.get(name).ok_or_else(|| Refusal::unknown("topic"));
    match path {
        [] => {
            let entry = |(name, topic): (&String, &Topic)| json!({"name": name, "type": "topic", "partitions": topic.partitions});
            Ok(topics.iter().map(entry).collect())
        }
        [name] => {
            let topic = find(name)?;
            let partitions = 0..topic.partitions.min(MOST_PARTITIONS);
            Ok(partitions.flat_map(|partition| newest(topic, partition)).collect())
        }
        [name, partition, ..] => {
            let topic = find(name)?;
            let partition = partition.parse().ok().filter(|partition| *partition < topic.partitions);
            Ok(newest(topic, partition.ok_or_else(|| Refusal::unknown("partition"))?))
        }
    }
}

fn newest(topic: &Topic, partition: usize) -> Vec<Value> {
    let messages = topic.of_partition(partition).rev().take(NEWEST);
    let entry = |(offset, message): (usize, &Message)| {
        json!({
            "type": "message", "partition": partition, "offset": offset,
            "key": message.key, "value": message.value,
        })
    };
    messages.map(entry).collect()
}

fn consumers(call: &mut Call<'_>) -> Reply {
    let record = call.find_database()?;
    if record.body.engine != "kafka" {
        return Err(Refusal::new(501, "Not Implemented", "only kafka databases have consumers"));
    }
    let topics = record.body.contents.topics.iter();
    let readers = topics.flat_map(|(name, topic)| {
        topic.readers.iter().map(move |(group, read)| (group, name, topic, read))
    });
    let mut readers: Vec<_> = readers.collect();
    readers.sort_by_key(|(group, name, ..)| (*group, *name));
    call.list_of(&readers, |fields, (group, name, topic, read)| {
        fields.put("group", group);
        fields.put("topic", name);
        fields.put("partitions", &topic.partitions);
        fields.put("lag", &topic.lag(read));
    })
}
