//! `Ledger`: which live object each address owns, what was last applied, and what is under way.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::verification::{ValueVerification, Verification, attribute_of};
use crate::model::address::{Address, Name};
use crate::model::clock::Random;
use crate::model::secret::{FingerprintKey, Secret};
use crate::model::snapshot::ObjectKey;
use crate::model::value::Attributes;

/// An object that was let go of and stayed live.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgottenObject {
    /// The kind's name.
    pub kind: Name,
    /// The object.
    pub id: Name,
    /// When the apply began that let go of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// What is remembered of a secret that was delivered to a sink.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SinkDelivery {
    /// The resource or variable whose secret it was.
    pub address: Name,
    /// Key of the fingerprint: of this delivery alone, so that it is known in a ledger that owns nothing yet.
    #[serde(with = "key_as_hex")]
    pub key: FingerprintKey,
    /// Fingerprint of the content.
    pub fingerprint: Name,
}

impl SinkDelivery {
    /// Returns what is remembered of a secret; `None` for one that is not at hand.
    #[must_use]
    pub fn new(address: Name, secret: &Secret, random: &impl Random) -> Option<Self> {
        let key = fresh_key(random);
        let fingerprint = secret.fingerprint(&key)?;
        Some(Self { address, key, fingerprint })
    }

    /// Tells whether a content is the one that was delivered.
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

/// What is remembered of a generated secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedSecret {
    /// Its fingerprint.
    pub fingerprint: Name,
    /// Its number of characters.
    pub length: usize,
}

/// Whose ledger it is. The key of the secrets' fingerprints never leaves the ledger.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LedgerIdentity {
    /// Told apart from every other ledger, forks of it included.
    pub lineage: Uuid,
    /// The stack.
    pub stack: Name,
    /// The environment.
    pub environment: Name,
    /// The account, once an apply has seen it: the id of its default project.
    pub account: Option<Name>,
    /// Key of the fingerprints of secrets.
    #[serde(with = "key_as_hex")]
    pub key: FingerprintKey,
}

/// An owned object and what was last applied to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The kind's name.
    pub kind: Name,
    /// The object, with its birth certificate. `None` after a delete-first replacement lost the old
    /// object and before the new one is bound.
    pub current: Option<OwnedObject>,
    /// Older objects of a replacement that are still to be deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deposed: Vec<OwnedObject>,
    /// The parent's address, for a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Address>,
    /// What was last applied: written attributes only, ids for names, secrets sealed.
    pub applied: Attributes,
    /// What it depends on: deletions go the other way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Address>,
    /// Remembered `lifecycle.protect`.
    #[serde(default)]
    pub protect: bool,
    /// Remembered `lifecycle.on_remove: keep`.
    #[serde(default)]
    pub keep_on_remove: bool,
    /// Remembered `lifecycle.on_remove: delete`, where it was written: consent to lose its data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delete_on_remove: bool,
    /// Creation or a change of several calls did not finish; a plan completes or replaces it.
    #[serde(default)]
    pub unfinished: bool,
    /// Its secret was shown once and did not reach its sink: nobody can use the object as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret_lost: bool,
    /// Remembered `lifecycle.final_snapshot`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub final_snapshot: bool,
    /// What the object showed of `applied` after the last write; `None` in an entry of an earlier version, and
    /// until the write is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verification>,
}

/// A live object that stead made or was told to adopt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedObject {
    /// Its id.
    pub id: Name,
    /// Its parent object's id, for a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Name>,
    /// The project it was made in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Name>,
    /// When the service made it, as the service wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Name>,
    /// It was found, not answered: deleting or replacing it asks a human.
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

/// A deleted object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// Its kind.
    pub kind: Name,
    /// When the run began that deleted it.
    pub at: Timestamp,
}

/// A mutating request about to be sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// Its own id: every attempt has a new one.
    pub op: Uuid,
    /// For which resource.
    pub address: Address,
    /// The kind's name.
    pub kind: Name,
    /// The parent object's id, for a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Name>,
    /// The project of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Name>,
    /// When it was recorded, wall time.
    pub at: Timestamp,
    /// Whoever recorded it lost its lease and is not proven dead: the request may still leave. What
    /// became of it is asked, never presumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// What it does.
    pub action: IntentAction,
}

/// What a request is about to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum IntentAction {
    /// A creation.
    Create {
        /// What the new object must show: the sent attributes that answers carry; no secrets.
        expected: Attributes,
        /// Ids of the kind in the project (or under the parent) that existed before.
        baseline: Vec<Name>,
        /// The service's `Date` when the baseline was read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server_date: Option<Name>,
        /// What the entry will remember once it is bound: parent, dependencies, lifecycle, and the
        /// attributes that the request carries (secrets sealed).
        entry: Box<Entry>,
        /// The current object steps down to `deposed` when the new one is bound.
        #[serde(default)]
        deposes: bool,
    },
    /// One call of an update.
    Update {
        /// The object.
        id: Name,
        /// The call's name in the kind's table.
        call: Name,
        /// The attributes before, as read.
        before: Attributes,
        /// The attributes after; secrets sealed.
        target: Attributes,
    },
    /// A deletion.
    Delete {
        /// The object, with its birth certificate.
        object: OwnedObject,
    },
}

/// What only a human can answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AmbiguousIntent {
    /// The request that it is about.
    pub intent: Intent,
    /// Objects that could be the answer.
    pub candidates: Vec<Name>,
    /// The question, in a sentence.
    pub text: String,
}

/// That a ledger's lines bear MACs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MacState {
    /// What tells their key from another one.
    pub key: Name,
    /// The number of the record with which they began: taken away and begun anew, it is another one.
    pub since: u64,
    /// The keys before it, oldest first: each was given up for the next one by who had both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub previous: Vec<FormerKey>,
}

/// A key whose MACs a ledger had before the present one's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerKey {
    /// What tells it from another one.
    pub key: Name,
    /// As in `MacState`.
    pub since: u64,
}

impl LedgerIdentity {
    /// Returns the identity of a ledger that was never begun. Its key makes no fingerprints.
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

    /// Returns the identity of a ledger that is born now.
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

/// The key as 64 hexadecimal digits.
pub mod key_as_hex {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use crate::model::hex::encode_hex;
    use crate::model::secret::FingerprintKey;

    /// Writes the digits.
    pub fn to_hex(key: &FingerprintKey) -> String {
        encode_hex(&key.0)
    }

    /// Reads the digits.
    pub fn parse(text: &str) -> Option<FingerprintKey> {
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let mut key = [0; 32];
        for (byte, at) in key.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
        }
        Some(FingerprintKey(key))
    }

    /// For serde.
    pub fn serialize<S: Serializer>(key: &FingerprintKey, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&to_hex(key))
    }

    /// For serde.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FingerprintKey, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(&text).ok_or_else(|| de::Error::custom("the key is not 64 hexadecimal digits"))
    }
}

impl Entry {
    /// Returns what is known of the last applied value of an attribute, or of one key of it.
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
