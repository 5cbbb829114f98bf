//! The document of what is taken over.

use serde::Serialize;

use super::write::{SCHEMA_VERSION, pretty};
use crate::model::address::{Address, Name};
use crate::plan::takeover::Accepted;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    files: Vec<FileEntry<'a>>,
    resources: Vec<ResourceEntry<'a>>,
    variables: Vec<VariableEntry<'a>>,
    left_out: Vec<LeftEntry<'a>>,
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
    of: &'a str,
}

#[derive(Serialize)]
struct LeftEntry<'a> {
    kind: &'a Name,
    id: &'a Name,
    attribute: Option<&'a Name>,
    why: &'a str,
}

/// Returns the document of an accepted takeover. Secrets are not in it.
#[must_use]
pub fn takeover(accepted: &Accepted) -> String {
    let resources = accepted.entries.iter().map(|(address, entry)| ResourceEntry {
        address,
        kind: &entry.kind,
        id: entry.current.as_ref().map(|owned| &owned.id),
    });
    let left = accepted.left.iter().map(|left| LeftEntry {
        kind: &left.key.kind,
        id: &left.key.id,
        attribute: left.attribute.as_ref(),
        why: &left.why,
    });
    let variables = accepted.variables.iter();
    pretty(&Document {
        schema_version: SCHEMA_VERSION,
        files: accepted.files.iter().map(|(name, text)| FileEntry { name, text }).collect(),
        resources: resources.collect(),
        variables: variables.map(|secret| VariableEntry { name: &secret.name, of: &secret.of }).collect(),
        left_out: left.collect(),
    })
}
