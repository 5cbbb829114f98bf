//! `Run`: one apply in the ledger's history: actor, commit, plan and outcome; and `Incident`: an event
//! that concerns the ledger itself.

use std::collections::VecDeque;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::entry::Intent;
use super::run_details::{
    BegunRequest, MAX_FULL_RUNS, MAX_KEPT_RESOURCES, OutputRun, PolicyRun, RequestOutcome, ResourceRun,
    is_zero,
};
use crate::model::address::Name;

/// Maximum number of runs that a ledger remembers.
pub const MAX_RUNS: usize = 200;

/// One apply in the history.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its number in the ledger: 1, 2, and so on, never used again. 0 in a ledger of an earlier version, until it is read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub number: u64,
    /// The id of the run.
    pub run: Uuid,
    /// The nonce of the plan.
    pub plan: Uuid,
    /// The actor, as `user@host`.
    pub who: String,
    /// The start of the run.
    pub at: Timestamp,
    /// The source of the plan, and its fingerprint.
    #[serde(default)]
    pub origin: RunOrigin,
    /// The outcome; `None` when the run was killed, or is still in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RunEnd>,
    /// What it did to each resource; empty for a run that did not end, and for an older one, of which only the summary is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceRun>,
    /// The outputs that it changed; empty for a run that did not end, and for one of which only the summary is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<OutputRun>,
    /// The requests that it began, in order, until its end is recorded; the first ones, if there were very many. Earlier
    /// versions did not record them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begun: Vec<BegunRequest>,
    /// The results of the policies that its plan could not decide; empty if there were none, and for a run that did not end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<PolicyRun>,
}

impl Run {
    /// Returns whether the run ended, and every step succeeded.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.complete)
    }
}

/// The source of a run's plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrigin {
    /// The commit of the configuration, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Name>,
    /// Whether a file that the stack reads differed from the commit; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty: Option<bool>,
    /// The plan's fingerprint; earlier versions recorded only its first eight digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Name>,
    /// The digest of the configuration; `None` where none was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Name>,
    /// Changes by others that the plan reverted, as `ADDRESS.ATTRIBUTE`; the first few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub put_back: Vec<Name>,
    /// Policies that denied the plan and were overridden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overridden: Vec<Name>,
    /// The reason in the actor's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How the plan was approved, such as `--yes` or `prompt`; `None` where none was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Name>,
    /// The id of the run of many stacks to which it belongs; `None` for the run of one stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common: Option<Name>,
    /// The units whose outputs the configuration reads, as `stack/environment`: its objects depend on them, also once it is gone.
    /// Earlier versions did not record them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upstream: Vec<Name>,
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// The time at which the run ended.
    pub at: Timestamp,
    /// Whether every step succeeded.
    pub complete: bool,
    /// The number of resources by outcome.
    #[serde(default)]
    pub tally: ResourceCounts,
}

/// The number of resources by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceCounts {
    /// Resources that were changed successfully.
    pub done: usize,
    /// Resources with a failed change.
    pub failed: usize,
    /// Resources whose change was not started.
    pub skipped: usize,
    /// Ambiguous intents at the end of the run.
    pub questions: usize,
}

/// An event that concerns the ledger itself and that a user caused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// The time of the event.
    pub at: Timestamp,
    /// The actor, as `user@host`.
    pub who: String,
    /// The kind of the event.
    pub what: IncidentKind,
    /// The reason in the actor's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An event that concerns a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum IncidentKind {
    /// The user broke its lock.
    Broken {
        /// The former holder, as `user@host`; `None` if the ledger recorded no holder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
    },
    /// The damaged ledger was repaired.
    Repaired {
        /// The number of records that were lost.
        lost: usize,
    },
    /// The lost ledger was rebuilt from the configuration and the live objects.
    Recovered {
        /// The number of objects that were found again.
        objects: usize,
    },
    /// Another copy of the ledger replaced it.
    Pushed {
        /// The serial of the copy.
        serial: u64,
    },
    /// MACs of this key were begun, in place of none or of another key's.
    Sealed {
        /// The id of the MAC key.
        key: Name,
    },
    /// The user ran an action on an object that it owns. It is recorded before the request is sent, and again with the
    /// outcome: the second record replaces the first.
    Acted {
        /// The id of this action.
        op: Uuid,
        /// The name of the action.
        action: Name,
        /// The address of the resource.
        on: Name,
        /// The outcome of the action.
        end: ActionOutcome,
    },
}

/// How a one-off action (`stead do`) ended, as far as the ledger records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionOutcome {
    /// No end was recorded: the action is in progress, or the process ended before its outcome was known.
    Open,
    /// The service confirmed it.
    Done,
    /// The action had no effect.
    Refused,
    /// The outcome is unknown: the request may have taken effect.
    Unknown,
}

impl ActionOutcome {
    /// Returns the display text of the outcome.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "no end recorded",
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Unknown => "outcome unknown",
        }
    }
}

impl Incident {
    /// Returns whether both events are records of the same action, so that this one replaces the other. `false` for all
    /// other kinds of event.
    #[must_use]
    pub fn is_end_of(&self, other: &Self) -> bool {
        match (&self.what, &other.what) {
            (IncidentKind::Acted { op, .. }, IncidentKind::Acted { op: known, .. }) => op == known,
            _ => false,
        }
    }
}

/// Reduces the runs that are too old, or too many, to their summaries.
pub(in crate::ledger) fn drop_old_details(history: &mut VecDeque<Run>) {
    let mut kept = 0;
    for (age, run) in history.iter_mut().rev().enumerate() {
        kept += run.resources.len() + run.outputs.len() + run.begun.len();
        if age >= MAX_FULL_RUNS || (age > 0 && kept > MAX_KEPT_RESOURCES) {
            run.resources = Vec::new();
            run.outputs = Vec::new();
            run.begun = Vec::new();
            run.policies = Vec::new();
        }
    }
}

/// Adds a request to the run that is in progress.
pub(in crate::ledger) fn add_request(history: &mut VecDeque<Run>, intent: &Intent) {
    let Some(run) = history.back_mut().filter(|run| run.end.is_none()) else { return };
    if run.begun.len() < MAX_KEPT_RESOURCES {
        run.begun.push(BegunRequest::new(intent));
    }
}

/// Records the outcome of a request of a run whose end is not recorded. It can become known in a later run, so earlier
/// runs are searched, too.
pub(in crate::ledger) fn set_request_outcome(
    history: &mut VecDeque<Run>,
    op: Uuid,
    outcome: RequestOutcome,
) {
    // Newest first: nearly always one of the last requests of the last run.
    let mut begun = history.iter_mut().rev().flat_map(|run| run.begun.iter_mut().rev());
    if let Some(request) = begun.find(|request| request.op == op) {
        request.outcome = outcome;
    }
}

/// Numbers the runs of a ledger of an earlier version, which has none. Returns the number of the last run.
pub(in crate::ledger) fn number_runs(history: &mut VecDeque<Run>, last: u64) -> u64 {
    let mut before = 0;
    for run in history.iter_mut() {
        if run.number <= before {
            run.number = before + 1;
        }
        before = run.number;
    }
    before.max(last)
}
