//! Redaction of secrets in text from outside, such as the service's messages and logs.
//!
//! A `Redactor` has the secrets of one run and replaces them in such text by `(secret)`. `SentSecrets` has the secrets
//! of one request: a response that repeats a part of one is not shown at all. Both decode the encodings that text may
//! have (`forms`). The text of the configuration is never redacted: whether a guess in it disappears would
//! show whether it is right.

mod address;
mod forms;
pub mod secret_heuristics;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Bound;

use foldhash::{HashSet, HashSetExt};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value as Json;

pub use address::redact_address;

/// The replacement for a secret in text.
pub const REDACTED: &str = "(secret)";

/// Minimum length of a secret, or of one of its lines, that is replaced. Replacing shorter ones would garble
/// other text and confirm guesses.
const MIN_SECRET_BYTES: usize = 8;

/// Number of consecutive bytes of a secret in a text that count as a repetition of it.
const MIN_SHARED_BYTES: usize = 6;

/// Minimum length, in bytes, of a password that suppresses a server's message which contains all of it.
const MIN_PASSWORD_BYTES: usize = 3;

/// Maximum number of nested encodings that are decoded.
const MAX_ENCODING_DEPTH: usize = 3;

/// Maximum number of nested encodings of the secret itself that are decoded: a request may send it as base64, and the
/// response may show the decoded text.
const MAX_SECRET_ENCODING_DEPTH: usize = 1;

/// Maximum number of bytes compared for each byte of a text; beyond it the whole text counts as secret. The time stays
/// linear for any text of the service.
const MAX_COMPARISONS_PER_BYTE: usize = 64;

/// A secret, or a line of one.
#[derive(Clone, PartialEq, Eq)]
struct SecretPattern(Zeroizing<Vec<u8>>);

impl PartialOrd for SecretPattern {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SecretPattern {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.as_slice().cmp(other.0.as_slice())
    }
}

impl std::borrow::Borrow<[u8]> for SecretPattern {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

/// The secrets that are known in one run. Without any, `redact` returns every text unchanged.
#[derive(Clone, Default)]
pub struct Redactor {
    units: BTreeSet<SecretPattern>,
    /// The first bytes of each unit, for a fast search.
    heads: HashSet<[u8; MIN_SECRET_BYTES]>,
    /// Length in bytes of the shortest unit; 0 without any.
    shortest: usize,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor(..)")
    }
}

impl Redactor {
    /// Adds a secret and each of its lines, without the blanks around them: a log shows the lines of a key
    /// separately. Parts of fewer than 8 bytes are left out.
    pub fn add_secret(&mut self, secret: &str) {
        self.learn_unit(secret);
        self.learn_unit(secret.trim());
        for line in secret.split(['\n', '\r']) {
            self.learn_unit(line.trim());
        }
    }

    fn learn_unit(&mut self, unit: &str) {
        let bytes = unit.as_bytes();
        if let Some(head) = bytes.first_chunk::<MIN_SECRET_BYTES>()
            && !self.units.contains(bytes)
        {
            self.heads.insert(*head);
            self.shortest =
                if self.units.is_empty() { bytes.len() } else { self.shortest.min(bytes.len()) };
            self.units.insert(SecretPattern(Zeroizing::new(bytes.to_vec())));
        }
    }

    /// Returns a text with `(secret)` in place of every known secret, in any supported encoding. A text that would
    /// take too many comparisons is replaced as a whole.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        // No encoding is shorter than what it encodes.
        if self.units.is_empty() || text.len() < self.shortest {
            return Cow::Borrowed(text);
        }
        let mut found = Vec::new();
        let mut effort = text.len().saturating_mul(MAX_COMPARISONS_PER_BYTE).saturating_add(1 << 16);
        forms::visit_forms(text.as_bytes(), MAX_ENCODING_DEPTH, &mut |form| {
            self.find_secrets(form, &mut effort, &mut found);
        });
        if effort == 0 {
            return Cow::Borrowed(REDACTED);
        }
        replace_ranges(text, found)
    }

    /// Redacts every string and every key of a JSON document. Of two keys that become equal, one entry remains.
    pub fn redact_json(&self, json: &mut Json) {
        match json {
            Json::String(text) => {
                if let Cow::Owned(redacted) = self.redact(text) {
                    *text = redacted;
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.redact_json(item)),
            Json::Object(map) => {
                let hidden: Vec<String> =
                    map.keys().filter(|key| matches!(self.redact(key), Cow::Owned(_))).cloned().collect();
                for key in hidden {
                    if let Some(value) = map.remove(&key) {
                        map.insert(self.redact(&key).into_owned(), value);
                    }
                }
                map.values_mut().for_each(|value| self.redact_json(value));
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    /// Adds to `found` the ranges of the text whose decoded form is a known secret. It stops when `effort` is 0.
    fn find_secrets(
        &self,
        form: &forms::EncodedForm<'_>,
        effort: &mut usize,
        found: &mut Vec<(usize, usize)>,
    ) {
        let bytes = form.bytes;
        for (start, head) in bytes.windows(MIN_SECRET_BYTES).enumerate() {
            if *effort == 0 {
                return;
            }
            if head.first_chunk().is_some_and(|head| self.heads.contains(head))
                && let Some(length) = self.longest_at(&bytes[start..], effort)
            {
                found.push(form.source_range(start, start + length));
            }
        }
    }

    /// Returns the length of the longest known secret that a text begins with; `None` where it begins with none, or
    /// `effort` is used up.
    fn longest_at(&self, text: &[u8], effort: &mut usize) -> Option<usize> {
        let mut bound = text;
        loop {
            // Every unit that sorts between a prefix unit and the text itself also begins with that unit.
            let below = (Bound::Unbounded, Bound::Included(bound));
            let unit = &self.units.range::<[u8], _>(below).next_back()?.0;
            let common = unit.iter().zip(bound).take_while(|(one, other)| one == other).count();
            *effort = effort.saturating_sub(common + 1);
            if common == unit.len() {
                return Some(common);
            }
            if common < MIN_SECRET_BYTES || *effort == 0 {
                return None;
            }
            bound = &bound[..common];
        }
    }
}

/// Replaces ranges of a text, which may overlap and be in any order; adjacent ranges have one replacement.
fn replace_ranges(text: &str, mut found: Vec<(usize, usize)>) -> Cow<'_, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_unstable();
    let mut redacted = String::with_capacity(text.len());
    let mut done = 0;
    for (start, end) in found {
        let start = text.floor_char_boundary(start);
        let end = text.ceil_char_boundary(end);
        if start > done || done == 0 {
            redacted.push_str(&text[done..start.max(done)]);
            redacted.push_str(REDACTED);
        }
        done = done.max(end);
    }
    redacted.push_str(&text[done..]);
    Cow::Owned(redacted)
}

/// The secrets that one request carries.
#[derive(Clone, Default)]
pub struct SentSecrets {
    secrets: Vec<SecretString>,
    /// Strings that may be secrets of other users: a response that repeats one is not shown.
    private: Vec<SecretString>,
}

impl SentSecrets {
    /// Adds a secret that the request contains.
    pub fn push(&mut self, text: &str) {
        self.secrets.push(SecretString::from(text));
    }

    /// Adds a string of the request that may be a secret of another user, such as an environment variable
    /// that no block writes.
    pub fn push_private(&mut self, text: &str) {
        self.private.push(SecretString::from(text));
    }

    /// Returns whether the request carries neither a secret nor a string that may be one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty() && self.private.is_empty()
    }

    /// Adds the certain secrets to a redactor; the possible ones would remove ordinary words from messages.
    pub fn register_secrets(&self, redactor: &mut Redactor) {
        for secret in &self.secrets {
            redactor.add_secret(secret.expose_secret());
        }
    }

    /// Returns the text of a server, or a note that it is not shown because it repeats a part of a secret.
    #[must_use]
    pub fn screen_text(&self, text: String) -> String {
        let whole = |secret: &SecretString| {
            let secret = secret.expose_secret();
            secret.len() >= MIN_PASSWORD_BYTES && text.contains(secret)
        };
        if self.secrets.iter().any(whole) || self.are_repeated_in(text.as_bytes()) {
            return "the server's message is not shown: it repeats a part of a password".to_owned();
        }
        text
    }

    /// Returns whether a text repeats six consecutive bytes of a secret or a possible one, in any supported
    /// encoding, also reversed or in the other case.
    #[must_use]
    pub fn are_repeated_in(&self, text: &[u8]) -> bool {
        let mut parts: HashSet<[u8; MIN_SHARED_BYTES]> = HashSet::new();
        for secret in self.secrets.iter().chain(&self.private) {
            forms::visit_forms(secret.expose_secret().as_bytes(), MAX_SECRET_ENCODING_DEPTH, &mut |form| {
                for window in form.bytes.windows(MIN_SHARED_BYTES) {
                    let part = lowercase_window(window);
                    let mut backwards = part;
                    backwards.reverse();
                    parts.extend([part, backwards]);
                }
            });
        }
        let mut repeated = false;
        forms::visit_forms(text, MAX_ENCODING_DEPTH, &mut |form| {
            repeated = repeated
                || form
                    .bytes
                    .windows(MIN_SHARED_BYTES)
                    .any(|window| parts.contains(&lowercase_window(window)));
        });
        repeated
    }
}

fn lowercase_window(window: &[u8]) -> [u8; MIN_SHARED_BYTES] {
    let mut part = [0; MIN_SHARED_BYTES];
    for (to, from) in part.iter_mut().zip(window) {
        *to = from.to_ascii_lowercase();
    }
    part
}

impl fmt::Debug for SentSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SentSecrets(..)")
    }
}

impl PartialEq for SentSecrets {
    fn eq(&self, other: &Self) -> bool {
        let texts = |list: &[SecretString]| -> Vec<String> {
            list.iter().map(|secret| secret.expose_secret().to_owned()).collect()
        };
        texts(&self.secrets) == texts(&other.secrets) && texts(&self.private) == texts(&other.private)
    }
}

#[cfg(test)]
mod tests;
