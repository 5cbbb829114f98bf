//! `Recipient`: the public key to which stored secrets are encrypted: a native X25519 recipient of the age format.
//!
//! In: the string from a stack or the settings. Out: its canonical notation, or the reason for a refusal. A plugin's
//! recipient would make age run a program, and SSH keys are not built in, so neither is ever a `Recipient`.

use std::fmt;

use thiserror::Error;

use crate::model::address::Name;

/// Maximum number of recipients of a stack: each adds a copy of the file key to every encrypted secret.
pub const MAX_RECIPIENTS: usize = 16;

/// A native age recipient: `age1…`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recipient(Name);

/// The reason why a string is not a recipient. No message repeats it: it may be a private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RecipientError {
    /// It is a private key (an age identity).
    #[error("this is an identity, the private key; its recipient begins with `age1`")]
    Identity,
    /// It is the recipient of an age plugin.
    #[error(
        "this is the recipient of an age plugin, which would run a program; only native `age1…` recipients are accepted"
    )]
    Plugin,
    /// It is an SSH public key.
    #[error("this is an SSH key; only native `age1…` recipients are accepted")]
    Ssh,
    /// It is something else, or mistyped.
    #[error("this is not an age recipient: one has the form `age1…` with 62 characters and a checksum")]
    Malformed,
}

impl Recipient {
    /// Parses the public recipient of an age identity.
    ///
    /// # Errors
    /// When the string is a private key, a plugin's recipient, an SSH key, or mistyped.
    pub fn parse(text: &str) -> Result<Self, RecipientError> {
        let lower = text.to_ascii_lowercase();
        if lower.starts_with("age-secret-key-") || lower.starts_with("age-plugin-") {
            return Err(RecipientError::Identity);
        }
        if lower.starts_with("ssh-") || lower.starts_with("ecdsa-") || lower.starts_with("sk-ssh-") {
            return Err(RecipientError::Ssh);
        }
        // The last `1` ends the prefix: `age` for a native recipient, `age1NAME` for a plugin's.
        if lower.rsplit_once('1').is_some_and(|(prefix, _)| prefix.starts_with("age1")) {
            return Err(RecipientError::Plugin);
        }
        let parsed: age::x25519::Recipient = text.parse().map_err(|_| RecipientError::Malformed)?;
        Ok(Self(parsed.to_string().into()))
    }

    /// Returns the canonical notation, `age1…` in lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the canonical notation as a `Name`, which is cheap to clone.
    #[must_use]
    pub fn name(&self) -> Name {
        self.0.clone()
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    const NATIVE: &str = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";

    #[test]
    fn only_native_x25519_recipients_are_accepted() {
        assert_eq!(Recipient::parse(NATIVE).unwrap().as_str(), NATIVE);
        let identity = age::x25519::Identity::generate().to_string();
        let identity = ExposeSecret::expose_secret(&identity).to_owned();
        let mistyped = NATIVE.replace("ql3z", "ql3x");
        for (text, refused) in [
            (identity.as_str(), RecipientError::Identity),
            ("AGE-PLUGIN-YUBIKEY-1Q2W3", RecipientError::Identity),
            (
                "age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t",
                RecipientError::Plugin,
            ),
            (
                "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW+uObz5dvMgjz1OxfM/XXUB+VHtZ6isGN",
                RecipientError::Ssh,
            ),
            ("ssh-rsa AAAAB3NzaC1yc2E", RecipientError::Ssh),
            (mistyped.as_str(), RecipientError::Malformed),
            ("age1", RecipientError::Malformed),
            ("", RecipientError::Malformed),
            ("https://github.com/somebody.keys", RecipientError::Malformed),
        ] {
            let error = Recipient::parse(text).unwrap_err();
            assert_eq!(error, refused, "{text}");
            assert!(text.len() < 5 || !error.to_string().contains(text));
        }
    }
}
