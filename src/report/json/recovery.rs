//! The JSON document of `recover`.

use serde::Serialize;

use crate::model::address::{Address, Name};
use crate::plan::import::rebuild_ledger::{MatchCandidate, RebuiltLedger};
use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_pretty};
use crate::report::views::recovery::MatchConfidence;

/// The document of `stead recover --output json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecoveryDocument<'a> {
    schema_version: SchemaVersion,
    /// Resources with exactly one matching object.
    found: Vec<MatchEntry<'a>>,
    /// Resources that several objects match, or that match the same object as another resource.
    ties: Vec<AmbiguousMatchEntry<'a>>,
    /// Resources without a live object.
    missing: &'a [Address],
}

/// A resource, and the object that matches it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MatchEntry<'a> {
    /// Address of the resource.
    address: &'a Address,
    #[serde(flatten)]
    candidate: CandidateEntry<'a>,
}

/// A resource that several objects match.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AmbiguousMatchEntry<'a> {
    /// Address of the resource.
    address: &'a Address,
    /// The objects that match it.
    candidates: Vec<CandidateEntry<'a>>,
    /// Other resources that one of these objects matches.
    rivals: &'a [Address],
}

/// An object that matches a resource.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CandidateEntry<'a> {
    /// Kind of the object.
    kind: &'a Name,
    /// Id of the object.
    id: &'a Name,
    /// When the service created the object, if known.
    created_at: Option<&'a Name>,
    /// How well the object matches.
    confidence: MatchConfidence,
    /// Declared attributes that have another live value.
    differs: &'a [&'static str],
}

impl<'a> CandidateEntry<'a> {
    fn from_candidate(candidate: &'a MatchCandidate) -> Self {
        Self {
            kind: &candidate.kind,
            id: &candidate.id,
            created_at: candidate.created_at.as_ref(),
            confidence: MatchConfidence::from_candidate(candidate),
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
