//! `Ledger`: the live object of each address, its last applied values, and the requests in progress. Built by replaying
//! the records of a journal.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::entry::{
    AmbiguousIntent, Entry, ForgottenObject, FormerKey, GeneratedSecret, Intent, LedgerIdentity, MacState,
    OwnedObject, SinkDelivery, Tombstone,
};
use super::kept_secrets::{KeptSecrets, KeptVersion, OUTPUT_PREFIX, VARIABLE_PREFIX};
use super::open_review::{AppliedReview, OpenReview};
use super::origins::StackOrigin;
use super::run_details::is_zero;
use super::run_history::{Incident, Run};
use super::transfer::Transfers;
use crate::ledger::age_file::{self, AgeFileError, SecretLocation, decrypt_value, encrypt_value};
use crate::ledger::state::holder::LeaseHolder;
use crate::model::address::name_map::NameMap;
use crate::model::address::{Address, Name};
use crate::model::live::snapshot::ObjectKey;
use crate::model::values::secret::{FingerprintKey, Secret};
use crate::model::values::value::{Attributes, Value};

/// Maximum number of forgotten objects that are remembered.
pub(in crate::ledger) const MAX_FORGOTTEN_OBJECTS: usize = 256;

/// Maximum number of deliveries per target that are remembered.
const MAX_SINK_DELIVERIES: usize = 8;

/// Maximum number of former keys that are remembered.
const MAX_FORMER_KEYS: usize = 64;

/// All facts about one stack in one environment. Built by replaying records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// The identity of the ledger; set once.
    pub identity: LedgerIdentity,
    /// Number of records replayed since the beginning.
    pub serial: u64,
    /// Owned objects, by the address of their resource.
    pub entries: BTreeMap<Address, Entry>,
    /// Requests without a recorded outcome: they are resolved before any other work.
    pub intents: BTreeMap<Uuid, Intent>,
    /// Creations that are presumed to have had no effect; they are watched for late effects.
    pub watched: BTreeMap<Uuid, Intent>,
    /// Ambiguous intents, which only the user can resolve.
    pub questions: BTreeMap<Uuid, AmbiguousIntent>,
    /// Nonces of saved plans that were applied.
    pub applied_plans: BTreeSet<Uuid>,
    /// The end of the last successful apply.
    pub last_applied: Option<Timestamp>,
    /// Generated secrets in use, by the path of their variable.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub generated: BTreeMap<Name, GeneratedSecret>,
    /// Deliveries to each secret sink, by the sink's target, oldest first: only such content may be overwritten.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub delivered: BTreeMap<Name, Vec<SinkDelivery>>,
    /// Stored secrets, encrypted, and their recipients.
    #[serde(default, skip_serializing_if = "KeptSecrets::is_empty")]
    pub secrets: KeptSecrets,
    /// The stack's outputs after the last apply, with secrets as fingerprints. An output that an incomplete apply could
    /// not compute keeps its earlier value. `None` if no apply has recorded any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Attributes>,
    /// The most recent applies, oldest first.
    #[serde(default)]
    pub history: VecDeque<Run>,
    /// The number of the last run. A ledger of an earlier version has none, until it is read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub last_run: u64,
    /// Incidents of the ledger itself, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub incidents: VecDeque<Incident>,
    /// The MAC key of its lines and the serial since which it is used; `None` without MACs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<MacState>,
    /// The new location, if the ledger was moved away: then no record may be added here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// The fencing token of the last records; 0 without a lease.
    #[serde(default)]
    pub epoch: u64,
    /// Objects that were deleted and are proven to be gone, by id: a list that still shows one is outdated.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tombstones: BTreeMap<Name, Tombstone>,
    /// Objects that were forgotten and stayed live, by their former addresses: they can be adopted again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kept: BTreeMap<Address, ForgottenObject>,
    /// The holder that took the lease and has not released it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<LeaseHolder>,
    /// Whether it ever had entries. Use `has_owned`: ledgers of earlier versions do not have this field.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub had_entries: bool,
    /// The directories from which it is applied, on a shared backend; empty in ledgers of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub origins: BTreeSet<StackOrigin>,
    /// Transfers of objects to and from the ledgers of other stacks.
    #[serde(default, skip_serializing_if = "Transfers::is_empty")]
    pub transfers: Transfers,
    /// What was approved for the stack as one of many, and is not done; `None` without such a review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Box<OpenReview>>,
    /// The review that the last run of the stack applied to its end; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_review: Option<Box<AppliedReview>>,
}

impl Ledger {
    /// Returns an empty ledger with this identity.
    #[must_use]
    pub fn new(identity: LedgerIdentity) -> Self {
        Self {
            identity,
            serial: 0,
            entries: BTreeMap::new(),
            intents: BTreeMap::new(),
            watched: BTreeMap::new(),
            questions: BTreeMap::new(),
            generated: BTreeMap::new(),
            delivered: BTreeMap::new(),
            secrets: KeptSecrets::default(),
            outputs: None,
            applied_plans: BTreeSet::new(),
            last_applied: None,
            history: VecDeque::new(),
            last_run: 0,
            incidents: VecDeque::new(),
            sealed: None,
            moved_to: None,
            epoch: 0,
            tombstones: BTreeMap::new(),
            kept: BTreeMap::new(),
            holder: None,
            had_entries: false,
            origins: BTreeSet::new(),
            transfers: Transfers::default(),
            review: None,
            applied_review: None,
        }
    }
}

impl Ledger {
    /// Returns whether it contains nothing but its identity without an account, its serial, epoch and holder, and the
    /// facts about its MACs.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        let (serial, epoch, holder) = (self.serial, self.epoch, self.holder.clone());
        let blank = Self { serial, epoch, holder, ..Self::new(self.identity.clone()) };
        self.identity.account.is_none() && *self == Self { sealed: self.sealed.clone(), ..blank }
    }

    /// Returns the review with a fingerprint, if it is not done.
    #[must_use]
    pub fn open_review(&self, fingerprint: &Name) -> Option<&OpenReview> {
        self.review.as_deref().filter(|review| review.reviewed.fingerprint == *fingerprint)
    }

    /// Returns whether an object was ever bound or adopted. A ledger of an earlier version shows it by other facts:
    /// deleted objects, forgotten objects, runs that changed something.
    #[must_use]
    pub fn has_owned(&self) -> bool {
        let did_something = |run: &Run| run.end.as_ref().is_some_and(|end| end.tally.done > 0);
        self.had_entries
            || !self.entries.is_empty()
            || !self.kept.is_empty()
            || !self.tombstones.is_empty()
            || self.history.iter().any(did_something)
    }

    /// Returns the keys of all objects that it owns, deposed ones included.
    pub fn owned_keys(&self) -> impl Iterator<Item = ObjectKey> {
        self.entries.values().flat_map(|entry| {
            entry.current.iter().chain(&entry.deposed).map(|owned| owned.key(&entry.kind))
        })
    }

    /// Returns whether it records neither an object nor a request that may have created one.
    #[must_use]
    pub fn owns_nothing(&self) -> bool {
        self.entries.is_empty()
            && self.intents.is_empty()
            && self.questions.is_empty()
            && self.watched.is_empty()
            && !self.transfers.is_open()
    }

    /// Records that MACs of this key cover it from here on. Former keys are remembered, so that a machine that saw the
    /// ledger under one of them can distinguish a change of the key from MACs that were removed and begun again.
    pub fn seal_with(&mut self, key: &Name) {
        let before = self.sealed.take();
        let former = before.iter().map(|before| FormerKey { key: before.key.clone(), since: before.since });
        let mut previous: Vec<_> =
            before.iter().flat_map(|before| before.previous.clone()).chain(former).collect();
        previous.drain(..previous.len().saturating_sub(MAX_FORMER_KEYS));
        self.sealed = Some(MacState { key: key.clone(), since: self.serial, previous });
    }

    /// Returns whether an object was deleted and is proven to be gone: the service never reuses ids.
    #[must_use]
    pub fn is_buried(&self, kind: &str, id: &str) -> bool {
        self.tombstones.get(id).is_some_and(|stone| stone.kind == kind)
    }

    /// Returns the object that an address has now; a deposed one is not it.
    pub(in crate::ledger) fn current_object(&self, address: &Address) -> Option<&OwnedObject> {
        self.entries.get(address)?.current.as_ref()
    }

    /// Remembers a forgotten object, so that it can be adopted again; only the most recent ones are kept.
    pub(in crate::ledger) fn remember_kept(
        &mut self,
        address: &Address,
        kind: &Name,
        object: &OwnedObject,
    ) {
        let at = self.history.back().map(|run| run.at);
        let kept = ForgottenObject { kind: kind.clone(), id: object.id.clone(), at };
        self.kept.insert(address.clone(), kept);
        if self.kept.len() > MAX_FORGOTTEN_OBJECTS {
            let oldest =
                self.kept.iter().min_by_key(|(_, kept)| kept.at).map(|(address, _)| address.clone());
            oldest.and_then(|address| self.kept.remove(&address));
        }
    }

    /// Returns whether a version of stead that does not know transfers would lose facts of it.
    pub(in crate::ledger) fn needs_transfers(&self) -> bool {
        let secrets = self.secrets.values.values();
        let mut versions =
            secrets.flat_map(|secret| std::iter::once(&secret.current).chain(&secret.pending));
        !self.transfers.is_empty()
            || versions.any(|version| version.origin.is_some())
            || self.entries.values().any(|entry| entry.secret_origin.is_some())
    }

    /// Remembers a delivery. Several are remembered per target: after a crash between record and write, the target has
    /// the content of an earlier one.
    pub(in crate::ledger) fn remember_delivery(&mut self, target: &Name, delivery: &SinkDelivery) {
        let known = self.delivered.entry(target.clone()).or_default();
        if known.len() >= MAX_SINK_DELIVERIES {
            known.remove(0);
        }
        known.push(delivery.clone());
    }

    /// Returns whether this content was delivered to a target.
    #[must_use]
    pub fn delivered_there(&self, target: &str, content: &Secret) -> bool {
        self.delivered.get(target).is_some_and(|known| known.iter().any(|delivery| delivery.is_of(content)))
    }

    /// Returns the last run whose steps all succeeded; `None` if none is kept.
    #[must_use]
    pub fn last_complete_run(&self) -> Option<&Run> {
        self.history.iter().rev().find(|run| run.is_complete())
    }

    /// Returns whether a run that it remembers changed the object of an address, or of an instance of it, or began to.
    #[must_use]
    pub fn has_changed(&self, address: &Address) -> bool {
        self.history.iter().any(|run| {
            let changed = run.resources.iter().map(|one| &one.address);
            changed.chain(run.begun.iter().map(|one| &one.address)).any(|one| one.is_within(address))
        })
    }

    /// Returns the units on whose outputs its objects may depend: those that the last complete run, or one after it, read.
    pub fn recorded_upstream(&self) -> impl Iterator<Item = &Name> {
        let first = self.history.iter().rposition(Run::is_complete).unwrap_or_default();
        self.history.iter().skip(first).flat_map(|run| &run.origin.upstream)
    }

    /// Returns whether its objects may depend on the outputs of a unit.
    #[must_use]
    pub fn may_depend_on(&self, unit: &str) -> bool {
        self.recorded_upstream().any(|name| name == unit)
    }

    /// Returns whether plans use it like a ledger that does not exist: it owns nothing yet, and records no output. Recorded
    /// outputs need its key: without it no changed secret is known to differ.
    #[must_use]
    pub fn equals_none(&self) -> bool {
        self.entries.is_empty() && self.outputs.as_ref().is_none_or(NameMap::is_empty)
    }

    /// Returns the ledger as plans use it. One that owns nothing yet, and records no output, equals one that does not
    /// exist: so a plan made before the first apply fits the ledger that this apply creates, and two plans of the same
    /// stack are identical byte for byte.
    #[must_use]
    pub fn for_plans(mut self) -> Self {
        if self.equals_none() {
            self.identity =
                LedgerIdentity::new_placeholder(&self.identity.stack, &self.identity.environment);
            self.serial = 0;
            self.generated.clear();
            // The recipients stay pinned: another set would give another plan.
            self.secrets.values.clear();
            self.secrets.rotating.clear();
        }
        self
    }
}

impl Ledger {
    /// Returns the ledger position for a value of an address.
    #[must_use]
    pub fn secret_place(&self, address: &str, version: u64) -> SecretLocation {
        let owner = Address::parse(address).ok().filter(|_| !address.starts_with(VARIABLE_PREFIX));
        let entry = owner.and_then(|address| self.entries.get(&address));
        SecretLocation {
            lineage: self.identity.lineage,
            environment: self.identity.environment.clone(),
            address: address.into(),
            version,
            object: entry.and_then(|entry| entry.current.as_ref()).map(|owned| owned.id.clone()),
        }
    }

    /// Returns whether it keeps this value of a secret output, encrypted to its present recipients.
    #[must_use]
    pub fn keeps_output(&self, name: &str, secret: &Secret) -> bool {
        let kept = self.secrets.values.get(format!("{OUTPUT_PREFIX}{name}").as_str());
        kept.map(|kept| &kept.current).is_some_and(|kept| {
            kept.generation == self.secrets.generation
                && secret.fingerprint(&self.identity.key).as_ref() == Some(&kept.fingerprint)
        })
    }

    /// Replaces the outputs, and drops the kept values of those that are gone, or not secret any more; `None` keeps them.
    pub(in crate::ledger) fn replace_outputs(&mut self, outputs: Option<&Attributes>) {
        let Some(outputs) = outputs else { return };
        let is_secret = |name: &str| outputs.get(name).is_some_and(Value::is_secret);
        self.secrets.values.retain(|address, _| address.strip_prefix(OUTPUT_PREFIX).is_none_or(is_secret));
        self.outputs = Some(outputs.clone());
    }

    /// Returns the key of the fingerprint of a stored value.
    #[must_use]
    pub fn kept_secret_key<'k>(&'k self, version: &'k KeptVersion) -> &'k FingerprintKey {
        version.origin.as_ref().map_or(&self.identity.key, |origin| &origin.key)
    }

    /// Encrypts a value to the pinned recipients. `object`: the object that showed it, where it is not bound yet.
    ///
    /// # Errors
    /// When no recipient is pinned, the value is unknown, or it is too large.
    pub fn encrypt_secret(
        &self,
        address: &str,
        version: u64,
        object: Option<&str>,
        secret: &Secret,
    ) -> Result<KeptVersion, AgeFileError> {
        let mut place = self.secret_place(address, version);
        if let Some(id) = object {
            place.object = Some(id.into());
        }
        let kept = &self.secrets;
        let ciphertext = encrypt_value(&kept.recipients, &place, secret)?;
        let fingerprint = secret.fingerprint(&self.identity.key).ok_or(AgeFileError::Value)?;
        let generation = kept.generation;
        Ok(KeptVersion {
            version,
            fingerprint,
            ciphertext,
            generation,
            was: None,
            origin: None,
            former: BTreeSet::new(),
        })
    }

    /// Decrypts a value of an address.
    ///
    /// # Errors
    /// When none of the identities opens it, or it is not the one that belongs there.
    pub fn decrypt_secret(
        &self,
        identities: &[age_file::AgeIdentity],
        address: &str,
        version: &KeptVersion,
    ) -> Result<Secret, AgeFileError> {
        let mut place = self.secret_place(address, version.version);
        if let Some(was) = version.was.as_ref().filter(|_| place.object.is_some()) {
            place.address.clone_from(was);
        }
        if let Some(origin) = &version.origin {
            place.lineage = origin.lineage;
            place.environment.clone_from(&origin.environment);
        }
        let secret = decrypt_value(identities, &place, &version.ciphertext)?;
        let print = secret.fingerprint(self.kept_secret_key(version));
        if print.as_ref() == Some(&version.fingerprint) {
            Ok(secret)
        } else {
            Err(AgeFileError::Fingerprint)
        }
    }
}
