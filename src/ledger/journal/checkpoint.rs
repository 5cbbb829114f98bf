//! Checkpoints: a whole ledger at one moment, with its own digest and the head of the lines that it replaces. Pure
//! except for the writer that the caller passes in.

use std::io::{self, BufWriter, Write};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::chain::ChainHead;
use super::mac::{MacKey, MacVerifier};
use crate::ledger::journal::error::WRITTEN_BY_NEWER;
use crate::ledger::state::key_as_hex;
use crate::ledger::state::ledger::Ledger;
use crate::model::crypto::hex::encode_hex;

/// The format of a checkpoint that every version of stead reads.
const FIRST_FORMAT: &str = "1";

/// The format of a ledger with transfers, or with secrets that came from another ledger. A version that does not know
/// them would drop them. It reads a number here, so it refuses this text as written by a newer version, and no
/// repair of that version drops the checkpoint.
const TRANSFER_FORMAT: &str = "\"transfers-1\"";

/// The bytes between a checkpoint's ledger and its digest.
const DIGEST_DELIMITER: &[u8] = b",\"sha256\":\"";

/// The bytes between the digest and the MAC of an authenticated ledger.
const MAC_DELIMITER: &[u8] = b"\",\"mac\":\"";

/// The last bytes of a checkpoint.
const CHECKPOINT_END: &[u8] = b"\"}\n";

/// The format of a checkpoint. An unknown one is a newer version's.
#[derive(Deserialize)]
#[serde(untagged)]
enum CheckpointFormat {
    Number(u32),
    Text(String),
}

impl CheckpointFormat {
    /// Returns whether this version knows the format.
    fn is_known(&self) -> bool {
        match self {
            Self::Number(number) => number.to_string() == FIRST_FORMAT,
            Self::Text(text) => format!("\"{text}\"") == TRANSFER_FORMAT,
        }
    }
}

#[derive(Deserialize)]
struct Checkpoint {
    format: CheckpointFormat,
    head: String,
    ledger: Ledger,
}

/// Writes a checkpoint incrementally. Returns the writer, so that the caller can make it durable. Without a key the
/// checkpoint has no MAC.
pub(in crate::ledger) fn serialize_checkpoint<W: Write>(
    out: W,
    ledger: &Ledger,
    head: &ChainHead,
    key: Option<&MacKey>,
) -> io::Result<W> {
    let digesting = DigestWriter { inner: out, digest: Sha256::new() };
    let mut out = BufWriter::with_capacity(1 << 16, digesting);
    let format = if ledger.needs_transfers() { TRANSFER_FORMAT } else { FIRST_FORMAT };
    write!(out, "{{\"format\":{format},\"head\":\"{}\",\"ledger\":", encode_hex(head))?;
    serde_json::to_writer(&mut out, ledger)?;
    let DigestWriter { mut inner, digest } = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    let digest: ChainHead = digest.finalize().into();
    let mut tail = DIGEST_DELIMITER.to_vec();
    tail.extend_from_slice(encode_hex(&digest).as_bytes());
    // A ledger whose journal never began MACs gets none, even if a key is available.
    if let Some(key) = key.filter(|_| ledger.sealed.is_some()) {
        tail.extend_from_slice(MAC_DELIMITER);
        tail.extend_from_slice(key.of_summary(&digest).as_bytes());
    }
    tail.extend_from_slice(CHECKPOINT_END);
    inner.write_all(&tail)?;
    Ok(inner)
}

/// Reads a checkpoint: the ledger, and the digest that the first line after it continues. The error describes the
/// inconsistency, as a sentence about the checkpoint.
pub(in crate::ledger) fn parse(
    bytes: &[u8],
    seals: &mut MacVerifier<'_>,
) -> Result<(Ledger, ChainHead), &'static str> {
    let open = bytes.strip_suffix(CHECKPOINT_END).unwrap_or_default();
    let (open, mac) =
        split_trailing_digest(open, MAC_DELIMITER).map_or((open, None), |(open, mac)| (open, Some(mac)));
    let (content, stored) =
        split_trailing_digest(open, DIGEST_DELIMITER).ok_or("its digest does not match")?;
    let digest: ChainHead = Sha256::digest(content).into();
    if stored != encode_hex(&digest).as_bytes() {
        return Err("its digest does not match");
    }
    let summary: Checkpoint = serde_json::from_slice(bytes).map_err(|_| WRITTEN_BY_NEWER)?;
    if !summary.format.is_known() {
        return Err(WRITTEN_BY_NEWER);
    }
    let head = key_as_hex::parse(&summary.head).ok_or("its head is not a digest")?;
    seals.check_checkpoint(&summary.ledger, &digest, mac)?;
    Ok((summary.ledger, head.0))
}

/// Splits 64 digits and the key before them off the end. Returns the bytes before the key, and the digits; `None` if
/// the bytes do not end so.
fn split_trailing_digest<'b>(bytes: &'b [u8], key: &[u8]) -> Option<(&'b [u8], &'b [u8])> {
    let (open, digits) = bytes.split_at_checked(bytes.len().checked_sub(64)?)?;
    Some((open.strip_suffix(key)?, digits))
}

/// A writer that computes the digest of everything written to it.
struct DigestWriter<W> {
    inner: W,
    digest: Sha256,
}

impl<W: Write> Write for DigestWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.digest.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_checkpoints_are_read_and_written_to_the_byte() {
        let key = MacKey::new(&[b'k'; 32]).unwrap();
        for (golden, key) in [
            (&include_bytes!("../../../tests/golden/files/checkpoint.json")[..], None),
            (&include_bytes!("../../../tests/golden/files/checkpoint-with-mac.json")[..], Some(&key)),
            (&include_bytes!("../../../tests/golden/files/checkpoint-with-applied-review.json")[..], None),
            (&include_bytes!("../../../tests/golden/files/checkpoint-with-review.json")[..], None),
            (&include_bytes!("../../../tests/golden/files/checkpoint-with-transfers.json")[..], None),
        ] {
            let (ledger, head) = parse(golden, &mut MacVerifier::new(key)).unwrap();
            let written = serialize_checkpoint(Vec::new(), &ledger, &head, key).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), String::from_utf8(golden.to_vec()).unwrap());
        }
    }

    #[test]
    fn an_earlier_version_cannot_read_a_checkpoint_with_transfers() {
        /// What versions before transfers read first. They ignore a field that they do not know.
        #[derive(Deserialize)]
        struct EarlierCheckpoint {
            #[expect(dead_code, reason = "only whether it can be read counts")]
            format: u32,
        }
        let reads = |bytes: &[u8]| serde_json::from_slice::<EarlierCheckpoint>(bytes).is_ok();
        assert!(reads(include_bytes!("../../../tests/golden/files/checkpoint.json")));
        assert!(!reads(include_bytes!("../../../tests/golden/files/checkpoint-with-transfers.json")));
    }

    #[test]
    fn a_format_of_the_future_is_a_newer_versions() {
        for format in ["2", "\"transfers-2\""] {
            let content = format!("{{\"format\":{format},\"head\":\"{}\",\"ledger\":{{}}", "0".repeat(64));
            let digest: ChainHead = Sha256::digest(content.as_bytes()).into();
            let bytes = format!("{content},\"sha256\":\"{}\"}}\n", encode_hex(&digest));
            let read = parse(bytes.as_bytes(), &mut MacVerifier::new(None));
            assert_eq!(read.unwrap_err(), WRITTEN_BY_NEWER, "{format}");
        }
    }
}
