//! The document of `recover`.

use serde::Serialize;

use super::writer::{SCHEMA_VERSION, to_pretty};
use crate::model::address::{Address, Name};
use crate::plan::import::rebuild_ledger::{Candidate, Recovery};
use crate::report::views::recovery::confidence_text;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    found: Vec<FoundEntry<'a>>,
    ties: Vec<TieEntry<'a>>,
    missing: &'a [Address],
}

#[derive(Serialize)]
struct FoundEntry<'a> {
    address: &'a Address,
    #[serde(flatten)]
    candidate: CandidateEntry<'a>,
}

#[derive(Serialize)]
struct TieEntry<'a> {
    address: &'a Address,
    candidates: Vec<CandidateEntry<'a>>,
    rivals: &'a [Address],
}

#[derive(Serialize)]
struct CandidateEntry<'a> {
    kind: &'a Name,
    id: &'a Name,
    created_at: Option<&'a Name>,
    confidence: &'static str,
    differs: &'a [&'static str],
}

impl<'a> CandidateEntry<'a> {
    fn from_candidate(candidate: &'a Candidate) -> Self {
        Self {
            kind: &candidate.kind,
            id: &candidate.id,
            created_at: candidate.created_at.as_ref(),
            confidence: confidence_text(candidate),
            differs: &candidate.differs,
        }
    }
}

/// Returns the document of a recovery.
#[must_use]
pub fn recovery_document(recovery: &Recovery) -> String {
    let found = recovery.found.iter();
    let ties = recovery.ties.iter();
    to_pretty(&Document {
        schema_version: SCHEMA_VERSION,
        found: found
            .map(|found| FoundEntry {
                address: &found.address,
                candidate: CandidateEntry::from_candidate(&found.candidate),
            })
            .collect(),
        ties: ties
            .map(|tie| TieEntry {
                address: &tie.address,
                candidates: tie.candidates.iter().map(CandidateEntry::from_candidate).collect(),
                rivals: &tie.rivals,
            })
            .collect(),
        missing: &recovery.missing,
    })
}
