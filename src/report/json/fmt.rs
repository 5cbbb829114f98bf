//! The JSON document of `fmt`.

use serde::Serialize;

use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_pretty};

#[derive(Serialize)]
struct FmtDocument<'a> {
    schema_version: SchemaVersion,
    written: bool,
    files: &'a [&'a str],
}

/// Returns the document: the files that are not in canonical form, and whether they were rewritten.
#[must_use]
pub fn formatted_document(files: &[&str], written: bool) -> String {
    to_pretty(&FmtDocument { schema_version: SCHEMA_VERSION, written, files })
}
