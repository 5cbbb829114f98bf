//! `SavedPlan`: a plan as a file, and the checks before it is applied: it is complete, it is for this stack, it was not
//! applied yet, it did not expire, and nothing that it touches has changed. An apply runs the plan that it recomputes
//! itself (`recheck`); the file must be equal to that plan. Its changes must match its steps, and its fingerprint is
//! computed from both, so that what is shown is what is compared.

use std::fmt;

use foldhash::{HashMap, HashMapExt};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

use super::binding::{self, PlanBinding};
use super::consistency;
use super::fingerprint::plan_fingerprint;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::crypto::digest::json_digest;
use crate::model::live::snapshot::Snapshot;
use crate::model::schema::Registry;
use crate::model::values::secret::FingerprintKey;
use crate::plan::diff::before_image::first_moved_attribute;
use crate::plan::model::change::Plan;
use crate::plan::model::plan_base::BeforeImage;
use crate::plan::model::step::{LedgerUpdate, Operation};

/// The format version of saved plans.
pub const SCHEMA_VERSION: u32 = 2;

/// A plan with its binding and a digest of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedPlan {
    /// The format version of the file.
    pub schema: u32,
    /// The version of stead that wrote the file.
    pub stead_version: String,
    /// SHA-256 of the other fields except `schema`, as a string. It detects accidents only: an attacker who
    /// edits a file can recompute it.
    pub digest: String,
    /// The conditions under which the plan may be applied, besides its inputs.
    pub binding: PlanBinding,
    /// The plan that was saved.
    pub plan: Plan,
}

/// Why a file is not a valid saved plan.
#[derive(Debug, Error)]
pub enum SavedPlanError {
    /// The file is not JSON of this format.
    #[error("this is not a saved plan")]
    Malformed(#[source] serde_json::Error),
    /// Another version of stead wrote it in a form that this one does not read.
    #[error("the saved plan has form {found}, and this version reads form {SCHEMA_VERSION}: plan again")]
    UnsupportedVersion {
        /// The format version of the file.
        found: u32,
    },
    /// The file is not as it was saved.
    #[error("the saved plan was changed after it was made: plan again")]
    Tampered,
    /// The plan's changes do not match its steps.
    #[error("the saved plan was changed after it was made: {what}: plan again")]
    Inconsistent {
        /// The mismatch, as a phrase.
        what: String,
    },
}

/// The local inputs against which a saved plan is checked, before anything is read from the service.
#[derive(Clone, Copy)]
pub struct LocalCheckInputs<'a> {
    /// The name of the configured stack.
    pub stack: &'a Name,
    /// The name of the selected environment.
    pub environment: &'a Name,
    /// The digest of the resolved configuration.
    pub config: &'a str,
    /// The ledger, in the form that plans are made from.
    pub ledger: &'a Ledger,
    /// The recipients of kept secrets.
    pub recipients: &'a [Name],
}

/// The inputs against which a saved plan is checked after the live objects were read.
#[derive(Clone, Copy)]
pub struct LiveCheckInputs<'a> {
    /// The tables of all kinds.
    pub registry: Registry,
    /// The present digest of remote stack outputs and data lookups.
    pub reads: &'a str,
    /// The ledger that the plan will change.
    pub ledger: &'a Ledger,
    /// The live objects: at least those that the plan's `objects` name.
    pub snapshot: &'a Snapshot,
}

/// Why a saved plan can no longer be applied.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StalePlan {
    /// The plan's expiry time has passed.
    #[error("the plan expired at {at}")]
    Expired {
        /// When the plan expired.
        at: Timestamp,
    },
    /// The plan's lifetime is outside the legal range.
    #[error(
        "the plan states that it was made at {made_at} and expires at {expires}, which is not a valid lifetime"
    )]
    InvalidTimes {
        /// When the plan was made.
        made_at: Timestamp,
        /// When the plan expires.
        expires: Timestamp,
    },
    /// Another version of stead made it, which may decide or display changes differently.
    #[error("the plan was made by stead {planned}, and this is {found}")]
    SteadVersion {
        /// The version that made the plan.
        planned: String,
        /// The version of the running program.
        found: String,
    },
    /// The ledger's state changed after the plan was made.
    #[error("the ledger changed since the plan was made")]
    LedgerChanged,
    /// A secret has another value.
    #[error("the value of a secret changed since the plan was made")]
    SecretChanged,
    /// The recomputed plan differs from the saved one.
    #[error("the plan as it is computed now differs from the saved one: {what}")]
    Differs {
        /// The first part that differs.
        what: String,
    },
    /// A part of the plan cannot be written as JSON, so no digest can be compared.
    #[error("the plan cannot be compared: {why}")]
    Incomparable {
        /// The error of the JSON writer.
        why: String,
    },
    /// The plan was made for another account, stack or environment.
    #[error("the plan was made for {what} {planned}, and this is {found}")]
    OtherTarget {
        /// What differs: `account`, `stack`, `environment`.
        what: &'static str,
        /// The name in the plan.
        planned: Name,
        /// The name found now.
        found: Name,
    },
    /// It was made from another ledger, or a fork of it.
    #[error("the plan was made from another ledger ({planned}), and this is {found}")]
    OtherLedger {
        /// The lineage of the ledger that the plan was made from.
        planned: Uuid,
        /// The lineage of the ledger found now.
        found: Uuid,
    },
    /// The ledger is older than the plan: an old copy was restored.
    #[error("the ledger is older than the plan: record {found} where the plan saw {planned}")]
    LedgerRolledBack {
        /// The ledger's serial in the plan.
        planned: u64,
        /// The serial of the ledger found now.
        found: u64,
    },
    /// The configuration changed after the plan was made.
    #[error("the configuration, or a variable of the command line, is not what the plan was made with")]
    ConfigChanged,
    /// A remote stack output or a data lookup changed.
    #[error("remote stack outputs or lookups (`stacks`, `data`) changed since the plan was made")]
    ReadsChanged,
    /// The plan was applied already.
    #[error("the plan was applied already")]
    AlreadyApplied,
    /// An object that the plan touches has changed.
    #[error("{address} changed since the plan was made: {what}")]
    ObjectChanged {
        /// The resource of the changed object.
        address: Address,
        /// The change of an object, or of its binding to a resource, since the plan was made.
        what: LiveObjectChange,
    },
}

/// The change of an object, or of its binding to a resource, since the plan was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveObjectChange {
    /// The object does not exist any more.
    Gone,
    /// This attribute has another value.
    Attribute(Name),
    /// The resource has another object than the plan saw.
    Rebound(Name),
    /// The resource has no object any more.
    Unbound,
}

impl fmt::Display for LiveObjectChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => f.write_str("the object is gone"),
            Self::Attribute(name) => write!(f, "{name} has another value"),
            Self::Rebound(id) => write!(f, "it has the object {id} now"),
            Self::Unbound => f.write_str("it has no object any more"),
        }
    }
}

impl SavedPlan {
    /// Wraps a plan with its binding and computes the digest.
    ///
    /// # Errors
    /// When a part of it cannot be written as JSON.
    pub fn new(
        plan: Plan,
        binding: PlanBinding,
        stead_version: impl Into<String>,
    ) -> Result<Self, serde_json::Error> {
        let (stead_version, digest) = (stead_version.into(), String::new());
        let mut saved = Self { schema: SCHEMA_VERSION, stead_version, digest, binding, plan };
        saved.digest = saved.content_digest()?;
        Ok(saved)
    }

    /// Returns the digest of the other fields except `schema`, which the digest's own label stands for.
    fn content_digest(&self) -> Result<String, serde_json::Error> {
        json_digest("stead saved plan 2", &(&self.stead_version, &self.binding, &self.plan))
    }

    /// Returns the content of the file: one line of JSON with its newline, unsigned.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string(self)?;
        text.push('\n');
        Ok(text)
    }

    /// Parses the content of a file without its signature, and computes the plan's fingerprint from it.
    ///
    /// # Errors
    /// When it is not a saved plan, has another format version, was changed after it was saved, or shows
    /// changes that do not match its steps.
    pub fn parse(text: &str, registry: Registry) -> Result<Self, SavedPlanError> {
        #[derive(Deserialize)]
        struct SavedPlanHeader {
            schema: u32,
        }
        let form: SavedPlanHeader = serde_json::from_str(text).map_err(SavedPlanError::Malformed)?;
        if form.schema != SCHEMA_VERSION {
            return Err(SavedPlanError::UnsupportedVersion { found: form.schema });
        }
        let mut saved: Self = serde_json::from_str(text).map_err(SavedPlanError::Malformed)?;
        // Only text that `to_text` would write is accepted: no part of the file is ignored, or readable in two ways.
        let whole = saved.content_digest().map_err(SavedPlanError::Malformed)? == saved.digest
            && saved.to_text().map_err(SavedPlanError::Malformed)? == text;
        if !whole {
            return Err(SavedPlanError::Tampered);
        }
        consistency::check(&saved.plan, registry).map_err(|what| SavedPlanError::Inconsistent { what })?;
        saved.plan.fingerprint = plan_fingerprint(&saved.plan).map_err(SavedPlanError::Malformed)?;
        Ok(saved)
    }

    /// Checks that the plan may still be applied at a time, by a version of stead. A plan expires at
    /// `binding.expires`, not after it.
    pub fn check_time(&self, now: Timestamp, stead_version: &str) -> Result<(), StalePlan> {
        let (made_at, expires) = (self.plan.base.made_at, self.binding.expires);
        // First: another version may compute other digests, which would be reported as a change of something else.
        if self.stead_version != stead_version {
            let (planned, found) = (self.stead_version.clone(), stead_version.to_owned());
            return Err(StalePlan::SteadVersion { planned, found });
        }
        if !binding::LIFETIME_RANGE.contains(&made_at.duration_until(expires)) {
            return Err(StalePlan::InvalidTimes { made_at, expires });
        }
        if now >= expires { Err(StalePlan::Expired { at: expires }) } else { Ok(()) }
    }

    /// Checks, before anything is read from the service or recorded, that the plan is for
    /// this stack, configuration and ledger.
    ///
    /// # Errors
    /// The first reason why not.
    pub fn check_origin(&self, origin: &LocalCheckInputs<'_>) -> Result<(), StalePlan> {
        let base = &self.plan.base;
        let LocalCheckInputs { stack, environment, config, ledger, recipients } = *origin;
        // First: an apply also changes the ledger's digest, and the user must learn the actual reason.
        if ledger.applied_plans.contains(&base.nonce) {
            return Err(StalePlan::AlreadyApplied);
        }
        check_names([("stack", &base.stack, stack), ("environment", &base.environment, environment)])?;
        let (lineage, serial) = (ledger.identity.lineage, ledger.serial);
        if base.lineage != lineage {
            return Err(StalePlan::OtherLedger { planned: base.lineage, found: lineage });
        }
        if serial < base.serial {
            return Err(StalePlan::LedgerRolledBack { planned: base.serial, found: serial });
        }
        if config != base.config || recipients != self.binding.recipients {
            return Err(StalePlan::ConfigChanged);
        }
        let digest = binding::ledger_digest(ledger);
        if digest.map_err(|error| StalePlan::Incomparable { why: error.to_string() })?
            != self.binding.ledger
        {
            return Err(StalePlan::LedgerChanged);
        }
        Ok(())
    }

    /// Checks that nothing that the plan touches has changed.
    ///
    /// # Errors
    /// The first thing that has.
    pub fn check_unchanged(&self, facts: &LiveCheckInputs<'_>) -> Result<(), StalePlan> {
        let base = &self.plan.base;
        let account = facts.snapshot.account.clone().unwrap_or_default();
        check_names([("account", &base.account, &account)])?;
        // A plan without remote reads, such as a destroy, has no digest to compare.
        if !base.reads.is_empty() && facts.reads != base.reads {
            return Err(StalePlan::ReadsChanged);
        }
        // Before the images: another object of a resource would be reported as a changed attribute.
        self.check_bindings(facts)?;
        let key = self.binding.image_key(&facts.ledger.identity.key);
        base.objects.iter().try_for_each(|image| check_image(image, facts, &key))
    }

    /// Checks that the secrets have the values that the plan was made with, by their digest under the plan's
    /// own key; `None` if the ledger has a key. Then the plan contains their fingerprints, and the recomputed
    /// plan differs if a value changed.
    ///
    /// # Errors
    /// When a secret has another value, or only one of the plan and the ledger has a key of its own.
    pub fn check_secrets(&self, digest: Option<&str>) -> Result<(), StalePlan> {
        let planned = self.binding.unborn.as_ref().map(|unborn| unborn.secrets.as_str());
        let without_key = self.plan.base.lineage.is_nil();
        if planned == digest && planned.is_some() == without_key {
            Ok(())
        } else {
            Err(StalePlan::SecretChanged)
        }
    }

    /// Checks that every resource still has the object that the plan saw, or none. Otherwise an object that an
    /// earlier apply created late would be created a second time.
    fn check_bindings(&self, facts: &LiveCheckInputs<'_>) -> Result<(), StalePlan> {
        let images = self.plan.base.objects.iter().map(|image| (&image.address, &image.key.id));
        let seen: std::collections::BTreeMap<_, _> = images.collect();
        let old = self.check_moves(facts)?;
        for step in &self.plan.steps {
            let address = &step.address;
            let entry = facts.ledger.entries.get(old.get(address).copied().unwrap_or(address));
            let bound = entry.and_then(|entry| entry.current.as_ref()).map(|owned| &owned.id);
            let what = match (&step.operation, seen.get(address), bound) {
                (Operation::Delete { deposed: true, .. }, ..) => continue,
                (Operation::Create { .. }, None, Some(id)) if !self.is_gone(address, id) => {
                    LiveObjectChange::Rebound(id.clone())
                }
                (_, Some(planned), Some(id)) if *planned != id => LiveObjectChange::Rebound(id.clone()),
                (Operation::Delete { .. }, Some(_), None) => LiveObjectChange::Unbound,
                _ => continue,
            };
            return Err(StalePlan::ObjectChanged { address: address.clone(), what });
        }
        Ok(())
    }

    /// Checks that every moved address still has its entry at the old address in the ledger, and that the new
    /// address has no object; returns the old addresses by the new ones.
    fn check_moves<'p>(
        &'p self,
        facts: &LiveCheckInputs<'_>,
    ) -> Result<HashMap<&'p Address, &'p Address>, StalePlan> {
        let moves = self.plan.bookkeeping.iter().filter_map(LedgerUpdate::moves);
        let mut old = HashMap::new();
        for (from, to) in moves.flatten() {
            let current = |address| facts.ledger.entries.get(address)?.current.as_ref();
            let stale =
                |address: &Address, what| Err(StalePlan::ObjectChanged { address: address.clone(), what });
            if !facts.ledger.entries.contains_key(from) {
                return stale(from, LiveObjectChange::Unbound);
            }
            if let Some(owned) = current(to) {
                return stale(to, LiveObjectChange::Rebound(owned.id.clone()));
            }
            old.insert(to, from);
        }
        Ok(old)
    }

    /// Returns whether the plan found an object gone: the ledger still names it, and the apply removes it
    /// before it creates another.
    fn is_gone(&self, address: &Address, id: &Name) -> bool {
        let gone = |b: &_| matches!(b, LedgerUpdate::Gone(a, found) if a == address && found == id);
        self.plan.bookkeeping.iter().any(gone)
    }
}

fn check_names<const N: usize>(names: [(&'static str, &Name, &Name); N]) -> Result<(), StalePlan> {
    for (what, planned, found) in names {
        if planned != found {
            return Err(StalePlan::OtherTarget { what, planned: planned.clone(), found: found.clone() });
        }
    }
    Ok(())
}

fn check_image(
    image: &BeforeImage,
    facts: &LiveCheckInputs<'_>,
    key: &FingerprintKey,
) -> Result<(), StalePlan> {
    let stale = |what| StalePlan::ObjectChanged { address: image.address.clone(), what };
    let object = facts.snapshot.objects.get(&image.key).ok_or_else(|| stale(LiveObjectChange::Gone))?;
    let Some(kind) = facts.registry.kind(&image.key.kind) else { return Ok(()) };
    match first_moved_attribute(image, kind, object, key) {
        Some(name) => Err(stale(LiveObjectChange::Attribute(name))),
        None => Ok(()),
    }
}
