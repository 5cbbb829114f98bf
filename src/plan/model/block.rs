//! Blockers: why a plan, or one resource of it, cannot be applied. Some only freeze their resource and its
//! dependents; every other one blocks the whole plan.

use serde::{Deserialize, Serialize};

use crate::model::address::{Address, Name};
use crate::model::source::SourceLocation;

impl Blocker {
    /// Returns whether the blocker only repeats the denial of a policy, which reports show with the policies.
    #[must_use]
    pub fn is_ruling(&self) -> bool {
        self.code == POLICY
    }
}

/// A blocker: why a plan cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocker {
    /// Stable code: `account`, `adopt`, `catalog`, `choice`, `cycle`, `deletion_budget`, `exists`,
    /// `expression`, `failed`, `fingerprint`, `grow_only`, `held`, `holds_data`, `identity_missing`,
    /// `late_effect`, `ledger_lost`, `moved`, `other_directory`, `policy`, `project`, `project_unknown`,
    /// `protected`, `provisional`, `question`, `recipient_refused`, `recipients_changed`, `replace_never`,
    /// `rule`, `secret_lost`, `sink_occupied`, `sink_on_runner`, `target`, `unknown`, `unknown_kind`, `unread`.
    pub code: Name,
    /// The resource that it is about; `None` for the whole plan.
    pub address: Option<Address>,
    /// What is wrong and why, in sentences.
    pub text: String,
    /// The remedy, in sentences or as a command.
    pub help: String,
    /// The source location that it is about; `None` if no file says it.
    pub source: Option<SourceLocation>,
}

/// Codes that freeze their resource and its dependents, while the rest of the plan can be applied.
const FREEZING_CODES: &[&str] = &["late_effect", "question", "unread", "unknown_kind"];

/// The code of a lost secret. About an object it freezes the object's resource; about a variable it blocks the plan, as
/// any resource may use it.
pub(in crate::plan) const SECRET_LOST: &str = "secret_lost";

impl Blocker {
    /// Returns whether the blocker only freezes its resource and the dependents: the rest of the plan can be applied.
    #[must_use]
    pub fn only_freezes(&self) -> bool {
        self.is_lost_secret_of_object() || FREEZING_CODES.contains(&self.code.as_str())
    }

    /// Returns whether it is about an object whose secret is lost, for which the user must decide.
    #[must_use]
    pub fn is_lost_secret_of_object(&self) -> bool {
        self.code == SECRET_LOST && self.address.is_some()
    }
}

/// The code of a policy's denial.
pub(in crate::plan) const POLICY: &str = "policy";
