//! The document on a state server: for the server the state of an empty Terraform configuration, which has, under one
//! key, the ledger's checkpoint and the lines after it. Pure.

use std::rc::Rc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::ledger::journal::chain::{self, ChainHead};
use crate::ledger::journal::mac::{MacKey, MacVerifier};
use crate::ledger::journal::record::Record;
use crate::ledger::journal::trail::HeadHistory;
use crate::ledger::journal::{checkpoint, line};
use crate::ledger::state::key_as_hex;
use crate::ledger::state::ledger::Ledger;
use crate::model::crypto::hex::encode_hex;

/// Format version of the data under that key.
const DOCUMENT_FORMAT: u32 = 1;

/// The version of Terraform's state format, and a Terraform version that wrote it.
const TERRAFORM_STATE_VERSION: (u32, &str) = (4, "1.0.0");

/// Maximum number of bytes of lines after a checkpoint, or the size of the checkpoint if that is larger.
const MAX_LINE_BYTES: usize = 256 << 10;

/// The document that the server stores: a checkpoint and the lines after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StateDocument {
    /// The number of writes so far.
    pub(super) serial: u64,
    lineage: Uuid,
    head: ChainHead,
    summary: Option<Rc<str>>,
    lines: Vec<Rc<str>>,
}

/// A document and its parsed content.
#[derive(Debug)]
pub(super) struct StateContents {
    pub(super) document: StateDocument,
    pub(super) records: Vec<Record>,
    pub(super) trail: HeadHistory,
}

#[derive(Deserialize)]
struct RawStateDocument {
    serial: u64,
    #[serde(default)]
    lineage: String,
    #[serde(default)]
    resources: Vec<IgnoredAny>,
    stead: Option<SteadSection>,
}

#[derive(Serialize, Deserialize)]
struct SteadSection {
    format: u32,
    head: String,
    summary: Option<Rc<str>>,
    lines: Vec<Rc<str>>,
}

impl Default for StateDocument {
    fn default() -> Self {
        Self {
            serial: 0,
            lineage: Uuid::nil(),
            head: chain::first_head(),
            summary: None,
            lines: Vec::new(),
        }
    }
}

/// Parses a document; the error describes the inconsistency. A document that does not exist yet gets a lineage.
pub(super) fn parse(
    body: Option<&[u8]>,
    lineage: Uuid,
    key: Option<&MacKey>,
) -> Result<StateContents, String> {
    let Some(body) = body else {
        let document = StateDocument { lineage, ..StateDocument::default() };
        return Ok(StateContents {
            document,
            records: Vec::new(),
            trail: HeadHistory::new(0, chain::first_head()),
        });
    };
    let document = parse_envelope(body)?;
    let (mut records, mut head, mut seals) = (Vec::new(), chain::first_head(), MacVerifier::new(key));
    let mut trail = HeadHistory::new(0, head);
    if let Some(text) = &document.summary {
        let (ledger, after) = checkpoint::parse(text.as_bytes(), &mut seals)
            .map_err(|reason| format!("the checkpoint: {reason}"))?;
        trail = HeadHistory::new(ledger.serial, after);
        records.push(Record::Condensed(Box::new(ledger)));
        head = after;
    }
    for (number, text) in document.lines.iter().enumerate() {
        let at = |reason: &str| format!("line {}: {reason}", number + 1);
        let lines =
            line::decode_lines(text.as_bytes(), head, &mut seals).map_err(|damage| at(damage.reason))?;
        if lines.whole != text.len() {
            return Err(at("its end is missing"));
        }
        trail.extend_with_lines(&lines);
        records.extend(lines.records);
        head = lines.head;
    }
    if head != document.head {
        return Err("its last line does not match its recorded head".to_owned());
    }
    Ok(StateContents { document, records, trail })
}

/// Parses a document without its lines.
fn parse_envelope(body: &[u8]) -> Result<StateDocument, String> {
    let found: RawStateDocument =
        serde_json::from_slice(body).map_err(|_| "it holds no state".to_owned())?;
    let Some(stead) = found.stead.filter(|_| found.resources.is_empty()) else {
        return Err("it holds the state of Terraform, and no ledger".to_owned());
    };
    let head = key_as_hex::parse(&stead.head).filter(|_| stead.format == DOCUMENT_FORMAT);
    let head = head.ok_or_else(|| "it holds no ledger that this version knows".to_owned())?.0;
    let lineage = Uuid::try_parse(&found.lineage).map_err(|_| "its lineage is not a UUID".to_owned())?;
    Ok(StateDocument { serial: found.serial, lineage, head, summary: stead.summary, lines: stead.lines })
}

impl StateDocument {
    /// Returns the digest of all its lines.
    pub(super) fn head(&self) -> ChainHead {
        self.head
    }

    /// Returns a copy with the next serial.
    pub(super) fn next(&self) -> Self {
        Self { serial: self.serial + 1, ..self.clone() }
    }

    /// Returns the next document, with records added, which lead to `ledger`. Many lines are replaced by a checkpoint,
    /// so that a document is never much larger than its ledger.
    pub(super) fn with_records(
        &self,
        records: &[Record],
        ledger: &Ledger,
        key: Option<&MacKey>,
    ) -> Result<Self, serde_json::Error> {
        let (text, head) = line::encode_line(records, &self.head, key)?;
        let mut next = Self { head, ..self.next() };
        next.lines.push(as_text(text)?.into());
        let length: usize = next.lines.iter().map(|line| line.len()).sum();
        let summary = next.summary.as_ref().map_or(0, |summary| summary.len());
        if length > MAX_LINE_BYTES.max(summary) { next.summed_up(ledger, key) } else { Ok(next) }
    }

    /// Returns the next document, which has only a checkpoint of `ledger`.
    pub(super) fn to_condensed(
        &self,
        ledger: &Ledger,
        key: Option<&MacKey>,
    ) -> Result<Self, serde_json::Error> {
        self.next().summed_up(ledger, key)
    }

    fn summed_up(self, ledger: &Ledger, key: Option<&MacKey>) -> Result<Self, serde_json::Error> {
        let bytes = checkpoint::serialize_checkpoint(Vec::new(), ledger, &self.head, key)
            .map_err(serde_json::Error::io)?;
        Ok(Self { summary: Some(as_text(bytes)?.into()), lines: Vec::new(), ..self })
    }

    /// Returns the bytes to send.
    pub(super) fn write(&self) -> Result<Vec<u8>, serde_json::Error> {
        let (version, terraform_version) = TERRAFORM_STATE_VERSION;
        let stead = SteadSection {
            format: DOCUMENT_FORMAT,
            head: encode_hex(&self.head),
            summary: self.summary.clone(),
            lines: self.lines.clone(),
        };
        serde_json::to_vec(&json!({
            "version": version,
            "terraform_version": terraform_version,
            "serial": self.serial,
            "lineage": self.lineage,
            "outputs": {},
            "resources": [],
            "check_results": null,
            "stead": stead,
        }))
    }

    /// Returns whether a server's document has the same content, in any JSON layout.
    pub(super) fn is_in(&self, body: &[u8]) -> bool {
        parse_envelope(body).is_ok_and(|found| found == *self)
    }
}

/// Returns bytes as text; lines and checkpoints are JSON and therefore text.
fn as_text(bytes: Vec<u8>) -> Result<String, serde_json::Error> {
    String::from_utf8(bytes).map_err(|error| serde_json::Error::io(std::io::Error::other(error)))
}

#[cfg(test)]
mod tests;
