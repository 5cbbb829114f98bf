//! Documents: there and back, in whatever form, and nothing of them can change unseen.

use super::*;
use crate::ledger::journal::replay::load_ledger;
use crate::ledger::state::entry::LedgerIdentity;
use crate::model::values::secret::FingerprintKey;

fn birth() -> Record {
    let identity = LedgerIdentity {
        lineage: Uuid::from_u128(7),
        key: FingerprintKey([3; 32]),
        ..LedgerIdentity::new_placeholder("shop", "prod")
    };
    Record::birth(&identity)
}

fn account(name: &str) -> Record {
    Record::Account { account: name.into() }
}

fn of(records: &[Record]) -> Ledger {
    load_ledger(records.iter().cloned()).unwrap()
}

#[test]
fn a_document_round_trips() {
    let new = parse(None, Uuid::from_u128(7), None).unwrap();
    assert!(new.records.is_empty());
    let mut records = vec![birth()];
    let mut document = new.document.with_records(&records, &of(&records), None).unwrap();
    for name in ["a", "a", "a"] {
        records.push(account(name));
        document = document.with_records(&records[records.len() - 1..], &of(&records), None).unwrap();
        let body = document.write().unwrap();
        let read = parse(Some(&body), Uuid::nil(), None).unwrap();
        assert_eq!((&read.document, &read.records), (&document, &records));
        assert!(document.is_in(&body) && !document.next().is_in(&body));
    }
    assert_eq!(document.serial, 4);
    let short = document.to_condensed(&of(&records), None).unwrap();
    let read = parse(Some(&short.write().unwrap()), Uuid::nil(), None).unwrap();
    assert_eq!((read.records.len(), short.serial), (1, 5));
    assert_eq!(load_ledger(read.records).unwrap(), of(&records));
}

#[test]
fn a_document_reformatted_by_the_server_is_accepted() {
    let document = StateDocument::default().with_records(&[birth()], &of(&[birth()]), None).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&document.write().unwrap()).unwrap();
    let pretty = serde_json::to_vec_pretty(&value).unwrap();
    assert!(document.is_in(&pretty));
    assert_eq!(parse(Some(&pretty), Uuid::nil(), None).unwrap().records, vec![birth()]);
}

#[test]
fn the_document_is_a_valid_terraform_state() {
    let document = StateDocument::default().with_records(&[birth()], &of(&[birth()]), None).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&document.write().unwrap()).unwrap();
    assert_eq!(value["version"], 4);
    assert_eq!(value["resources"], json!([]));
    assert_eq!(value["serial"], 1);
}

#[test]
fn many_lines_are_compacted_into_a_checkpoint() {
    let mut records = vec![birth()];
    let mut document = StateDocument::default().with_records(&records, &of(&records), None).unwrap();
    let long: String = "x".repeat(MAX_LINE_BYTES / 4);
    for _ in 0..8 {
        records.push(account(&long));
        document = document.with_records(&records[records.len() - 1..], &of(&records), None).unwrap();
        assert!(document.write().unwrap().len() < 3 * MAX_LINE_BYTES);
    }
    assert!(document.summary.is_some());
    let read = parse(Some(&document.write().unwrap()), Uuid::nil(), None).unwrap();
    assert_eq!(load_ledger(read.records).unwrap(), of(&records));
}

#[test]
fn a_document_that_is_not_a_ledger_is_described() {
    for (body, wanted) in [
        ("", "it holds no state"),
        ("<html>", "it holds no state"),
        (
            r#"{"version":4,"serial":1,"lineage":"x","resources":[{}]}"#,
            "it holds the state of Terraform, and no ledger",
        ),
        (r#"{"version":4,"serial":1,"lineage":"x"}"#, "it holds the state of Terraform, and no ledger"),
        (
            r#"{"serial":1,"stead":{"format":2,"head":"","summary":null,"lines":[]}}"#,
            "it holds no ledger that this version knows",
        ),
    ] {
        assert_eq!(parse(Some(body.as_bytes()), Uuid::nil(), None).unwrap_err(), wanted, "{body}");
    }
}

#[test]
fn every_changed_byte_is_detected() {
    let records = [birth(), account("a")];
    let document = StateDocument::default().with_records(&records[..1], &of(&records[..1]), None).unwrap();
    let document = document.with_records(&records[1..], &of(&records), None).unwrap();
    let mut body = document.write().unwrap();
    for at in 0..body.len() {
        let was = body[at];
        for changed in [was ^ 1, was ^ 0x20] {
            body[at] = changed;
            // A field that only servers read may change its name or value; the ledger may not.
            if let Ok(read) = parse(Some(&body), Uuid::nil(), None) {
                assert_eq!(read.records, records, "byte {at}");
            }
        }
        body[at] = was;
    }
    let mut shorter = document.clone();
    shorter.lines.pop();
    assert_eq!(
        parse(Some(&shorter.write().unwrap()), Uuid::nil(), None).unwrap_err(),
        "its last line does not match its recorded head"
    );
}

#[test]
fn a_line_forged_without_the_key_is_rejected_with_its_number() {
    let key = MacKey::new(&[7; 32]).unwrap();
    let mut records = vec![birth(), Record::Sealed { key: key.id().clone() }];
    let mut document = StateDocument::default().with_records(&records, &of(&records), Some(&key)).unwrap();
    records.push(account("a"));
    document = document.with_records(&records[2..], &of(&records), Some(&key)).unwrap();
    let read = |document: &StateDocument, key| parse(Some(&document.write().unwrap()), Uuid::nil(), key);
    assert_eq!(read(&document, Some(&key)).unwrap().records, records);
    assert_eq!(read(&document, None).unwrap().records, records);
    // Its digests fit: who writes a line without the key can make them.
    let forged = document.with_records(&[account("a")], &of(&records), None).unwrap();
    assert_eq!(
        read(&forged, Some(&key)).unwrap_err(),
        "line 3: it has no MAC, and the ledger's other records have one"
    );
    let other = MacKey::new(&[8; 32]).unwrap();
    let forged = document.with_records(&[account("a")], &of(&records), Some(&other)).unwrap();
    assert!(read(&forged, Some(&key)).unwrap_err().starts_with("line 3: its MAC does not match"));
    let short = document.to_condensed(&of(&records), Some(&key)).unwrap();
    assert_eq!(read(&short, Some(&key)).unwrap().records.len(), 1);
    let forged = document.to_condensed(&of(&records), None).unwrap();
    assert!(read(&forged, Some(&key)).unwrap_err().starts_with("the checkpoint: it has no MAC"));
}

#[test]
fn the_golden_document_is_read_and_written_as_before() {
    let golden = include_str!("../../../../../tests/golden/files/state-server-document.json");
    let read = parse(Some(golden.as_bytes()), Uuid::nil(), None).unwrap();
    assert_eq!((read.document.serial, read.records.len()), (9, 2));
    let written = String::from_utf8(read.document.write().unwrap()).unwrap();
    // A state server keeps any order of the keys.
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(json(&written), json(golden));
}
