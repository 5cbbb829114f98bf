//! What kept secrets promise: no value is lost, and each opens in its own place only.

use super::*;
use crate::ledger::age_file::{AgeFileError, AgeIdentity};
use crate::ledger::fixture::{address, adopted, identity};
use crate::ledger::journal::record::Record;
use crate::ledger::journal::replay::{apply_record, load_ledger};
use crate::ledger::state::ledger::Ledger;
use crate::model::values::secret::Secret;

fn names(of: &[&AgeIdentity]) -> BTreeSet<Name> {
    of.iter().map(|identity| identity.recipient()).collect()
}

fn pin(of: &[&AgeIdentity]) -> Record {
    Record::SecretRecipients { recipients: names(of) }
}

/// Records that a value is kept, as an apply would.
fn keep(ledger: &mut Ledger, address: &str, value: &str, pending: bool) {
    let version = ledger.secrets.next_version(address);
    let value = ledger.encrypt_secret(address, version, None, &Secret::new(value)).unwrap();
    apply_record(ledger, &Record::SecretKept { address: address.into(), value: Box::new(value), pending })
        .unwrap();
}

fn value(ledger: &Ledger, identity: &AgeIdentity, address: &str) -> Result<String, AgeFileError> {
    let version = ledger.secrets.values[address].effective_version();
    let opened = ledger.decrypt_secret(std::slice::from_ref(identity), address, version)?;
    Ok(opened.expose().unwrap().to_owned())
}

fn ledger(of: &[&AgeIdentity]) -> Ledger {
    let mut ledger =
        load_ledger([Record::birth(&identity()), adopted(1, "vm-1"), adopted(2, "vm-2")]).unwrap();
    apply_record(&mut ledger, &pin(of)).unwrap();
    ledger
}

#[test]
fn a_value_is_encrypted_to_the_pinned_recipients_in_a_checkpoint() {
    let (ada, eve) = (AgeIdentity::generate(), AgeIdentity::generate());
    let mut ledger = ledger(&[&ada]);
    keep(&mut ledger, "vars.token", "canary", false);
    let text = serde_json::to_string(&ledger).unwrap();
    assert!(!text.contains("canary"));
    let read: Ledger = serde_json::from_str(&text).unwrap();
    assert_eq!(read, ledger);
    assert_eq!(value(&read, &ada, "vars.token").unwrap(), "canary");
    assert_eq!(value(&read, &eve, "vars.token"), Err(AgeFileError::NoIdentity));
    // One that was encrypted for others than those that are pinned is no legal record.
    let made = ledger.encrypt_secret("vars.other", 1, None, &Secret::new("x")).unwrap();
    apply_record(&mut ledger, &pin(&[&eve])).unwrap();
    let record = Record::SecretKept { address: "vars.other".into(), value: Box::new(made), pending: false };
    assert!(apply_record(&mut ledger, &record).is_err());
    assert!(apply_record(&mut ledger, &Record::SecretRecipients { recipients: BTreeSet::new() }).is_err());
}

#[test]
fn a_value_copied_from_another_address_is_rejected() {
    let ada = AgeIdentity::generate();
    let mut ledger = ledger(&[&ada]);
    for address in ["vm.a1", "vm.a2", "vars.token"] {
        keep(&mut ledger, address, &format!("{address} 1"), false);
    }
    let first = ledger.secrets.values["vars.token"].current.clone();
    keep(&mut ledger, "vars.token", "newer", false);
    let put = |address: &str, version: &KeptVersion| {
        let mut forged = ledger.clone();
        forged.secrets.values.get_mut(address).unwrap().current = version.clone();
        value(&forged, &ada, address).unwrap_err()
    };
    let other = &ledger.secrets.values["vm.a2"].current;
    assert_eq!(put("vm.a1", other), AgeFileError::Place("address"));
    // What says that the resource had that address does not fit its object.
    let moved = KeptVersion { was: Some("vm.a2".into()), ..other.clone() };
    assert_eq!(put("vm.a1", &moved), AgeFileError::Place("object"));
    let aged = KeptVersion { was: Some("vm.a2".into()), ..first.clone() };
    assert_eq!(put("vars.token", &KeptVersion { version: 2, ..aged }), AgeFileError::Place("version"));
    // His own value, under the fingerprint that the ledger has.
    let own = ledger.encrypt_secret("vars.token", 2, None, &Secret::new("of an attacker")).unwrap();
    let known = ledger.secrets.values["vars.token"].current.fingerprint.clone();
    assert_eq!(put("vars.token", &KeptVersion { fingerprint: known, ..own }), AgeFileError::Fingerprint);
}

#[test]
fn copies_for_old_recipients_are_listed_until_the_value_changes() {
    let (ada, bob) = (AgeIdentity::generate(), AgeIdentity::generate());
    let mut ledger = ledger(&[&ada, &bob]);
    keep(&mut ledger, "vars.token", "canary", false);
    apply_record(&mut ledger, &pin(&[&ada])).unwrap();
    assert_eq!(ledger.secrets.outdated_addresses().collect::<Vec<_>>(), ["vars.token"]);
    let again = ledger.secrets.values["vars.token"].current.clone();
    let again = ledger.encrypt_secret("vars.token", again.version, None, &Secret::new("canary")).unwrap();
    let record =
        Record::SecretKept { address: "vars.token".into(), value: Box::new(again), pending: false };
    apply_record(&mut ledger, &record).unwrap();
    assert_eq!(ledger.secrets.outdated_addresses().count(), 0);
    let former = |ledger: &Ledger| {
        let kept = &ledger.secrets;
        kept.former_recipients(kept.values["vars.token"].effective_version()).cloned().collect::<Vec<_>>()
    };
    assert_eq!(former(&ledger), [bob.recipient()]);
    assert_eq!(value(&ledger, &bob, "vars.token"), Err(AgeFileError::NoIdentity));
    keep(&mut ledger, "vars.token", "another", true);
    assert_eq!(former(&ledger), Vec::<Name>::new());
    assert_eq!(value(&ledger, &ada, "vars.token").unwrap(), "another");
    let step = |step| Record::SecretRotation { address: "vars.token".into(), step };
    apply_record(&mut ledger, &step(RotationStep::Done)).unwrap();
    assert!(apply_record(&mut ledger, &step(RotationStep::Done)).is_err(), "once");
    assert_eq!(ledger.secrets.values["vars.token"].current.version, 2);
}

#[test]
fn a_moved_resource_keeps_its_secret() {
    let ada = AgeIdentity::generate();
    let mut ledger = ledger(&[&ada]);
    keep(&mut ledger, "vm.a1", "canary", false);
    let moves = [(address(1), address(9))].into_iter().collect();
    apply_record(&mut ledger, &Record::Moved { moves }).unwrap();
    assert_eq!(value(&ledger, &ada, "vm.a9").unwrap(), "canary");
    apply_record(&mut ledger, &Record::Gone { op: None, address: address(9), id: "vm-1".into() }).unwrap();
    assert!(ledger.secrets.values.is_empty());
}

/// What a rekey, a rotation and a creation record, cut off after each record: every value opens, and the wanted one is
/// one that was stored whole.
#[test]
fn an_interruption_at_any_record_loses_no_kept_value() {
    let (ada, bob) = (AgeIdentity::generate(), AgeIdentity::generate());
    let mut whole = ledger(&[&ada]);
    let mut records = Vec::new();
    let mut add = |ledger: &mut Ledger, record: Record| {
        apply_record(ledger, &record).unwrap();
        records.push(record);
    };
    for n in 1..4 {
        let name = format!("vars.t{n}");
        let value = whole.encrypt_secret(&name, 1, None, &Secret::new(format!("value {n}"))).unwrap();
        add(
            &mut whole,
            Record::SecretKept { address: name.into(), value: Box::new(value), pending: false },
        );
    }
    add(&mut whole, pin(&[&ada, &bob]));
    for n in 1..4 {
        let name = format!("vars.t{n}");
        let value = whole.encrypt_secret(&name, 1, None, &Secret::new(format!("value {n}"))).unwrap();
        add(
            &mut whole,
            Record::SecretKept { address: name.into(), value: Box::new(value), pending: false },
        );
    }
    let address = Name::new("vars.t1");
    let step = |step| Record::SecretRotation { address: "vars.t1".into(), step };
    add(&mut whole, step(RotationStep::Begin));
    let value = whole.encrypt_secret("vars.t1", 2, None, &Secret::new("value 1 anew")).unwrap();
    add(&mut whole, Record::SecretKept { address: address.clone(), value: Box::new(value), pending: true });
    add(&mut whole, step(RotationStep::Done));
    for cut in 0..=records.len() {
        let mut cut_off = ledger(&[&ada]);
        records[..cut].iter().for_each(|record| apply_record(&mut cut_off, record).unwrap());
        for (name, kept) in &cut_off.secrets.values {
            let number = name.trim_start_matches("vars.t");
            let wanted = value_of(&cut_off, &ada, name, kept.effective_version());
            let anew = kept.effective_version().version == 2;
            assert_eq!(
                wanted,
                if anew { format!("value {number} anew") } else { format!("value {number}") }
            );
            assert!(value_of(&cut_off, &ada, name, &kept.current).starts_with(&format!("value {number}")));
        }
    }
}

fn value_of(ledger: &Ledger, identity: &AgeIdentity, address: &str, version: &KeptVersion) -> String {
    let opened = ledger.decrypt_secret(std::slice::from_ref(identity), address, version).unwrap();
    opened.expose().unwrap().to_owned()
}
