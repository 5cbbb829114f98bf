//! An output in the plan's document: its values before and after, and the units that read it.

use serde::Serialize;

use super::change_entry::PlanDocumentOptions;
use crate::model::address::{Address, Name};
use crate::model::source::SourceLocation;
use crate::plan::model::output::{OutputAction, OutputCause, PlannedOutput};
use crate::report::json_value::JsonValue;

/// An output that changes, or may change.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(in crate::report::json) struct OutputEntry<'a> {
    /// Name of the output.
    name: &'a Name,
    /// What happens to it.
    action: OutputActionKeyword,
    /// The value that the last apply recorded; null if it recorded none.
    before: Option<JsonValue<'a>>,
    /// The value after the apply; null if the output is removed, or the value is not known yet.
    after: Option<JsonValue<'a>>,
    /// Whether the value, or a part of it, is known only after the apply.
    unknown: bool,
    /// Whether the value, or a part of it, is or was a secret, or will be one when it is known.
    secret: bool,
    /// Why it changes.
    cause: Option<OutputCause>,
    /// Addresses of the resources whose changes are the cause, and `stacks.NAME` for other stacks.
    because: &'a [Address],
    /// The other units of the repository that read it, as `STACK/ENVIRONMENT`.
    readers: &'a [Name],
    /// The units that may read it: their configuration has errors. Left out if there are none.
    #[serde(skip_serializing_if = "<[Name]>::is_empty")]
    possible_readers: &'a [Name],
    /// Location in the configuration. Only with details.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a SourceLocation>,
}

/// What happens to an output, in the words of changes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum OutputActionKeyword {
    /// It is recorded for the first time.
    Create,
    /// Its value changes, or may change.
    Update,
    /// It is removed.
    Delete,
}

impl<'a> OutputEntry<'a> {
    pub(in crate::report::json) fn from_output(
        output: &'a PlannedOutput,
        options: PlanDocumentOptions<'_>,
    ) -> Self {
        Self {
            name: &output.name,
            action: match output.action() {
                OutputAction::Add => OutputActionKeyword::Create,
                OutputAction::Change | OutputAction::Keep => OutputActionKeyword::Update,
                OutputAction::Remove => OutputActionKeyword::Delete,
            },
            before: output.before.as_ref().map(JsonValue),
            after: output.after.as_ref().map(JsonValue),
            unknown: output.is_unknown(),
            secret: output.is_secret(),
            cause: output.cause,
            because: &output.because,
            readers: &output.readers,
            possible_readers: &output.possible_readers,
            source: output.source.as_ref().filter(|_| options.details),
        }
    }
}
