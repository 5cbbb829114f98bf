//! The JSON documents of `ls`, `get` and `drift`.

use jiff::Timestamp;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::plan::change_entry::PlanDocumentOptions;
use super::plan::document::{DriftEntry, PolicyResultEntry};
use crate::model::address::{Address, Name};
use crate::model::values::value::{Attributes, Value};
use crate::plan::model::note::NoteCode;
use crate::report::json_value::JsonValue;
use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_pretty};
use crate::report::text::table::{ReportTable, TableCell, TableColumn};
use crate::report::views::drift::{self, DriftReport};
use crate::report::views::list::{self, ObjectSummary};

/// Returns the JSON document of a list: `{schema_version, <key>: [row…]}`.
#[must_use]
pub fn list_document(key: &'static str, table: &ReportTable) -> String {
    to_pretty(&ListDocument::new(key, table))
}

/// The document of `stead ls --output json`: `resources`, or `unmanaged` with `--unmanaged`.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "a table writes the rows")]
pub(crate) enum LsDocument {
    /// `stead ls`.
    Managed {
        schema_version: SchemaVersion,
        /// Managed objects.
        resources: Vec<ManagedRow>,
    },
    /// `stead ls --unmanaged`.
    Unmanaged {
        schema_version: SchemaVersion,
        /// Live objects that are in no ledger.
        unmanaged: Vec<UnmanagedRow>,
    },
}

/// A managed object.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "a table writes the rows")]
pub(crate) struct ManagedRow {
    /// Address of the resource.
    address: Option<Address>,
    /// Id of the object.
    id: Option<Name>,
    /// Status as the service reports it, or `gone`.
    status: Option<Name>,
    /// Dollars a month, if known.
    monthly: Option<f64>,
    /// Kind of the object.
    kind: Name,
    /// Display name, if the object has one.
    name: Option<Name>,
    /// Id of its project.
    project: Option<Name>,
    /// When the service created the object.
    created_at: Option<Name>,
}

/// A live object that is in no ledger.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "a table writes the rows")]
pub(crate) struct UnmanagedRow {
    /// Kind of the object.
    kind: Name,
    /// Id of the object.
    id: Name,
    /// Display name, if the object has one.
    name: Option<Name>,
    /// Status as the service reports it.
    status: Option<Name>,
    /// Dollars a month, if known.
    monthly: Option<f64>,
    /// What the object belongs to, as an address or as `KIND:ID`: its parent, or what claims it.
    belongs_to: Option<Name>,
    /// Id of its project.
    project: Option<Name>,
    /// When the service created the object.
    created_at: Option<Name>,
}

/// A list under a key: `{schema_version, <key>: [row…]}`.
pub struct ListDocument<'a> {
    key: &'static str,
    table: &'a ReportTable,
}

impl<'a> ListDocument<'a> {
    /// Returns the list of a table's rows.
    #[must_use]
    pub const fn new(key: &'static str, table: &'a ReportTable) -> Self {
        Self { key, table }
    }
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
    schema_version: SchemaVersion,
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
        serializer.collect_map(self.0.iter().map(|(name, value): (&Name, &Value)| (name, JsonValue(value))))
    }
}

/// Returns the JSON document of one object (`get`).
#[must_use]
pub fn object_document(listed: &ObjectSummary, applied: &Attributes, live: &Attributes) -> String {
    to_pretty(&ObjectDocument {
        schema_version: SCHEMA_VERSION,
        address: listed.address.as_ref().map(Address::as_str),
        kind: &listed.kind,
        id: &listed.id,
        status: listed.status.as_ref(),
        applied: AttributeMap(applied),
        live: AttributeMap(live),
    })
}

/// The document of `stead drift --output json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriftDocument<'a> {
    schema_version: SchemaVersion,
    /// Name of the stack.
    stack: &'a Name,
    /// Name of the environment.
    env: &'a Name,
    /// Number of managed objects.
    managed: usize,
    /// When the previous check took place; null if none is known.
    last_look: Option<Timestamp>,
    /// Differences of managed objects.
    drift: Vec<DatedDriftEntry<'a>>,
    /// Live objects that are in no ledger, in the projects of the stack.
    #[cfg_attr(test, schemars(with = "Vec<DatedUnmanagedRow>"))]
    unmanaged: ReportTable,
    /// Differences and objects of the previous check that no longer exist.
    resolved: Vec<ResolvedDriftEntry<'a>>,
    elsewhere: OtherProjectsEntry,
    /// Values that the service does not keep or does not show: no drift.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<DriftNoteEntry<'a>>,
    /// What the live objects open to others.
    exposures: Vec<PolicyResultEntry<'a>>,
}

/// An unmanaged object, and when it was first seen.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "a table writes the rows")]
struct DatedUnmanagedRow {
    #[schemars(flatten)]
    object: UnmanagedRow,
    /// When a check saw it for the first time.
    first_seen: Option<Timestamp>,
}

/// A difference, and when it was first seen.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DatedDriftEntry<'a> {
    #[serde(flatten)]
    drift: DriftEntry<'a>,
    /// When a check saw it for the first time.
    first_seen: Option<Timestamp>,
}

/// A difference or an object of the previous check that no longer exists.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ResolvedDriftEntry<'a> {
    /// Path of the difference, or kind, name and id of the object.
    name: &'a str,
    /// When a check saw it for the first time.
    first_seen: Timestamp,
}

/// Number of other live objects of the account, as far as they were read.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OtherProjectsEntry {
    /// Number of other projects.
    projects: usize,
    /// Number of objects that are in no project and in no ledger.
    account: usize,
}

/// A note on an attribute of a managed object.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DriftNoteEntry<'a> {
    /// Category of the note.
    #[cfg_attr(test, schemars(extend("enum" = ["not_kept", "unverified"])))]
    code: NoteCode,
    /// What was found.
    text: &'a str,
    /// The remedy.
    help: &'a str,
}

/// Returns the JSON document of `drift`.
#[must_use]
pub fn drift_document(found: &DriftReport<'_>) -> String {
    let memory = found.memory;
    let mut unmanaged = list::unmanaged_table(found.unmanaged);
    unmanaged.columns.push(TableColumn::text("first_seen"));
    for (row, object) in unmanaged.rows.iter_mut().zip(found.unmanaged) {
        let first = memory.first_seen(&drift::key_of_object(object));
        row.push(TableCell::text(first.map(|first| first.to_string())));
    }
    let seen = |one| DatedDriftEntry {
        drift: DriftEntry::from_drift(one),
        first_seen: memory.first_seen(&drift::drift_key(one)),
    };
    let gone = memory.resolved.iter();
    to_pretty(&DriftDocument {
        schema_version: SCHEMA_VERSION,
        stack: found.stack,
        env: found.environment,
        managed: found.managed,
        last_look: memory.last_look,
        drift: found.drift.iter().map(seen).collect(),
        unmanaged,
        resolved: gone
            .map(|gone| ResolvedDriftEntry { name: &gone.name, first_seen: gone.first_seen })
            .collect(),
        elsewhere: OtherProjectsEntry {
            projects: found.elsewhere.projects,
            account: found.elsewhere.account,
        },
        notes: found
            .notes
            .iter()
            .map(|note| DriftNoteEntry { code: note.code, text: &note.text, help: &note.help })
            .collect(),
        exposures: found
            .exposures
            .iter()
            .map(|one| PolicyResultEntry::from_policy_result(one, PlanDocumentOptions::default()))
            .collect(),
    })
}
