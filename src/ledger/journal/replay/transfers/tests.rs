//! A transfer moves everything about a resource, and nothing changes it on the way.

use jiff::Timestamp;
use uuid::Uuid;

use super::*;
use crate::ledger::age_file::AgeIdentity;
use crate::ledger::fixture::*;
use crate::ledger::journal::excerpt::excerpt_ledger;
use crate::ledger::journal::replay::apply_record;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::kept_secrets::RotationStep;
use crate::ledger::state::transfer::{LedgerPeer, TransferStatus};
use crate::model::values::secret::{FingerprintKey, Secret};
use crate::model::values::value::Attributes;

fn account() -> Record {
    Record::Account { account: "acc".into() }
}

/// Applies records, each to an excerpt as well; the first illegal one ends it with its reason.
fn follow(ledger: &mut Ledger, records: &[Record]) -> Result<(), &'static str> {
    for record in records {
        let mut excerpt = excerpt_ledger(ledger, std::slice::from_ref(record));
        let tried = apply_record(&mut excerpt, record).map_err(|illegal| illegal.reason);
        let done = apply_record(ledger, record).map_err(|illegal| illegal.reason);
        assert_eq!(tried, done, "the excerpt decides otherwise: {record:?}");
        done?;
    }
    Ok(())
}

fn source() -> Ledger {
    let mut ledger = Ledger::new(identity());
    follow(&mut ledger, &[account(), adopted(1, "x"), adopted(2, "y")]).unwrap();
    ledger
}

fn target() -> Ledger {
    let identity = LedgerIdentity {
        lineage: Uuid::from_u128(77),
        stack: "web".into(),
        key: FingerprintKey([9; 32]),
        ..identity()
    };
    let mut ledger = Ledger::new(identity);
    follow(&mut ledger, &[account(), adopted(4, "own")]).unwrap();
    ledger
}

fn transfer(n: u128, from: u8, to: u8, peer: &Ledger) -> Transfer {
    let LedgerIdentity { lineage, stack, environment, .. } = peer.identity.clone();
    Transfer {
        id: Uuid::from_u128(n),
        peer: LedgerPeer { lineage, stack, environment, location: "file:/there".into(), directory: None },
        moves: [(address(from), address(to))].into(),
        who: "a@b".into(),
        at: Timestamp::UNIX_EPOCH,
    }
}

fn offer(n: u128, from: u8, to: u8) -> Record {
    Record::TransferOffered(Box::new(transfer(n, from, to, &target())))
}

fn pending(n: u128, from: u8, to: u8, source: &Ledger) -> Record {
    Record::TransferPending(Box::new(pending_entries(source, &transfer(n, from, to, source))))
}

fn of(n: u128) -> [Record; 4] {
    let transfer = Uuid::from_u128(n);
    [
        Record::TransferGiven { transfer },
        Record::TransferOwned { transfer },
        Record::TransferWithdrawn { transfer },
        Record::TransferSettled { transfer },
    ]
}

#[test]
fn a_transfer_moves_an_entry_with_what_belongs_to_it() {
    let (mut source, mut target) = (source(), target());
    let secret = Value::Secret(Secret::new("s").to_recorded(&source.identity.key));
    let entry = source.entries.get_mut(&address(1)).unwrap();
    entry.applied.insert("password".into(), secret.clone());
    entry.protect = true;
    entry.depends_on = vec![address(2)];
    source.entries.get_mut(&address(2)).unwrap().depends_on = vec![address(1)];
    let delivery =
        SinkDelivery { address: "vm.a1".into(), key: FingerprintKey([3; 32]), fingerprint: "f".into() };
    source.remember_delivery(&"file:x".into(), &delivery);
    let (before, [given, owned_now, _, settled]) = (source.clone(), of(1));
    follow(&mut source, &[offer(1, 1, 5)]).unwrap();
    assert_eq!(source.entries, before.entries, "an offer takes nothing");
    follow(&mut target, &[pending(1, 1, 5, &source)]).unwrap();
    assert_eq!(target.entries.len(), 1, "pending is not owned");
    let seen =
        |ledger: &Ledger| ledger.transfers.objects_on_the_way().map(|(key, ..)| key.id).collect::<Vec<_>>();
    assert_eq!((seen(&source), seen(&target)), (vec![], vec!["x".into()]));
    follow(&mut source, std::slice::from_ref(&given)).unwrap();
    assert!(!source.entries.contains_key(&address(1)) && source.delivered.is_empty());
    assert_eq!(source.entries[&address(2)].depends_on, []);
    assert_eq!(seen(&source), ["x"]);
    follow(&mut target, std::slice::from_ref(&owned_now)).unwrap();
    let moved = &target.entries[&address(5)];
    assert_eq!((&moved.current, moved.protect), (&Some(owned("x")), true));
    assert_eq!(moved.depends_on, [], "the other resource stays");
    assert_eq!(moved.applied["password"], secret);
    assert_eq!(moved.secret_origin.as_ref().map(|origin| origin.key.0), Some(before.identity.key.0));
    let moved = SinkDelivery { address: "vm.a5".into(), ..delivery };
    assert_eq!(target.delivered["file:x"], [moved]);
    assert_eq!(target.transfers.status(Uuid::from_u128(1)), TransferStatus::Received);
    follow(&mut source, &[settled]).unwrap();
    assert_eq!(source.transfers.status(Uuid::from_u128(1)), TransferStatus::Settled);
    assert!(seen(&source).is_empty() && seen(&target).is_empty());
    assert!(source.needs_transfers() && target.needs_transfers() && !before.needs_transfers());
}

#[test]
fn the_records_of_a_transfer_have_one_order() {
    let [given, owned_now, withdrawn, settled] = of(1);
    let mut ledger = source();
    for early in [&given, &owned_now, &withdrawn, &settled] {
        assert!(follow(&mut ledger, std::slice::from_ref(early)).is_err(), "{early:?}");
    }
    follow(&mut ledger, &[offer(1, 1, 5)]).unwrap();
    for wrong in [&offer(1, 2, 6), &offer(2, 1, 5), &owned_now, &settled] {
        assert!(follow(&mut ledger, std::slice::from_ref(wrong)).is_err(), "{wrong:?}");
    }
    let mut back = ledger.clone();
    follow(&mut back, std::slice::from_ref(&withdrawn)).unwrap();
    assert_eq!(back.entries, ledger.entries);
    assert!(follow(&mut back, std::slice::from_ref(&given)).is_err(), "it was withdrawn");
    follow(&mut ledger, std::slice::from_ref(&given)).unwrap();
    for late in [&given, &withdrawn, &owned_now, &offer(1, 2, 6)] {
        assert!(follow(&mut ledger, std::slice::from_ref(late)).is_err(), "{late:?}");
    }
    follow(&mut ledger, std::slice::from_ref(&settled)).unwrap();
    assert!(follow(&mut ledger, &[offer(1, 2, 6)]).is_err(), "the id was used");
    let mut other = target();
    follow(&mut other, &[pending(1, 1, 5, &source())]).unwrap();
    for wrong in [&given, &settled, &pending(1, 1, 6, &source()), &pending(2, 2, 5, &source())] {
        assert!(follow(&mut other, std::slice::from_ref(wrong)).is_err(), "{wrong:?}");
    }
    follow(&mut other, std::slice::from_ref(&owned_now)).unwrap();
    assert!(follow(&mut other, &[pending(1, 2, 6, &source())]).is_err(), "it was received");
    let own = other.entries.clone();
    assert!(follow(&mut other, std::slice::from_ref(&withdrawn)).is_err() && other.entries == own);
}

#[test]
fn nothing_changes_a_resource_that_is_on_its_way() {
    let mut ledger = source();
    follow(&mut ledger, &[offer(1, 1, 5)]).unwrap();
    let child = {
        let Record::Intent(mut intent) = create(3, 1, false) else { panic!("another record") };
        intent.address = address(1).join("disk").join("a");
        Record::Intent(intent)
    };
    let held = [
        create(3, 1, true),
        update(3, 1, "x"),
        delete(3, 1, "x"),
        child,
        gone(None, 1, "x"),
        Record::Forgotten { address: address(1) },
        Record::Merged { address: address(1), attributes: Attributes::new() },
        Record::Applied { address: address(1), entry: Box::new(entry(None)) },
        Record::Moved { moves: [(address(1), address(7))].into() },
        Record::Moved { moves: [(address(2), address(1))].into() },
        Record::SecretRotation { address: "vm.a1".into(), step: RotationStep::Begin },
    ];
    for record in &held {
        let refused = follow(&mut ledger, std::slice::from_ref(record)).unwrap_err();
        assert!(refused.contains("between two ledgers"), "{record:?}: {refused}");
    }
    follow(&mut ledger, &[update(3, 2, "y")]).unwrap();
    let mut other = target();
    follow(&mut other, &[pending(1, 1, 5, &source())]).unwrap();
    for record in
        [create(3, 5, false), adopted(5, "z"), Record::Moved { moves: [(address(4), address(5))].into() }]
    {
        let refused = follow(&mut other, &[record]).unwrap_err();
        assert!(refused.contains("between two ledgers"), "{refused}");
    }
}

#[test]
fn a_transfer_that_cannot_take_place_is_refused() {
    let refused = |ledger: &Ledger, record: &Record| {
        follow(&mut ledger.clone(), std::slice::from_ref(record)).unwrap_err()
    };
    let with = |records: &[Record]| {
        let mut ledger = source();
        follow(&mut ledger, records).unwrap();
        ledger
    };
    assert_eq!(refused(&source(), &offer(1, 3, 5)), "there is no entry to move");
    assert!(refused(&with(&[update(3, 1, "x")]), &offer(1, 1, 5)).contains("open or ambiguous"));
    let rotating = Record::SecretRotation { address: "vm.a1".into(), step: RotationStep::Begin };
    assert!(refused(&with(&[rotating]), &offer(1, 1, 5)).contains("rotated"));
    let own = Record::TransferOffered(Box::new(transfer(1, 1, 5, &source())));
    assert_eq!(refused(&source(), &own), "both ledgers are the same");
    let mut child = source();
    child.entries.get_mut(&address(1)).unwrap().parent = Some(address(2));
    assert!(refused(&child, &offer(1, 1, 5)).contains("with its parent"));
    let unborn = Ledger { identity: LedgerIdentity { account: None, ..identity() }, ..source() };
    assert!(refused(&unborn, &offer(1, 1, 5)).contains("no account"));
    let arrives = pending(1, 1, 5, &source());
    assert!(refused(&target(), &pending(1, 1, 4, &source())).contains("an entry at the new address"));
    let mut elsewhere = target();
    elsewhere.identity.account = Some("other".into());
    assert!(refused(&elsewhere, &arrives).contains("another account"));
    let mut busy = target();
    follow(&mut busy, &[create(3, 5, false)]).unwrap();
    assert!(refused(&busy, &arrives).contains("open or ambiguous"));
    let Record::TransferPending(mut more) = arrives else { panic!("another record") };
    more.entries.insert(address(6), entry(Some("z")));
    assert!(refused(&target(), &Record::TransferPending(more)).contains("other entries than addresses"));
}

#[test]
fn a_kept_secret_is_readable_in_the_ledger_that_received_it() {
    let identity = AgeIdentity::generate();
    let recipients = [identity.recipient()].into();
    let pin = Record::SecretRecipients { recipients };
    let (mut source, mut target) = (source(), target());
    follow(&mut source, std::slice::from_ref(&pin)).unwrap();
    let secret = Secret::new("hunter2");
    let kept = source.encrypt_secret("vm.a1", 1, None, &secret).unwrap();
    let stored = Record::SecretKept { address: "vm.a1".into(), value: Box::new(kept), pending: false };
    follow(&mut source, &[stored, offer(1, 1, 5)]).unwrap();
    let arrives = pending(1, 1, 5, &source);
    let refused = follow(&mut target, std::slice::from_ref(&arrives)).unwrap_err();
    assert!(refused.contains("no recipients"), "{refused}");
    follow(&mut target, &[pin, arrives, of(1)[1].clone()]).unwrap();
    let [given, ..] = of(1);
    follow(&mut source, &[given]).unwrap();
    assert!(source.secrets.values.is_empty());
    let moved = &target.secrets.values["vm.a5"].current;
    let read = target.decrypt_secret(std::slice::from_ref(&identity), "vm.a5", moved).unwrap();
    assert_eq!(read.expose(), secret.expose());
    assert_eq!(target.secrets.outdated_addresses().count(), 0, "the recipients are the same");
    let forged = KeptSecret { current: moved.clone(), pending: None };
    target.entries.get_mut(&address(5)).unwrap().current = Some(owned("stranger"));
    assert!(
        target.decrypt_secret(&[identity], "vm.a5", &forged.current).is_err(),
        "it is bound to its object"
    );
}
