//! The document of `resolve`: what only a human can answer.

use serde::Serialize;

use super::writer::{SCHEMA_VERSION, to_pretty};
use crate::model::address::{Address, Name};

/// One open question, or one request that is watched for late effects.
#[derive(Debug, Serialize)]
pub struct AmbiguousIntentEntry<'a> {
    /// The whole id of the request; of a lost secret the address.
    pub operation: String,
    /// Its first digits, or the address: enough to answer by.
    pub handle: String,
    /// Which resource.
    pub address: &'a Address,
    /// Its kind.
    pub kind: &'a Name,
    /// The question, in a sentence.
    pub text: &'a str,
    /// Objects that could be the answer.
    pub candidates: &'a [Name],
    /// The words that can follow `stead resolve HANDLE`.
    pub answers: Vec<String>,
}

#[derive(Serialize)]
struct AmbiguousIntentsDocument<'a> {
    schema_version: u32,
    questions: &'a [AmbiguousIntentEntry<'a>],
    watched: &'a [AmbiguousIntentEntry<'a>],
}

/// Returns the document of all open questions and watched requests.
#[must_use]
pub fn questions_document(
    questions: &[AmbiguousIntentEntry<'_>],
    watched: &[AmbiguousIntentEntry<'_>],
) -> String {
    to_pretty(&AmbiguousIntentsDocument { schema_version: SCHEMA_VERSION, questions, watched })
}
