//! Encryption of one stored secret as an age file: encrypts to the pinned recipients, decrypts and checks the origin.
//!
//! In: a value and its `SecretLocation`. Out: base64 of an age file, which `age -d` also opens. The plaintext is JSON,
//! padded with blanks to a multiple of 256 bytes, so that a reader of the ledger does not learn a value's length.
//! Invariant: a ciphertext made for another ledger, environment, address, version or object is refused. age does not
//! authenticate the sender; the MACs of the ledger prove who wrote it.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{Read, Write};

use age::secrecy::ExposeSecret;
use age::secrecy::zeroize::Zeroizing;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

use crate::model::address::Name;
use crate::model::crypto::recipient::Recipient;
use crate::model::values::secret::Secret;

/// The plaintext is padded to a multiple of this length, in bytes.
const PADDING_BYTES: usize = 256;

/// Maximum size of a stored value, in bytes of UTF-8.
pub const MAX_VALUE_BYTES: usize = 64 << 10;

/// Maximum size of a ciphertext to decrypt, in bytes of base64: larger than any value with header and padding.
const MAX_CIPHERTEXT_BYTES: usize = 1 << 20;

/// A private key that decrypts files for its recipient.
#[derive(Clone)]
pub struct AgeIdentity(age::x25519::Identity);

impl fmt::Debug for AgeIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(..)")
    }
}

impl AgeIdentity {
    /// Generates a new random identity.
    #[must_use]
    pub fn generate() -> Self {
        Self(age::x25519::Identity::generate())
    }

    /// Parses the text of an identity file: one `AGE-SECRET-KEY-1…` per line, and lines of comments.
    ///
    /// # Errors
    /// Returns the number (from 1) of the first line that is neither; 0 when there is no key at all. The line itself
    /// could be a mistyped key, so it is never part of the error.
    pub fn parse_file(text: &str) -> Result<Vec<Self>, usize> {
        let is_key = |line: &str| !line.is_empty() && !line.starts_with('#');
        let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| is_key(line));
        let found: Vec<Self> =
            lines.map(|(n, line)| line.parse().map(Self).map_err(|_| n + 1)).collect::<Result<_, _>>()?;
        if found.is_empty() { Err(0) } else { Ok(found) }
    }

    /// Returns the recipient (public key) of this identity, in the form that stacks use.
    #[must_use]
    pub fn recipient(&self) -> Name {
        self.0.to_public().to_string().into()
    }

    /// Returns the private key as `AGE-SECRET-KEY-1…`, for the identity file that stores it.
    #[must_use]
    pub fn text(&self) -> Secret {
        Secret::new(self.0.to_string().expose_secret())
    }
}

/// The ledger position that a stored secret is encrypted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretLocation {
    /// The lineage id of the ledger.
    pub lineage: Uuid,
    /// The environment of the ledger.
    pub environment: Name,
    /// `vars.token` for a generated variable, otherwise the resource's address.
    pub address: Name,
    /// The version of the value at this address: an older ciphertext of the same address does not pass as the current.
    pub version: u64,
    /// The object that showed the secret at its creation; `None` for a variable.
    pub object: Option<Name>,
}

/// The plaintext document inside the age file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgePayload {
    lineage: Uuid,
    environment: Name,
    address: Name,
    version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<Name>,
    value: String,
}

/// The reason why a stored secret cannot be encrypted or used. No message contains the secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AgeFileError {
    /// There are no recipients to encrypt it to.
    #[error("no recipients are pinned")]
    NoRecipients,
    /// A recorded recipient is not valid.
    #[error("the recipient {0} cannot be used")]
    Recipient(Name),
    /// The plaintext is not known in this run, or exceeds `MAX_VALUE_BYTES`.
    #[error("the value is not known here, or larger than {MAX_VALUE_BYTES} bytes")]
    Value,
    /// The age library reported a failure.
    #[error("it cannot be encrypted")]
    Encryption,
    /// It is not base64 of an age file, is larger than any that `encrypt_value` writes, or its plaintext is not valid.
    #[error("the ciphertext is damaged")]
    Damaged,
    /// None of the identities can decrypt it.
    #[error("none of the identities can decrypt it")]
    NoIdentity,
    /// It was encrypted for another position; contains the part that differs: `ledger`, `environment`,
    /// `address`, `version` or `object`.
    #[error("the ciphertext was created for another {0}: someone replaced it without stead")]
    Place(&'static str),
    /// The decrypted value does not match the fingerprint in the ledger. The caller of `decrypt_value` checks this.
    #[error("the value does not match its fingerprint in the ledger: someone changed it without stead")]
    Fingerprint,
}

/// Encrypts a value. Returns base64 of the age file.
///
/// # Errors
/// When there are no recipients or one is not valid, or the value is not available or too large.
pub fn encrypt_value(
    recipients: &BTreeSet<Name>,
    place: &SecretLocation,
    secret: &Secret,
) -> Result<String, AgeFileError> {
    let value = secret.expose().filter(|text| text.len() <= MAX_VALUE_BYTES).ok_or(AgeFileError::Value)?;
    let plain = padded_plaintext(place, value)?;
    let parsed = |name: &Name| {
        let known = Recipient::parse(name).map_err(|_| AgeFileError::Recipient(name.clone()))?;
        known.as_str().parse::<age::x25519::Recipient>().map_err(|_| AgeFileError::Recipient(name.clone()))
    };
    let recipients: Vec<age::x25519::Recipient> =
        recipients.iter().map(parsed).collect::<Result<_, _>>()?;
    let readers = recipients.iter().map(|recipient| recipient as &dyn age::Recipient);
    let encryptor = age::Encryptor::with_recipients(readers).map_err(|_| AgeFileError::NoRecipients)?;
    let mut bytes = Vec::with_capacity(plain.len() + 512);
    let written = encryptor.wrap_output(&mut bytes).and_then(|mut writer| {
        writer.write_all(&plain)?;
        writer.finish().map(drop)
    });
    written.map_err(|_| AgeFileError::Encryption)?;
    Ok(STANDARD.encode(bytes))
}

/// Returns the JSON of a value and its position, padded with blanks, which the JSON parser ignores. Wiped on drop.
fn padded_plaintext(place: &SecretLocation, value: &str) -> Result<Zeroizing<Vec<u8>>, AgeFileError> {
    let SecretLocation { lineage, environment, address, version, object } = place.clone();
    let content = AgePayload { lineage, environment, address, version, object, value: value.to_owned() };
    let mut plain = Zeroizing::new(serde_json::to_vec(&content).map_err(|_| AgeFileError::Encryption)?);
    let padded = plain.len().next_multiple_of(PADDING_BYTES);
    plain.resize(padded, b' ');
    Ok(plain)
}

/// Decrypts a value and checks that it was encrypted for this position.
///
/// # Errors
/// When it is damaged, none of the identities decrypts it, or it was encrypted for another position.
pub fn decrypt_value(
    identities: &[AgeIdentity],
    place: &SecretLocation,
    ciphertext: &str,
) -> Result<Secret, AgeFileError> {
    if ciphertext.len() > MAX_CIPHERTEXT_BYTES {
        return Err(AgeFileError::Damaged);
    }
    let bytes = STANDARD.decode(ciphertext).map_err(|_| AgeFileError::Damaged)?;
    let decryptor = age::Decryptor::new(bytes.as_slice()).map_err(|_| AgeFileError::Damaged)?;
    let keys = identities.iter().map(|identity| &identity.0 as &dyn age::Identity);
    let mut reader = decryptor.decrypt(keys).map_err(|error| match error {
        age::DecryptError::NoMatchingKeys => AgeFileError::NoIdentity,
        _ => AgeFileError::Damaged,
    })?;
    let mut plain = Zeroizing::new(Vec::new());
    reader.read_to_end(&mut plain).map_err(|_| AgeFileError::Damaged)?;
    // The error of the parser could quote the value, so it is dropped.
    let content: AgePayload = serde_json::from_slice(&plain).map_err(|_| AgeFileError::Damaged)?;
    let secret = Secret::new(content.value);
    let fits = [
        (content.lineage == place.lineage, "ledger"),
        (content.environment == place.environment, "environment"),
        (content.address == place.address, "address"),
        (content.version == place.version, "version"),
        (content.object == place.object, "object"),
    ];
    match fits.into_iter().find(|(fits, _)| !fits) {
        Some((_, what)) => Err(AgeFileError::Place(what)),
        None => Ok(secret),
    }
}

#[cfg(test)]
mod tests;
