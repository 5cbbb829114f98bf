//! `PlannedOutput`: an output before and after an apply, with the cause of a difference and the units that read it. Field
//! names are part of the format of saved plans.

use serde::{Deserialize, Deserializer, Serialize};

use crate::model::address::{Address, Name};
use crate::model::source::SourceLocation;
use crate::model::values::value::Value;

/// An output, before and after an apply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedOutput {
    /// Name of the output.
    pub name: Name,
    /// The value that the ledger has; `None` if it has none. Secrets as fingerprints.
    #[serde(default, deserialize_with = "read_value", skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value after the apply, which may be unknown until then; `None` if the output is removed. Secrets as
    /// fingerprints.
    #[serde(default, deserialize_with = "read_value", skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// Why the value differs, or may differ; `None` if the apply does not change the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<OutputCause>,
    /// The resources whose planned changes cause the difference, and the other stacks, as `stacks.NAME`; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Address>,
    /// The other units of the repository that read it, as `STACK/ENVIRONMENT`; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readers: Vec<Name>,
    /// The other units that may read it: the configuration has errors, so that what it reads is not known. Sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub possible_readers: Vec<Name>,
    /// Whether the value is that of one attribute of a live object, which may repeat a secret.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_live: bool,
    /// The location of the output in the configuration; `None` if it is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceLocation>,
}

/// Reads a value that is there: `null` is the value of an output, and not its absence.
fn read_value<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(source).map(Some)
}

/// Why an output differs from the one in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutputCause {
    /// The configuration adds, removes or changes it.
    Config,
    /// A resource or another stack that it refers to changes.
    Upstream,
    /// What it reads was changed outside of this stack: a live object, another stack, or the value of a secret.
    Outside,
}

/// What happens to an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputAction {
    /// It stays as it is.
    Keep,
    /// The ledger has none of this name yet.
    Add,
    /// Its value changes, or may change.
    Change,
    /// The configuration has it no longer.
    Remove,
}

impl PlannedOutput {
    /// Returns what the apply does to the output.
    #[must_use]
    pub const fn action(&self) -> OutputAction {
        match (&self.cause, &self.before, &self.after) {
            (None, ..) => OutputAction::Keep,
            (Some(_), None, _) => OutputAction::Add,
            (Some(_), Some(_), None) => OutputAction::Remove,
            (Some(_), Some(_), Some(_)) => OutputAction::Change,
        }
    }

    /// Returns whether the value is known only after the apply.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.after.as_ref().is_some_and(Value::is_unknown)
    }

    /// Returns whether the value, or a part of it, is or was a secret, or will be one when it is known.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        [&self.before, &self.after].into_iter().flatten().any(Value::hides_secret)
    }
}
