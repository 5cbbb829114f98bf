//! The result, at the end of an apply, of a policy that the plan could not decide: the same in each document of an apply.

use serde::Serialize;

use crate::model::address::{Address, Name};
use crate::model::cel::policy::PolicyLevel;
use crate::plan::model::change::PolicyStatus;
use crate::plan::model::policy_outcome::PolicyOutcome;

/// The result of a policy that the plan could not decide.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(in crate::report::json) struct PolicyOutcomeEntry<'a> {
    /// Name of the policy.
    name: &'a Name,
    /// The evaluated resource; null for the plan as a whole.
    address: Option<&'a Address>,
    /// What a denial does.
    level: PolicyLevel,
    /// The result; `unknown` if it was never decided.
    verdict: PolicyStatus,
    /// Message of the policy, or why it was not decided.
    message: &'a str,
    /// The step before which it was decided; null if it was not.
    before: Option<DecidingStepEntry<'a>>,
}

/// The step before which a policy was decided.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
struct DecidingStepEntry<'a> {
    /// Number of the step in the plan's order.
    step: usize,
    /// Address of its resource.
    address: &'a Address,
    /// What the step does.
    doing: &'a str,
}

impl<'a> PolicyOutcomeEntry<'a> {
    pub(in crate::report::json) fn from_outcome(outcome: &'a PolicyOutcome) -> Self {
        let result = &outcome.result;
        Self {
            name: &result.name,
            address: result.address.as_ref(),
            level: result.level,
            verdict: result.verdict,
            message: &result.message,
            before: outcome.before.as_ref().map(|before| DecidingStepEntry {
                step: before.step,
                address: &before.address,
                doing: before.doing,
            }),
        }
    }
}
