//! Journal lines: `LENGTH DIGEST JSON`, one per append, with each digest over the one before; an authenticated ledger
//! adds a blank and a MAC of that digest. Pure.
//!
//! A line contains all records of one append, so that they become durable together or not at all. JSON has no raw line
//! break; so a line break ends a line, and bytes after the last one are a torn write.

use super::chain::{ChainHead, line_digest};
use super::mac::{self, MacKey, MacVerifier};
use super::record::Record;
use crate::ledger::journal::error::WRITTEN_BY_NEWER;
use crate::model::crypto::hex::encode_hex;

/// Number of characters before the JSON: length, space, digest, space.
pub(in crate::ledger) const LINE_PREFIX_CHARS: usize = 8 + 1 + 64 + 1;

/// The content of a journal.
#[derive(Debug)]
pub(in crate::ledger) struct ParsedJournal {
    /// All records of complete lines.
    pub records: Vec<Record>,
    /// The digest of the last complete line.
    pub head: ChainHead,
    /// Number of bytes of complete lines; the rest is a torn write that was never acknowledged.
    pub whole: usize,
    /// For the end of each line, the number of records so far and the digest.
    pub ends: Vec<(usize, ChainHead)>,
}

/// A line that differs from what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ledger) struct DamagedLine {
    /// The line number, counted from 1.
    pub line: usize,
    /// A description of the damage.
    pub reason: &'static str,
}

/// Returns the line for one append, and the digest after it.
pub(in crate::ledger) fn encode_line(
    records: &[Record],
    before: &ChainHead,
    key: Option<&MacKey>,
) -> Result<(Vec<u8>, ChainHead), serde_json::Error> {
    let json = serde_json::to_vec(records)?;
    let head = line_digest(before, &json);
    let mut line = format!("{:08x} {} ", json.len(), encode_hex(&head)).into_bytes();
    line.extend_from_slice(&json);
    if let Some(key) = key {
        line.push(b' ');
        line.extend_from_slice(key.of_line(&head).as_bytes());
    }
    line.push(b'\n');
    Ok((line, head))
}

/// Reads a journal that starts after `before`. Only the end of the last line may be missing.
pub(in crate::ledger) fn decode_lines(
    bytes: &[u8],
    before: ChainHead,
    seals: &mut MacVerifier<'_>,
) -> Result<ParsedJournal, DamagedLine> {
    let mut lines = ParsedJournal { records: Vec::new(), head: before, whole: 0, ends: Vec::new() };
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let damage = |reason| DamagedLine { line: number + 1, reason };
        let Some(whole) = line.strip_suffix(b"\n") else {
            return if is_torn(line) { Ok(lines) } else { Err(damage("it continues after its end")) };
        };
        let (length, digest_text, rest) =
            split_line(whole).ok_or_else(|| damage("it has no length and digest"))?;
        let (json, mac) = split_mac(rest);
        if length != json.len() {
            return Err(damage("its length does not match"));
        }
        let head = line_digest(&lines.head, json);
        if digest_text != encode_hex(&head).as_bytes() {
            return Err(damage("its digest does not match"));
        }
        let records: Vec<Record> = serde_json::from_slice(json).map_err(|_| damage(WRITTEN_BY_NEWER))?;
        seals.check_line(&records, &head, mac).map_err(damage)?;
        lines.records.extend(records);
        lines.head = head;
        lines.whole += line.len();
        lines.ends.push((lines.records.len(), head));
    }
    Ok(lines)
}

/// Returns whether only the end of a line is missing, as far as can be seen.
fn is_torn(line: &[u8]) -> bool {
    match split_line(line) {
        // The MAC of an authenticated line may be torn, too.
        Some((length, _, json)) => {
            let torn =
                |rest: &[u8]| rest.len() <= 1 + mac::MAC_CHARS && rest.first().is_none_or(|b| *b == b' ');
            json.get(length..).is_none_or(torn)
        }
        None => line.len() < LINE_PREFIX_CHARS,
    }
}

/// Returns a line's JSON and its MAC. The list of records ends with a bracket, so the bytes after it
/// are not part of it.
pub(in crate::ledger) fn split_mac(rest: &[u8]) -> (&[u8], Option<&[u8]>) {
    let at = rest.len().checked_sub(1 + mac::MAC_CHARS);
    match at.and_then(|at| rest.split_at_checked(at)) {
        Some((json @ [.., b']'], [b' ', mac @ ..]))
            if mac.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) =>
        {
            (json, Some(mac))
        }
        _ => (rest, None),
    }
}

/// Returns a line's length, digest, and JSON with what follows it.
pub(in crate::ledger) fn split_line(line: &[u8]) -> Option<(usize, &[u8], &[u8])> {
    let (prefix, json) = line.split_at_checked(LINE_PREFIX_CHARS)?;
    let (length, digest) = (prefix.get(..8)?, prefix.get(9..LINE_PREFIX_CHARS - 1)?);
    let spaced = prefix.get(8) == Some(&b' ') && prefix.last() == Some(&b' ');
    let lower = length.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let length = usize::from_str_radix(std::str::from_utf8(length).ok()?, 16).ok()?;
    (spaced && lower).then_some((length, digest, json))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::journal::chain::first_head;
    use crate::model::address::{Address, Name};
    use proptest::prelude::*;

    fn appends() -> impl Strategy<Value = Vec<Vec<Record>>> {
        let record = ("[a-z]{1,4}", "[ -~äß\u{2028}\n]{0,8}").prop_map(|(name, account)| {
            if account.len() % 2 == 0 {
                Record::Account { account: Name::new(account) }
            } else {
                Record::Forgotten { address: Address::new("vm", &name) }
            }
        });
        prop::collection::vec(prop::collection::vec(record, 1..3), 1..4)
    }

    fn journal(appends: &[Vec<Record>]) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut head, mut ends) = (Vec::new(), first_head(), vec![0]);
        for records in appends {
            let (line, after) = encode_line(records, &head, None).unwrap();
            bytes.extend(line);
            head = after;
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    #[test]
    fn a_line_with_its_digest_that_this_version_does_not_know_is_of_a_newer_one() {
        let json = br#"[{"type":"of_the_future"}]"#;
        let digest = line_digest(&first_head(), json);
        let mut line = format!("{:08x} {} ", json.len(), encode_hex(&digest)).into_bytes();
        line.extend_from_slice(json);
        line.push(b'\n');
        let decode =
            |bytes: &[u8]| decode_lines(bytes, first_head(), &mut MacVerifier::new(None)).unwrap_err();
        assert_eq!(decode(&line).reason, WRITTEN_BY_NEWER);
        line[LINE_PREFIX_CHARS] = b'(';
        assert_eq!(decode(&line).reason, "its digest does not match");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_prefix_decodes_to_a_whole_number_of_appends(appends in appends()) {
            let (bytes, ends) = journal(&appends);
            for cut in 0..=bytes.len() {
                let lines = decode_lines(&bytes[..cut], first_head(), &mut MacVerifier::new(None)).unwrap();
                let whole = ends.iter().rposition(|end| *end <= cut).unwrap();
                prop_assert_eq!(lines.records, appends[..whole].concat());
                prop_assert_eq!(lines.whole, ends[whole]);
            }
        }

        #[test]
        fn every_flipped_bit_is_detected(appends in appends(), torn in any::<bool>()) {
            let (mut bytes, ends) = journal(&appends);
            let whole = if torn { ends[ends.len() - 2] } else { bytes.len() };
            if torn {
                bytes.truncate(whole + (bytes.len() - whole) / 2);
            }
            for bit in 0..whole * 8 {
                bytes[bit / 8] ^= 1 << (bit % 8);
                prop_assert!(decode_lines(&bytes, first_head(), &mut MacVerifier::new(None)).is_err(), "bit {} of {}", bit, whole * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    #[test]
    fn text_appended_to_a_line_is_detected() {
        let (bytes, _) = journal(&[vec![Record::Account { account: "a".into() }]]);
        for more in [" ".to_owned(), format!(" {}", "0".repeat(64)), format!(" {}", "x".repeat(64))] {
            let text = [bytes.trim_ascii_end(), more.as_bytes(), b"\n"].concat();
            assert_eq!(
                decode_lines(&text, first_head(), &mut MacVerifier::new(None)).unwrap_err().line,
                1,
                "{more}"
            );
        }
    }

    #[test]
    fn lines_cannot_be_reordered() {
        let appends =
            [vec![Record::Account { account: "a".into() }], vec![Record::Account { account: "b".into() }]];
        let (bytes, ends) = journal(&appends);
        let swapped = [&bytes[ends[1]..], &bytes[..ends[1]]].concat();
        assert_eq!(decode_lines(&swapped, first_head(), &mut MacVerifier::new(None)).unwrap_err().line, 1);
        assert_eq!(
            decode_lines(&bytes[ends[1]..], first_head(), &mut MacVerifier::new(None)).unwrap_err().reason,
            "its digest does not match"
        );
    }

    #[test]
    fn golden_journals_are_read_and_written_to_the_byte() {
        let key = MacKey::new(&[b'k'; 32]).unwrap();
        for (golden, key) in [
            (&include_bytes!("../../../tests/golden/files/journal.jsonl")[..], None),
            (&include_bytes!("../../../tests/golden/files/journal-with-macs.jsonl")[..], Some(&key)),
        ] {
            let read = decode_lines(golden, first_head(), &mut MacVerifier::new(key)).unwrap();
            assert_eq!(read.whole, golden.len());
            let (mut written, mut head, mut from) = (Vec::new(), first_head(), 0);
            for (end, after) in read.ends {
                let (line, digest) = encode_line(&read.records[from..end], &head, key).unwrap();
                assert_eq!(digest, after);
                written.extend(line);
                (head, from) = (digest, end);
            }
            assert_eq!(String::from_utf8(written).unwrap(), String::from_utf8(golden.to_vec()).unwrap());
        }
    }
}
