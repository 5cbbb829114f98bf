//! The JSON document of edits to a stack's files.

use serde::Serialize;

use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_pretty};

#[derive(Serialize)]
struct EditsDocument<'a> {
    schema_version: SchemaVersion,
    edits: Vec<EditEntry<'a>>,
}

#[derive(Serialize)]
struct EditEntry<'a> {
    file: &'a str,
    diff: &'a str,
}

/// Returns the JSON document of edits: pairs of a file and its diff.
#[must_use]
pub fn edits_document(edits: &[(String, String)]) -> String {
    let edits = edits.iter().map(|(file, diff)| EditEntry { file, diff }).collect();
    to_pretty(&EditsDocument { schema_version: SCHEMA_VERSION, edits })
}
