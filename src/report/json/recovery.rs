//! The JSON document of `recover`.

use serde::Serialize;

use super::writer::{SCHEMA_VERSION, to_pretty};
use crate::model::address::{Address, Name};
use crate::plan::import::rebuild_ledger::{MatchCandidate, RebuiltLedger};
use crate::report::views::recovery::confidence_text;

#[derive(Serialize)]
struct RecoveryDocument<'a> {
    schema_version: u32,
    found: Vec<MatchEntry<'a>>,
    ties: Vec<AmbiguousMatchEntry<'a>>,
    missing: &'a [Address],
}

#[derive(Serialize)]
struct MatchEntry<'a> {
    address: &'a Address,
    #[serde(flatten)]
    candidate: CandidateEntry<'a>,
}

#[derive(Serialize)]
struct AmbiguousMatchEntry<'a> {
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
    fn from_candidate(candidate: &'a MatchCandidate) -> Self {
        Self {
            kind: &candidate.kind,
            id: &candidate.id,
            created_at: candidate.created_at.as_ref(),
            confidence: confidence_text(candidate),
            differs: &candidate.differs,
        }
    }
}

/// Returns the JSON document of a rebuilt ledger.
#[must_use]
pub fn recovery_document(recovery: &RebuiltLedger) -> String {
    let found = recovery.found.iter();
    let ties = recovery.ties.iter();
    to_pretty(&RecoveryDocument {
        schema_version: SCHEMA_VERSION,
        found: found
            .map(|found| MatchEntry {
                address: &found.address,
                candidate: CandidateEntry::from_candidate(&found.candidate),
            })
            .collect(),
        ties: ties
            .map(|tie| AmbiguousMatchEntry {
                address: &tie.address,
                candidates: tie.candidates.iter().map(CandidateEntry::from_candidate).collect(),
                rivals: &tie.rivals,
            })
            .collect(),
        missing: &recovery.missing,
    })
}
