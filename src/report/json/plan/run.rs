//! The result of an apply, as a part of the plan's JSON document.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::cost_entry::DueEntry;
use crate::apply::event::Outcome;
use crate::model::address::{Address, Name};
use crate::plan::model::change::Plan;
use crate::report::json::plan::policy_outcome::PolicyOutcomeEntry;
use crate::report::json::plan::step_error::{FailedResourceEntry, StepErrorEntry};
use crate::report::json_value::JsonValue;
use crate::report::run_report::{RunReport, StepResult};

/// The outcome of the apply. Only in the report of an apply.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::report::json) struct RunOutcomeEntry<'a> {
    /// When the apply ended.
    ended_at: Timestamp,
    /// Duration of the apply in milliseconds.
    took_ms: u128,
    /// Exit code of the command.
    exit: u8,
    /// Whether a signal interrupted the apply.
    interrupted: bool,
    /// What was charged or refunded for the steps that were made, by the rules of the plan.
    #[serde(flatten)]
    due: DueEntry,
    /// Resources whose steps all succeeded.
    done: &'a [Address],
    /// Resources with a failed step.
    failed: Vec<FailedResourceEntry<'a>>,
    /// Resources with a step that was not started.
    skipped: &'a [Address],
    /// Resources with a request whose answer the apply did not wait for: the next run determines what it did.
    #[serde(skip_serializing_if = "<[Address]>::is_empty")]
    unknown: &'a [Address],
    /// Ambiguous intents that the user must resolve, as sentences.
    questions: &'a [String],
    /// Further remarks on the apply.
    notes: &'a [String],
    /// The steps that were started or skipped.
    steps: Vec<StepResultEntry<'a>>,
    /// Results of the policies that the plan could not decide.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies: Vec<PolicyOutcomeEntry<'a>>,
    /// Outputs of the stack, as far as they are known after the apply. The ledger keeps the last value of the others.
    outputs: BTreeMap<&'a Name, JsonValue<'a>>,
}

/// The result of a step.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StepResultEntry<'a> {
    /// Number of the step in `order`.
    step: usize,
    /// State of the step.
    status: StepStatus,
    /// Duration in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    took_ms: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<StepErrorEntry>,
    /// The resource because of which the step was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'a Address>,
}

/// State of a step at the end of the apply.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum StepStatus {
    /// It succeeded.
    Done,
    /// It failed.
    Failed,
    /// It was skipped, because a resource that it needs was not completed.
    Skipped,
    /// It was started, and its result is not known.
    Open,
}

/// Returns the outputs whose values an apply knows.
pub(super) fn known_outputs(outcome: &Outcome) -> BTreeMap<&Name, JsonValue<'_>> {
    outcome.outputs.iter().map(|(name, value)| (name, JsonValue(value))).collect()
}

impl<'a> RunOutcomeEntry<'a> {
    pub(in crate::report::json) fn from_run(ran: &RunReport<'a>, plan: &Plan) -> Self {
        let outcome = ran.outcome;
        Self {
            ended_at: ran.at,
            took_ms: ran.took.as_millis(),
            exit: ran.exit,
            interrupted: outcome.interrupted,
            due: DueEntry::from_total(&ran.due(plan)),
            done: &outcome.done,
            failed: FailedResourceEntry::from_outcome(outcome),
            skipped: &outcome.skipped,
            unknown: &outcome.unknown,
            questions: &outcome.questions,
            notes: &outcome.notes,
            steps: ran.steps.iter().map(|(step, came)| StepResultEntry::from_step(step, came)).collect(),
            policies: outcome.policies.iter().map(PolicyOutcomeEntry::from_outcome).collect(),
            outputs: known_outputs(outcome),
        }
    }
}

impl<'a> StepResultEntry<'a> {
    fn from_step(step: usize, came: &'a StepResult) -> Self {
        let entry = |status| Self { step, status, took_ms: None, error: None, because: None };
        match came {
            StepResult::Started => entry(StepStatus::Open),
            StepResult::Done(took) => Self { took_ms: Some(took.as_millis()), ..entry(StepStatus::Done) },
            StepResult::Failed(error) => {
                Self { error: Some(StepErrorEntry::from_step_error(error)), ..entry(StepStatus::Failed) }
            }
            StepResult::Skipped(because) => Self { because: Some(because), ..entry(StepStatus::Skipped) },
        }
    }
}
