//! Whoever can write a ledger's place, and has not the key, changes nothing in it unseen.

#![allow(clippy::disallowed_methods, reason = "tests damage files")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use futures_util::FutureExt;
use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::ledger::fixture::*;
use crate::ledger::integrity::repair::{PreparedRepair, RepairOptions};
use crate::ledger::integrity::{export, verify};
use crate::ledger::journal::handle::Journal;
use crate::ledger::journal::{chain, checkpoint, line};
use crate::ledger::state::entry::MacState;
use crate::ledger::state::key_as_hex;
use crate::ledger::stores::file::store::FileStore;
use crate::ledger::stores::open_options::OpenOptions;

fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("files do not wait")
}

fn key(n: u8) -> MacKey {
    MacKey::new(&[n; 32]).unwrap()
}

fn open(directory: &Path, key: Option<&MacKey>) -> Result<Journal<FileStore>, StoreError> {
    let identity = identity();
    let opening = OpenOptions { seal: key, ..open_options(&identity, "ada@loom") };
    now(Journal::open(FileStore::open(directory, &opening)?))
}

fn read(directory: &Path, key: Option<&MacKey>) -> Result<Ledger, String> {
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
        let (_, _, rest) = line::split_line(line.as_bytes()).unwrap();
        let (json, mac) = line::split_mac(rest);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (text(json), mac.map(text))
    };
    text.lines().map(part).collect()
}

/// Puts lines together with lengths and digests that fit: whoever has not the key can do that.
fn forged(lines: &[Apart]) -> String {
    forged_after(chain::first_head(), lines)
}

fn forged_after(mut head: ChainHead, lines: &[Apart]) -> String {
    let mut text = String::new();
    for (json, mac) in lines {
        head = chain::line_digest(&head, json.as_bytes());
        let mac = mac.as_ref().map(|mac| format!(" {mac}")).unwrap_or_default();
        writeln!(text, "{:08x} {} {json}{mac}", json.len(), encode_hex(&head)).unwrap();
    }
    text
}

#[test]
fn every_flipped_bit_is_detected() {
    let root = tempfile::tempdir().unwrap();
    let ledger = sealed(root.path());
    assert_eq!(read(root.path(), Some(&key(1))).unwrap(), ledger);
    assert_eq!(*open(root.path(), Some(&key(1))).unwrap().ledger(), ledger, "it begins once");
    let mut bytes = fs::read(path(root.path())).unwrap();
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let key = key(1);
        let read = line::decode_lines(&bytes, chain::first_head(), &mut MacVerifier::new(Some(&key)));
        assert!(read.is_err(), "bit {bit} of {}", bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn a_line_forged_without_the_key_is_rejected_with_its_number() {
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
        let found = verify::check_directory(root.path(), "prod", Some(&key(1))).unwrap();
        assert_eq!(found.damages.len(), 1, "{what}: {found:?}");
        assert!(found.damages[0].place.ends_with(&format!("line {line}")), "{what}: {found:?}");
    }
}

#[test]
fn another_key_reads_nothing_and_without_a_key_reading_still_works() {
    let root = tempfile::tempdir().unwrap();
    let ledger = sealed(root.path());
    let (one, other) = (key(1).id, key(2).id);
    let text = format!("the ledger's records have MACs of the key {one}, and the given key is {other}");
    assert_eq!(read(root.path(), Some(&key(2))).unwrap_err(), text);
    assert_eq!(open(root.path(), Some(&key(2))).err().unwrap().to_string(), text);
    assert_eq!(
        verify::check_directory(root.path(), "prod", Some(&key(2))).unwrap().damages[0].reason,
        text
    );
    assert_eq!(read(root.path(), None).unwrap(), ledger);
    let error = open(root.path(), None).err().unwrap();
    assert!(matches!(error, StoreError::Sealed(MacError::MissingKey)), "{error}");
    let before = fs::read(path(root.path())).unwrap();
    assert_eq!(before, fs::read(path(root.path())).unwrap());
}

fn is_unsealed<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Sealed(MacError::MissingMacs)))
}

fn repair(root: &Path, key: Option<&MacKey>) -> Result<PreparedRepair, StoreError> {
    let (stack, environment, who, now) = ("shop", "prod", "ada@loom", Timestamp::UNIX_EPOCH);
    PreparedRepair::prepare(&RepairOptions { directory: root, stack, environment, who, now, seal: key })
}

/// A ledger without MACs: in one journal, or in a summary and a journal after it.
fn plain(root: &Path, summed_up: bool) -> Ledger {
    let journal = open(root, None).unwrap();
    now(journal.commit(&[adopted(1, "x")])).unwrap();
    if summed_up {
        now(journal.close()).unwrap();
    } else {
        drop(journal);
    }
    let journal = open(root, None).unwrap();
    now(journal.commit(&[adopted(2, "y")])).unwrap();
    journal.ledger().clone()
}

fn seal(root: &Path, from: Option<&MacKey>, to: &MacKey) -> Ledger {
    let journal = open(root, from).unwrap();
    now(journal.enable_macs(to, "ada@loom", Timestamp::UNIX_EPOCH)).unwrap();
    now(journal.commit(&[adopted(3, "z")])).unwrap();
    let ledger = journal.ledger().clone();
    drop(journal);
    ledger
}

#[test]
fn with_a_key_a_ledger_without_macs_is_rejected_until_they_are_added() {
    for summed_up in [false, true] {
        let root = tempfile::tempdir().unwrap();
        let (own, before) = (key(1), plain(root.path(), summed_up));
        assert!(is_unsealed(&FileStore::read(root.path(), "shop", "prod", Some(&own))));
        assert!(is_unsealed(&open(root.path(), Some(&own)).map(|_| ())), "it is not sealed silently");
        assert!(is_unsealed(&repair(root.path(), Some(&own)).map(|_| ())));
        let report = verify::check_directory(root.path(), "prod", Some(&own)).unwrap();
        assert_eq!(report.damages.len(), 1, "{report:?}");
        assert!(report.damages[0].reason.contains("has no MACs"), "{report:?}");
        assert_eq!(read(root.path(), None).unwrap(), before, "without a key nothing changes");
        let lenient = own.accepting_unsealed();
        assert_eq!(read(root.path(), Some(&lenient)).unwrap(), before);
        let after = seal(root.path(), None, &own);
        assert_eq!(read(root.path(), Some(&own)).unwrap(), after);
        let since = before.serial + 1;
        assert_eq!(after.sealed, Some(MacState { key: own.id.clone(), since, previous: Vec::new() }));
        assert_eq!(after.entries.len(), 3);
        let report = verify::check_directory(root.path(), "prod", Some(&own)).unwrap();
        assert_eq!(report.damages, [], "what was kept of the time before agrees with it");
        assert!(open(root.path(), None).is_err(), "it is not written without the key any more");
    }
}

#[test]
fn an_empty_ledger_without_macs_gets_them_with_the_first_write() {
    for closed in [false, true] {
        let (root, own) = (tempfile::tempdir().unwrap(), key(1));
        let journal = open(root.path(), None).unwrap();
        if closed {
            now(journal.close()).unwrap();
        } else {
            drop(journal);
        }
        assert!(read(root.path(), Some(&own)).unwrap().is_blank());
        now(open(root.path(), Some(&own)).unwrap().commit(&[adopted(1, "x")])).unwrap();
        assert_eq!(read(root.path(), Some(&own)).unwrap().entries.len(), 1);
    }
}

#[test]
fn a_key_rotation_is_atomic_and_records_the_previous_keys() {
    let root = tempfile::tempdir().unwrap();
    let (one, two, three) = (key(1), key(2), key(3));
    plain(root.path(), true);
    let first = seal(root.path(), None, &one);
    let text = "the ledger's records have MACs of the key";
    assert!(
        open(root.path(), Some(&two)).err().unwrap().to_string().contains(text),
        "not without the old one"
    );
    for (from, to) in [(&one, &two), (&two, &three)] {
        let journal = open(root.path(), Some(from)).unwrap();
        now(journal.enable_macs(to, "ada@loom", Timestamp::UNIX_EPOCH)).unwrap();
        now(journal.close()).unwrap();
        assert!(read(root.path(), Some(from)).unwrap_err().contains(text));
    }
    let ledger = read(root.path(), Some(&three)).unwrap();
    assert_eq!(ledger.entries, first.entries);
    let sealing = ledger.sealed.unwrap();
    let keys: Vec<_> = sealing.previous.iter().map(|former| former.key.clone()).collect();
    assert_eq!(keys, [one.id, two.id]);
    assert_eq!(sealing.previous[0].since, first.sealed.unwrap().since);
    assert_eq!(verify::check_directory(root.path(), "prod", Some(&three)).unwrap().damages, []);
}

/// The line before the summary, the summary, and the journal after it: each is a file, and the rename decides.
#[test]
fn adding_macs_is_atomic_when_killed() {
    let (root, own) = (tempfile::tempdir().unwrap(), key(1));
    plain(root.path(), true);
    let journal = open(root.path(), None).unwrap();
    now(journal.enable_macs(&own, "ada@loom", Timestamp::UNIX_EPOCH)).unwrap();
    let (sealed, folder) = (journal.ledger().clone(), root.path().join("prod"));
    drop(journal);
    // Killed after the rename, before the journal that follows.
    fs::remove_file(folder.join(format!("journal-{}.log", sealed.serial))).unwrap();
    assert_eq!(read(root.path(), Some(&own)).unwrap(), sealed);
    assert_eq!(open(root.path(), Some(&own)).unwrap().ledger().sealed, sealed.sealed);
    // Killed before the rename: the new file has not replaced the old one, complete or not.
    let summary = folder.join(format!("ledger-{}.json", sealed.serial));
    let whole = fs::read(&summary).unwrap();
    fs::remove_file(&summary).unwrap();
    fs::remove_file(folder.join(format!("journal-{}.log", sealed.serial))).unwrap();
    for length in [0, whole.len() / 2, whole.len()] {
        fs::write(folder.join(format!(".ledger-{}.json.new", sealed.serial)), &whole[..length]).unwrap();
        assert_eq!(read(root.path(), None).unwrap().sealed, None);
        assert!(is_unsealed(&FileStore::read(root.path(), "shop", "prod", Some(&own))));
    }
    assert_eq!(seal(root.path(), None, &own).entries.len(), 3, "a second run finishes");
    assert_eq!(read(root.path(), Some(&own)).unwrap().entries.len(), 3);
}

/// As stead once sealed silently: the record with which MACs begin stands in the middle of a journal.
fn sealed_silently(root: &Path, summed_up: bool) -> Vec<Apart> {
    plain(root, summed_up);
    let own = key(1);
    let file = fs::read_dir(root.join("prod")).unwrap().map(|entry| entry.unwrap().path());
    let named = |path: &PathBuf| path.extension().is_some_and(|end| end == "log");
    let file = file.filter(named).max_by_key(|path| path.to_string_lossy().len()).unwrap();
    let before = fs::read_to_string(&file).unwrap();
    let (_, digest, _) = line::split_line(before.lines().last().unwrap().as_bytes()).unwrap();
    let mut head = key_as_hex::parse(std::str::from_utf8(digest).unwrap()).unwrap().0;
    let mut text = before.into_bytes();
    for record in [Record::Sealed { key: own.id.clone() }, adopted(4, "w")] {
        let (line, after) = line::encode_line(&[record], &head, Some(&own)).unwrap();
        (head, text) = (after, [text, line].concat());
    }
    fs::write(&file, &text).unwrap();
    apart(&String::from_utf8(text).unwrap())
}

#[test]
fn the_first_mac_covers_earlier_lines_but_no_checkpoint() {
    let (root, own) = (tempfile::tempdir().unwrap(), key(1));
    let lines = sealed_silently(root.path(), false);
    assert_eq!(read(root.path(), Some(&own)).unwrap().entries.len(), 3);
    let mut changed = lines.clone();
    changed[1].0 = changed[1].0.replace("\"x\"", "\"w\"");
    fs::write(path(root.path()), forged(&changed)).unwrap();
    let error = read(root.path(), Some(&own)).unwrap_err();
    assert!(error.contains("its MAC does not match"), "{error}");
    // Repair does not take what stands before a lost line that nothing covers.
    let whole = forged(&lines);
    let sealing = lines.iter().find(|line| line.0.contains("\"sealed\"")).unwrap();
    let broken = whole.replacen(&sealing.0, &sealing.0.replace("sealed", "sea1ed"), 1);
    fs::write(path(root.path()), broken).unwrap();
    assert!(is_unsealed(&repair(root.path(), Some(&own)).map(|_| ())));
    // A summary can be another one with the same head.
    let root = tempfile::tempdir().unwrap();
    sealed_silently(root.path(), true);
    assert!(is_unsealed(&FileStore::read(root.path(), "shop", "prod", Some(&own))));
    assert!(is_unsealed(&open(root.path(), Some(&own)).map(|_| ())));
    assert!(is_unsealed(&repair(root.path(), Some(&own)).map(|_| ())));
    assert_eq!(verify::check_directory(root.path(), "prod", Some(&own)).unwrap().damages.len(), 1);
    // Sealed once more it has what it lacked.
    assert_eq!(seal(root.path(), Some(&own.accepting_unsealed()), &own).entries.len(), 4);
    assert_eq!(read(root.path(), Some(&own)).unwrap().entries.len(), 4);
}

#[test]
fn a_checkpoint_from_before_the_macs_is_not_accepted_again() {
    let (root, own) = (tempfile::tempdir().unwrap(), key(1));
    plain(root.path(), true);
    let old = fs::read_dir(root.path().join("prod")).unwrap().map(|entry| entry.unwrap().path());
    let old: Vec<_> = old.filter(|path| path.to_string_lossy().contains("ledger-")).collect();
    let sealed = seal(root.path(), None, &own);
    let newest = root.path().join(format!("prod/ledger-{}.json", sealed.serial - 1));
    let head = checkpoint::parse(&fs::read(&newest).unwrap(), &mut MacVerifier::new(Some(&own))).unwrap().1;
    let mut doctored = Ledger { serial: sealed.serial - 1, sealed: None, ..sealed };
    doctored.entries.remove(&address(1));
    fs::write(&newest, checkpoint::serialize_checkpoint(Vec::new(), &doctored, &head, None).unwrap())
        .unwrap();
    for key in [&own, &key(2)] {
        assert!(
            FileStore::read(root.path(), "shop", "prod", Some(key)).is_err(),
            "the lines after it have MACs"
        );
        assert!(repair(root.path(), Some(key)).is_err());
    }
    // Damaged, it does not make repair take an older one that has none.
    fs::write(&newest, "{").unwrap();
    assert!(!old.is_empty() && is_unsealed(&repair(root.path(), Some(&own)).map(|_| ())));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whoever has not the key and changes anything gets it refused, but for the end that can be cut off:
    /// that is an older ledger.
    #[test]
    fn every_change_without_the_key_is_rejected(
        commits in 1_u8..6, summed_up in any::<bool>(), summary in any::<bool>(), what in 0_u8..6,
        at in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(), byte in 1_u8..=255,
    ) {
        let (root, own) = (tempfile::tempdir().unwrap(), key(1));
        let journal = open(root.path(), Some(&own)).unwrap();
        now(journal.commit(&[adopted(1, "x")])).unwrap();
        if summed_up {
            now(journal.close()).unwrap();
        } else {
            drop(journal);
        }
        let journal = open(root.path(), Some(&own)).unwrap();
        for n in 0..commits {
            now(journal.commit(&[adopted(10 + n, "y")])).unwrap();
        }
        let whole = journal.ledger().clone();
        drop(journal);
        let files = || fs::read_dir(root.path().join("prod")).unwrap().map(|entry| entry.unwrap().path());
        let newest = files().find(|path| path.to_string_lossy().contains("ledger-"));
        let head = newest.map_or(chain::first_head(), |path| {
            checkpoint::parse(&fs::read(path).unwrap(), &mut MacVerifier::new(Some(&own))).unwrap().1
        });
        let wanted = if summed_up && summary { "ledger-" } else { "journal-" };
        let named = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(wanted);
        let file = files().filter(named).max_by_key(|path| path.to_string_lossy().len()).unwrap();
        let mut bytes = fs::read(&file).unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        let mut lines = apart_or_whole(&text);
        let (i, j) = (at.index(lines.len()), to.index(lines.len()));
        match what {
            0 => { let i = at.index(bytes.len()); bytes[i] ^= byte; }
            1 => { let i = at.index(bytes.len()); bytes.remove(i); }
            2 => { let i = at.index(bytes.len() + 1); bytes.insert(i, byte); }
            3 => { lines.remove(i); bytes = relined(head, &lines); }
            4 => { lines.swap(i, j); bytes = relined(head, &lines); }
            _ => { lines[i].1 = None; bytes = relined(head, &lines); }
        }
        fs::write(&file, &bytes).unwrap();
        match FileStore::read(root.path(), "shop", "prod", Some(&own)) {
            Err(_) | Ok(None) => {}
            Ok(Some(found)) if bytes == text.as_bytes() => prop_assert_eq!(found, whole),
            // What follows the last complete line is a torn write, and not read.
            Ok(Some(found)) if is_torn_after(&bytes, &text) => prop_assert_eq!(found, whole),
            Ok(Some(found)) => prop_assert!(found.serial < whole.serial, "{} taken", what),
        }
    }
}

fn is_torn_after(bytes: &[u8], text: &str) -> bool {
    text.ends_with('\n') && bytes.strip_prefix(text.as_bytes()).is_some_and(|rest| !rest.contains(&b'\n'))
}

fn apart_or_whole(text: &str) -> Vec<Apart> {
    if text.starts_with('{') {
        let (open, mac) = text.split_once(",\"mac\":").unwrap();
        return vec![(open.to_owned(), Some(mac.to_owned()))];
    }
    apart(text)
}

/// Puts lines together so that all fits that needs no key.
fn relined(head: ChainHead, lines: &[Apart]) -> Vec<u8> {
    match lines.first() {
        Some((open, mac)) if open.starts_with('{') => match mac {
            Some(mac) => format!("{open},\"mac\":{mac}").into_bytes(),
            None => format!("{open}}}\n").into_bytes(),
        },
        _ => forged_after(head, lines).into_bytes(),
    }
}

#[test]
fn checkpoints_and_pulled_copies_have_macs() {
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
    let (found, head) = checkpoint::parse(&bytes, &mut MacVerifier::new(Some(&own))).unwrap();
    assert_eq!(found, ledger);
    // A forger writes what it likes with a digest that fits, and takes the MAC along or leaves it out.
    let mut doctored = ledger.clone();
    doctored.entries.remove(&address(2));
    let theirs = checkpoint::serialize_checkpoint(Vec::new(), &doctored, &head, Some(&key(2))).unwrap();
    let bare = checkpoint::serialize_checkpoint(Vec::new(), &doctored, &head, None).unwrap();
    for (forged, why) in [(theirs, "its MAC does not match"), (bare, "it has no MAC")] {
        fs::write(&place, forged).unwrap();
        let error = read(root.path(), Some(&key(1))).unwrap_err();
        assert!(error.contains(why) && error.contains(".json"), "{error}");
    }
    let copy = export::write_document(&ledger, Some(&key(1))).unwrap();
    assert_eq!(export::parse(&copy, "it", Some(&key(1))).unwrap(), ledger);
    assert_eq!(export::parse(&copy, "it", None).unwrap(), ledger);
    assert!(export::parse(&copy, "it", Some(&key(2))).is_err());
    let bare = export::write_document(&ledger, None).unwrap();
    assert!(export::parse(&bare, "it", Some(&key(1))).unwrap_err().to_string().contains("no MAC"));
}

#[test]
fn a_pushed_copy_gets_the_macs_of_its_destination() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let copy = sealed(from.path());
    let pushed = |key: Option<&MacKey>, copy: &Ledger| {
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
        assert_eq!(
            pushed(Some(&key(n)), copy),
            Some(MacState { key: key(n).id, since: 2, previous: Vec::new() })
        );
    }
    assert_eq!(pushed(None, &plain), None);
}

#[test]
fn a_repair_accepts_no_forged_record() {
    let root = tempfile::tempdir().unwrap();
    let ledger = sealed(root.path());
    let whole = fs::read_to_string(path(root.path())).unwrap();
    let own = key(1);
    let repaired = |text: &str, key: Option<&MacKey>| {
        fs::write(path(root.path()), text).unwrap();
        let (stack, environment, who) = ("shop", "prod", "ada@loom");
        let (directory, now) = (root.path(), Timestamp::UNIX_EPOCH);
        PreparedRepair::prepare(&RepairOptions { directory, stack, environment, who, now, seal: key })
    };
    let places =
        |repair: &PreparedRepair| repair.lost.iter().map(|lost| lost.place.clone()).collect::<Vec<_>>();
    let other = repaired(&whole, Some(&key(2))).err().unwrap();
    assert!(matches!(other, StoreError::Sealed(MacError::WrongKey { .. })), "{other}");
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
    assert!(matches!(error, StoreError::Sealed(MacError::MissingKey)), "{error}");
}

#[test]
fn a_mac_key_has_a_minimum_length_and_ignores_line_ends() {
    assert!(MacKey::new(&[7; 31]).is_err() && MacKey::new(b"short\n").is_err());
    let text = "k".repeat(32);
    let (one, two) = (MacKey::new(text.as_bytes()).unwrap(), MacKey::new(format!("{text}\r\n").as_bytes()));
    assert_eq!(one.id(), two.unwrap().id(), "an editor's line break");
    let mut bytes = [0xff; 32];
    bytes[31] = b'\n';
    assert!(MacKey::new(&bytes).is_ok(), "a byte of chance is no line break");
    assert!(!format!("{one:?}").contains("kkk"));
}
