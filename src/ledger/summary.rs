//! Summaries: a whole ledger at one moment, with its own digest and the head of the lines that it sums
//! up. Pure but for the writer that is handed in.

use std::io::{self, BufWriter, Write};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::entry::{Ledger, key_as_hex};
use super::line::{self, Head};

/// The form of a summary.
const FORMAT: u32 = 1;

/// What stands between a summary's ledger and its digest.
const DIGEST_KEY: &[u8] = b",\"sha256\":\"";

#[derive(Deserialize)]
struct Summary {
    format: u32,
    head: String,
    ledger: Ledger,
}

/// Writes a summary, piece by piece. Returns the writer, so that it can be made durable.
pub(super) fn write<W: Write>(out: W, ledger: &Ledger, head: &Head) -> io::Result<W> {
    let digesting = Digesting { inner: out, digest: Sha256::new() };
    let mut out = BufWriter::with_capacity(1 << 16, digesting);
    write!(out, "{{\"format\":{FORMAT},\"head\":\"{}\",\"ledger\":", line::hex(head))?;
    serde_json::to_writer(&mut out, ledger)?;
    let Digesting { mut inner, digest } = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    let mut tail = DIGEST_KEY.to_vec();
    tail.extend_from_slice(line::hex(&digest.finalize().into()).as_bytes());
    tail.extend_from_slice(b"\"}\n");
    inner.write_all(&tail)?;
    Ok(inner)
}

/// Reads a summary; the error says what does not fit.
pub(super) fn parse(bytes: &[u8]) -> Result<(Ledger, Head), &'static str> {
    let end = bytes.len().saturating_sub(DIGEST_KEY.len() + 64 + 3);
    let (content, tail) = bytes.split_at(end);
    let digest = tail.strip_prefix(DIGEST_KEY).and_then(|rest| rest.strip_suffix(b"\"}\n"));
    if digest != Some(line::hex(&Sha256::digest(content).into()).as_bytes()) {
        return Err("its digest does not match");
    }
    let summary: Summary =
        serde_json::from_slice(bytes).map_err(|_| "it holds no ledger that this version knows")?;
    if summary.format != FORMAT {
        return Err("it is of another version");
    }
    let head = key_as_hex::parse(&summary.head).ok_or("its head is no digest")?;
    Ok((summary.ledger, head.0))
}

/// A place, and the digest of what was written to it.
struct Digesting<W> {
    inner: W,
    digest: Sha256,
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.digest.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
