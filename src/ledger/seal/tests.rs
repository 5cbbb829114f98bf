//! Whoever can write a ledger's place, and has not the key, changes nothing in it unseen.

#![allow(clippy::disallowed_methods, reason = "tests damage files")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use futures_util::FutureExt;
use jiff::Timestamp;

use super::*;
use crate::ledger::file::{FileStore, Opening};
use crate::ledger::fixture::*;
use crate::ledger::journal::Journal;
use crate::ledger::line;
use crate::ledger::repair::{Repair, Repairing};
use crate::ledger::verify;
use crate::ledger::{document, summary};

fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("files do not wait")
}

fn key(n: u8) -> SealKey {
    SealKey::new(&[n; 32]).unwrap()
}

fn open(directory: &Path, key: Option<&SealKey>) -> Result<Journal<FileStore>, StoreError> {
    let (identity, now_is) = (identity(), Timestamp::UNIX_EPOCH);
    let opening = Opening { directory, identity: &identity, who: "ada@loom", now: now_is, seal: key };
    now(Journal::open(FileStore::open(&opening)?))
}

fn read(directory: &Path, key: Option<&SealKey>) -> Result<Ledger, String> {
    let read = FileStore::read(directory, "shop", "prod", key);
    read.map(Option::unwrap).map_err(|error| error.to_string())
}

fn path(root: &Path) -> PathBuf {
    root.join("prod/journal-0.log")
}

/// A sealed ledger of five lines.
fn sealed(root: &Path) -> Ledger {
    let journal = open(root, Some(&key(1))).unwrap();
    for record in [create(1, 1, false), bound(1, "x"), adopted(2, "y"), adopted(4, "w")] {
        now(journal.commit(&[record])).unwrap();
    }
    journal.ledger().clone()
}

/// A line apart: its JSON and its MAC.
type Apart = (String, Option<String>);

fn apart(text: &str) -> Vec<Apart> {
    let part = |line: &str| {
        let (_, _, rest) = line::split(line.as_bytes()).unwrap();
        let (json, mac) = line::unsealed(rest);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (text(json), mac.map(text))
    };
    text.lines().map(part).collect()
}

/// Puts lines together with lengths and digests that fit: whoever has not the key can do that.
fn forged(lines: &[Apart]) -> String {
    let mut head = line::first_head();
    let mut text = String::new();
    for (json, mac) in lines {
        head = line::digest(&head, json.as_bytes());
        let mac = mac.as_ref().map(|mac| format!(" {mac}")).unwrap_or_default();
        writeln!(text, "{:08x} {} {json}{mac}", json.len(), hex(&head)).unwrap();
    }
    text
}

#[test]
fn every_flipped_bit_is_seen() {
    let root = tempfile::tempdir().unwrap();
    let ledger = sealed(root.path());
    assert_eq!(read(root.path(), Some(&key(1))).unwrap(), ledger);
    assert_eq!(*open(root.path(), Some(&key(1))).unwrap().ledger(), ledger, "it begins once");
    let mut bytes = fs::read(path(root.path())).unwrap();
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let key = key(1);
        let read = line::read(&bytes, line::first_head(), &mut Seals::new(Some(&key)));
        assert!(read.is_err(), "bit {bit} of {}", bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn what_is_forged_without_the_key_is_refused_with_the_number_of_its_line() {
    let root = tempfile::tempdir().unwrap();
    sealed(root.path());
    let whole = fs::read_to_string(path(root.path())).unwrap();
    let lines = apart(&whole);
    assert_eq!(forged(&lines), whole, "the forger knows how");
    let mut cases: Vec<(&str, usize, Vec<Apart>)> = Vec::new();
    for at in 1..lines.len() {
        let mut with = |what, change: &dyn Fn(&mut Vec<Apart>)| {
            let mut lines = lines.clone();
            change(&mut lines);
            cases.push((what, at + 1, lines));
        };
        with("changed", &|lines| lines[at].0.insert(1, ' '));
        with("stripped", &|lines| lines[at].1 = None);
        with("all stripped from here on", &|lines| lines[at..].iter_mut().for_each(|line| line.1 = None));
        with("another line's", &|lines| lines[at].1 = lines[0].1.clone());
        with("added", &|lines| lines.insert(at, lines[at].clone()));
        if at + 1 < lines.len() {
            with("dropped", &|lines| drop(lines.remove(at)));
            with("swapped", &|lines| lines.swap(at, at + 1));
        }
    }
    for (what, line, lines) in cases {
        // The line that was doubled is right itself; the one after it is not.
        let line = if what == "added" { line + 1 } else { line };
        fs::write(path(root.path()), forged(&lines)).unwrap();
        let error = read(root.path(), Some(&key(1))).unwrap_err();
        let place = format!("journal-0.log, line {line} is damaged: it");
        assert!(error.contains(&place) && error.contains("MAC"), "{what}, line {line}: {error}");
        assert!(open(root.path(), Some(&key(1))).is_err(), "{what}");
        let found = verify::check(root.path(), "prod", Some(&key(1))).unwrap();
        assert_eq!(found.damages.len(), 1, "{what}: {found:?}");
        assert!(found.damages[0].place.ends_with(&format!("line {line}")), "{what}: {found:?}");
    }
}

#[test]
fn another_key_reads_and_writes_nothing_and_none_only_reads() {
    let root = tempfile::tempdir().unwrap();
    let ledger = sealed(root.path());
    let (one, other) = (key(1).id, key(2).id);
    let text =
        format!("the ledger's lines bear MACs of the key {one}, and the one that is given is {other}");
    assert_eq!(read(root.path(), Some(&key(2))).unwrap_err(), text);
    assert_eq!(open(root.path(), Some(&key(2))).err().unwrap().to_string(), text);
    assert_eq!(verify::check(root.path(), "prod", Some(&key(2))).unwrap().damages[0].reason, text);
    assert_eq!(read(root.path(), None).unwrap(), ledger);
    let error = open(root.path(), None).err().unwrap();
    assert!(matches!(error, StoreError::Sealed(SealError::Keyless)), "{error}");
    let before = fs::read(path(root.path())).unwrap();
    assert_eq!(before, fs::read(path(root.path())).unwrap());
}

#[test]
fn a_ledger_that_has_none_begins_with_the_next_line_and_all_before_it_is_covered() {
    let root = tempfile::tempdir().unwrap();
    let plain = open(root.path(), None).unwrap();
    now(plain.commit(&[adopted(1, "x")])).unwrap();
    drop(plain);
    let journal = open(root.path(), Some(&key(1))).unwrap();
    assert_eq!(journal.ledger().sealed, Some(Sealing { key: key(1).id, since: 3 }));
    now(journal.commit(&[adopted(2, "y")])).unwrap();
    drop(journal);
    let whole = fs::read_to_string(path(root.path())).unwrap();
    let lines = apart(&whole);
    let bears: Vec<bool> = lines.iter().map(|line| line.1.is_some()).collect();
    assert_eq!(bears, [false, false, true, true]);
    let mut changed = lines.clone();
    changed[1].0 = changed[1].0.replace("\"x\"", "\"z\"");
    fs::write(path(root.path()), forged(&changed)).unwrap();
    let error = read(root.path(), Some(&key(1))).unwrap_err();
    assert!(error.contains("line 3 is damaged: its MAC does not match"), "{error}");
    // Taken away with the record of their begin, they begin anew, with another record.
    fs::write(path(root.path()), forged(&lines[..2])).unwrap();
    now(open(root.path(), None).unwrap().commit(&[adopted(3, "z")])).unwrap();
    assert_eq!(open(root.path(), Some(&key(1))).unwrap().ledger().sealed.as_ref().unwrap().since, 4);
}

#[test]
fn summaries_and_copies_are_sealed_too() {
    let root = tempfile::tempdir().unwrap();
    sealed(root.path());
    let journal = open(root.path(), Some(&key(1))).unwrap();
    now(journal.commit(&[adopted(5, "v")])).unwrap();
    let ledger = journal.ledger().clone();
    now(journal.close()).unwrap();
    now(open(root.path(), Some(&key(1))).unwrap().commit(&[adopted(6, "u")])).unwrap();
    assert_eq!(read(root.path(), Some(&key(1))).unwrap().serial, ledger.serial + 1);
    let place = root.path().join(format!("prod/ledger-{}.json", ledger.serial));
    let bytes = fs::read(&place).unwrap();
    let own = key(1);
    let (found, head) = summary::parse(&bytes, &mut Seals::new(Some(&own))).unwrap();
    assert_eq!(found, ledger);
    // A forger writes what it likes with a digest that fits, and takes the MAC along or leaves it out.
    let mut doctored = ledger.clone();
    doctored.entries.remove(&address(2));
    let theirs = summary::write(Vec::new(), &doctored, &head, Some(&key(2))).unwrap();
    let bare = summary::write(Vec::new(), &doctored, &head, None).unwrap();
    for (forged, why) in [(theirs, "its MAC does not match"), (bare, "it bears no MAC")] {
        fs::write(&place, forged).unwrap();
        let error = read(root.path(), Some(&key(1))).unwrap_err();
        assert!(error.contains(why) && error.contains(".json"), "{error}");
    }
    let copy = document::write(&ledger, Some(&key(1))).unwrap();
    assert_eq!(document::parse(&copy, "it", Some(&key(1))).unwrap(), ledger);
    assert_eq!(document::parse(&copy, "it", None).unwrap(), ledger);
    assert!(document::parse(&copy, "it", Some(&key(2))).is_err());
    let bare = document::write(&ledger, None).unwrap();
    assert!(document::parse(&bare, "it", Some(&key(1))).unwrap_err().to_string().contains("no MAC"));
}

#[test]
fn a_copy_that_is_pushed_bears_what_its_new_place_bears() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let copy = sealed(from.path());
    let pushed = |key: Option<&SealKey>, copy: &Ledger| {
        let journal = open(to.path(), key).unwrap();
        let (ledger, who) = (Box::new(copy.clone()), "ada@loom".to_owned());
        now(journal.commit(&[Record::Pushed { ledger, who, at: Timestamp::UNIX_EPOCH }])).unwrap();
        let sealed = journal.ledger().sealed.clone();
        now(journal.close()).unwrap();
        assert_eq!(read(to.path(), key).unwrap().sealed, sealed);
        fs::remove_dir_all(to.path().join("prod")).unwrap();
        sealed
    };
    assert_eq!(pushed(Some(&key(1)), &copy), copy.sealed, "since when it did where it comes from");
    let plain = Ledger { sealed: None, ..copy.clone() };
    for (copy, n) in [(&copy, 2), (&plain, 1)] {
        assert_eq!(pushed(Some(&key(n)), copy), Some(Sealing { key: key(n).id, since: 2 }));
    }
    assert_eq!(pushed(None, &plain), None);
}

#[test]
fn repair_takes_nothing_that_is_forged() {
    let root = tempfile::tempdir().unwrap();
    let ledger = sealed(root.path());
    let whole = fs::read_to_string(path(root.path())).unwrap();
    let own = key(1);
    let repaired = |text: &str, key: Option<&SealKey>| {
        fs::write(path(root.path()), text).unwrap();
        let (stack, environment, who) = ("shop", "prod", "ada@loom");
        let (directory, now) = (root.path(), Timestamp::UNIX_EPOCH);
        Repair::prepare(&Repairing { directory, stack, environment, who, now, seal: key })
    };
    let places = |repair: &Repair| repair.lost.iter().map(|lost| lost.place.clone()).collect::<Vec<_>>();
    let other = repaired(&whole, Some(&key(2))).err().unwrap();
    assert!(matches!(other, StoreError::Sealed(SealError::Other { .. })), "{other}");
    // A damaged MAC is proven by the next line's, and damaged text is lost.
    let lines = apart(&whole);
    let broken = whole.replacen(lines[2].1.as_deref().unwrap(), &"0".repeat(64), 1);
    let repair = repaired(&broken, Some(&own)).unwrap();
    assert_eq!((places(&repair), &repair.ledger().entries), (vec![], &ledger.entries));
    drop(repair);
    let mut changed = lines.clone();
    changed[3].0 = changed[3].0.replace("\"y\"", "\"z\"");
    let repair = repaired(&forged(&changed), Some(&own)).unwrap();
    assert_eq!(places(&repair), ["journal-0.log, line 4", "journal-0.log, line 5"]);
    assert!(!repair.ledger().entries.contains_key(&address(2)));
    repair.write().unwrap();
    let read = read(root.path(), Some(&own)).unwrap();
    assert_eq!(read.sealed, ledger.sealed);
    fs::remove_dir_all(root.path().join("prod")).unwrap();
    sealed(root.path());
    let error = repaired(&whole.replacen("00", "01", 1), None).err().unwrap();
    assert!(matches!(error, StoreError::Sealed(SealError::Keyless)), "{error}");
}

#[test]
fn what_a_key_is_made_of() {
    assert!(SealKey::new(&[7; 31]).is_err() && SealKey::new(b"short\n").is_err());
    let text = "k".repeat(32);
    let (one, two) =
        (SealKey::new(text.as_bytes()).unwrap(), SealKey::new(format!("{text}\r\n").as_bytes()));
    assert_eq!(one.id(), two.unwrap().id(), "an editor's line break");
    let mut bytes = [0xff; 32];
    bytes[31] = b'\n';
    assert!(SealKey::new(&bytes).is_ok(), "a byte of chance is no line break");
    assert!(!format!("{one:?}").contains("kkk"));
}
