//! The documents of `stead output`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::recorded::{RecordedOutput, RecordedOutputs};
use crate::model::address::Name;
use crate::model::values::value::Value;
use crate::report::json::{JsonValue, SCHEMA_VERSION, SchemaVersion};

/// The outputs of a stack, by name.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cli) struct OutputsDocument<'a> {
    schema_version: SchemaVersion,
    /// Name of the stack.
    stack: &'a Name,
    /// Name of the environment.
    env: &'a Name,
    /// The outputs of the last apply, by name.
    outputs: BTreeMap<&'a Name, OutputEntry<'a>>,
}

/// An output of the last apply.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OutputEntry<'a> {
    /// Whether it is a secret, or a list or a map with one inside.
    secret: bool,
    /// Its value; null also for a secret that is not shown, and for one inside a list or a map.
    value: OutputText<'a>,
}

/// The value of an output, or the text of a secret.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(untagged))]
#[serde(untagged)]
enum OutputText<'a> {
    Value(JsonValue<'a>),
    Secret(Option<&'a str>),
}

impl<'a> OutputsDocument<'a> {
    pub(in crate::cli) fn new(recorded: &'a RecordedOutputs) -> Self {
        let entry = |output: &'a RecordedOutput| {
            let value = match &output.value {
                Value::Secret(_) => OutputText::Secret(output.text.as_deref()),
                _ => OutputText::Value(JsonValue(&output.public)),
            };
            (&output.name, OutputEntry { secret: output.value.is_secret(), value })
        };
        Self {
            schema_version: SCHEMA_VERSION,
            stack: &recorded.stack,
            env: &recorded.environment,
            outputs: recorded.outputs.iter().map(entry).collect(),
        }
    }
}

/// What the units of `stead output --all` have together.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cli) struct OutputsSummary {
    /// Number of units.
    pub(in crate::cli) units: usize,
    /// Number of units whose outputs are not known: they were never applied, or cannot be read.
    pub(in crate::cli) failed: usize,
    /// Number of outputs.
    pub(in crate::cli) outputs: usize,
}
