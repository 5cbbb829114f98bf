//! The JSON documents of `do`. Keys stand in alphabetical order.

use serde::Serialize;
use serde_json::Value as Json;

use crate::model::address::{Address, Name};
use crate::report::json::SchemaVersion;

/// The result of the action. With `json` the only document, with `ndjson` the last line.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cli) struct ActionResult<'a> {
    /// Name of the action.
    pub(super) action: &'a str,
    /// Address of the resource; null for an object that this stack does not manage, and for a whole kind.
    pub(super) address: Option<&'a Address>,
    /// Response of the service; fields that are secret are null.
    pub(super) answer: Json,
    #[cfg_attr(test, schemars(extend("const" = "ended")))]
    pub(super) event: &'static str,
    /// Paths of the redacted fields in the response.
    pub(super) hidden: &'a [String],
    /// Id of the object; null if the action needs none.
    pub(super) id: Option<&'a Name>,
    /// Kind of the object.
    pub(super) kind: &'a str,
    /// Record of the run that the action started and that ended, as the service reports it.
    #[cfg_attr(test, schemars(with = "Option<serde_json::Map<String, Json>>"))]
    pub(super) run: Option<&'a Json>,
    pub(super) schema_version: SchemaVersion,
    /// Status of the object at the end, as the service reports it; null if it was not read.
    pub(super) status: Option<String>,
    /// Whether the command waited until the action was complete.
    pub(super) waited: bool,
}

/// The object has another status.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cli) struct StatusEvent<'a> {
    /// Name of the action.
    pub(in crate::cli) action: &'a str,
    #[cfg_attr(test, schemars(extend("const" = "status")))]
    pub(in crate::cli) event: &'static str,
    /// The target, as text output names it.
    pub(in crate::cli) on: &'a str,
    pub(in crate::cli) schema_version: SchemaVersion,
    /// Status as the service reports it.
    pub(in crate::cli) status: &'a str,
}

/// A new record of a feed: an event, or a line of a log.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cli) struct RecordEvent<'a> {
    /// Name of the action.
    pub(in crate::cli) action: &'a str,
    #[cfg_attr(test, schemars(extend("const" = "news")))]
    pub(in crate::cli) event: &'static str,
    /// The target, as text output names it.
    pub(in crate::cli) on: &'a str,
    /// The record, as the service reports it.
    pub(in crate::cli) record: &'a Json,
    pub(in crate::cli) schema_version: SchemaVersion,
}

/// The document of `stead do --output json`, and one line of `stead do --output ndjson`.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "each document is written on its own")]
pub(in crate::cli) enum DoDocument<'a> {
    Result(ActionResult<'a>),
    Status(StatusEvent<'a>),
    Record(RecordEvent<'a>),
}
