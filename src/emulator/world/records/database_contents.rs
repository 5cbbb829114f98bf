//! The contents of a database, as far as the emulator supports them: tables, keys and topics.
//!
//! The console writes tables and keys. `mutate` of `contents` creates topics, because no client programs
//! connect to an emulated database.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::emulator::world::engine::message::ErrorResponse;

/// Tables, keys and topics of one database. Which of them have a meaning depends on its engine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::emulator::world) struct DatabaseContents {
    pub(in crate::emulator::world) tables: BTreeMap<String, DatabaseTable>,
    pub(in crate::emulator::world) keys: BTreeMap<String, String>,
    pub(in crate::emulator::world) topics: BTreeMap<String, Topic>,
}

/// The columns and rows of a table. Each row has one value for each column.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct DatabaseTable {
    /// Name and type of each column, in order.
    pub(in crate::emulator::world) columns: Vec<(String, String)>,
    pub(in crate::emulator::world) rows: Vec<Vec<Value>>,
}

/// The messages of a topic and its consumer offsets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Topic {
    pub(in crate::emulator::world) partitions: usize,
    #[serde(default = "default_count")]
    pub(in crate::emulator::world) copies: usize,
    #[serde(default = "default_retention_hours")]
    pub(in crate::emulator::world) retention_hours: u64,
    /// Oldest first; the position within its partition is a message's offset.
    #[serde(default)]
    pub(in crate::emulator::world) messages: Vec<TopicMessage>,
    /// For each consumer group, the number of messages that it has read in each partition.
    #[serde(default)]
    pub(in crate::emulator::world) readers: BTreeMap<String, Vec<usize>>,
}

/// A message of a topic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct TopicMessage {
    pub(in crate::emulator::world) partition: usize,
    #[serde(default)]
    pub(in crate::emulator::world) key: Option<String>,
    pub(in crate::emulator::world) value: String,
}

fn default_count() -> usize {
    1
}

fn default_retention_hours() -> u64 {
    168
}

const MAX_TABLES: usize = 256;
const MAX_ROWS: usize = 10_000;
const MAX_KEYS: usize = 10_000;
/// Limit on the length of one value of a table or a key, in bytes.
const MAX_TEXT_BYTES: usize = 65_535;

impl DatabaseContents {
    /// Refuses contents that exceed the emulator's limits, with 400. Topics are not checked: only tests create them.
    pub(in crate::emulator::world) fn check(&self) -> Result<(), ErrorResponse> {
        let rows: usize = self.tables.values().map(|table| table.rows.len()).sum();
        let cells = self.tables.values().flat_map(|table| table.rows.iter().flatten());
        let texts = cells.filter_map(Value::as_str).chain(self.keys.values().map(String::as_str));
        let longest = texts.map(str::len).max().unwrap_or_default();
        let full = |what: &str| {
            Err(ErrorResponse::bad_request(format!(
                "the emulator keeps at most {what} in a database: delete some first"
            )))
        };
        match () {
            () if self.tables.len() > MAX_TABLES => full("256 tables"),
            () if rows > MAX_ROWS => full("10000 rows"),
            () if self.keys.len() > MAX_KEYS => full("10000 keys"),
            () if longest > MAX_TEXT_BYTES => full("65535 bytes of one value"),
            () => Ok(()),
        }
    }
}

impl Topic {
    /// Returns the messages of a partition with their offsets, oldest first; none for a partition that does not exist.
    pub(in crate::emulator::world) fn of_partition(
        &self,
        partition: usize,
    ) -> impl DoubleEndedIterator<Item = (usize, &TopicMessage)> {
        let all: Vec<_> = self.messages.iter().filter(|message| message.partition == partition).collect();
        all.into_iter().enumerate()
    }

    /// Returns how many messages a consumer group has not read yet; `read` is its entry of `readers`.
    pub(in crate::emulator::world) fn lag(&self, read: &[usize]) -> usize {
        let mut ends = vec![0_usize; self.partitions.min(MAX_PARTITIONS)];
        for message in &self.messages {
            if let Some(end) = ends.get_mut(message.partition) {
                *end += 1;
            }
        }
        let behind =
            |(at, end): (usize, &usize)| end.saturating_sub(read.get(at).copied().unwrap_or_default());
        ends.iter().enumerate().map(behind).sum()
    }
}

/// Limit on the partitions of a topic that are counted: `mutate` accepts any number.
pub(in crate::emulator::world) const MAX_PARTITIONS: usize = 1_024;
