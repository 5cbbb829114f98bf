//! The JSON document of an adoption or import.

use serde::Serialize;

use crate::model::address::{Address, Name};
use crate::plan::import::{ImportResult, PlaintextSecret, ReferenceSuggestion};
use crate::plan::model::change::Change;
use crate::report::json_value::JsonValue;
use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_pretty};

#[derive(Serialize)]
struct ImportDocument<'a> {
    schema_version: SchemaVersion,
    files: Vec<FileEntry<'a>>,
    resources: Vec<ResourceEntry<'a>>,
    variables: Vec<VariableEntry<'a>>,
    /// Sensitive values that the generated files contain as plain text.
    in_clear: Vec<PlaintextSecretEntry<'a>>,
    /// Keys that were requested as secrets, but that no attribute has.
    unmatched: &'a [String],
    left_out: Vec<OmissionEntry<'a>>,
    /// References that could replace ids.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suggestions: Vec<ReferenceSuggestionEntry<'a>>,
}

#[derive(Serialize)]
struct FileEntry<'a> {
    name: &'a str,
    text: &'a str,
}

#[derive(Serialize)]
struct ResourceEntry<'a> {
    address: &'a Address,
    kind: &'a Name,
    id: Option<&'a Name>,
}

#[derive(Serialize)]
struct VariableEntry<'a> {
    name: &'a Name,
    of: String,
}

#[derive(Serialize)]
struct PlaintextSecretEntry<'a> {
    address: &'a Address,
    attribute: &'a str,
    key: &'a Name,
}

#[derive(Serialize)]
struct OmissionEntry<'a> {
    kind: &'a Name,
    id: &'a Name,
    attribute: Option<&'a Name>,
    why: &'a str,
}

#[derive(Serialize)]
struct ReferenceSuggestionEntry<'a> {
    address: &'a Address,
    attribute: &'a Name,
    kind: &'a Name,
    id: &'a Name,
    /// Reference to write once the object is managed here; null if another stack manages it.
    reference: Option<&'a str>,
    text: &'a str,
}

/// Returns the JSON document of an accepted import. It contains no secrets.
#[must_use]
pub fn takeover_document(accepted: &ImportResult) -> String {
    let resources = accepted.entries.iter().map(|(address, entry)| ResourceEntry {
        address,
        kind: &entry.kind,
        id: entry.current.as_ref().map(|owned| &owned.id),
    });
    let left = accepted.left.iter().map(|left| OmissionEntry {
        kind: &left.key.kind,
        id: &left.key.id,
        attribute: left.attribute.as_ref(),
        why: &left.why,
    });
    let variables = accepted.variables.iter();
    to_pretty(&ImportDocument {
        schema_version: SCHEMA_VERSION,
        files: accepted.files.iter().map(|(name, text)| FileEntry { name, text }).collect(),
        resources: resources.collect(),
        variables: variables
            .map(|secret| VariableEntry { name: &secret.name, of: secret.describe_uses() })
            .collect(),
        in_clear: accepted.in_clear.iter().map(in_clear).collect(),
        unmatched: &accepted.unmatched,
        left_out: left.collect(),
        suggestions: accepted.suggestions.iter().map(suggestion_entry).collect(),
    })
}

fn suggestion_entry(one: &ReferenceSuggestion) -> ReferenceSuggestionEntry<'_> {
    ReferenceSuggestionEntry {
        address: &one.address,
        attribute: &one.attribute,
        kind: &one.object.kind,
        id: &one.object.id,
        reference: one.reference.as_deref(),
        text: &one.text,
    }
}

fn in_clear(one: &PlaintextSecret) -> PlaintextSecretEntry<'_> {
    PlaintextSecretEntry { address: &one.address, attribute: one.attribute, key: &one.key }
}

#[derive(Serialize)]
struct AdoptionDocument<'a> {
    schema_version: SchemaVersion,
    address: &'a Address,
    id: &'a str,
    /// Changes that the next apply makes to the object.
    changes: Vec<AdoptionChangeEntry<'a>>,
}

#[derive(Serialize)]
struct AdoptionChangeEntry<'a> {
    path: &'a Name,
    before: JsonValue<'a>,
    after: JsonValue<'a>,
}

/// Returns the JSON document of one object that an existing block adopts.
#[must_use]
pub fn adoption_document(address: &Address, id: &str, change: Option<&Change>) -> String {
    let attributes = change.into_iter().flat_map(|change| &change.attributes);
    let changes = attributes.map(|attribute| AdoptionChangeEntry {
        path: &attribute.path,
        before: JsonValue(&attribute.before),
        after: JsonValue(&attribute.after),
    });
    to_pretty(&AdoptionDocument { schema_version: SCHEMA_VERSION, address, id, changes: changes.collect() })
}
