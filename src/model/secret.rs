//! `Secret`: a text that no output can hold. Only a keyed fingerprint of it leaves the process.

use std::collections::BTreeMap;
use std::fmt;

use super::derived::{Derivation, DerivedSecret};
use super::value::Value;
use crate::model::hex::encode_hex;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::Sha256;
use smol_str::SmolStr;

/// The key of a stack's fingerprints: without it a fingerprint says nothing about its secret.
#[derive(Clone)]
pub struct FingerprintKey(pub [u8; 32]);

impl FingerprintKey {
    /// No key: secrets have no fingerprints. One without a secret key could be guessed back.
    pub const NONE: Self = Self([0; 32]);

    /// Returns the HMAC-SHA-256 of some bytes: 64 hexadecimal digits.
    pub(super) fn mac(&self, bytes: &[u8]) -> String {
        // HMAC takes a key of any length, so that there is no other case.
        let mac = Hmac::<Sha256>::new_from_slice(&self.0).map(|mac| mac.chain_update(bytes));
        mac.map(|mac| encode_hex(&mac.finalize().into_bytes())).unwrap_or_default()
    }

    /// Tells whether it makes no fingerprints.
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

/// A secret: the text itself while it is in memory, only its fingerprint once it was stored, or a text that
/// stands in for it while nobody has it yet.
///
/// Serialises as `{"secret": true, "fingerprint": …}` without the text.
#[derive(Clone)]
pub enum Secret {
    /// The text, which only `expose` gives out.
    Plain(SecretText),
    /// What a ledger or a plan remembers of it; `None` when no key was at hand.
    Fingerprint(Option<SmolStr>),
    /// It is not at hand yet: expressions compute with this text in its place, and nothing gives it out.
    Deferred {
        /// What stands in for it.
        text: SmolStr,
        /// The variable that will have it; `None` for what is computed.
        name: Option<SmolStr>,
    },
    /// A value that was computed from secrets: known by its expression and its inputs.
    Derived(Box<DerivedSecret>),
}

/// The text of a secret and, where it is a variable's, the variable.
#[derive(Clone)]
pub struct SecretText {
    /// The characters.
    chars: SecretString,
    name: Option<SmolStr>,
    /// What another resource's attribute was computed as: that is what it is known by, and not the text.
    origin: Option<Box<DerivedSecret>>,
}

/// Hexadecimal digits of a fingerprint: the whole HMAC-SHA-256.
const FINGERPRINT_DIGITS: usize = 64;

/// Hexadecimal digits of the fingerprints that earlier versions recorded.
const LEGACY_FINGERPRINT_DIGITS: usize = 16;

/// Tells whether two fingerprints are of the same secret. One of 16 digits, which an earlier version recorded,
/// equals every fingerprint that begins with it, until it is replaced by the whole one.
#[must_use]
pub fn is_same_fingerprint(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    let is_legacy = short.len() == LEGACY_FINGERPRINT_DIGITS && long.len() == FINGERPRINT_DIGITS;
    one == other || is_legacy && long.starts_with(short)
}

/// Returns the part of a fingerprint that finds it again whichever version recorded it.
#[must_use]
pub fn fingerprint_prefix(fingerprint: &str) -> &str {
    fingerprint.get(..LEGACY_FINGERPRINT_DIGITS).unwrap_or(fingerprint)
}

/// What stands in for a secret that is kept from a run: long enough for whatever asks for a length.
const WITHHELD_PLACEHOLDER: &str = "secrets-are-kept-from-this-plan.";

/// What stands in for what comes of it: it holds `WITHHELD_PLACEHOLDER`.
pub(super) const DERIVED_PLACEHOLDER: &str = "secrets-are-kept-from-this-plan.?";

impl Secret {
    /// Wraps a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self::Plain(SecretText { chars: SecretString::from(text.into()), name: None, origin: None })
    }

    /// Returns a live text that was computed from secrets when it was applied.
    #[must_use]
    pub fn applied_as(text: impl Into<String>, derived: &DerivedSecret) -> Self {
        let origin = Some(Box::new(derived.clone()));
        Self::Plain(SecretText { chars: SecretString::from(text.into()), name: None, origin })
    }

    /// Returns what another resource's attribute shows, as an expression that refers to it sees it: known by where
    /// it stands, in every run.
    #[must_use]
    pub(super) fn into_reference(self, path: &str) -> Self {
        let name = Some(path.into());
        match self {
            Self::Plain(SecretText { chars, origin: None, .. }) => {
                Self::Plain(SecretText { chars, name, origin: None })
            }
            Self::Plain(plain) => Self::Plain(SecretText { name, ..plain }).referred_to(),
            Self::Deferred { text, .. } => Self::Deferred { text, name },
            Self::Derived(derived) => match (derived.text().map(str::to_owned), derived.is_awaited()) {
                (Some(text), _) => {
                    let chars = SecretString::from(text);
                    let origin = Some(Box::new(derived.without_value()));
                    Self::Plain(SecretText { chars, name, origin }).referred_to()
                }
                (None, true) => match derived.to_computable() {
                    Some(Value::Text(text)) => Self::Deferred { text, name },
                    _ => Self::Derived(derived),
                },
                (None, false) => Self::Derived(derived),
            },
            Self::Fingerprint(_) => self,
        }
    }

    /// Wraps a value that was computed elsewhere: also alone it is known by that.
    fn referred_to(self) -> Self {
        let text = self.expose().map(Value::text).unwrap_or_default();
        match Derivation::from_value(&Value::Secret(self.clone())) {
            Some(derivation) => Self::Derived(Box::new(DerivedSecret::new(derivation, text))),
            None => self,
        }
    }

    /// Returns it as an input of an expression: one that is known by something else than its text goes without, so
    /// that a chain of values does not hold each text once more.
    pub(super) fn as_input(&self) -> Self {
        match self {
            Self::Plain(SecretText { name, origin: Some(origin), .. }) => Self::Plain(SecretText {
                chars: SecretString::default(),
                name: name.clone(),
                origin: Some(origin.clone()),
            }),
            other => other.clone(),
        }
    }

    /// Returns what another resource's attribute was computed as.
    pub(super) fn origin(&self) -> Option<&DerivedSecret> {
        match self {
            Self::Plain(SecretText { origin, .. }) => origin.as_deref(),
            _ => None,
        }
    }

    /// Names the variable that the secret is the value of; a secret that has a name keeps it.
    ///
    /// An expression over the secret is known by this name, and not by the text.
    #[must_use]
    pub fn named_after(self, variable: &str) -> Self {
        match self {
            Self::Plain(SecretText { chars, name, origin }) => {
                Self::Plain(SecretText { chars, name: name.or_else(|| Some(variable.into())), origin })
            }
            Self::Deferred { text, name } => {
                Self::Deferred { text, name: name.or_else(|| Some(variable.into())) }
            }
            other => other,
        }
    }

    /// Returns the variable that the secret is the value of.
    #[must_use]
    pub fn name(&self) -> Option<&SmolStr> {
        match self {
            Self::Plain(SecretText { name, .. }) | Self::Deferred { name, .. } => name.as_ref(),
            Self::Fingerprint(_) | Self::Derived(_) => None,
        }
    }

    /// Returns the text, for the one request that needs it.
    #[must_use]
    pub fn expose(&self) -> Option<&str> {
        match self {
            Self::Plain(plain) => Some(plain.chars.expose_secret()),
            Self::Derived(derived) => derived.text(),
            Self::Fingerprint(_) | Self::Deferred { .. } => None,
        }
    }

    /// Returns the text that expressions compute with: the secret's own, or what stands in for it.
    #[must_use]
    pub fn computable_text(&self) -> Option<&str> {
        match self {
            Self::Deferred { text, .. } => Some(text),
            _ => self.expose(),
        }
    }

    /// Returns what stands in for a secret that is kept from this run.
    #[must_use]
    pub fn new_withheld() -> Self {
        Self::Deferred { text: WITHHELD_PLACEHOLDER.into(), name: None }
    }

    /// Returns what stands in for what an expression would give of a secret that is kept from this run: nobody
    /// knows what that would be, a text or a list.
    #[must_use]
    pub fn new_undecided() -> Self {
        Self::Deferred { text: DERIVED_PLACEHOLDER.into(), name: None }
    }

    /// Tells whether it stands in for what nobody knows.
    #[must_use]
    pub fn is_undecided(&self) -> bool {
        match self {
            Self::Deferred { text, .. } => text == DERIVED_PLACEHOLDER,
            Self::Derived(derived) => derived.is_undecided(),
            Self::Plain(_) | Self::Fingerprint(_) => false,
        }
    }

    /// Tells whether the text, or a part of it, is kept from this run: it counts as what is in use.
    #[must_use]
    pub fn is_withheld(&self) -> bool {
        match self {
            Self::Deferred { text, .. } => text.contains(WITHHELD_PLACEHOLDER),
            Self::Derived(derived) => derived.inputs().any(|(_, input)| input.is_withheld()),
            Self::Plain(_) | Self::Fingerprint(_) => false,
        }
    }

    /// Tells whether the text is not at hand yet.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        match self {
            Self::Deferred { .. } => true,
            Self::Derived(derived) => derived.is_awaited(),
            Self::Plain(_) | Self::Fingerprint(_) => false,
        }
    }

    /// Returns a secret that is not at hand yet, with what stands in for it until then.
    #[must_use]
    pub fn new_deferred(stand_in: impl Into<SmolStr>) -> Self {
        Self::Deferred { text: stand_in.into(), name: None }
    }

    /// Returns the keyed fingerprint: 64 hexadecimal digits.
    ///
    /// That of a computed value is the fingerprint of the value itself. It shows what the expression gave, and
    /// belongs in the ledger only; a plan knows such a value by its `DerivedSecret::id`.
    #[must_use]
    pub fn fingerprint(&self, key: &FingerprintKey) -> Option<SmolStr> {
        match self {
            Self::Fingerprint(fingerprint) => fingerprint.clone(),
            Self::Deferred { .. } => None,
            Self::Plain(_) if key.is_none() => None,
            Self::Plain(plain) => Some(key.mac(plain.chars.expose_secret().as_bytes()).into()),
            Self::Derived(derived) => derived.fingerprint(key),
        }
    }

    /// Tells whether only a fingerprint of 16 digits is known, which an earlier version recorded.
    #[must_use]
    pub fn has_legacy_fingerprint(&self) -> bool {
        matches!(self, Self::Fingerprint(Some(fingerprint)) if is_legacy_fingerprint(fingerprint))
    }

    /// Returns the same secret without its text, as a plan holds and shows it: a computed value by its expression
    /// and inputs only.
    #[must_use]
    pub fn to_planned(&self, key: &FingerprintKey) -> Self {
        match self {
            Self::Derived(derived) => Self::Derived(Box::new(derived.to_planned(key))),
            other => Self::Fingerprint(other.fingerprint(key)),
        }
    }

    /// Returns the same secret without its text, as the ledger remembers it: a computed value also with the
    /// fingerprint of the value itself, which tells whether somebody changed the live one, and with those of its
    /// inputs, so that a run without the secrets can tell whether the expression changed.
    #[must_use]
    pub fn to_recorded(&self, key: &FingerprintKey) -> Self {
        match self {
            Self::Derived(derived) => Self::Derived(Box::new(derived.to_recorded(key))),
            other => Self::Fingerprint(other.fingerprint(key)),
        }
    }
}

/// Tells whether an earlier version recorded a fingerprint: it knew what was computed from secrets by that, too.
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
    /// Two secrets are equal when their texts are, or their fingerprints; never across the two forms.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Plain(a), Self::Plain(b)) => a.chars.expose_secret() == b.chars.expose_secret(),
            (Self::Fingerprint(Some(a)), Self::Fingerprint(Some(b))) => is_same_fingerprint(a, b),
            (Self::Deferred { text: a, .. }, Self::Deferred { text: b, .. }) => a == b,
            (Self::Derived(a), Self::Derived(b)) => a == b,
            _ => false,
        }
    }
}

/// The `form` of a computed value in a ledger: beyond what earlier versions take for a whole number.
pub(super) const COMPUTED_FORM: u64 = u64::MAX;

/// The JSON of a secret.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct SecretMarker {
    pub(super) secret: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fingerprint: Option<SmolStr>,
    /// What a computed value is known by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) derived: Option<SmolStr>,
    /// A number that an earlier version cannot read: it refuses a ledger with computed values, where it would take
    /// them for maps otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) form: Option<u64>,
    /// The fingerprints of a computed value's inputs, by the names of their variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) inputs: BTreeMap<SmolStr, SmolStr>,
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
            Self::Plain(_) | Self::Deferred { .. } => SecretMarker::default(),
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
    fn never_shows_its_text() {
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
    fn a_fingerprint_is_whole_and_equals_the_short_one_of_earlier_versions() {
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
    fn what_stands_in_for_a_secret_is_given_to_nobody() {
        let awaited = Secret::new_deferred("stand-in");
        assert_eq!((awaited.expose(), awaited.computable_text()), (None, Some("stand-in")));
        let key = FingerprintKey([7; 32]);
        assert_eq!(awaited.fingerprint(&key), None, "another text would have another one");
        assert_ne!(awaited, Secret::new("stand-in"));
        assert_eq!(serde_json::to_string(&awaited).unwrap(), r#"{"secret":true}"#);
    }
}
