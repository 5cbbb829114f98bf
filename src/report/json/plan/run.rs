//! The result of an apply, as a part of the plan's JSON document.

use jiff::Timestamp;
use serde::Serialize;

use crate::model::address::Address;
use crate::report::json::plan::apply_events::{FailedResourceEntry, StepErrorEntry};
use crate::report::run_report::{RunReport, StepResult};

/// The `outcome` in the report of an apply.
#[derive(Serialize)]
pub(in crate::report::json) struct RunOutcomeEntry<'a> {
    ended_at: Timestamp,
    took_ms: u128,
    exit: u8,
    interrupted: bool,
    done: &'a [Address],
    failed: Vec<FailedResourceEntry<'a>>,
    skipped: &'a [Address],
    questions: &'a [String],
    notes: &'a [String],
    steps: Vec<StepResultEntry<'a>>,
}

#[derive(Serialize)]
struct StepResultEntry<'a> {
    step: usize,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    took_ms: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<StepErrorEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'a Address>,
}

impl<'a> RunOutcomeEntry<'a> {
    pub(in crate::report::json) fn from_run(ran: &RunReport<'a>) -> Self {
        let outcome = ran.outcome;
        Self {
            ended_at: ran.at,
            took_ms: ran.took.as_millis(),
            exit: ran.exit,
            interrupted: outcome.interrupted,
            done: &outcome.done,
            failed: FailedResourceEntry::from_outcome(outcome),
            skipped: &outcome.skipped,
            questions: &outcome.questions,
            notes: &outcome.notes,
            steps: ran.steps.iter().map(|(step, came)| StepResultEntry::from_step(step, came)).collect(),
        }
    }
}

impl<'a> StepResultEntry<'a> {
    fn from_step(step: usize, came: &'a StepResult) -> Self {
        let none = Self { step, status: came.as_str(), took_ms: None, error: None, because: None };
        match came {
            StepResult::Started => none,
            StepResult::Done(took) => Self { took_ms: Some(took.as_millis()), ..none },
            StepResult::Failed(error) => {
                Self { error: Some(StepErrorEntry::from_step_error(error)), ..none }
            }
            StepResult::Skipped(because) => Self { because: Some(because), ..none },
        }
    }
}
