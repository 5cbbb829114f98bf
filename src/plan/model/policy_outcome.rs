//! `PolicyOutcome`: the result of an undecided policy at the end of an apply, with the step before which it was decided.

use std::fmt;

use super::change::{PolicyResult, PolicyStatus};
use crate::model::address::Address;

/// The result, at the end of an apply, of a policy that the plan could not decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyOutcome {
    /// The result. It is `Unknown` where a value that the policy needs was not known before any step, or its steps were not
    /// run; the message says which.
    pub result: PolicyResult,
    /// The step before which it was decided; `None` if it was not.
    pub before: Option<DecidingStep>,
}

/// The step before which a policy was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidingStep {
    /// The number of the step in the plan.
    pub step: usize,
    /// What the step does, as in `create`.
    pub doing: &'static str,
    /// The resource of the step.
    pub address: Address,
}

impl PolicyOutcome {
    /// Returns the outcome of a policy whose run was stopped before it reported one.
    #[must_use]
    pub fn of_stopped_run(planned: &PolicyResult) -> Self {
        let message = "The apply was stopped before it reported a result.".to_owned();
        Self { result: PolicyResult { message, ..planned.clone() }, before: None }
    }

    /// Returns whether this is the outcome of a result in the plan.
    #[must_use]
    pub fn is_outcome_of(&self, planned: &PolicyResult) -> bool {
        planned.verdict == PolicyStatus::Unknown
            && self.result.name == planned.name
            && self.result.address == planned.address
    }
}

impl fmt::Display for DecidingStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.doing, self.address)
    }
}
