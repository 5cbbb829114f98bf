//! `Ledger`: which live object each address owns, what was last applied, and what is under way. Replaying the records
//! of a journal makes it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::entry::{
    AmbiguousIntent, Entry, ForgottenObject, FormerKey, GeneratedSecret, Intent, LedgerIdentity, MacState,
    OwnedObject, SinkDelivery, Tombstone,
};
use super::kept_secrets::{KeptSecrets, KeptVersion, VARIABLE_PREFIX};
use super::origins::StackOrigin;
use super::run_history::{Incident, Run};
use crate::ledger::age_file::{self, AgeFileError, SecretLocation, decrypt_value, encrypt_value};
use crate::ledger::state::holder::LeaseHolder;
use crate::model::address::{Address, Name};
use crate::model::secret::Secret;
use crate::model::value::Attributes;

/// Objects that were let go of and are remembered.
pub(in crate::ledger) const MAX_FORGOTTEN_OBJECTS: usize = 256;

/// Deliveries to one target that are remembered.
const MAX_SINK_DELIVERIES: usize = 8;

/// Former keys that are remembered.
const MAX_FORMER_KEYS: usize = 64;

/// Everything that stead remembers of one stack in one environment. Built by replaying records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// Whose ledger this is; set once.
    pub identity: LedgerIdentity,
    /// Number of records replayed since the beginning.
    pub serial: u64,
    /// Owned objects.
    pub entries: BTreeMap<Address, Entry>,
    /// Requests that were about to be sent and whose outcome is not recorded: resolved before
    /// anything else.
    pub intents: BTreeMap<Uuid, Intent>,
    /// Creations that are presumed to have had no effect: watched for late effects.
    pub watched: BTreeMap<Uuid, Intent>,
    /// Addresses whose open question only a human can answer.
    pub questions: BTreeMap<Uuid, AmbiguousIntent>,
    /// Nonces of saved plans that were applied.
    pub applied_plans: BTreeSet<Uuid>,
    /// When an apply last ended well.
    pub last_applied: Option<Timestamp>,
    /// Generated secrets that were used, by the paths of their variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub generated: BTreeMap<Name, GeneratedSecret>,
    /// What was delivered to each sink, by the sink's target, oldest first: only such content is replaced.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub delivered: BTreeMap<Name, Vec<SinkDelivery>>,
    /// Secrets that it keeps, encrypted, and their recipients.
    #[serde(default, skip_serializing_if = "KeptSecrets::is_empty")]
    pub secrets: KeptSecrets,
    /// What the stack gave when an apply last ended, secrets sealed; `None` before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Attributes>,
    /// The last applies, oldest first.
    #[serde(default)]
    pub history: VecDeque<Run>,
    /// What happened to the ledger itself, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub incidents: VecDeque<Incident>,
    /// Since when its lines bear MACs, and of which key; `None`: they bear none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<MacState>,
    /// Where it is kept now, if not here any more: nothing is recorded here then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// The epoch of the lease under which the last records were written; 0 where there is no lease.
    #[serde(default)]
    pub epoch: u64,
    /// Objects that were deleted and proven gone, by id: whatever a list still shows of them is a ghost.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tombstones: BTreeMap<Name, Tombstone>,
    /// Objects that were let go of and stayed live, by the addresses that they had: they can be taken back.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kept: BTreeMap<Address, ForgottenObject>,
    /// Who took the lease and has not given it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<LeaseHolder>,
    /// It had entries once. Ask `has_owned`: ledgers of earlier versions do not say it here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub had_entries: bool,
    /// Where it is applied from, on a shared backend; empty in ledgers of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub origins: BTreeSet<StackOrigin>,
}

impl Ledger {
    /// Returns a ledger that remembers nothing.
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
            incidents: VecDeque::new(),
            sealed: None,
            moved_to: None,
            epoch: 0,
            tombstones: BTreeMap::new(),
            kept: BTreeMap::new(),
            holder: None,
            had_entries: false,
            origins: BTreeSet::new(),
        }
    }
}

impl Ledger {
    /// Tells whether it says nothing but whose it is and who has it open.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        let (serial, epoch, holder) = (self.serial, self.epoch, self.holder.clone());
        let blank = Self { serial, epoch, holder, ..Self::new(self.identity.clone()) };
        self.identity.account.is_none() && *self == Self { sealed: self.sealed.clone(), ..blank }
    }

    /// Tells whether an object was ever bound or adopted. A ledger of an earlier version shows it by what it
    /// remembers besides: deleted objects, objects that it let go of, runs that did something.
    #[must_use]
    pub fn has_owned(&self) -> bool {
        let did_something = |run: &Run| run.end.as_ref().is_some_and(|end| end.tally.done > 0);
        self.had_entries
            || !self.entries.is_empty()
            || !self.kept.is_empty()
            || !self.tombstones.is_empty()
            || self.history.iter().any(did_something)
    }

    /// Tells whether neither an object nor a request that may have made one is recorded in it.
    #[must_use]
    pub fn owns_nothing(&self) -> bool {
        self.entries.is_empty()
            && self.intents.is_empty()
            && self.questions.is_empty()
            && self.watched.is_empty()
    }

    /// Makes a key's MACs cover it from here on. The keys before it are remembered: so a machine that saw the
    /// ledger under one of them can tell a change of the key from MACs that were removed and begun again.
    pub fn seal_with(&mut self, key: &Name) {
        let before = self.sealed.take();
        let former = before.iter().map(|before| FormerKey { key: before.key.clone(), since: before.since });
        let mut previous: Vec<_> =
            before.iter().flat_map(|before| before.previous.clone()).chain(former).collect();
        previous.drain(..previous.len().saturating_sub(MAX_FORMER_KEYS));
        self.sealed = Some(MacState { key: key.clone(), since: self.serial, previous });
    }

    /// Tells whether an object was deleted and proven gone: ids are never given again.
    #[must_use]
    pub fn is_buried(&self, kind: &str, id: &str) -> bool {
        self.tombstones.get(id).is_some_and(|stone| stone.kind == kind)
    }

    /// Returns the object that an address has now; a deposed one is not it.
    pub(in crate::ledger) fn current_object(&self, address: &Address) -> Option<&OwnedObject> {
        self.entries.get(address)?.current.as_ref()
    }

    /// Remembers an object that stays live, so that it can be taken back; of very many, the last ones.
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

    /// Remembers a delivery. Several are kept of each target: a crash between record and write leaves the
    /// content of an earlier one there.
    pub(in crate::ledger) fn remember_delivery(&mut self, target: &Name, delivery: &SinkDelivery) {
        let known = self.delivered.entry(target.clone()).or_default();
        if known.len() >= MAX_SINK_DELIVERIES {
            known.remove(0);
        }
        known.push(delivery.clone());
    }

    /// Tells whether a content was delivered to a target.
    #[must_use]
    pub fn delivered_there(&self, target: &str, content: &Secret) -> bool {
        self.delivered.get(target).is_some_and(|known| known.iter().any(|delivery| delivery.is_of(content)))
    }

    /// Returns the ledger as plans see it. One that owns nothing yet is like one that was never begun:
    /// so a plan made before the first apply fits the ledger which that apply begins, and two plans of
    /// the same stack are the same to the byte.
    #[must_use]
    pub fn for_plans(mut self) -> Self {
        if self.entries.is_empty() {
            self.identity =
                LedgerIdentity::new_placeholder(&self.identity.stack, &self.identity.environment);
            self.serial = 0;
            self.generated.clear();
            // Who may read what comes next stays pinned: another set would be another plan.
            self.secrets.values.clear();
            self.secrets.rotating.clear();
        }
        self
    }
}

impl Ledger {
    /// Returns where a value of an address belongs.
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

    /// Encrypts a value to the pinned recipients. `object`: whose value it is, where it is not bound yet.
    ///
    /// # Errors
    /// When nobody is pinned, or the value is not at hand or too large.
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
        Ok(KeptVersion { version, fingerprint, ciphertext, generation, was: None, former: BTreeSet::new() })
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
        let secret = decrypt_value(identities, &place, &version.ciphertext)?;
        let print = secret.fingerprint(&self.identity.key);
        if print.as_ref() == Some(&version.fingerprint) {
            Ok(secret)
        } else {
            Err(AgeFileError::Fingerprint)
        }
    }
}
