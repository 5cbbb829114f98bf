//! Entries of a ledger: owned objects, last applied values, and requests in progress.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::key_as_hex;
use super::secret_origin::SecretOrigin;
use super::verification::{ValueVerification, Verification, attribute_of};
use crate::model::address::{Address, Name};
use crate::model::clock::Random;
use crate::model::live::snapshot::ObjectKey;
use crate::model::values::secret::{FingerprintKey, Secret};
use crate::model::values::value::Attributes;

/// An object that was forgotten and stayed live.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgottenObject {
    /// The name of the object's kind.
    pub kind: Name,
    /// The object's id in the service, under which it can be adopted again.
    pub id: Name,
    /// Start of the newest apply in the ledger when the object was forgotten; `None` if the ledger records no apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// The stored facts about a secret that was delivered to a secret sink.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SinkDelivery {
    /// The resource or variable that the secret belonged to.
    pub address: Name,
    /// Key of the fingerprint: for this delivery only, so that it is recognized in a ledger that owns nothing yet.
    #[serde(with = "key_as_hex")]
    pub key: FingerprintKey,
    /// Fingerprint of the delivered content.
    pub fingerprint: Name,
}

impl SinkDelivery {
    /// Returns the facts to store about a secret; `None` for one without a text.
    #[must_use]
    pub fn new(address: Name, secret: &Secret, random: &impl Random) -> Option<Self> {
        let key = fresh_key(random);
        let fingerprint = secret.fingerprint(&key)?;
        Some(Self { address, key, fingerprint })
    }

    /// Returns whether this content is the delivered one.
    #[must_use]
    pub fn is_of(&self, content: &Secret) -> bool {
        content.fingerprint(&self.key).is_some_and(|found| found == self.fingerprint)
    }
}

impl PartialEq for SinkDelivery {
    fn eq(&self, other: &Self) -> bool {
        let parts = |of: &Self| (of.address.clone(), of.key.0, of.fingerprint.clone());
        parts(self) == parts(other)
    }
}

/// The stored facts about a generated secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedSecret {
    /// The fingerprint of its text.
    pub fingerprint: Name,
    /// The number of its characters.
    pub length: usize,
}

/// The identity of a ledger. The key of the secrets' fingerprints never leaves the ledger.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LedgerIdentity {
    /// A unique id that distinguishes it from every other ledger, its forks included.
    pub lineage: Uuid,
    /// The name of the stack.
    pub stack: Name,
    /// The name of the environment.
    pub environment: Name,
    /// The account, once an apply has seen it: the id of its default project.
    pub account: Option<Name>,
    /// The key for fingerprints of secrets.
    #[serde(with = "key_as_hex")]
    pub key: FingerprintKey,
}

/// An owned object and its last applied attributes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The name of the object's kind.
    pub kind: Name,
    /// The object with its creation facts. `None` between the deletion of the old object and the binding of the new one
    /// in a delete-first replacement.
    pub current: Option<OwnedObject>,
    /// Deposed objects, which are still to be deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deposed: Vec<OwnedObject>,
    /// The address of the parent, for a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Address>,
    /// Last applied values: written attributes only, ids instead of names, secrets as fingerprints.
    pub applied: Attributes,
    /// Addresses that it depends on; deletions use the reverse order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Address>,
    /// The last applied value of `lifecycle.protect`.
    #[serde(default)]
    pub protect: bool,
    /// Whether `lifecycle.on_remove: keep` was last applied.
    #[serde(default)]
    pub keep_on_remove: bool,
    /// Whether `lifecycle.on_remove: delete` was written explicitly: approval to lose its data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delete_on_remove: bool,
    /// A creation, or an update of several calls, did not finish; a plan completes or replaces the object.
    #[serde(default)]
    pub unfinished: bool,
    /// The service showed its secret once, and it did not reach its sink: the object is unusable as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret_lost: bool,
    /// The last applied value of `lifecycle.final_snapshot`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub final_snapshot: bool,
    /// The live values of `applied` after the last write; `None` in an entry of an earlier version, and
    /// until the write is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verification>,
    /// The ledger whose key some fingerprints in `applied` and `verified` have; `None`: all have this ledger's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_origin: Option<SecretOrigin>,
}

/// A live object that the program created or adopted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedObject {
    /// The object's id in the service; for a child of a kind without ids, its name.
    pub id: Name,
    /// The parent object's id, for a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Name>,
    /// The project in which it was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Name>,
    /// The creation time, in the service's notation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Name>,
    /// It was bound from an ambiguous intent and is unconfirmed: deleting or replacing it needs the user's answer.
    #[serde(default)]
    pub provisional: bool,
}

impl OwnedObject {
    /// Returns the key of the object, whose kind the entry knows.
    #[must_use]
    pub fn key(&self, kind: &str) -> ObjectKey {
        ObjectKey { kind: kind.into(), parent: self.parent.clone(), id: self.id.clone() }
    }
}

/// A record of a deleted object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// The name of the object's kind.
    pub kind: Name,
    /// The start of the run that deleted it.
    pub at: Timestamp,
}

/// A mutating request that the program is about to send.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// Its own id: every attempt has a new one.
    pub op: Uuid,
    /// The address of the resource.
    pub address: Address,
    /// The name of the object's kind.
    pub kind: Name,
    /// The parent object's id, for a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Name>,
    /// The project that the request states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Name>,
    /// The wall time of the record.
    pub at: Timestamp,
    /// Its recorder lost the lease and is not proven dead: the request may still be sent. Its outcome
    /// must be resolved, never presumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// The operation of the request.
    pub action: IntentAction,
}

/// The operation that a request performs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum IntentAction {
    /// The creation of an object.
    Create {
        /// Attributes that the new object must show: the sent ones that responses carry; no secrets.
        expected: Attributes,
        /// Ids of preexisting objects of the kind in the project (or under the parent).
        baseline: Vec<Name>,
        /// The service's `Date` when the preexisting objects were read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server_date: Option<Name>,
        /// The future entry of the address: parent, dependencies, lifecycle, and the attributes in
        /// the request (secrets as fingerprints).
        entry: Box<Entry>,
        /// The current object becomes deposed when the new one is bound.
        #[serde(default)]
        deposes: bool,
    },
    /// One call of an update.
    Update {
        /// The id of the object.
        id: Name,
        /// The call's name in the kind's table.
        call: Name,
        /// The attributes before the call, as read.
        before: Attributes,
        /// The attributes after the call; secrets as fingerprints.
        target: Attributes,
    },
    /// The deletion of an object.
    Delete {
        /// The object with its creation facts.
        object: OwnedObject,
    },
}

/// An ambiguous intent, which only the user can resolve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AmbiguousIntent {
    /// The request whose outcome is unknown.
    pub intent: Intent,
    /// Ids of objects that it may have created.
    pub candidates: Vec<Name>,
    /// What is ambiguous and why, for the user: the address, the reason, and the ids of the candidates.
    pub text: String,
}

/// The fact that a ledger's lines have MACs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MacState {
    /// The id of the MAC key.
    pub key: Name,
    /// The serial of the record with which they began; MACs that were removed and begun again have another one.
    pub since: u64,
    /// Former keys, oldest first: an actor with both keys replaced each one by the next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub previous: Vec<FormerKey>,
}

/// A MAC key that a ledger had before the present one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerKey {
    /// The id of the former key.
    pub key: Name,
    /// The serial of the record with which its MACs began.
    pub since: u64,
}

impl LedgerIdentity {
    /// Returns the identity of a ledger that does not exist yet. Its key makes no fingerprints.
    #[must_use]
    pub fn new_placeholder(stack: &str, environment: &str) -> Self {
        Self {
            lineage: Uuid::nil(),
            stack: Name::new(stack),
            environment: Name::new(environment),
            account: None,
            key: FingerprintKey::NONE,
        }
    }

    /// Returns a new identity for a ledger that is created now.
    #[must_use]
    pub fn new_random(stack: &str, environment: &str, random: &impl Random) -> Self {
        let key = fresh_key(random);
        Self {
            lineage: random.uuid(),
            stack: Name::new(stack),
            environment: Name::new(environment),
            account: None,
            key,
        }
    }
}

impl PartialEq for LedgerIdentity {
    fn eq(&self, other: &Self) -> bool {
        let parts = |of: &Self| {
            (of.lineage, of.stack.clone(), of.environment.clone(), of.account.clone(), of.key.0)
        };
        parts(self) == parts(other)
    }
}

/// Returns a new key for fingerprints.
fn fresh_key(random: &impl Random) -> FingerprintKey {
    let mut digest = Sha256::new();
    for _ in 0..4 {
        digest.update(random.uuid().as_bytes());
    }
    FingerprintKey(digest.finalize().into())
}

impl Entry {
    /// Returns the confirmation of the last applied value of an attribute, or of one key of it.
    #[must_use]
    pub fn confirmation(&self, path: &str) -> ValueVerification<'_> {
        let Some(verified) = &self.verified else { return ValueVerification::Unknown };
        let attribute = attribute_of(path);
        match verified.not_kept.get(path) {
            Some(shown) => ValueVerification::Different(shown),
            None if verified.not_shown.contains(attribute) => ValueVerification::Unknown,
            None => ValueVerification::Confirmed,
        }
    }
}

pub(in crate::ledger) fn entry_owns_id(entry: &Entry, id: &str) -> bool {
    entry.current.iter().chain(&entry.deposed).any(|object| object.id == id)
}
