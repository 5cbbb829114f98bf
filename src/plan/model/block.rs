//! Blockers: why a plan, or one resource of it, cannot be applied. Some only freeze their resource and its
//! dependents; every other one blocks the whole plan.

use serde::{Deserialize, Serialize};

use crate::model::address::{Address, Name};
use crate::model::diagnostic::blocker_code::{
    BlockerCode, LATE_EFFECT, POLICY, QUESTION, SECRET_LOST, UNKNOWN_KIND, UNREAD,
};
use crate::model::source::SourceLocation;

impl Blocker {
    /// Returns whether the blocker only repeats the denial of a policy, which reports show with the policies.
    #[must_use]
    pub fn is_ruling(&self) -> bool {
        self.code == POLICY.code
    }

    /// Returns whether both say the same of the same resource. Remedies name the command line, and files the directory.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.code, &self.address, &self.text) == (&other.code, &other.address, &other.text)
    }
}

/// A blocker: why a plan cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocker {
    /// Stable code: one of `BLOCKER_CODES`.
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
const FREEZING_CODES: &[BlockerCode] = &[LATE_EFFECT, QUESTION, UNREAD, UNKNOWN_KIND];

impl Blocker {
    /// Returns whether the blocker only freezes its resource and the dependents: the rest of the plan can be applied.
    #[must_use]
    pub fn only_freezes(&self) -> bool {
        self.is_lost_secret_of_object() || FREEZING_CODES.iter().any(|code| self.code == code.code)
    }

    /// Returns whether it is about an object whose secret is lost, for which the user must decide. It freezes the
    /// object's resource; a lost secret of a variable blocks the plan, as any resource may use it.
    #[must_use]
    pub fn is_lost_secret_of_object(&self) -> bool {
        self.code == SECRET_LOST.code && self.address.is_some()
    }
}
