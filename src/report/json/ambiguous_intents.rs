//! The JSON document of `resolve`: ambiguous intents that only the user can decide.

use serde::Serialize;

use crate::model::address::{Address, Name};
use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_pretty};

/// One ambiguous intent, or one request that is watched for late effects.
#[derive(Debug, Serialize)]
pub struct AmbiguousIntentEntry<'a> {
    /// Full id of the request; for a lost secret, the address.
    pub operation: String,
    /// The id's first digits, or the address: enough for `stead resolve`.
    pub handle: String,
    /// Address of the resource.
    pub address: &'a Address,
    /// Kind of the resource.
    pub kind: &'a Name,
    /// The question to the user, as a sentence.
    pub text: &'a str,
    /// Ids of the objects that the request may have created.
    pub candidates: &'a [Name],
    /// The answers that `stead resolve HANDLE` accepts.
    pub answers: Vec<String>,
}

#[derive(Serialize)]
struct AmbiguousIntentsDocument<'a> {
    schema_version: SchemaVersion,
    questions: &'a [AmbiguousIntentEntry<'a>],
    watched: &'a [AmbiguousIntentEntry<'a>],
}

/// Returns the document of all ambiguous intents and watched requests.
#[must_use]
pub fn questions_document(
    questions: &[AmbiguousIntentEntry<'_>],
    watched: &[AmbiguousIntentEntry<'_>],
) -> String {
    to_pretty(&AmbiguousIntentsDocument { schema_version: SCHEMA_VERSION, questions, watched })
}
