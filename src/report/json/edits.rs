//! The document of edits to a stack's files.

use serde::Serialize;

use super::writer::{SCHEMA_VERSION, pretty};

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    edits: Vec<EditEntry<'a>>,
}

#[derive(Serialize)]
struct EditEntry<'a> {
    file: &'a str,
    diff: &'a str,
}

/// Returns the document of edits: files, each with its difference.
#[must_use]
pub fn edits(edits: &[(String, String)]) -> String {
    let edits = edits.iter().map(|(file, diff)| EditEntry { file, diff }).collect();
    pretty(&Document { schema_version: SCHEMA_VERSION, edits })
}
