//! `ResourceRun`: what one run did to one resource, with the requests that it sent. In: the end of a run. Out: the history
//! of a ledger, which is bounded: the last runs are kept in full, and of older ones only the summary.

use serde::{Deserialize, Serialize};

use crate::model::address::{Address, Name};

/// Maximum number of runs whose resources a ledger keeps.
pub const MAX_FULL_RUNS: usize = 100;

/// Maximum number of resources of all kept runs together; the last run is kept in full, however many it has.
pub const MAX_KEPT_RESOURCES: usize = 20_000;

/// Maximum number of characters of an error that is kept.
pub const MAX_ERROR_CHARS: usize = 300;

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

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands on a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}
