//! `Secret`: a string that no output can contain.
//!
//! In: the text of a variable, a file or a response. Out: the plaintext for the one request that needs it; everywhere
//! else, and in every serialized form, only a keyed fingerprint.

use std::collections::BTreeMap;
use std::fmt;

use super::derived::{Derivation, DerivedSecret};
use super::value::Value;
use crate::model::crypto::hex::encode_hex;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::Sha256;
use smol_str::SmolStr;

/// The key of a stack's fingerprints: without the key a fingerprint reveals nothing about its secret.
#[derive(Clone)]
pub struct FingerprintKey(pub [u8; 32]);

impl FingerprintKey {
    /// No key: secrets have no fingerprints. A fingerprint without a secret key could be reversed by guessing.
    pub const NONE: Self = Self([0; 32]);

    /// Returns the HMAC-SHA-256 of some bytes: 64 hexadecimal digits. The caller must not use it with `NONE`.
    pub(in crate::model) fn mac(&self, bytes: &[u8]) -> String {
        // HMAC accepts a key of any length, so this cannot fail.
        let mac = Hmac::<Sha256>::new_from_slice(&self.0).map(|mac| mac.chain_update(bytes));
        mac.map(|mac| encode_hex(&mac.finalize().into_bytes())).unwrap_or_default()
    }

    /// Returns whether this is `NONE`: then no secret has a fingerprint.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0 == Self::NONE.0
    }
}

impl fmt::Debug for FingerprintKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FingerprintKey(..)")
    }
}

/// A secret: its plaintext while it is in memory, its fingerprint after it was stored, or a substitute while it
/// has no value yet.
///
/// Serializes as `{"secret": true, "fingerprint": …}` without the text.
#[derive(Clone)]
pub enum Secret {
    /// The plaintext, which only `expose` returns. In a box, as most values are no secrets, and all have room for one.
    Plain(Box<SecretText>),
    /// The form in a ledger or a plan; `None` when there was no key.
    Fingerprint(Option<SmolStr>),
    /// A deferred or withheld secret: expressions compute with a substitute text, which is never output.
    Deferred(Box<DeferredText>),
    /// A value that was computed from secrets, identified by its expression and its inputs.
    Derived(Box<DerivedSecret>),
}

/// The text of a secret and, for the value of a variable, the name of the variable.
#[derive(Clone)]
pub struct SecretText {
    chars: SecretString,
    name: Option<SmolStr>,
    /// The computed value of another resource's attribute: it identifies the secret instead of the text.
    origin: Option<Box<DerivedSecret>>,
}

impl SecretText {
    fn boxed(
        text: impl Into<String>,
        name: Option<SmolStr>,
        origin: Option<Box<DerivedSecret>>,
    ) -> Box<Self> {
        Box::new(Self { chars: SecretString::from(text.into()), name, origin })
    }
}

/// The substitute for a secret without a value, with the name of the secret.
#[derive(Clone)]
pub struct DeferredText {
    /// The substitute text that expressions compute with.
    text: SmolStr,
    /// The variable that will have the value, or the path of the attribute; `None` where neither identifies it.
    name: Option<SmolStr>,
}

impl DeferredText {
    fn boxed(text: impl Into<SmolStr>, name: Option<SmolStr>) -> Box<Self> {
        Box::new(Self { text: text.into(), name })
    }
}

/// Number of hexadecimal digits of a fingerprint: the whole HMAC-SHA-256.
const FINGERPRINT_DIGITS: usize = 64;

/// Number of hexadecimal digits of the fingerprints that earlier versions recorded.
const LEGACY_FINGERPRINT_DIGITS: usize = 16;

/// Returns whether two fingerprints are of the same secret. One of 16 digits, which an earlier version recorded, equals
/// every fingerprint that begins with it, until it is replaced by the whole one.
#[must_use]
pub fn is_same_fingerprint(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    let is_legacy = short.len() == LEGACY_FINGERPRINT_DIGITS && long.len() == FINGERPRINT_DIGITS;
    one == other || is_legacy && long.starts_with(short)
}

/// Returns the prefix of a fingerprint that is the same in every version that recorded it: its first 16 digits, or all
/// of a shorter one.
#[must_use]
pub fn fingerprint_prefix(fingerprint: &str) -> &str {
    fingerprint.get(..LEGACY_FINGERPRINT_DIGITS).unwrap_or(fingerprint)
}

/// The substitute text for a secret that is withheld from a run: long enough for rules about minimum lengths.
const WITHHELD_PLACEHOLDER: &str = "secrets-are-kept-from-this-plan.";

/// The substitute text for a result computed from a withheld secret: it contains `WITHHELD_PLACEHOLDER`.
pub(in crate::model) const DERIVED_PLACEHOLDER: &str = "secrets-are-kept-from-this-plan.?";

impl Secret {
    /// Wraps a string as a secret without a name: its text identifies it.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self::Plain(SecretText::boxed(text, None, None))
    }

    /// Returns a live string as a secret, where the last applied value at its position was computed from secrets.
    #[must_use]
    pub fn applied_as(text: impl Into<String>, derived: &DerivedSecret) -> Self {
        let origin = Some(Box::new(derived.clone()));
        Self::Plain(SecretText::boxed(text, None, origin))
    }

    /// Returns the secret of another resource's attribute as an expression refers to it: identified by its path
    /// and not by its text, so that every run computes the same id.
    #[must_use]
    pub(in crate::model) fn into_reference(self, path: &str) -> Self {
        let name = Some(path.into());
        match self {
            Self::Plain(mut plain) => {
                plain.name = name;
                let is_computed = plain.origin.is_some();
                let named = Self::Plain(plain);
                if is_computed { named.referred_to() } else { named }
            }
            Self::Deferred(mut deferred) => {
                deferred.name = name;
                Self::Deferred(deferred)
            }
            Self::Derived(derived) => match (derived.text().map(str::to_owned), derived.is_deferred()) {
                (Some(text), _) => {
                    let origin = Some(Box::new(derived.without_value()));
                    Self::Plain(SecretText::boxed(text, name, origin)).referred_to()
                }
                (None, true) => match derived.to_computable() {
                    Some(Value::Text(text)) => Self::Deferred(DeferredText::boxed(text, name)),
                    _ => Self::Derived(derived),
                },
                (None, false) => Self::Derived(derived),
            },
            Self::Fingerprint(_) => self,
        }
    }

    /// Wraps a value that was computed elsewhere, so that it keeps that identity when it is used alone.
    fn referred_to(self) -> Self {
        let text = self.expose().map(Value::text).unwrap_or_default();
        match Derivation::from_value(&Value::Secret(self.clone())) {
            Some(derivation) => Self::Derived(Box::new(DerivedSecret::new(derivation, text))),
            None => self,
        }
    }

    /// Returns the secret as an input of an expression: without the text where something else identifies it, so that a
    /// chain of values does not store each text again.
    pub(in crate::model) fn as_input(&self) -> Self {
        match self {
            Self::Plain(plain) if plain.origin.is_some() => {
                Self::Plain(SecretText::boxed(String::new(), plain.name.clone(), plain.origin.clone()))
            }
            other => other.clone(),
        }
    }

    /// Returns the computed value behind another resource's attribute; `None` for a secret that was not computed.
    pub(in crate::model) fn origin(&self) -> Option<&DerivedSecret> {
        match self {
            Self::Plain(plain) => plain.origin.as_deref(),
            _ => None,
        }
    }

    /// Names the variable whose value this secret is; a secret that has a name keeps it.
    ///
    /// An expression over the secret is identified by this name and not by the text.
    #[must_use]
    pub fn named_after(self, variable: &str) -> Self {
        match self {
            Self::Plain(mut plain) => {
                plain.name.get_or_insert_with(|| variable.into());
                Self::Plain(plain)
            }
            Self::Deferred(mut deferred) => {
                deferred.name.get_or_insert_with(|| variable.into());
                Self::Deferred(deferred)
            }
            other => other,
        }
    }

    /// Returns the variable, or the path of another resource's attribute, whose value this secret is; `None` where
    /// only its text, its fingerprint or its expression identifies it.
    #[must_use]
    pub fn name(&self) -> Option<&SmolStr> {
        match self {
            Self::Plain(plain) => plain.name.as_ref(),
            Self::Deferred(deferred) => deferred.name.as_ref(),
            Self::Fingerprint(_) | Self::Derived(_) => None,
        }
    }

    /// Returns the plaintext, for the one request that needs it; `None` where it is not in memory, or the value
    /// is not a string.
    #[must_use]
    pub fn expose(&self) -> Option<&str> {
        match self {
            Self::Plain(plain) => Some(plain.chars.expose_secret()),
            Self::Derived(derived) => derived.text(),
            Self::Fingerprint(_) | Self::Deferred(_) => None,
        }
    }

    /// Returns the string with which expressions compute: the plaintext, or the substitute of a deferred secret. `None`
    /// if only the fingerprint is known, or for a computed value that is not a string or not available in this run.
    #[must_use]
    pub fn computable_text(&self) -> Option<&str> {
        match self {
            Self::Deferred(deferred) => Some(&deferred.text),
            _ => self.expose(),
        }
    }

    /// Returns the substitute for a secret that is withheld from this run.
    #[must_use]
    pub fn new_withheld() -> Self {
        Self::Deferred(DeferredText::boxed(WITHHELD_PLACEHOLDER, None))
    }

    /// Returns the substitute for the result of an expression over a withheld secret: even whether it is a string
    /// or a list is unknown.
    #[must_use]
    pub fn new_undecided() -> Self {
        Self::Deferred(DeferredText::boxed(DERIVED_PLACEHOLDER, None))
    }

    /// Returns whether even the type of the value is unknown.
    #[must_use]
    pub fn is_undecided(&self) -> bool {
        match self {
            Self::Deferred(deferred) => deferred.text == DERIVED_PLACEHOLDER,
            Self::Derived(derived) => derived.is_undecided(),
            Self::Plain(_) | Self::Fingerprint(_) => false,
        }
    }

    /// Returns whether the text, or a part of it, is withheld from this run: the live value then counts as equal.
    #[must_use]
    pub fn is_withheld(&self) -> bool {
        match self {
            Self::Deferred(deferred) => deferred.text.contains(WITHHELD_PLACEHOLDER),
            Self::Derived(derived) => derived.inputs().any(|(_, input)| input.is_withheld()),
            Self::Plain(_) | Self::Fingerprint(_) => false,
        }
    }

    /// Returns whether the secret is deferred or withheld, or is computed from such a secret. A stored
    /// fingerprint does not count.
    #[must_use]
    pub fn is_deferred(&self) -> bool {
        match self {
            Self::Deferred(_) => true,
            Self::Derived(derived) => derived.is_deferred(),
            Self::Plain(_) | Self::Fingerprint(_) => false,
        }
    }

    /// Returns a secret that has no text yet, with the substitute that expressions compute with. Its length counts
    /// for the identity of results; its content does not.
    #[must_use]
    pub fn new_deferred(stand_in: impl Into<SmolStr>) -> Self {
        Self::Deferred(DeferredText::boxed(stand_in, None))
    }

    /// Returns whether the secret is yet to be generated, or is computed from one: then no ledger has its value.
    #[must_use]
    pub fn is_yet_unknown(&self) -> bool {
        self.is_deferred() && !self.is_withheld()
    }

    /// Returns the names of the variables and outputs that the secret is, or is computed from; none for a stored one.
    #[must_use]
    pub fn source_names(&self) -> Vec<&SmolStr> {
        match self {
            Self::Derived(derived) => derived.input_names().collect(),
            other => other.name().into_iter().collect(),
        }
    }

    /// Returns the keyed fingerprint: 64 hexadecimal digits, or the recorded one. `None` without a key, and for a
    /// secret whose value is not available in this run.
    ///
    /// For a computed value it is the fingerprint of the value itself. It reveals equality of results and belongs in
    /// the ledger only; a plan identifies such a value by its `DerivedSecret::id`.
    #[must_use]
    pub fn fingerprint(&self, key: &FingerprintKey) -> Option<SmolStr> {
        match self {
            Self::Fingerprint(fingerprint) => fingerprint.clone(),
            Self::Deferred(_) => None,
            Self::Plain(_) if key.is_none() => None,
            Self::Plain(plain) => Some(key.mac(plain.chars.expose_secret().as_bytes()).into()),
            Self::Derived(derived) => derived.fingerprint(key),
        }
    }

    /// Returns whether only a fingerprint of 16 digits is known, which an earlier version recorded.
    #[must_use]
    pub fn has_legacy_fingerprint(&self) -> bool {
        matches!(self, Self::Fingerprint(Some(fingerprint)) if is_legacy_fingerprint(fingerprint))
    }

    /// Returns the secret without its text, in the form of a plan: a computed value only by its expression and inputs.
    #[must_use]
    pub fn to_planned(&self, key: &FingerprintKey) -> Self {
        match self {
            Self::Derived(derived) => Self::Derived(Box::new(derived.to_planned(key))),
            other => Self::Fingerprint(other.fingerprint(key)),
        }
    }

    /// Returns the secret without what only a ledger has of a computed value: the fingerprint of the value itself, which would
    /// reveal equality of results, and those of its inputs.
    #[must_use]
    pub fn to_shown(&self) -> Self {
        match self {
            Self::Derived(derived) if derived.awaits_inputs() => Self::Fingerprint(None),
            Self::Derived(derived) => match derived.sealed_id() {
                Some(id) => Self::Derived(Box::new(DerivedSecret::read(id.clone(), None, BTreeMap::new()))),
                None => self.clone(),
            },
            other => other.clone(),
        }
    }

    /// Returns the secret without its text, in the form of the ledger. A computed value also has the fingerprint of the
    /// value itself, which shows whether the live one was changed, and the fingerprints of its inputs, so that a run
    /// without the secrets can detect a change of the expression.
    #[must_use]
    pub fn to_recorded(&self, key: &FingerprintKey) -> Self {
        match self {
            Self::Derived(derived) => Self::Derived(Box::new(derived.to_recorded(key))),
            other => Self::Fingerprint(other.fingerprint(key)),
        }
    }
}

/// Returns whether an earlier version recorded a fingerprint: it has 16 digits. Such a version also used
/// it for computed values.
#[must_use]
pub fn is_legacy_fingerprint(print: &str) -> bool {
    print.len() == LEGACY_FINGERPRINT_DIGITS
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl PartialEq for Secret {
    /// Compares texts with texts, substitutes with substitutes and fingerprints with fingerprints; never across these
    /// forms. A secret without a fingerprint equals none, not even itself.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Plain(a), Self::Plain(b)) => a.chars.expose_secret() == b.chars.expose_secret(),
            (Self::Fingerprint(Some(a)), Self::Fingerprint(Some(b))) => is_same_fingerprint(a, b),
            (Self::Deferred(a), Self::Deferred(b)) => a.text == b.text,
            (Self::Derived(a), Self::Derived(b)) => a == b,
            _ => false,
        }
    }
}

/// The `form` of a computed value in a ledger: larger than any whole number that earlier versions accept.
pub(in crate::model) const COMPUTED_FORM: u64 = u64::MAX;

/// The JSON representation of a secret.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::model) struct SecretMarker {
    pub(in crate::model) secret: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::model) fingerprint: Option<SmolStr>,
    /// The id of a computed value; `None` for any other secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::model) derived: Option<SmolStr>,
    /// A number that an earlier version cannot read: it then refuses a ledger with computed values instead
    /// of reading them as maps. `None` for any other secret, and in a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::model) form: Option<u64>,
    /// The fingerprints of a computed value's inputs, by variable name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(in crate::model) inputs: BTreeMap<SmolStr, SmolStr>,
}

impl From<SecretMarker> for Secret {
    fn from(marker: SecretMarker) -> Self {
        match marker.derived {
            Some(id) => Self::Derived(Box::new(DerivedSecret::read(id, marker.fingerprint, marker.inputs))),
            None => Self::Fingerprint(marker.fingerprint),
        }
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let marker = match self {
            Self::Plain(_) | Self::Deferred(_) => SecretMarker::default(),
            Self::Fingerprint(fingerprint) => {
                SecretMarker { fingerprint: fingerprint.clone(), ..SecretMarker::default() }
            }
            Self::Derived(derived) => derived.to_marker(),
        };
        SecretMarker { secret: true, ..marker }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(SecretMarker::deserialize(deserializer)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints_its_text() {
        let secret = Secret::new("canary-123");
        let key = FingerprintKey([7; 32]);
        let sealed = secret.to_planned(&key);
        for text in [
            format!("{secret:?} {sealed:?} {key:?}"),
            serde_json::to_string(&secret).unwrap(),
            serde_json::to_string(&sealed).unwrap(),
        ] {
            assert!(!text.contains("canary"), "{text}");
        }
        assert_eq!(sealed, Secret::new("canary-123").to_planned(&key));
        assert_ne!(sealed, Secret::new("other").to_planned(&key));
        assert_ne!(sealed, secret.to_planned(&FingerprintKey([8; 32])));
        assert_eq!(secret.fingerprint(&FingerprintKey::NONE), None);
    }

    #[test]
    fn a_full_fingerprint_matches_the_short_one_of_earlier_versions() {
        let key = FingerprintKey([7; 32]);
        let whole = Secret::new("canary-123").fingerprint(&key).unwrap();
        assert_eq!(whole.len(), 64);
        let sealed = |text: &str| Secret::Fingerprint(Some(text.into()));
        let (short, new) = (sealed(&whole[..16]), sealed(&whole));
        assert_eq!((&short, &new), (&new, &short));
        assert_eq!((short.has_legacy_fingerprint(), new.has_legacy_fingerprint()), (true, false));
        for other in [&whole[..15], &whole[..17], &whole[..63], &whole[1..17], ""] {
            assert_ne!(sealed(other), new, "{other}");
        }
        assert_ne!(sealed(&whole[..16]), sealed(&whole[..17]), "neither is whole");
        assert_eq!(fingerprint_prefix(&whole), &whole[..16]);
    }

    #[test]
    fn the_placeholder_of_a_deferred_secret_is_not_exposed() {
        let deferred = Secret::new_deferred("stand-in");
        assert_eq!((deferred.expose(), deferred.computable_text()), (None, Some("stand-in")));
        let key = FingerprintKey([7; 32]);
        assert_eq!(deferred.fingerprint(&key), None, "another text would have another one");
        assert_ne!(deferred, Secret::new("stand-in"));
        assert_eq!(serde_json::to_string(&deferred).unwrap(), r#"{"secret":true}"#);
    }
}
