//! Seals: MACs of a ledger's lines and summaries under a key that is kept elsewhere than the ledger, so that whoever
//! can write the ledger's place, and has not the key, can change nothing in it unseen. Pure.
//!
//! A line's MAC is made over the digest after it, which is made over the line and all lines before. From the record
//! `Sealed` on every line bears one, and so does every summary of a ledger that knows that record. What MACs do not
//! show, because it was right once, is an older copy that was put back: that is the waterline's to notice.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::chain::ChainHead;
use super::error::{MacError, StoreError};
use super::record::Record;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::hex::encode_hex;

/// The shortest secret that a key is made of.
const MIN_SECRET_BYTES: usize = 32;

/// Characters of a MAC.
pub(in crate::ledger) const MAC_CHARS: usize = 64;

const MISSING_MAC: &str = "it bears no MAC, and the ledger's lines do";
const UNEXPECTED_MAC: &str = "it bears a MAC, and the ledger's lines bear none";
const WRONG_MAC: &str = "its MAC does not match: it is not what was written with the key";

/// The key that seals ledgers.
#[derive(Clone)]
pub struct MacKey {
    key: [u8; 32],
    id: Name,
    /// A ledger without MACs is read all the same, for who looks at it before it gets them.
    accepts_unsealed: bool,
}

/// Why a text is no secret for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("it has {0} bytes, and a key is made of {MIN_SECRET_BYTES} at least")]
pub struct MacKeyTooShort(usize);

impl MacKey {
    /// Makes a key of the bytes of a file. A line break that an editor leaves at the end of a text does not count.
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

    /// Returns the same key for reading a ledger that may have no MACs; those that it has are checked.
    #[must_use]
    pub fn accepting_unsealed(&self) -> Self {
        Self { accepts_unsealed: true, ..self.clone() }
    }

    /// Returns what tells this key from another one, and nothing more of it.
    #[must_use]
    pub fn id(&self) -> &Name {
        &self.id
    }

    /// Returns the MAC of a line, by the digest after it.
    pub(in crate::ledger) fn of_line(&self, head: &ChainHead) -> String {
        encode_hex(&keyed_mac(&self.key, &[b"line", head]))
    }

    /// Returns the MAC of a high-water mark.
    #[must_use]
    pub fn of_mark(&self, mark: &[u8]) -> String {
        encode_hex(&keyed_mac(&self.key, &[b"high-water mark", mark]))
    }

    /// Returns the MAC of a summary, by its digest.
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
    // A key of any length is one for HMAC.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Sha256::digest(key).into() };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// What is asked of lines and summaries while they are read, one after the other.
pub(in crate::ledger) struct MacVerifier<'k> {
    key: Option<&'k MacKey>,
    /// The key of the seals that everything must bear from here on.
    begun: Option<Name>,
}

impl<'k> MacVerifier<'k> {
    /// Begins a reading; without a key no seal can be checked.
    pub(in crate::ledger) fn new(key: Option<&'k MacKey>) -> Self {
        Self { key, begun: None }
    }

    /// Begins a reading of what follows on a ledger.
    pub(in crate::ledger) fn from_ledger(key: Option<&'k MacKey>, ledger: &Ledger) -> Self {
        Self { key, begun: ledger.sealed.as_ref().map(|sealing| sealing.key.clone()) }
    }

    /// Checks the next line.
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

    /// Checks a summary.
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
            // Seals of another key: whoever asked for the ledger is told, once it is read.
            _ if key.id != *begun => Ok(()),
            None => Err(MISSING_MAC),
            Some(mac) if mac == made(key).as_bytes() => Ok(()),
            Some(_) => Err(WRONG_MAC),
        }
    }
}

/// Returns the key with which records say that they are sealed.
fn sealing_key(records: &[Record]) -> Option<&Name> {
    records.iter().find_map(|record| match record {
        Record::Sealed { key } => Some(key),
        Record::Condensed(ledger) => ledger.sealed.as_ref().map(|sealing| &sealing.key),
        _ => None,
    })
}

/// Returns the record with which a ledger's seals begin; `None` where they have, or there is no key.
pub(in crate::ledger) fn mac_start_record(records: &[Record], key: Option<&MacKey>) -> Option<Record> {
    let key = key.filter(|_| sealing_key(records).is_none())?;
    Some(Record::Sealed { key: key.id.clone() })
}

/// Checks that what was read can be written on with a key.
pub(in crate::ledger) fn check_writable(
    records: &[Record],
    key: Option<&MacKey>,
) -> Result<(), StoreError> {
    match (sealing_key(records), key) {
        (Some(_), None) => Err(MacError::MissingKey.into()),
        _ => check_readable(records, key),
    }
}

/// Checks that MACs of the key cover all that was read, where there is a key. Without one nothing is checked, and
/// whoever reads says so.
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

/// Tells whether MACs cover everything that records say. The first MAC covers all lines before it, because digests
/// are chained. It covers no summary: of that, only a MAC of its own proves more than the digest of the last line.
fn is_covered(records: &[Record]) -> bool {
    match records.first() {
        Some(Record::Condensed(ledger)) if ledger.sealed.is_some() => true,
        Some(Record::Condensed(ledger)) if !ledger.is_blank() => false,
        // Nothing is decided by a ledger that says nothing: its MACs begin with the next line.
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
