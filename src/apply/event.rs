//! `ApplyEvent` and `Outcome`: what an apply tells while it runs, and in the end.

use std::collections::BTreeMap;
use std::time::Duration;

pub use crate::cloud::error::ApiError;
use crate::model::address::{Address, Name};
use crate::model::schema::{Kind, RuleCheck};
use crate::model::value::{Attributes, Value};

/// Something happened.
#[derive(Debug, Clone, PartialEq)]
pub enum ApplyEvent {
    /// An earlier run left a request whose outcome is not recorded: it is looked up.
    Recovering {
        /// Which resource.
        address: Address,
        /// What is looked for.
        text: String,
    },
    /// A step starts.
    Started {
        /// Its number.
        step: usize,
        /// Which resource.
        address: Address,
        /// `create`, `update`, `delete`, `create replacement`, `delete old`.
        doing: &'static str,
    },
    /// A step goes on.
    Progress {
        /// Its number.
        step: usize,
        /// Which resource.
        address: Address,
        /// `waiting, status deploying`.
        text: String,
    },
    /// A request is sent again, or waits for the limiter.
    Retrying {
        /// Its step, where it belongs to one.
        step: Option<usize>,
        /// Why, and for how long.
        text: String,
    },
    /// A step is done.
    Succeeded {
        /// Its number.
        step: usize,
        /// Which resource.
        address: Address,
        /// `created`, `updated`, `deleted`, `replaced`, `adopted`.
        done: &'static str,
        /// The object.
        id: Option<Name>,
        /// How long it took.
        took: Duration,
    },
    /// A step failed.
    Failed {
        /// Its number.
        step: usize,
        /// Which resource.
        address: Address,
        /// Why.
        error: StepError,
    },
    /// A step will not run.
    Skipped {
        /// Its number.
        step: usize,
        /// Which resource.
        address: Address,
        /// The step that it needed.
        because: Address,
    },
}

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The service said no.
    #[error("{0}")]
    Refused(ApiError),
    /// The service said no to an attribute that its support grants.
    #[error("{refusal}")]
    NotGranted {
        /// What it said.
        refusal: ApiError,
        /// `rate_limit_tier: high`
        written: String,
    },
    /// The service answered with an error of its own, 5xx.
    #[error("{0}")]
    ServerError(ApiError),
    /// The object is not as the plan saw it.
    #[error("{0}")]
    ObjectChanged(String),
    /// The service took the value and shows another one.
    #[error("{0}")]
    NotKept(String),
    /// It did not settle in time, or ended in a failed state.
    #[error("{0}")]
    NotReady(String),
    /// Nobody can tell what became of the request.
    #[error("{0}")]
    Ambiguous(String),
    /// The ledger could not be written: nothing more is sent.
    #[error("{0}")]
    Ledger(String),
    /// Someone else has the ledger, or may have it before a request is answered: nothing more is sent.
    #[error("{0}")]
    LeaseLost(String),
    /// A value could not be computed, or a file not be written.
    #[error("{0}")]
    Failed(String),
    /// The service could not be reached.
    #[error("{0}")]
    Unreachable(String),
}

impl ApplyEvent {
    /// Returns the event with its texts redacted.
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
    /// Returns the error with its texts redacted. Those of a refusal are already.
    pub(super) fn redact_error(self, redact: &impl Fn(String) -> String) -> Self {
        match self {
            error @ (Self::Refused(_) | Self::NotGranted { .. } | Self::ServerError(_)) => error,
            Self::ObjectChanged(text) => Self::ObjectChanged(redact(text)),
            Self::NotKept(text) => Self::NotKept(redact(text)),
            Self::NotReady(text) => Self::NotReady(redact(text)),
            Self::Ambiguous(text) => Self::Ambiguous(redact(text)),
            Self::Ledger(text) => Self::Ledger(redact(text)),
            Self::LeaseLost(text) => Self::LeaseLost(redact(text)),
            Self::Failed(text) => Self::Failed(redact(text)),
            Self::Unreachable(text) => Self::Unreachable(redact(text)),
        }
    }

    /// Returns what a refusal of a creation means: denied may be what only the service's support grants.
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

    /// Returns what it means that no request came to a known end: the service broke, where it said so.
    pub(super) fn from_unanswered(reason: impl Into<String>, answer: Option<ApiError>) -> Self {
        answer.map_or_else(|| Self::Unreachable(reason.into()), Self::ServerError)
    }
}

impl Outcome {
    /// Returns the outcome with what the service said redacted.
    pub(super) fn redact_outcome(mut self, redact: &impl Fn(String) -> String) -> Self {
        self.failed = self.failed.into_iter().map(|(at, error)| (at, error.redact_error(redact))).collect();
        self.questions = self.questions.into_iter().map(redact).collect();
        self.notes = self.notes.into_iter().map(redact).collect();
        self
    }
}

/// How an apply ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Resources whose steps are all done.
    pub done: Vec<Address>,
    /// Resources with a failed step.
    pub failed: Vec<(Address, StepError)>,
    /// Resources with a step that did not run.
    pub skipped: Vec<Address>,
    /// Open questions: what only a human can answer. Each one is recorded.
    pub questions: Vec<String>,
    /// What else there is to know: what could not be looked into or recorded in the end.
    pub notes: Vec<String>,
    /// It was told to stop.
    pub interrupted: bool,
    /// The stack's outputs, where they are known.
    pub outputs: BTreeMap<Name, Value>,
}
