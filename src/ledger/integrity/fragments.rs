//! Fragments: the lines of a damaged journal that can still be proven. Pure.
//!
//! A line's digest covers the line before it. So the records of a line are proven by its own digest, or, where the
//! digest is damaged, by the next line's; and a line after a lost one is proven by the digest that is still
//! readable in the lost one.

use crate::ledger::journal::chain::{self, ChainHead};
use crate::ledger::journal::line::{self, LINE_PREFIX_CHARS};
use crate::ledger::journal::mac::{self, MacKey, MacVerifier};
use crate::ledger::journal::record::Record;
use crate::ledger::state::key_as_hex;
use crate::model::crypto::hex::encode_hex;

/// Number of matching characters (of 64) from which a digest counts as a damaged copy of the right one. An unrelated
/// digest matches in about four.
const MIN_MATCHING_DIGITS: usize = 56;

/// One line of a damaged journal.
#[derive(Debug)]
pub(in crate::ledger) struct Fragment {
    /// The line number, counted from 1.
    pub line: usize,
    /// The records of the line; empty if its JSON cannot be read.
    pub records: Vec<Record>,
    /// A digest proves that the records are as they were written.
    pub proven: bool,
    /// A description of the damage; `None` for an intact line. A proven line can have a damaged length or digest.
    pub damage: Option<&'static str>,
}

/// Everything that can be read of a damaged journal.
#[derive(Debug)]
pub(in crate::ledger) struct Fragments {
    /// All lines in order, damaged ones included, without a torn last line.
    pub lines: Vec<Fragment>,
    /// The digest after the last proven line; the digest before the journal if none is proven.
    pub head: ChainHead,
    /// The last line is incomplete and was never acknowledged.
    pub torn: bool,
    /// The damage precedes the first MAC, so that this MAC does not cover the lines before the damage.
    pub uncovered: bool,
}

/// Reads all lines of a journal that continues the digest `before`, and marks which of them are proven.
pub(in crate::ledger) fn read_fragments(
    bytes: &[u8],
    before: ChainHead,
    mut seals: FragmentMacs<'_>,
) -> Fragments {
    let mut found = Fragments { lines: Vec::new(), head: before, torn: false, uncovered: false };
    // The digest that the next line continues, where it is known.
    let mut known = Some(before);
    let (mut rest, mut number) = (bytes, 0);
    while !rest.is_empty() {
        number += 1;
        let (text, after) = split_next_line(rest, known.as_ref());
        if after.is_empty()
            && !rest.ends_with(b"\n")
            && line::decode_lines(rest, before, &mut MacVerifier::new(None)).is_ok()
        {
            found.torn = true;
            break;
        }
        let begun = seals.begun;
        let (piece, head, next) = classify_line(number, text, known, after, &mut seals);
        if seals.begun && !begun {
            found.uncovered = found.lines.iter().any(|line| !line.proven);
        }
        if let Some(head) = head {
            found.head = head;
        }
        known = next;
        found.lines.push(piece);
        rest = after;
    }
    found
}

/// Splits off the next line: at the length that its digest proves; otherwise at its stated length, if a line ends
/// there; otherwise at the next line break.
fn split_next_line<'a>(bytes: &'a [u8], before: Option<&ChainHead>) -> (&'a [u8], &'a [u8]) {
    let by_length = line::split_line(bytes).and_then(|(length, digest, rest)| {
        let json = rest.get(..length)?;
        let proven =
            before.is_some_and(|head| digest == encode_hex(&chain::line_digest(head, json)).as_bytes());
        let after = rest.get(length..).unwrap_or_default();
        let mac = if after.first() == Some(&b' ') { after.len().min(1 + mac::MAC_CHARS) } else { 0 };
        let ends = after.get(mac).is_none_or(|byte| *byte == b'\n');
        (proven || ends).then_some(LINE_PREFIX_CHARS + length + mac)
    });
    let end = by_length.or_else(|| bytes.iter().position(|byte| *byte == b'\n')).unwrap_or(bytes.len());
    let (text, rest) = bytes.split_at(end);
    (text, rest.get(1..).unwrap_or_default())
}

/// Classifies a line. Returns it, the digest after it if it is proven, and the digest to check the next line against.
fn classify_line(
    line: usize,
    text: &[u8],
    before: Option<ChainHead>,
    after: &[u8],
    seals: &mut FragmentMacs<'_>,
) -> (Fragment, Option<ChainHead>, Option<ChainHead>) {
    let lost = |damage, records| Fragment { line, records, proven: false, damage: Some(damage) };
    let Some((length, stored, json, mac)) = split_loosely(text) else {
        return (lost("it has no length and digest", Vec::new()), None, before);
    };
    let read: Result<Vec<Record>, _> = serde_json::from_slice(json);
    let stored_head = key_as_hex::parse(&String::from_utf8_lossy(stored)).map(|key| key.0);
    let Some(before) = before else {
        return (
            lost("the line before it is lost, including its digest", read.unwrap_or_default()),
            None,
            stored_head,
        );
    };
    let head = chain::line_digest(&before, json);
    let fits = encode_hex(&head);
    let exact = stored == fits.as_bytes();
    let proven = exact || is_near_match(stored, fits.as_bytes()) || next_confirms_head(after, &head);
    if proven && !seals.verify_line_mac(&head, mac, after) {
        let records = read.unwrap_or_default();
        return (
            lost("its MAC does not match: the content is not what was written with the key", records),
            None,
            stored_head,
        );
    }
    match read {
        Ok(records) if proven => {
            let whole = exact && length == Some(json.len());
            let damage = (!whole).then_some("its length or digest is damaged; the rest proves its records");
            (Fragment { line, records, proven: true, damage }, Some(head), Some(head))
        }
        Ok(records) => (lost("its digest does not match", records), None, stored_head),
        Err(_) => (lost("its records cannot be read", Vec::new()), None, stored_head),
    }
}

/// The parts of a line: its length (`None`: not readable), digest, JSON and MAC (`None`: the line has none).
type LineParts<'a> = (Option<usize>, &'a [u8], &'a [u8], Option<&'a [u8]>);

/// Splits a line whose length field may be unreadable; `None` if it is shorter than the length and digest fields.
fn split_loosely(text: &[u8]) -> Option<LineParts<'_>> {
    let (prefix, rest) = text.split_at_checked(LINE_PREFIX_CHARS)?;
    let (json, mac) = line::split_mac(rest);
    match line::split_line(text) {
        Some((length, stored, _)) => Some((Some(length), stored, json, mac)),
        None => Some((None, prefix.get(9..LINE_PREFIX_CHARS - 1)?, json, mac)),
    }
}

/// Verification of MACs over the lines of a damaged journal.
pub(in crate::ledger) struct FragmentMacs<'k> {
    key: Option<&'k MacKey>,
    /// Whether every line from here on must have a MAC.
    begun: bool,
}

impl<'k> FragmentMacs<'k> {
    /// Starts a reading; without a key no MAC is checked. `begun`: the records before it already require MACs.
    pub(in crate::ledger) fn new(key: Option<&'k MacKey>, begun: bool) -> Self {
        Self { key, begun }
    }

    /// Returns whether a line was written with the key: its own MAC proves it, or the next
    /// line's, which covers both lines.
    fn verify_line_mac(&mut self, head: &ChainHead, mac: Option<&[u8]>, after: &[u8]) -> bool {
        let Some(key) = self.key.filter(|_| self.begun || mac.is_some()) else { return true };
        let sealed = mac == Some(key.of_line(head).as_bytes()) || next_is_sealed(after, head, key);
        // The line with the record that began the MACs may be lost, so a valid MAC also shows it.
        self.begun |= sealed;
        sealed
    }
}

fn next_is_sealed(after: &[u8], head: &ChainHead, key: &MacKey) -> bool {
    let (text, _) = split_next_line(after, Some(head));
    let sealed = |(_, _, json, mac): LineParts<'_>| {
        mac == Some(key.of_line(&chain::line_digest(head, json)).as_bytes())
    };
    split_loosely(text).is_some_and(sealed)
}

fn is_near_match(stored: &[u8], digest: &[u8]) -> bool {
    stored.iter().zip(digest).filter(|(a, b)| a == b).count() >= MIN_MATCHING_DIGITS
}

/// Returns whether the digest of the next line continues this digest.
fn next_confirms_head(next: &[u8], head: &ChainHead) -> bool {
    let (text, _) = split_next_line(next, Some(head));
    split_loosely(text).is_some_and(|(_, stored, json, _)| {
        stored == encode_hex(&chain::line_digest(head, json)).as_bytes()
    })
}
