//! What the history keeps of one run: what it did to each resource, the outputs that it changed, and, until its end is
//! recorded, the requests that it began. In: the records of the run. Out: the history of a ledger, which is bounded: the last
//! runs are kept in full, and of older ones only the summary.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::entry::{Intent, IntentAction};
use crate::model::address::{Address, Name};
use crate::model::values::value::{Attributes, Value};

/// Maximum number of runs whose resources a ledger keeps.
pub const MAX_FULL_RUNS: usize = 100;

/// Maximum number of resources of all kept runs together; the last run is kept in full, however many it has.
pub const MAX_KEPT_RESOURCES: usize = 20_000;

/// Maximum number of characters of an error that is kept.
pub const MAX_ERROR_CHARS: usize = 300;

/// Maximum number of bytes of an output's value that is kept, in its JSON form.
pub const MAX_OUTPUT_BYTES: usize = 1_000;

/// Maximum number of resources that are kept for a result of a policy.
pub const MAX_POLICY_ADDRESSES: usize = 20;

/// Maximum number of requests that are kept for a resource.
pub const MAX_KEPT_REQUESTS: usize = 20;

/// What a run did to one resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceRun {
    /// The address of the resource.
    pub address: Address,
    /// The planned action, such as `create`.
    pub action: Name,
    /// How it ended.
    pub result: ResourceResult,
    /// The sum of the durations of its steps, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ms: u64,
    /// Why it failed; `None` if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The requests that changed its objects, in order; the first ones, if there were very many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestRun>,
}

/// The result of a policy that the plan could not decide, for the resources with the same result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyRun {
    /// The name of the policy.
    pub policy: Name,
    /// The result: `pass`, `warn`, `overridden`, `deny`, or `unknown` if it was never decided.
    pub verdict: Name,
    /// The first resources that it is about; empty for a policy over the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<Address>,
    /// How many further resources it is about.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: usize,
    /// The step before which it was decided, such as `create vm.web`; of several, the first. `None` if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// How the change of a resource ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceResult {
    /// All steps succeeded.
    Done,
    /// A step failed.
    Failed,
    /// A step was not started.
    Skipped,
}

/// A request that a run sent: method, path, status (`None` without an answer) and the service's id of the request (`None` if
/// it sends none). Stored as a list, because a ledger has many of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRun(pub Name, pub String, pub Option<u16>, pub Option<Name>);

/// An output that a run added, changed or removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputRun {
    /// The name of the output.
    pub name: Name,
    /// The recorded value before the run, with secrets as fingerprints.
    #[serde(default, skip_serializing_if = "RunValue::is_absent")]
    pub before: RunValue,
    /// The recorded value after the run, with secrets as fingerprints.
    #[serde(default, skip_serializing_if = "RunValue::is_absent")]
    pub after: RunValue,
}

/// The value of an output in the history.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is", content = "value")]
pub enum RunValue {
    /// There was none.
    #[default]
    Absent,
    /// This value.
    Kept(Value),
    /// A value that is too long to keep in the history.
    TooLong,
}

impl RunValue {
    fn new(value: Option<&Value>) -> Self {
        let Some(value) = value else { return Self::Absent };
        let length = serde_json::to_string(value).map_or(usize::MAX, |text| text.len());
        if length > MAX_OUTPUT_BYTES { Self::TooLong } else { Self::Kept(value.clone()) }
    }

    const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// Returns the outputs that differ, by name.
pub(in crate::ledger) fn changed_outputs(
    before: Option<&Attributes>,
    after: &Attributes,
) -> Vec<OutputRun> {
    let names: BTreeSet<&Name> =
        before.into_iter().flat_map(Attributes::keys).chain(after.keys()).collect();
    let values = |name: &Name| (before.and_then(|before| before.get(name)), after.get(name));
    let changed = names.into_iter().map(|name| (name, values(name)));
    changed
        .filter(|(_, (before, after))| before != after)
        .map(|(name, (before, after))| OutputRun {
            name: name.clone(),
            before: RunValue::new(before),
            after: RunValue::new(after),
        })
        .collect()
}

/// A request that a run was about to send, and what became of it. It is all that is known of a run that was killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BegunRequest {
    /// The id of the intent.
    pub op: Uuid,
    /// The address of the resource.
    pub address: Address,
    /// What the request does: `create`, `update` or `delete`.
    pub action: Name,
    /// The name of an update's call in the table of the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Name>,
    /// Its outcome, as far as a record states it.
    #[serde(default)]
    pub outcome: RequestOutcome,
}

/// The outcome of a request, as far as the ledger records it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestOutcome {
    /// No record states it.
    #[default]
    Open,
    /// It had its effect.
    Done,
    /// The service refused it.
    Refused,
    /// It was not sent.
    NotSent,
    /// It had no visible effect within the time limit.
    NoEffect,
    /// Only the user can state it.
    Ambiguous,
}

impl BegunRequest {
    /// Returns the request of an intent that was recorded just now.
    pub(in crate::ledger) fn new(intent: &Intent) -> Self {
        let (action, call) = match &intent.action {
            IntentAction::Create { .. } => ("create", None),
            IntentAction::Update { call, .. } => ("update", Some(call.clone())),
            IntentAction::Delete { .. } => ("delete", None),
        };
        Self {
            op: intent.op,
            address: intent.address.clone(),
            action: Name::new(action),
            call,
            outcome: RequestOutcome::Open,
        }
    }
}

/// Returns whether a number is zero, so that a record leaves it out.
pub(super) fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}
