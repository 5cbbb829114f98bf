//! `KeptSecrets`: encrypted secrets in a ledger that the service does not show again, and their recipients. Pure.
//!
//! In: records, by replay. Out: the valid value of an address. Invariants: a value is encrypted to a pinned set of
//! recipients; versions of an address only grow; only a record changes the set.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::secret_origin::SecretOrigin;
use crate::model::address::{Address, Name};
use crate::model::crypto::recipient::MAX_RECIPIENTS;

/// The prefix of a variable's name in the address of a secret.
pub const VARIABLE_PREFIX: &str = "vars.";

/// The prefix of an output's name in the address of a secret. No kind of resource has this name.
pub const OUTPUT_PREFIX: &str = "outputs.";

/// The stored secrets of a ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSecrets {
    /// The pinned recipients; empty before the first apply of a stack with recipients.
    pub recipients: BTreeSet<Name>,
    /// The number of the current set of recipients.
    pub generation: u32,
    /// The values by address: `vars.token` for a generated variable, `outputs.token` for an output,
    /// otherwise the resource's address.
    pub values: BTreeMap<Name, KeptSecret>,
    /// Resources whose secret is to be rotated by replacing the object that showed it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub rotating: BTreeSet<Name>,
}

/// The stored values of one secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSecret {
    /// The value in use.
    #[serde(flatten)]
    pub current: KeptVersion,
    /// The value that becomes current when the rotation is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<KeptVersion>,
}

/// One encrypted value of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptVersion {
    /// The version number; each address counts from 1.
    pub version: u64,
    /// The fingerprint of the value.
    pub fingerprint: Name,
    /// The age file in base64.
    pub ciphertext: String,
    /// The number of the set of recipients that it is encrypted to.
    pub generation: u32,
    /// The address under which it was encrypted, if the resource has moved since. Its object did not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Name>,
    /// The ledger in which it was encrypted, if the resource came from there. Its object did not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<SecretOrigin>,
    /// Former recipients, who could decrypt it once: older copies of the ledger still have such a ciphertext.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub former: BTreeSet<Name>,
}

/// A step of a rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RotationStep {
    /// The resource's object is to be replaced. The rotation of a variable begins with its pending value.
    Begin,
    /// The pending value becomes current, and the previous one is dropped.
    Done,
    /// The pending value is dropped.
    Drop,
}

impl KeptSecret {
    /// Returns the desired value: the pending one while there is one.
    #[must_use]
    pub fn effective_version(&self) -> &KeptVersion {
        self.pending.as_ref().unwrap_or(&self.current)
    }

    fn versions_mut(&mut self) -> impl Iterator<Item = &mut KeptVersion> {
        std::iter::once(&mut self.current).chain(&mut self.pending)
    }
}

impl KeptSecrets {
    /// Returns whether the ledger never stored a secret.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the addresses with values that are encrypted to an earlier set of recipients.
    pub fn outdated_addresses(&self) -> impl Iterator<Item = &Name> {
        let old = |version: &KeptVersion| version.generation != self.generation;
        let is_old = move |one: &KeptSecret| old(&one.current) || one.pending.as_ref().is_some_and(old);
        self.values.iter().filter(move |(_, one)| is_old(one)).map(|(address, _)| address)
    }

    /// Returns the former recipients who could decrypt a value once.
    pub fn former_recipients<'s>(&'s self, version: &'s KeptVersion) -> impl Iterator<Item = &'s Name> {
        version.former.iter().filter(|name| !self.recipients.contains(*name))
    }

    /// Returns the version number for the next value of the secret at an address: one above the highest in use, 1
    /// if there is none.
    #[must_use]
    pub fn next_version(&self, address: &str) -> u64 {
        let known = self.values.get(address);
        known.map_or(1, |one| one.effective_version().version.max(one.current.version) + 1)
    }

    /// Checks that a set has 1 to `MAX_RECIPIENTS` recipients; the names are not checked. The error is the
    /// reason for the refusal.
    pub(in crate::ledger) fn check_recipients(recipients: &BTreeSet<Name>) -> Result<(), &'static str> {
        match recipients.len() {
            1..=MAX_RECIPIENTS => Ok(()),
            _ => Err("kept secrets have 1 to 16 recipients"),
        }
    }

    /// Checks a value before it is stored; the error is the reason for the refusal.
    pub(in crate::ledger) fn check_value(
        &self,
        address: &str,
        version: &KeptVersion,
        pending: bool,
    ) -> Result<(), &'static str> {
        if self.recipients.is_empty() || version.generation != self.generation {
            return Err("the secret is encrypted to recipients other than the pinned ones");
        }
        let Some(known) = self.values.get(address) else {
            return if pending { Err("there is no secret to rotate") } else { Ok(()) };
        };
        let place = if pending { known.pending.as_ref() } else { Some(&known.current) };
        let again = place.is_some_and(|before| {
            // This ledger has another key than the one that the value came from.
            let same = before.fingerprint == version.fingerprint || before.origin.is_some();
            before.version == version.version && same
        });
        let newest = known.current.version.max(known.effective_version().version);
        if again || version.version > newest {
            Ok(())
        } else {
            Err("the secret's version is older than the current one")
        }
    }

    /// Checks a rotation step; the error is the reason for the refusal.
    pub(in crate::ledger) fn check_rotation(
        &self,
        address: &str,
        step: RotationStep,
    ) -> Result<(), &'static str> {
        let pending = self.values.get(address).is_some_and(|one| one.pending.is_some());
        match step {
            RotationStep::Begin if self.rotating.contains(address) => Err("the rotation has begun already"),
            RotationStep::Begin => Ok(()),
            _ if pending || self.rotating.contains(address) => Ok(()),
            _ => Err("no rotation of the secret has begun"),
        }
    }

    /// Pins another set of recipients.
    pub(in crate::ledger) fn set_recipients(&mut self, recipients: &BTreeSet<Name>) {
        if self.recipients == *recipients {
            return;
        }
        let removed: Vec<Name> = self.recipients.difference(recipients).cloned().collect();
        for version in self.values.values_mut().flat_map(KeptSecret::versions_mut) {
            version.former.extend(removed.iter().cloned());
        }
        self.recipients.clone_from(recipients);
        self.generation += 1;
    }

    /// Stores an encrypted value.
    pub(in crate::ledger) fn store_version(
        &mut self,
        address: &Name,
        version: &KeptVersion,
        pending: bool,
    ) {
        let mut version = version.clone();
        let Some(known) = self.values.get_mut(address) else {
            self.values.insert(address.clone(), KeptSecret { current: version, pending: None });
            return;
        };
        if let Some(before) = known.versions_mut().find(|before| before.version == version.version) {
            // The same value, re-encrypted: earlier recipients could decrypt it.
            version.former.clone_from(&before.former);
        }
        if pending {
            known.pending = Some(version);
        } else {
            known.current = version;
            self.rotating.remove(address);
        }
    }

    /// Records a rotation step: `Begin` marks the rotation as open, `Done` makes the pending value current, `Drop`
    /// discards the pending value.
    pub(in crate::ledger) fn rotate(&mut self, address: &Name, step: RotationStep) {
        if step == RotationStep::Begin {
            self.rotating.insert(address.clone());
            return;
        }
        self.rotating.remove(address);
        let Some(known) = self.values.get_mut(address) else { return };
        if let (Some(pending), RotationStep::Done) = (known.pending.take(), step) {
            known.current = pending;
        }
    }

    /// Moves secrets to the new addresses of their resources. The ciphertext still contains the old address.
    pub(in crate::ledger) fn follow_moves(&mut self, moves: &BTreeMap<Address, Address>) {
        let moved: Vec<_> = moves
            .iter()
            .filter_map(|(from, to)| Some((from, to, self.values.remove(from.as_str())?)))
            .collect();
        for (from, to, mut secret) in moved {
            for version in secret.versions_mut() {
                version.was.get_or_insert_with(|| from.as_str().into());
            }
            self.values.insert(to.as_str().into(), secret);
        }
    }

    /// Adds the secrets of resources that came from another ledger. A value that is encrypted to other recipients than
    /// the pinned ones counts as encrypted to an earlier set of this ledger.
    pub(in crate::ledger) fn receive(
        &mut self,
        secrets: BTreeMap<Name, KeptSecret>,
        recipients: &BTreeSet<Name>,
    ) {
        // Generation 0 has no recipients, so no value of this ledger has it.
        let generation = if *recipients == self.recipients { self.generation } else { 0 };
        for (address, mut secret) in secrets {
            for version in secret.versions_mut() {
                version.generation = generation;
                version.former.extend(recipients.iter().cloned());
            }
            self.values.insert(address, secret);
        }
    }

    /// Returns the part that determines whether records about these addresses are legal.
    pub(in crate::ledger) fn excerpt(&self, addresses: &BTreeSet<&Name>) -> Self {
        let known =
            |address: &&Name| self.values.get(*address).map(|one| ((*address).clone(), one.clone()));
        Self {
            recipients: self.recipients.clone(),
            generation: self.generation,
            values: addresses.iter().filter_map(known).collect(),
            rotating: self.rotating.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
