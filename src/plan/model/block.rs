//! Why a plan, or one resource of it, cannot be applied.

use serde::{Deserialize, Serialize};

use crate::model::address::{Address, Name};
use crate::model::source::SourceLocation;

impl Blocker {
    /// Tells whether it only repeats what a policy says, which stands among the rulings.
    #[must_use]
    pub fn is_ruling(&self) -> bool {
        self.code == POLICY
    }
}

/// Why a plan cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocker {
    /// Stable code: `account`, `adopt`, `catalog`, `cycle`, `deletion_budget`, `exists`, `expression`,
    /// `failed`, `fingerprint`, `grow_only`, `held`, `holds_data`, `identity_missing`, `late_effect`, `ledger_lost`, `moved`,
    /// `other_directory`, `policy`, `project`, `protected`, `provisional`, `question`, `recipient_refused`, `recipients_changed`,
    /// `replace_never`, `rule`, `secret_lost`, `sink_occupied`, `sink_on_runner`, `target`, `unknown`, `unknown_kind`, `unread`.
    pub code: Name,
    /// Which resource.
    pub address: Option<Address>,
    /// What and why.
    pub text: String,
    /// What to do.
    pub help: String,
    /// Where.
    pub source: Option<SourceLocation>,
}

/// Codes whose resources are left out of the plan, with what depends on them, while the rest goes on.
const FREEZING_CODES: &[&str] = &["late_effect", "question", "unread", "unknown_kind"];

/// What is said of a lost secret. One of an object leaves the object out; one of a variable may be used anywhere.
pub(in crate::plan) const SECRET_LOST: &str = "secret_lost";

impl Blocker {
    /// Tells whether the block only leaves its resource, and what depends on it, out of the plan: the
    /// rest can be applied.
    #[must_use]
    pub fn only_freezes(&self) -> bool {
        self.is_lost_secret_of_object() || FREEZING_CODES.contains(&self.code.as_str())
    }

    /// Tells whether a human is asked what becomes of an object whose secret is lost.
    #[must_use]
    pub fn is_lost_secret_of_object(&self) -> bool {
        self.code == SECRET_LOST && self.address.is_some()
    }
}

/// The code of what a policy blocks.
pub(in crate::plan) const POLICY: &str = "policy";
