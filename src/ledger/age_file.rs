//! One kept secret as an age file: encrypted to the pinned recipients, decrypted and compared with its place.
//!
//! In: a value and its `SecretLocation`. Out: base64 of an age file, which `age -d` opens, too. The plaintext is JSON,
//! padded with blanks to steps of 256 bytes, so that a reader of the ledger does not learn a value's length.
//! Invariant: a ciphertext that was made for another ledger, environment, address, version or object is refused.
//! age does not authenticate the sender: who may write the ledger is what its MACs prove.

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
use crate::model::recipient::Recipient;
use crate::model::secret::Secret;

/// A plaintext's length is a multiple of this.
const PADDING_BYTES: usize = 256;

/// Largest value that is kept.
pub const MAX_VALUE_BYTES: usize = 64 << 10;

/// Largest ciphertext that is opened: more than any value, header and padding make.
const MAX_CIPHERTEXT_BYTES: usize = 1 << 20;

/// A private key that opens what is encrypted to its recipient.
#[derive(Clone)]
pub struct AgeIdentity(age::x25519::Identity);

impl fmt::Debug for AgeIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(..)")
    }
}

impl AgeIdentity {
    /// Makes a new one.
    #[must_use]
    pub fn generate() -> Self {
        Self(age::x25519::Identity::generate())
    }

    /// Parses the text of an identity file: one `AGE-SECRET-KEY-1…` per line, and lines of comments.
    ///
    /// # Errors
    /// The number of the first line that is none of both; 0 when there is no key at all. Never the line.
    pub fn parse_file(text: &str) -> Result<Vec<Self>, usize> {
        let is_key = |line: &str| !line.is_empty() && !line.starts_with('#');
        let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| is_key(line));
        let found: Vec<Self> =
            lines.map(|(n, line)| line.parse().map(Self).map_err(|_| n + 1)).collect::<Result<_, _>>()?;
        if found.is_empty() { Err(0) } else { Ok(found) }
    }

    /// Returns who has it, as stacks name it.
    #[must_use]
    pub fn recipient(&self) -> Name {
        self.0.to_public().to_string().into()
    }

    /// Returns its text, for the one file that keeps it.
    #[must_use]
    pub fn text(&self) -> Secret {
        Secret::new(self.0.to_string().expose_secret())
    }
}

/// Where a kept secret belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretLocation {
    /// The ledger's lineage.
    pub lineage: Uuid,
    /// The environment.
    pub environment: Name,
    /// `vars.token` of a generated variable, else the resource's address.
    pub address: Name,
    /// Which of the address's values.
    pub version: u64,
    /// The object that shows it once; `None` for a variable.
    pub object: Option<Name>,
}

/// What is encrypted.
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

/// Why a kept secret cannot be encrypted or used. No message holds it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AgeFileError {
    /// There is nobody to encrypt it to.
    #[error("no recipients are pinned")]
    NoRecipients,
    /// A recipient that is recorded is none.
    #[error("the recipient {0} cannot be used")]
    Recipient(Name),
    /// Its text is not there, or too large.
    #[error("the value is not at hand, or larger than {MAX_VALUE_BYTES} bytes")]
    Value,
    /// The library failed.
    #[error("it cannot be encrypted")]
    Encryption,
    /// It is no age file.
    #[error("the ciphertext is damaged")]
    Damaged,
    /// None of the identities opens it.
    #[error("none of the identities opens it")]
    NoIdentity,
    /// It was made for another place.
    #[error("the ciphertext was made for another {0}: somebody put it there")]
    Place(&'static str),
    /// It is not what the ledger's fingerprint says.
    #[error("the value does not match its fingerprint in the ledger: somebody put it there")]
    Fingerprint,
}

/// Encrypts a value. Returns base64 of the age file.
///
/// # Errors
/// When there are no recipients, or the value is not at hand or too large.
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

/// Returns the plaintext of a value.
fn padded_plaintext(place: &SecretLocation, value: &str) -> Result<Zeroizing<Vec<u8>>, AgeFileError> {
    let SecretLocation { lineage, environment, address, version, object } = place.clone();
    let content = AgePayload { lineage, environment, address, version, object, value: value.to_owned() };
    let mut plain = Zeroizing::new(serde_json::to_vec(&content).map_err(|_| AgeFileError::Encryption)?);
    let padded = plain.len().next_multiple_of(PADDING_BYTES);
    plain.resize(padded, b' ');
    Ok(plain)
}

/// Decrypts a value, and compares what it was encrypted for with its place.
///
/// # Errors
/// When it is damaged, none of the identities opens it, or it was made for another place.
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
    // What is wrong with it could quote the value.
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
