//! `Run`: one apply as the ledger remembers it: who, from which commit, which plan, how it ended; and
//! `Incident`: what happened to the ledger itself.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::address::Name;

/// Runs that a ledger remembers.
pub const MAX_RUNS: usize = 200;

/// One apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub run: Uuid,
    /// The plan's nonce.
    pub plan: Uuid,
    /// Who, as `user@host`.
    pub who: String,
    /// When it began.
    pub at: Timestamp,
    /// What the plan was made from, and its fingerprint.
    #[serde(default)]
    pub origin: RunOrigin,
    /// How it ended; `None` when it was killed, or still runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RunEnd>,
}

/// Where a run's plan came from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrigin {
    /// The commit that the configuration stands at, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Name>,
    /// The plan's fingerprint; earlier versions recorded its first eight digits, as people see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Name>,
    /// The digest of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Name>,
    /// What others had changed and the plan put back, as `ADDRESS.ATTRIBUTE`; the first few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub put_back: Vec<Name>,
    /// Policies that said no and were overridden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overridden: Vec<Name>,
    /// Why, in the words of whoever did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// When.
    pub at: Timestamp,
    /// Whether every step was done.
    pub complete: bool,
    /// Resources by how they ended.
    #[serde(default)]
    pub tally: ResourceCounts,
}

/// Resources by how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceCounts {
    /// Done.
    pub done: usize,
    /// Failed.
    pub failed: usize,
    /// Not begun.
    pub skipped: usize,
    /// Questions that were open at the end.
    pub questions: usize,
}

/// Something that happened to the ledger itself, by a human's will.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// When.
    pub at: Timestamp,
    /// Who, as `user@host`.
    pub who: String,
    /// What.
    pub what: IncidentKind,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What happened to a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum IncidentKind {
    /// Its lock was broken.
    Broken {
        /// Who had it, as far as is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
    },
    /// It was damaged, and what could be got back was.
    Repaired {
        /// Records that could not be.
        lost: usize,
    },
    /// It was lost, and rebuilt from the configuration and the live objects.
    Recovered {
        /// Objects that were found again.
        objects: usize,
    },
    /// Another copy of it was put in its place.
    Pushed {
        /// The copy's number of records.
        serial: u64,
    },
    /// MACs of this key were asked for, in place of none or of another key's.
    Sealed {
        /// What tells the key from another one.
        key: Name,
    },
    /// An action was done to an object that it owns. It is recorded before the request leaves, and again
    /// with how it ended: the second takes the first one's place.
    Acted {
        /// Its own id.
        op: Uuid,
        /// The action's name.
        action: Name,
        /// To what: the resource's address.
        on: Name,
        /// How it ended.
        end: ActionOutcome,
    },
}

/// How an action ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionOutcome {
    /// Nobody recorded its end.
    Open,
    /// The service did it.
    Done,
    /// It had no effect.
    Refused,
    /// What became of it is not known.
    Unknown,
}

impl ActionOutcome {
    /// Returns it in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "no end recorded",
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Unknown => "outcome unknown",
        }
    }
}

impl Incident {
    /// Tells whether this one is the end of that one.
    #[must_use]
    pub fn is_end_of(&self, other: &Self) -> bool {
        match (&self.what, &other.what) {
            (IncidentKind::Acted { op, .. }, IncidentKind::Acted { op: known, .. }) => op == known,
            _ => false,
        }
    }
}
