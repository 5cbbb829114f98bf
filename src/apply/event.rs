//! `ApplyEvent` and `Outcome`: the reports of an apply while it runs, and at its end. In: messages that may
//! repeat what the service answered; out: the same with secrets redacted.

use std::collections::BTreeMap;
use std::time::Duration;

pub use crate::cloud::error::ApiError;
use crate::model::address::{Address, Name};
use crate::model::schema::{Kind, RuleCheck};
use crate::model::values::value::{Attributes, Value};
use crate::plan::model::policy_outcome::PolicyOutcome;

/// A transition of an apply, for the progress display.
#[derive(Debug, Clone, PartialEq)]
pub enum ApplyEvent {
    /// An open intent of an earlier run is being resolved.
    Recovering {
        /// The resource that the event is about.
        address: Address,
        /// What is being looked up, as a clause.
        text: String,
    },
    /// The execution of a step begins.
    Started {
        /// The step's number in the plan.
        step: usize,
        /// The resource that the event is about.
        address: Address,
        /// `create`, `update`, `delete`, `create replacement`, `delete old`.
        doing: &'static str,
    },
    /// A running step made progress.
    Progress {
        /// The step's number in the plan.
        step: usize,
        /// The resource that the event is about.
        address: Address,
        /// The progress as a clause, such as `waiting, status deploying`.
        text: String,
    },
    /// A request is sent again, or waits for the rate limiter.
    Retrying {
        /// The step's number; `None` if the request belongs to no step.
        step: Option<usize>,
        /// The reason for the wait, and its duration.
        text: String,
    },
    /// A step is done.
    Succeeded {
        /// The step's number in the plan.
        step: usize,
        /// The resource that the event is about.
        address: Address,
        /// `created`, `updated`, `deleted`, `replaced`, `adopted`.
        done: &'static str,
        /// The object's id; `None` where the step has no object.
        id: Option<Name>,
        /// The time from the start of the step to its end, without its wait for another step of the address.
        took: Duration,
    },
    /// A step ended with an error.
    Failed {
        /// The step's number in the plan.
        step: usize,
        /// The resource that the event is about.
        address: Address,
        /// Why the step failed.
        error: StepError,
    },
    /// A step is skipped because one that it needs failed.
    Skipped {
        /// The step's number in the plan.
        step: usize,
        /// The resource that the event is about.
        address: Address,
        /// The resource of the failed step.
        because: Address,
    },
}

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The service refused the request.
    #[error("{0}")]
    Refused(ApiError),
    /// The service refused an attribute value that only its support enables for an account.
    #[error("{refusal}")]
    NotGranted {
        /// The refusal as the service returned it.
        refusal: ApiError,
        /// The attribute and its value, as in `rate_limit_tier: high`.
        written: String,
    },
    /// The service failed with a server error (5xx).
    #[error("{0}")]
    ServerError(ApiError),
    /// The live object differs from what the plan was made with.
    #[error("{0}")]
    ObjectChanged(String),
    /// The service accepted a value, but the object shows another one.
    #[error("{0}")]
    NotKept(String),
    /// The object was not ready in time, or ended in a failed state.
    #[error("{0}")]
    NotReady(String),
    /// The intent is ambiguous: the outcome of its request is not known, and the user must resolve it.
    #[error("{0}")]
    Ambiguous(String),
    /// The ledger could not be written: no further request is sent.
    #[error("{0}")]
    Ledger(String),
    /// Another holder has the ledger, or may take it before a request is answered: no further request is sent.
    #[error("{0}")]
    LeaseLost(String),
    /// A policy denies the step, with values that the plan did not know.
    #[error("{0}")]
    Denied(String),
    /// A value could not be computed, or a file not be written.
    #[error("{0}")]
    Failed(String),
    /// The service could not be reached.
    #[error("{0}")]
    Unreachable(String),
}

impl ApplyEvent {
    /// Returns the event with the secrets in its messages redacted: the service may repeat what was sent.
    pub(super) fn redact_event(self, redact: &impl Fn(String) -> String) -> Self {
        match self {
            Self::Recovering { address, text } => Self::Recovering { address, text: redact(text) },
            Self::Progress { step, address, text } => Self::Progress { step, address, text: redact(text) },
            Self::Retrying { step, text } => Self::Retrying { step, text: redact(text) },
            Self::Failed { step, address, error } => {
                Self::Failed { step, address, error: error.redact_error(redact) }
            }
            event @ (Self::Started { .. } | Self::Succeeded { .. } | Self::Skipped { .. }) => event,
        }
    }
}

impl StepError {
    /// Returns the error with the secrets in its message redacted. A refusal was redacted when it was read.
    pub(super) fn redact_error(self, redact: &impl Fn(String) -> String) -> Self {
        match self {
            error @ (Self::Refused(_) | Self::NotGranted { .. } | Self::ServerError(_)) => error,
            Self::ObjectChanged(text) => Self::ObjectChanged(redact(text)),
            Self::NotKept(text) => Self::NotKept(redact(text)),
            Self::NotReady(text) => Self::NotReady(redact(text)),
            Self::Ambiguous(text) => Self::Ambiguous(redact(text)),
            Self::Ledger(text) => Self::Ledger(redact(text)),
            Self::LeaseLost(text) => Self::LeaseLost(redact(text)),
            Self::Denied(text) => Self::Denied(redact(text)),
            Self::Failed(text) => Self::Failed(redact(text)),
            Self::Unreachable(text) => Self::Unreachable(redact(text)),
        }
    }

    /// Classifies the refusal of a creation: a plain 403 may be about a value that only the service's support enables.
    pub(super) fn of_creation(refusal: ApiError, kind: &Kind, values: &Attributes) -> Self {
        let is_denied = refusal.status == 403 && refusal.reason.is_none();
        let ungranted = kind.rules.iter().filter(|_| is_denied).find_map(|rule| match rule.check {
            RuleCheck::Granted { attribute, value } => {
                let is_written = values.get(attribute).and_then(Value::as_text) == Some(value);
                is_written.then(|| format!("{attribute}: {value}"))
            }
            _ => None,
        });
        match ungranted {
            Some(written) => Self::NotGranted { refusal, written },
            None => Self::Refused(refusal),
        }
    }

    /// Returns the error for a request without a known outcome: `ServerError` if the service answered with a
    /// server error, `Unreachable` without an answer.
    pub(super) fn from_unanswered(reason: impl Into<String>, answer: Option<ApiError>) -> Self {
        answer.map_or_else(|| Self::Unreachable(reason.into()), Self::ServerError)
    }
}

impl Outcome {
    /// Returns how many resources ended in which way, such as `2 done, 1 failed`; those that are done are always counted.
    #[must_use]
    pub fn describe_counts(&self) -> String {
        let others = [(&self.skipped, "skipped"), (&self.unknown, "not known")];
        let others = others.map(|(addresses, word)| (addresses.len(), word));
        let counts = std::iter::once((self.failed.len(), "failed")).chain(others);
        let said = counts.filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
        let done = format!("{} done", self.done.len());
        std::iter::once(done).chain(said).collect::<Vec<_>>().join(", ")
    }

    /// Returns whether any step succeeded, so that the apply is at least partly made.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        self.begun || !self.done.is_empty()
    }

    /// Returns the outcome with secrets redacted from all messages.
    pub(super) fn redact_outcome(mut self, redact: &impl Fn(String) -> String) -> Self {
        self.failed = self.failed.into_iter().map(|(at, error)| (at, error.redact_error(redact))).collect();
        self.questions = self.questions.into_iter().map(redact).collect();
        self.notes = self.notes.into_iter().map(redact).collect();
        for policy in &mut self.policies {
            policy.result.message = redact(std::mem::take(&mut policy.result.message));
        }
        self
    }
}

/// How an apply ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Resources whose steps all succeeded, and whose values the service kept.
    pub done: Vec<Address>,
    /// Resources with a failed step, or with a value that the service did not keep; one error for each.
    pub failed: Vec<(Address, StepError)>,
    /// Resources with a step that was skipped or not started.
    pub skipped: Vec<Address>,
    /// Resources with a request whose answer the run did not wait for: the next run determines what it did.
    pub unknown: Vec<Address>,
    /// Whether a step of a resource that is not done succeeded, as the creation in a replacement whose deletion failed.
    pub begun: bool,
    /// Ambiguous intents, and objects whose secret is lost, with the possible answers: only the user can
    /// resolve them. All of them are recorded in the ledger.
    pub questions: Vec<String>,
    /// Other messages: late effects that could not be checked, and records that could not be written at the end.
    pub notes: Vec<String>,
    /// The run was stopped from outside with steps still waiting.
    pub interrupted: bool,
    /// The stack's outputs whose values are known; an output that depends on a failed step is missing.
    pub outputs: BTreeMap<Name, Value>,
    /// The results of the policies that the plan could not decide, in the plan's order.
    pub policies: Vec<PolicyOutcome>,
}
