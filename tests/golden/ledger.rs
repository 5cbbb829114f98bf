//! The ledger: journal lines, checkpoint, lease, and the values in them. Digests and MACs of lines and checkpoints are
//! compared by the unit tests of `ledger/line.rs` and `ledger/summary.rs`, on the same files.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde::{Deserialize, Serialize};
use stead::ledger::integrity::export;
use stead::ledger::journal::record::{ClosedOutcome, IntentResolution, Record};
use stead::ledger::state::entry::IntentAction;
use stead::ledger::state::kept_secrets::RotationStep;
use stead::ledger::state::ledger::Ledger;
use stead::ledger::state::run_history::{ActionOutcome, IncidentKind};
use stead::ledger::stores::file::store::FileStore;
use stead::ledger::stores::shared::lease::Lease;
use stead::model::values::secret::Secret;
use stead::model::values::value::{Attributes, Value};

use crate::coverage::Coverage;
use crate::files;

/// Returns the JSON of a journal's lines, each between its digest and its MAC.
fn json_of_lines(name: &str) -> Vec<String> {
    let end = |rest: &str| rest.rfind(']').unwrap() + 1;
    files::read(name).lines().map(|line| &line[74..]).map(|rest| rest[..end(rest)].to_owned()).collect()
}

#[test]
fn journal_records_are_read_and_written_as_before() {
    let mut coverage = Coverage::default();
    for name in ["journal.jsonl", "journal-with-macs.jsonl"] {
        for (number, json) in json_of_lines(name).iter().enumerate() {
            let records: Vec<Record> = serde_json::from_str(json)
                .unwrap_or_else(|error| panic!("{name}, line {}: {error}", number + 1));
            assert_eq!(&serde_json::to_string(&records).unwrap(), json, "{name}, line {}", number + 1);
            coverage.add(&records);
        }
    }
    coverage.assert_fields_are_complete();
    coverage.assert_variants::<Record>(Some("record"));
    coverage.assert_variants::<IntentResolution>(Some("is"));
    coverage.assert_variants::<IncidentKind>(Some("is"));
    coverage.assert_variants::<IntentAction>(Some("do"));
    coverage.assert_variants::<ClosedOutcome>(None);
    coverage.assert_variants::<RotationStep>(None);
    coverage.assert_variants::<ActionOutcome>(None);
}

#[derive(Serialize, Deserialize)]
struct Checkpoint {
    /// A number, or a text that earlier versions refuse.
    format: serde_json::Value,
    head: String,
    ledger: Ledger,
    sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mac: Option<String>,
}

const CHECKPOINTS: [&str; 7] = [
    "checkpoint.json",
    "checkpoint-held.json",
    "checkpoint-with-applied-review.json",
    "checkpoint-with-mac.json",
    "checkpoint-with-review.json",
    "checkpoint-with-runs.json",
    "checkpoint-with-transfers.json",
];

#[test]
fn a_checkpoint_holds_every_field_of_a_ledger() {
    let mut coverage = Coverage::default();
    for name in CHECKPOINTS {
        coverage.add(&files::round_trip::<Checkpoint>(name));
    }
    coverage.assert_fields_are_complete();
    coverage.assert_variants::<IntentAction>(Some("do"));
    coverage.assert_variants::<IncidentKind>(Some("is"));
}

#[test]
fn values_are_read_and_written_as_before() {
    let values: Attributes = files::round_trip("values.json");
    let form = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Integer(_) => "integer",
        Value::Decimal(_) => "decimal",
        Value::Text(_) => "text",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Unknown(_) => "unknown",
        Value::Secret(secret) => match secret {
            Secret::Fingerprint(None) => "sealed without fingerprint",
            Secret::Fingerprint(Some(_)) => "sealed",
            Secret::Derived(_) => "derived",
            // Neither is ever read: both are written as a secret of which nothing is known.
            Secret::Plain(_) => "plain",
            Secret::Deferred(_) => "awaited",
        },
    };
    let forms: BTreeSet<_> = values.values().map(form).collect();
    let wanted = [
        "bool",
        "decimal",
        "derived",
        "integer",
        "list",
        "map",
        "null",
        "sealed",
        "sealed without fingerprint",
        "text",
        "unknown",
    ];
    assert_eq!(forms, wanted.into());
    for secret in [Secret::new("text"), Secret::new_deferred("text")] {
        assert_eq!(serde_json::to_string(&secret).unwrap(), r#"{"secret":true}"#);
    }
}

#[test]
fn a_lease_is_read_and_written_as_before() {
    let mut coverage = Coverage::default();
    coverage.add(&files::round_trip::<Vec<Lease>>("lease.json"));
    coverage.assert_fields_are_complete();
}

/// Returns the ledger that a directory with these files contains.
fn read_directory(names: &[&str]) -> Ledger {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("staging");
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
    for name in names {
        fs::copy(files::path("ledger-directory").join(name), directory.join(name)).unwrap();
    }
    FileStore::read(root.path(), "shop", "staging", None).unwrap().unwrap()
}

/// A real apply wrote both files: its journal must replay to its checkpoint.
#[test]
fn the_journal_of_a_golden_ledger_replays_to_its_checkpoint() {
    let written: Checkpoint =
        serde_json::from_str(&files::read("ledger-directory/ledger-63.json")).unwrap();
    assert!(written.ledger.entries.len() > 10);
    // It was written before runs had numbers: the reader numbers them.
    let mut numbered = written.ledger.clone();
    numbered.history.iter_mut().for_each(|run| run.number = 1);
    numbered.last_run = 1;
    let from_checkpoint = read_directory(&["ledger-63.json", "journal-63.log"]);
    assert_eq!(from_checkpoint, numbered);
    // It was also written before runs kept the outputs that they changed, which the journal has.
    let mut replayed = read_directory(&["journal-0.log"]);
    assert!(!replayed.history[0].outputs.is_empty());
    replayed.history[0].outputs.clear();
    assert_eq!(replayed, numbered);
    files::round_trip::<Checkpoint>("ledger-directory/ledger-63.json");
}

#[test]
fn a_ledger_that_was_pulled_is_read_and_written_as_before() {
    let name = "pulled-ledger.json";
    let ledger = export::parse(files::read(name).as_bytes(), name, None).unwrap();
    let written = export::write_document(&ledger, None).unwrap();
    files::assert_same(name, &String::from_utf8(written).unwrap());
}
