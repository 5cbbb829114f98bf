//! `Drift`: a difference between what was last applied and what is live. Field names are part of the format of saved plans.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::source::SourceLocation;
use crate::model::values::value::Value;

/// A difference between the last applied and the live value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// The address of the resource.
    pub address: Address,
    /// The attribute; `None` if the whole object is gone.
    pub path: Option<Name>,
    /// The last applied value, secrets as fingerprints; for a lost object its id.
    pub last_applied: Value,
    /// The live value, secrets as fingerprints; `Null` for a lost object.
    pub live: Value,
    /// What the plan does about it.
    pub class: DriftClass,
    /// The `ignore_drift` entry that matches, also one that has ended; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leave: Option<IgnoreDriftMatch>,
    /// Whether `drift --accept` can write the live value to the configuration.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acceptable: bool,
    /// Whether no earlier reading showed the applied value: then nothing proves that it was changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unconfirmed: bool,
    /// The code of the blocker that prevents the plan from ending the difference; `None` if the plan ends it,
    /// or would not end it in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<Name>,
    /// Where the attribute is written; for a lost object, its block.
    pub source: Option<SourceLocation>,
}

/// An `ignore_drift` entry that applies to a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IgnoreDriftMatch {
    /// The reason that the entry gives; `None` if it gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last day on which it is valid, in UTC (`2026-12-31`); `None` if it has no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Name>,
    /// Whether that day has passed, so that the difference counts again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// The location of the entry in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceLocation>,
}

/// What the plan does about a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DriftClass {
    /// The plan restores the applied or desired value.
    Reverted,
    /// The plan cannot restore it (grow-only): the configuration must follow.
    AcceptOnly,
    /// The configuration has the live value now: only the ledger changes.
    Accepted,
    /// The plan leaves it: an `ignore_drift` entry covers it, or the service itself changed the value as
    /// another attribute of the object permits.
    Ignored,
    /// The object is gone, or the service is deleting it; the plan recreates it.
    Gone,
    /// The service does not show the object, and the API key may not read its project: it is not known whether it is gone.
    NotReadable,
    /// The object is replaced or deleted: the difference ends with it.
    Replaced,
    /// A key of an open map that no block writes: it is left alone.
    Unmanaged,
}

/// Returns how many objects of a ledger are live.
#[must_use]
pub fn count_live(ledger: &Ledger, drift: &[Drift]) -> usize {
    let gone: BTreeSet<&Address> =
        drift.iter().filter(|one| one.class == DriftClass::Gone).map(|one| &one.address).collect();
    ledger.entries.keys().filter(|address| !gone.contains(address)).count()
}
