//! Why a step failed, in the events of an apply and in the result of a report.

use serde::Serialize;

use crate::apply::event::{Outcome, StepError};
use crate::model::address::Address;

/// Why a step failed.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::report) struct StepErrorEntry {
    /// Category of the error.
    kind: StepErrorKind,
    /// What happened, in the words of the service if it gives any.
    message: String,
    /// HTTP status of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// Reason that the service gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Category of a step's error.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum StepErrorKind {
    /// The service refused the request.
    Refused,
    /// The service failed.
    #[serde(rename = "broken")]
    ServerError,
    /// The object changed after the plan was made.
    #[serde(rename = "moved")]
    ObjectChanged,
    /// The service did not keep a value.
    NotKept,
    /// The object did not become ready in time.
    #[serde(rename = "unsettled")]
    NotReady,
    /// The outcome of a request is not known.
    #[serde(rename = "question")]
    Ambiguous,
    /// The ledger could not be written.
    Ledger,
    /// Another process took the lock over.
    #[serde(rename = "displaced")]
    LeaseLost,
    /// A policy denies the step, with values that the plan did not know.
    Denied,
    /// Another error of the step.
    Failed,
    /// The service could not be reached.
    Unreachable,
}

impl StepErrorEntry {
    /// Returns the entry for a step's error.
    pub(in crate::report) fn from_step_error(error: &StepError) -> Self {
        let (kind, status, reason) = match error {
            StepError::Refused(refusal) | StepError::NotGranted { refusal, .. } => {
                (StepErrorKind::Refused, Some(refusal.status), refusal.reason.clone())
            }
            StepError::ServerError(refusal) => {
                (StepErrorKind::ServerError, Some(refusal.status), refusal.reason.clone())
            }
            StepError::ObjectChanged(_) => (StepErrorKind::ObjectChanged, None, None),
            StepError::NotKept(_) => (StepErrorKind::NotKept, None, None),
            StepError::NotReady(_) => (StepErrorKind::NotReady, None, None),
            StepError::Ambiguous(_) => (StepErrorKind::Ambiguous, None, None),
            StepError::Ledger(_) => (StepErrorKind::Ledger, None, None),
            StepError::LeaseLost(_) => (StepErrorKind::LeaseLost, None, None),
            StepError::Denied(_) => (StepErrorKind::Denied, None, None),
            StepError::Failed(_) => (StepErrorKind::Failed, None, None),
            StepError::Unreachable(_) => (StepErrorKind::Unreachable, None, None),
        };
        Self { kind, message: error.to_string(), status, reason }
    }
}

/// A resource with a failed step.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::report) struct FailedResourceEntry<'a> {
    /// Address of the resource.
    address: &'a Address,
    error: StepErrorEntry,
}

impl<'a> FailedResourceEntry<'a> {
    /// Returns the failed resources of an outcome.
    pub(in crate::report) fn from_outcome(outcome: &'a Outcome) -> Vec<Self> {
        let all = outcome.failed.iter();
        all.map(|(address, error)| Self { address, error: StepErrorEntry::from_step_error(error) })
            .collect()
    }
}
