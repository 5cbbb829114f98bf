//! `PlanBinding`: the conditions under which a saved plan may be applied, besides its inputs: the options of the
//! command line, the ledger's state, the expiry time, and a key of the file's own where the ledger does not exist yet.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::config::stack::model::Stack;
use crate::ledger::state::key_as_hex;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::crypto::digest::{JsonDigest, json_digest};
use crate::model::values::secret::FingerprintKey;
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::compare::sealed_expression;

/// The shortest and the longest lifetime of a saved plan, both inclusive: one minute and 30 days.
pub const LIFETIME_RANGE: RangeInclusive<SignedDuration> =
    SignedDuration::from_mins(1)..=SignedDuration::from_hours(30 * 24);

/// The default lifetime of a saved plan: seven days.
pub const DEFAULT_LIFETIME: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The conditions under which a saved plan may be applied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanBinding {
    /// The time from which on the plan is refused.
    pub expires: Timestamp,
    /// Digest of the ledger's state, without its history.
    pub ledger: String,
    /// The options of the command line: the plan is recomputed with them.
    pub requested: SavedPlanOptions,
    /// The recipients of kept secrets when the plan was made; empty when the stack declares none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recipients: Vec<Name>,
    /// The file's own key; `None` where the ledger exists and has a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unborn: Option<NewLedgerKey>,
}

/// The replacement for the key of a ledger that does not exist yet. A file with it is as private as a ledger.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewLedgerKey {
    /// Key of the before-images and of the digest of the secrets' values; stored in plain text, as hexadecimal.
    #[serde(with = "key_as_hex")]
    pub key: FingerprintKey,
    /// Keyed digest of all values of secrets that the configuration uses.
    pub secrets: String,
}

impl PartialEq for NewLedgerKey {
    fn eq(&self, other: &Self) -> bool {
        self.key.0 == other.key.0 && self.secrets == other.secrets
    }
}

/// The options of the command line that affect the plan's decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SavedPlanOptions {
    /// Overrides the deletion limit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_deletes: bool,
    /// Plans only these addresses and their dependencies; empty: all of them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub targets: BTreeSet<Address>,
    /// Leaves out these addresses and their dependents; empty: none.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub excluded: BTreeSet<Address>,
    /// Objects that contain data and may be replaced nevertheless.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub replace: BTreeSet<Address>,
    /// Resources that may be deleted with the data that they contain.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub delete_data: BTreeSet<Address>,
    /// The ids of live objects to adopt, by address.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub adopt: BTreeMap<Address, Name>,
    /// Resources, or modules, whose forgotten objects are adopted again.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub taken_back: BTreeSet<Address>,
    /// The project of a stack without a `project` block; `None` if the command line names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<Name>,
}

impl SavedPlanOptions {
    /// Returns the options that affect decisions. The others describe the caller or are recomputed from the
    /// ledger and the machine, and would make a plan stale for no reason.
    #[must_use]
    pub fn from_options(options: &PlanningOptions) -> Self {
        let PlanningOptions {
            allow_deletes,
            targets,
            excluded,
            replace,
            delete_data,
            adopt,
            taken_back,
            project,
            ..
        } = options.clone();
        Self { allow_deletes, targets, excluded, replace, delete_data, adopt, taken_back, project }
    }
}

impl PlanBinding {
    /// Returns the options with which the plan is computed again. `destroy` is not stored here but in the
    /// plan's base; every option that does not affect decisions has its default.
    #[must_use]
    pub fn to_options(&self, destroy: bool) -> PlanningOptions {
        let SavedPlanOptions {
            allow_deletes,
            targets,
            excluded,
            replace,
            delete_data,
            adopt,
            taken_back,
            project,
        } = self.requested.clone();
        PlanningOptions {
            destroy,
            allow_deletes,
            targets,
            excluded,
            replace,
            delete_data,
            adopt,
            taken_back,
            project,
            image_key: self.unborn.as_ref().map(|unborn| unborn.key.clone()),
            ..PlanningOptions::default()
        }
    }

    /// Returns the key of the before-images: the ledger's, or the file's own where it has none.
    pub(in crate::plan) fn image_key(&self, ledger: &FingerprintKey) -> FingerprintKey {
        let own = self.unborn.as_ref().filter(|_| ledger.is_none());
        own.map_or(ledger, |unborn| &unborn.key).clone()
    }
}

/// Returns the digest of a ledger's state. Facts about its own past are left out: when an apply ran, who holds the
/// lock, how many records there are.
///
/// # Errors
/// When a part of it cannot be written as JSON.
pub fn ledger_digest(ledger: &Ledger) -> Result<String, serde_json::Error> {
    let remembered = Ledger {
        serial: 0,
        last_applied: None,
        history: VecDeque::new(),
        incidents: VecDeque::new(),
        sealed: None,
        epoch: 0,
        holder: None,
        // Plans that an earlier version saved have a digest without this field.
        had_entries: false,
        origins: BTreeSet::new(),
        review: None,
        ..ledger.clone()
    };
    json_digest("stead ledger 2", &remembered)
}

/// Returns the keyed digest of the values of all secrets that a stack uses. It depends on the addresses and
/// names of their users, too, so two secrets that change places change it.
pub fn secrets_digest(stack: &Stack, key: &FingerprintKey) -> Result<String, serde_json::Error> {
    let mut digest = JsonDigest::new("stead secret values 2");
    for resource in stack.resources.values() {
        for (name, setting) in &resource.attributes {
            if setting.expression.is_secret() {
                digest.add(&(&resource.address, name, sealed_expression(&setting.expression, key)))?;
            }
        }
    }
    for (name, output) in &stack.outputs {
        if output.expression.is_secret() {
            digest.add(&("output", name, sealed_expression(&output.expression, key)))?;
        }
    }
    Ok(digest.finish())
}
