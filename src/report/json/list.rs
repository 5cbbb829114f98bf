//! Documents of `ls`, `get` and `drift`.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::plan::DriftEntry;
use super::shown::Shown;
use super::write::{SCHEMA_VERSION, pretty};
use crate::model::address::Name;
use crate::model::value::{Attributes, Value};
use crate::report::drift::Found;
use crate::report::list::{self, Listed};
use crate::report::table::Table;

/// Returns the document of a list: `{schema_version, <key>: [row…]}`.
#[must_use]
pub fn list(key: &'static str, table: &Table) -> String {
    pretty(&ListDocument { key, table })
}

struct ListDocument<'a> {
    key: &'static str,
    table: &'a Table,
}

impl Serialize for ListDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("schema_version", &SCHEMA_VERSION)?;
        map.serialize_entry(self.key, self.table)?;
        map.end()
    }
}

#[derive(Serialize)]
struct ObjectDocument<'a> {
    schema_version: u32,
    address: Option<&'a str>,
    kind: &'a Name,
    id: &'a Name,
    status: Option<&'a Name>,
    applied: AttributeMap<'a>,
    live: AttributeMap<'a>,
}

struct AttributeMap<'a>(&'a Attributes);

impl Serialize for AttributeMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value): (&Name, &Value)| (name, Shown(value))))
    }
}

/// Returns the document of one object (`get`).
#[must_use]
pub fn object(listed: &Listed, applied: &Attributes, live: &Attributes) -> String {
    pretty(&ObjectDocument {
        schema_version: SCHEMA_VERSION,
        address: listed.address.as_ref().map(crate::model::address::Address::as_str),
        kind: &listed.kind,
        id: &listed.id,
        status: listed.status.as_ref(),
        applied: AttributeMap(applied),
        live: AttributeMap(live),
    })
}

#[derive(Serialize)]
struct DriftDocument<'a> {
    schema_version: u32,
    stack: &'a Name,
    env: &'a Name,
    managed: usize,
    drift: Vec<DriftEntry<'a>>,
    unmanaged: Table,
}

/// Returns the document of `drift`.
#[must_use]
pub fn drift(found: &Found<'_>) -> String {
    pretty(&DriftDocument {
        schema_version: SCHEMA_VERSION,
        stack: found.stack,
        env: found.environment,
        managed: found.managed,
        drift: found.drift.iter().map(DriftEntry::of).collect(),
        unmanaged: list::unmanaged(found.unmanaged),
    })
}
