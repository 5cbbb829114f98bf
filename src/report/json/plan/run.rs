//! What became of a plan, in its document.

use jiff::Timestamp;
use serde::Serialize;

use crate::model::address::Address;
use crate::report::json::plan::apply_events::{ErrorEntry, FailedEntry};
use crate::report::run_report::{Ran, Step};

/// The `outcome` of an apply's report.
#[derive(Serialize)]
pub(in crate::report::json) struct RanEntry<'a> {
    ended_at: Timestamp,
    took_ms: u128,
    exit: u8,
    interrupted: bool,
    done: &'a [Address],
    failed: Vec<FailedEntry<'a>>,
    skipped: &'a [Address],
    questions: &'a [String],
    notes: &'a [String],
    steps: Vec<StepEntry<'a>>,
}

#[derive(Serialize)]
struct StepEntry<'a> {
    step: usize,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    took_ms: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'a Address>,
}

impl<'a> RanEntry<'a> {
    /// Returns the entry.
    pub(in crate::report::json) fn from_run(ran: &Ran<'a>) -> Self {
        let outcome = ran.outcome;
        Self {
            ended_at: ran.at,
            took_ms: ran.took.as_millis(),
            exit: ran.exit,
            interrupted: outcome.interrupted,
            done: &outcome.done,
            failed: FailedEntry::from_outcome(outcome),
            skipped: &outcome.skipped,
            questions: &outcome.questions,
            notes: &outcome.notes,
            steps: ran.steps.iter().map(|(step, came)| StepEntry::from_step(step, came)).collect(),
        }
    }
}

impl<'a> StepEntry<'a> {
    fn from_step(step: usize, came: &'a Step) -> Self {
        let none = Self { step, status: came.as_str(), took_ms: None, error: None, because: None };
        match came {
            Step::Begun => none,
            Step::Done(took) => Self { took_ms: Some(took.as_millis()), ..none },
            Step::Failed(error) => Self { error: Some(ErrorEntry::from_step_error(error)), ..none },
            Step::Skipped(because) => Self { because: Some(because), ..none },
        }
    }
}
