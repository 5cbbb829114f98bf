//! MACs over a ledger's lines and checkpoints under a key that is stored apart from the ledger: an actor who can write
//! the ledger's location, but lacks the key, can change nothing unnoticed. Pure.
//!
//! A line's MAC covers the digest after it, which covers the line and all lines before. From the record `Sealed` on,
//! every line has one, and so does every checkpoint of a ledger that contains that record. MACs cannot detect an older
//! copy that was restored, because it was valid once: the high-water mark detects that.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::chain::ChainHead;
use super::error::{MacError, StoreError};
use super::record::Record;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::crypto::hex::encode_hex;

/// Minimum length of a secret from which a key is made, in bytes.
const MIN_SECRET_BYTES: usize = 32;

/// Number of characters of a MAC.
pub(in crate::ledger) const MAC_CHARS: usize = 64;

const MISSING_MAC: &str = "it has no MAC, and the ledger's other records have one";
const UNEXPECTED_MAC: &str = "it has a MAC, and the ledger's lines have none";
const WRONG_MAC: &str = "its MAC does not match: the content is not what was written with the key";

/// The MAC key of a ledger.
#[derive(Clone)]
pub struct MacKey {
    key: [u8; 32],
    id: Name,
    /// Accepts a ledger without MACs, for reading it before they begin.
    accepts_unsealed: bool,
}

/// The error for a text that is too short for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("it has {0} bytes, and a key needs at least {MIN_SECRET_BYTES}")]
pub struct MacKeyTooShort(usize);

impl MacKey {
    /// Derives a key from the bytes of a file. White space at the end of a printable key, such as
    /// the line break that editors add, is ignored.
    ///
    /// # Errors
    /// When they are too few to be a secret.
    pub fn new(bytes: &[u8]) -> Result<Self, MacKeyTooShort> {
        let text = bytes.trim_ascii_end();
        let bytes = if text.iter().all(u8::is_ascii_graphic) { text } else { bytes };
        if bytes.len() < MIN_SECRET_BYTES {
            return Err(MacKeyTooShort(bytes.len()));
        }
        let mut id = encode_hex(&keyed_mac(bytes, &[b"stead ledger key id"]));
        id.truncate(16);
        Ok(Self { key: keyed_mac(bytes, &[b"stead ledger key"]), id: id.into(), accepts_unsealed: false })
    }

    /// Returns the same key for reading a ledger that may have no MACs; existing ones are verified.
    #[must_use]
    pub fn accepting_unsealed(&self) -> Self {
        Self { accepts_unsealed: true, ..self.clone() }
    }

    /// Returns an id that distinguishes this key from others and reveals nothing else about it.
    #[must_use]
    pub fn id(&self) -> &Name {
        &self.id
    }

    /// Returns the MAC of a line, computed over the digest after it.
    pub(in crate::ledger) fn of_line(&self, head: &ChainHead) -> String {
        encode_hex(&keyed_mac(&self.key, &[b"line", head]))
    }

    /// Returns the MAC of a high-water mark.
    #[must_use]
    pub fn of_mark(&self, mark: &[u8]) -> String {
        encode_hex(&keyed_mac(&self.key, &[b"high-water mark", mark]))
    }

    /// Returns the MAC of a checkpoint, computed over its digest.
    pub(in crate::ledger) fn of_summary(&self, digest: &ChainHead) -> String {
        encode_hex(&keyed_mac(&self.key, &[b"summary", digest]))
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealKey({})", self.id)
    }
}

fn keyed_mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC accepts a key of any length, so this does not fail.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Sha256::digest(key).into() };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// The verification state while lines and checkpoints are read in order.
pub(in crate::ledger) struct MacVerifier<'k> {
    key: Option<&'k MacKey>,
    /// The id of the key whose MAC everything must have from here on.
    begun: Option<Name>,
}

impl<'k> MacVerifier<'k> {
    /// Begins a reading; without a key no MAC can be verified.
    pub(in crate::ledger) fn new(key: Option<&'k MacKey>) -> Self {
        Self { key, begun: None }
    }

    /// Begins a reading of the lines that follow a ledger.
    pub(in crate::ledger) fn from_ledger(key: Option<&'k MacKey>, ledger: &Ledger) -> Self {
        Self { key, begun: ledger.sealed.as_ref().map(|sealing| sealing.key.clone()) }
    }

    /// Verifies the MAC of the next line.
    pub(in crate::ledger) fn check_line(
        &mut self,
        records: &[Record],
        head: &ChainHead,
        mac: Option<&[u8]>,
    ) -> Result<(), &'static str> {
        if self.begun.is_none() {
            self.begun = sealing_key(records).cloned();
        }
        self.check_mac(mac, |key| key.of_line(head))
    }

    /// Verifies the MAC of a checkpoint.
    pub(in crate::ledger) fn check_checkpoint(
        &mut self,
        ledger: &Ledger,
        digest: &ChainHead,
        mac: Option<&[u8]>,
    ) -> Result<(), &'static str> {
        *self = Self::from_ledger(self.key, ledger);
        self.check_mac(mac, |key| key.of_summary(digest))
    }

    fn check_mac(&self, mac: Option<&[u8]>, made: impl Fn(&MacKey) -> String) -> Result<(), &'static str> {
        let Some(begun) = &self.begun else {
            return if mac.is_none() { Ok(()) } else { Err(UNEXPECTED_MAC) };
        };
        let Some(key) = self.key else { return Ok(()) };
        match mac {
            // MACs of another key: the caller reports the wrong key after the whole ledger is read.
            _ if key.id != *begun => Ok(()),
            None => Err(MISSING_MAC),
            Some(mac) if mac == made(key).as_bytes() => Ok(()),
            Some(_) => Err(WRONG_MAC),
        }
    }
}

/// Returns the id of the key in the record that begins the MACs.
fn sealing_key(records: &[Record]) -> Option<&Name> {
    records.iter().find_map(|record| match record {
        Record::Sealed { key } => Some(key),
        Record::Condensed(ledger) => ledger.sealed.as_ref().map(|sealing| &sealing.key),
        _ => None,
    })
}

/// Returns the record that begins the MACs of a ledger; `None` where they have begun, or there is no key.
pub(in crate::ledger) fn mac_start_record(records: &[Record], key: Option<&MacKey>) -> Option<Record> {
    let key = key.filter(|_| sealing_key(records).is_none())?;
    Some(Record::Sealed { key: key.id.clone() })
}

/// Checks that a ledger can be extended with a key.
pub(in crate::ledger) fn check_writable(
    records: &[Record],
    key: Option<&MacKey>,
) -> Result<(), StoreError> {
    match (sealing_key(records), key) {
        (Some(_), None) => Err(MacError::MissingKey.into()),
        _ => check_readable(records, key),
    }
}

/// Checks that MACs of the key cover everything that was read. Without a key nothing is checked,
/// and the caller reports that.
pub(in crate::ledger) fn check_readable(
    records: &[Record],
    key: Option<&MacKey>,
) -> Result<(), StoreError> {
    let Some(key) = key else { return Ok(()) };
    if let Some(found) = sealing_key(records) {
        require_same_key(found, key)?;
    }
    if key.accepts_unsealed || is_covered(records) { Ok(()) } else { Err(MacError::MissingMacs.into()) }
}

/// Checks that a MAC of the key covers a whole ledger, where there is a key.
pub(in crate::ledger) fn check_ledger(ledger: &Ledger, key: Option<&MacKey>) -> Result<(), StoreError> {
    match (key, &ledger.sealed) {
        (None, _) => Ok(()),
        (Some(key), Some(sealing)) => require_same_key(&sealing.key, key),
        (Some(key), None) if key.accepts_unsealed || ledger.is_blank() => Ok(()),
        (Some(_), None) => Err(MacError::MissingMacs.into()),
    }
}

/// Returns whether MACs cover all records. The first MAC covers all lines before it, because digests are chained. It
/// does not cover a checkpoint: only the checkpoint's own MAC proves more than the digest of the last line.
fn is_covered(records: &[Record]) -> bool {
    match records.first() {
        Some(Record::Condensed(ledger)) if ledger.sealed.is_some() => true,
        Some(Record::Condensed(ledger)) if !ledger.is_blank() => false,
        // A ledger without any facts cannot mislead a decision; its MACs begin with the next line.
        _ => sealing_key(records).is_some() || records.iter().all(says_nothing),
    }
}

fn says_nothing(record: &Record) -> bool {
    match record {
        Record::Condensed(ledger) => ledger.is_blank(),
        Record::Took { reason, .. } => reason.is_none(),
        Record::Born { .. } | Record::Released { .. } => true,
        _ => false,
    }
}

fn require_same_key(found: &Name, key: &MacKey) -> Result<(), StoreError> {
    if *found == key.id {
        return Ok(());
    }
    Err(MacError::WrongKey { found: found.clone(), given: key.id.clone() }.into())
}

#[cfg(test)]
mod tests;
