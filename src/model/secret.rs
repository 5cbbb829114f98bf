//! `Secret`: a text that no output can hold. Only a keyed fingerprint of it leaves the process.

use std::fmt;

use crate::model::hex::hex;
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
    Plain(SecretString),
    /// What a ledger or a plan remembers of it; `None` when no key was at hand.
    Sealed(Option<SmolStr>),
    /// It is not at hand yet: expressions compute with this text in its place, and nothing gives it out.
    Awaited(SmolStr),
}

/// What stands in for a secret that is kept from a run: long enough for whatever asks for a length.
const WITHHELD: &str = "secrets-are-kept-from-this-plan.";

/// What stands in for what comes of it: it holds `WITHHELD`.
const UNDECIDED: &str = "secrets-are-kept-from-this-plan.?";

impl Secret {
    /// Wraps a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self::Plain(SecretString::from(text.into()))
    }

    /// Returns the text, for the one request that needs it.
    #[must_use]
    pub fn expose(&self) -> Option<&str> {
        match self {
            Self::Plain(text) => Some(text.expose_secret()),
            Self::Sealed(_) | Self::Awaited(_) => None,
        }
    }

    /// Returns the text that expressions compute with: the secret's own, or what stands in for it.
    #[must_use]
    pub fn computed(&self) -> Option<&str> {
        match self {
            Self::Awaited(text) => Some(text),
            _ => self.expose(),
        }
    }

    /// Returns what stands in for a secret that is kept from this run.
    #[must_use]
    pub fn withheld() -> Self {
        Self::Awaited(WITHHELD.into())
    }

    /// Returns what stands in for what an expression would give of a secret that is kept from this run: nobody
    /// knows what that would be, a text or a list.
    #[must_use]
    pub fn undecided() -> Self {
        Self::Awaited(UNDECIDED.into())
    }

    /// Tells whether it stands in for what nobody knows.
    #[must_use]
    pub fn is_undecided(&self) -> bool {
        matches!(self, Self::Awaited(text) if text == UNDECIDED)
    }

    /// Tells whether the text, or a part of it, is kept from this run: it counts as what is in use.
    #[must_use]
    pub fn is_withheld(&self) -> bool {
        matches!(self, Self::Awaited(text) if text.contains(WITHHELD))
    }

    /// Tells whether the text is not at hand yet.
    #[must_use]
    pub const fn is_awaited(&self) -> bool {
        matches!(self, Self::Awaited(_))
    }

    /// Returns the secret that an expression made of others: as little at hand as they are.
    #[must_use]
    pub fn made(text: impl Into<String>, awaited: bool) -> Self {
        if awaited { Self::Awaited(text.into().into()) } else { Self::new(text) }
    }

    /// Returns the keyed fingerprint: 16 hexadecimal digits.
    #[must_use]
    pub fn fingerprint(&self, key: &FingerprintKey) -> Option<SmolStr> {
        match self {
            Self::Sealed(fingerprint) => fingerprint.clone(),
            Self::Awaited(_) => None,
            Self::Plain(_) if key.0 == FingerprintKey::NONE.0 => None,
            Self::Plain(text) => {
                let mut mac = Hmac::<Sha256>::new_from_slice(&key.0).ok()?;
                mac.update(text.expose_secret().as_bytes());
                let digest = mac.finalize().into_bytes();
                Some(hex(&digest[..8]).into())
            }
        }
    }

    /// Returns the same secret without its text.
    #[must_use]
    pub fn seal(&self, key: &FingerprintKey) -> Self {
        Self::Sealed(self.fingerprint(key))
    }
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
            (Self::Plain(a), Self::Plain(b)) => a.expose_secret() == b.expose_secret(),
            (Self::Sealed(Some(a)), Self::Sealed(Some(b))) | (Self::Awaited(a), Self::Awaited(b)) => a == b,
            _ => false,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Shown {
    secret: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<SmolStr>,
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fingerprint = match self {
            Self::Plain(_) | Self::Awaited(_) => None,
            Self::Sealed(fingerprint) => fingerprint.clone(),
        };
        Shown { secret: true, fingerprint }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::Sealed(Shown::deserialize(deserializer)?.fingerprint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_shows_its_text() {
        let secret = Secret::new("canary-123");
        let key = FingerprintKey([7; 32]);
        let sealed = secret.seal(&key);
        for text in [
            format!("{secret:?} {sealed:?} {key:?}"),
            serde_json::to_string(&secret).unwrap(),
            serde_json::to_string(&sealed).unwrap(),
        ] {
            assert!(!text.contains("canary"), "{text}");
        }
        assert_eq!(sealed, Secret::new("canary-123").seal(&key));
        assert_ne!(sealed, Secret::new("other").seal(&key));
        assert_ne!(sealed, secret.seal(&FingerprintKey([8; 32])));
        assert_eq!(secret.fingerprint(&FingerprintKey::NONE), None);
    }

    #[test]
    fn what_stands_in_for_a_secret_is_given_to_nobody() {
        let awaited = Secret::made("stand-in", true);
        assert_eq!((awaited.expose(), awaited.computed()), (None, Some("stand-in")));
        let key = FingerprintKey([7; 32]);
        assert_eq!(awaited.fingerprint(&key), None, "another text would have another one");
        assert_ne!(awaited, Secret::new("stand-in"));
        assert_eq!(serde_json::to_string(&awaited).unwrap(), r#"{"secret":true}"#);
    }
}
