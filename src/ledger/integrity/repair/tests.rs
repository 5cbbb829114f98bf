//! Every flipped byte of a ledger's files is seen, and repair gets back all that is proven.

#![allow(clippy::disallowed_methods, reason = "tests damage files")]

use std::fs;
use std::path::PathBuf;
use std::thread;

use futures_util::FutureExt;

use super::*;
use crate::ledger::fixture::*;
use crate::ledger::integrity::verify::{VerificationReport, check_directory};
use crate::ledger::journal::handle::Journal;
use crate::ledger::stores::file::store::FileStore;

fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("files do not wait")
}

fn journal(directory: &Path) -> Journal<FileStore> {
    let identity = identity();
    let opening = open_options(&identity, "ada@loom");
    now(Journal::open(FileStore::open(directory, &opening).unwrap())).unwrap()
}

fn repairing(directory: &Path) -> RepairOptions<'_> {
    RepairOptions {
        directory,
        stack: "shop",
        environment: "prod",
        who: "ada@loom",
        now: Timestamp::UNIX_EPOCH,
        seal: None,
    }
}

/// A ledger of two summaries and three journals, the last one with several lines.
fn corpus(root: &Path) -> Ledger {
    let first = journal(root);
    now(first.commit(&[create(1, 1, false)])).unwrap();
    now(first.commit(&[bound(1, "x")])).unwrap();
    now(first.close()).unwrap();
    let second = journal(root);
    now(second.commit(&[adopted(2, "y")])).unwrap();
    now(second.close()).unwrap();
    let third = journal(root);
    for record in [create(2, 3, false), bound(2, "z"), adopted(4, "w")] {
        now(third.commit(&[record])).unwrap();
    }
    let ledger = third.ledger().clone();
    drop(third);
    ledger
}

fn files(root: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(root.join("prod")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = all.filter(|path| path.is_file() && !path.ends_with("lock")).collect();
    files.sort();
    files
}

fn same(mut repaired: Ledger, whole: &Ledger) -> bool {
    repaired.serial = whole.serial;
    repaired.incidents.clone_from(&whole.incidents);
    repaired == *whole
}

#[test]
fn an_intact_ledger_has_no_damage() {
    let root = tempfile::tempdir().unwrap();
    let ledger = corpus(root.path());
    let report = check_directory(root.path(), "prod", None).unwrap();
    assert_eq!(report.damages, []);
    assert_eq!((report.summaries, report.journals, report.serial), (2, 3, ledger.serial));
    assert_eq!(check_directory(root.path(), "other", None).unwrap(), VerificationReport::default());
    let repair = PreparedRepair::prepare(&repairing(root.path())).unwrap();
    assert_eq!(repair.lost, []);
    assert!(same(repair.ledger().clone(), &ledger));
}

#[test]
fn every_flipped_byte_is_detected_and_repaired_where_possible() {
    let root = tempfile::tempdir().unwrap();
    let ledger = corpus(root.path());
    let (mut flips, mut complete) = (0, 0);
    for path in files(root.path()) {
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&path, &bytes).unwrap();
            let damages = check_directory(root.path(), "prod", None).unwrap().damages;
            assert!(!damages.is_empty(), "{} byte {at}", path.display());
            // What repair makes of it takes longer to find out: for some of the bytes.
            if at % 5 != 0 {
                continue;
            }
            flips += 1;
            let repair = loop {
                match PreparedRepair::prepare(&repairing(root.path())) {
                    // A process that another test starts has a copy of the last lock until it runs its program.
                    Err(StoreError::Locked { .. }) => thread::yield_now(),
                    repair => {
                        break repair
                            .unwrap_or_else(|error| panic!("{} byte {at}: {error}", path.display()));
                    }
                }
            };
            let is_same = same(repair.ledger().clone(), &ledger);
            assert!(is_same || !repair.lost.is_empty(), "{} byte {at}: lost in silence", path.display());
            complete += usize::from(is_same);
        }
        fs::write(&path, &whole).unwrap();
    }
    assert!(flips > 600, "{flips}");
    // Only what stands in the last journal's own records cannot be proven by anything else.
    assert!(complete * 10 > flips * 7, "{complete} of {flips}");
}

#[test]
fn a_lost_line_is_named_and_later_lines_are_kept() {
    let root = tempfile::tempdir().unwrap();
    corpus(root.path());
    let last = files(root.path()).into_iter().filter(|path| path.extension().unwrap() == "log").max_by_key(
        |path| {
            path.file_stem()
                .unwrap()
                .to_string_lossy()
                .strip_prefix("journal-")
                .unwrap()
                .parse::<u64>()
                .unwrap()
        },
    );
    let last = last.unwrap();
    let text = fs::read_to_string(&last).unwrap();
    fs::write(&last, text.replacen("\"id\":\"z\"", "\"id\":\"q\"", 1)).unwrap();
    let repair = PreparedRepair::prepare(&repairing(root.path())).unwrap();
    let lost: Vec<_> =
        repair.lost.iter().map(|lost| (lost.reason.as_str(), lost.records.join("; "))).collect();
    assert_eq!(lost, [("its digest does not match", "vm.a3 was bound to the object q".to_owned())]);
    assert!(repair.ledger().entries.contains_key(&address(4)), "the line after it");
    assert!(repair.ledger().intents.contains_key(&op(2)), "the request is open again: it will be resolved");
    let aside = repair.write().unwrap();
    let kept = fs::read_dir(root.path().join("prod")).unwrap();
    let is_kept = |name: String| name.starts_with(&aside);
    let kept = kept.filter(|entry| is_kept(entry.as_ref().unwrap().file_name().into_string().unwrap()));
    assert_eq!(kept.count(), 5, "nothing is deleted");
    assert_eq!(check_directory(root.path(), "prod", None).unwrap().damages, []);
    let repaired = journal(root.path());
    now(repaired.commit(&[bound(2, "z")])).unwrap();
    assert_eq!(repaired.ledger().incidents.len(), 1);
    now(repaired.close()).unwrap();
    assert_eq!(check_directory(root.path(), "prod", None).unwrap().damages, []);
}

#[test]
fn a_repair_takes_the_lock_first() {
    let root = tempfile::tempdir().unwrap();
    corpus(root.path());
    let holder = journal(root.path());
    assert!(matches!(PreparedRepair::prepare(&repairing(root.path())), Err(StoreError::Locked { .. })));
    drop(holder);
    assert!(PreparedRepair::prepare(&repairing(root.path())).is_ok());
}
