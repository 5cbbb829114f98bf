//! What `history` shows of the ledger's past: its runs, and the operations on the ledger itself.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::model::values::value::Value;

/// One past apply, as the history shows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunRecord {
    /// Number of the run in its ledger.
    pub number: u64,
    /// Id of the run.
    pub run: String,
    /// When the apply started.
    pub at: Timestamp,
    /// When the apply ended; `None` if no end is recorded.
    pub ended: Option<Timestamp>,
    /// The actor, as a name.
    pub who: String,
    /// Commit of the configuration; `None` if not known.
    pub commit: Option<String>,
    /// Whether files that the stack reads had uncommitted changes; `None` if not known.
    pub dirty: Option<bool>,
    /// Fingerprint of the plan, if one was recorded.
    pub plan: Option<String>,
    /// Digest of the configuration, if one was recorded.
    pub config: Option<String>,
    /// Denials by policies that were overridden, and the reason given.
    pub overridden: Option<(String, String)>,
    /// How the apply ended.
    pub outcome: ApplyStatus,
    /// Counts of resources that were done, failed and skipped, and of ambiguous intents.
    pub tally: [usize; 4],
    /// How the plan was approved, if that was recorded.
    pub approval: Option<String>,
    /// Id of the run of many stacks to which it belongs.
    pub common: Option<String>,
    /// What it did to each resource; empty where only the summary is kept.
    pub resources: Vec<ResourceRecord>,
    /// The outputs that it changed; empty where only the summary is kept.
    pub outputs: Vec<OutputRecord>,
    /// Whether only the summary is kept.
    pub is_summary: bool,
    /// The requests that it began, if no end is recorded.
    pub begun: Vec<BegunRecord>,
    /// The results of the policies that its plan could not decide.
    pub policies: Vec<PolicyRecord>,
}

/// An output that a run changed. Secrets are fingerprints.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputRecord {
    /// Its name.
    pub name: String,
    /// Its value before the run.
    pub before: OutputValue,
    /// Its value after the run.
    pub after: OutputValue,
}

/// A value of an output in the history.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputValue {
    /// There was none.
    Absent,
    /// This value.
    Kept(Value),
    /// One that is too long for the history.
    TooLong,
}

/// A request of a run that has no recorded end.
#[derive(Debug, Clone, PartialEq)]
pub struct BegunRecord {
    /// Address of the resource.
    pub address: String,
    /// What the request does.
    pub action: String,
    /// Name of an update's call.
    pub call: Option<String>,
    /// What the ledger records of its outcome.
    pub outcome: RequestOutcome,
}

/// What the ledger records of a request's outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RequestOutcome {
    /// Nothing: the next apply determines it.
    Open,
    /// It had its effect.
    Done,
    /// The service refused it.
    Refused,
    /// It was not sent.
    NotSent,
    /// It had no visible effect within the time limit.
    NoEffect,
    /// Only the user can state it: `stead resolve`.
    Ambiguous,
}

impl RequestOutcome {
    /// Returns the text for this outcome.
    #[must_use]
    pub const fn as_text(self) -> &'static str {
        match self {
            Self::Open => "not known",
            Self::Done => "done",
            Self::Refused => "refused",
            Self::NotSent => "not sent",
            Self::NoEffect => "no effect",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// The result of a policy that a plan could not decide.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PolicyRecord {
    /// Name of the policy.
    pub policy: String,
    /// The result, such as `deny`; `unknown` if it was never decided.
    pub verdict: String,
    /// The first resources that it is about; empty for a policy over the plan.
    pub addresses: Vec<String>,
    /// How many further resources it is about.
    pub more: usize,
    /// The step before which it was decided, such as `create vm.web`.
    pub before: Option<String>,
}

/// What a run did to one resource.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResourceRecord {
    /// Address of the resource.
    pub address: String,
    /// The planned action.
    pub action: String,
    /// How it ended: `done`, `failed` or `skipped`.
    pub result: &'static str,
    /// How long its steps took.
    pub took: Duration,
    /// Why it failed.
    pub error: Option<String>,
    /// The requests that changed its objects.
    pub requests: Vec<RequestRecord>,
}

/// A request of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestRecord {
    /// The HTTP method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The status of the response; `None` without one.
    pub status: Option<u16>,
    /// The service's id of the request, if it sends one.
    pub request_id: Option<String>,
}

/// How a past apply ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ApplyStatus {
    /// All steps of the apply succeeded.
    #[serde(rename = "done")]
    Done,
    /// Some steps did not succeed.
    #[serde(rename = "partly")]
    Partial,
    /// No end is recorded: the process was killed, or it is still running.
    #[default]
    #[serde(rename = "no end recorded")]
    Unfinished,
}

impl ApplyStatus {
    /// Returns the text for this ending.
    #[must_use]
    pub const fn as_text(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Partial => "partly",
            Self::Unfinished => "no end recorded",
        }
    }
}

/// An operation on the ledger itself, as the history shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct IncidentRecord {
    /// When the operation took place.
    pub at: Timestamp,
    /// The actor, as a name.
    pub who: String,
    /// The operation in a few words.
    pub what: String,
    /// The reason that the actor gave, if any.
    pub reason: Option<String>,
}

/// Returns a time in a readable form, in UTC.
#[must_use]
pub fn format_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}
