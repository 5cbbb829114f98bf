//! The file store on real files: every state of the directory that a crash can leave between two
//! operations, or within one, holds a legal ledger; and a disk that is full or read-only is told.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use futures_util::FutureExt;
use jiff::Timestamp;
use stead::ledger::journal::error::StoreError;
use stead::ledger::journal::handle::Journal;
use stead::ledger::journal::record::Record;
use stead::ledger::journal::store::Store;
use stead::ledger::state::entry::{Entry, LedgerIdentity, OwnedObject};
use stead::ledger::state::holder::LeaseHolder;
use stead::ledger::state::ledger::Ledger;
use stead::ledger::stores::file::store::FileStore;
use stead::ledger::stores::open_options::OpenOptions;
use stead::model::address::Address;
use stead::model::values::value::Attributes;

use super::machine::SimRandom;

/// What a directory holds: contents by name.
type Files = BTreeMap<String, Vec<u8>>;

pub fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("files do not wait")
}

fn identity() -> LedgerIdentity {
    LedgerIdentity::new_random("shop", "prod", &SimRandom::new(7))
}

pub fn open(directory: &Path) -> Result<FileStore, StoreError> {
    let identity = identity();
    FileStore::open(
        directory,
        &OpenOptions::new(
            &identity,
            LeaseHolder {
                session: uuid::Uuid::nil(),
                who: "ada@loom".into(),
                process: None,
                since: Timestamp::UNIX_EPOCH,
            },
            std::time::Duration::ZERO,
        ),
    )
}

pub fn read(directory: &Path) -> Result<Option<Ledger>, StoreError> {
    FileStore::read(directory, "shop", "prod", None)
}

fn adopted(number: usize) -> Record {
    let id = format!("id-{number}").as_str().into();
    let current = OwnedObject { id, parent: None, project: None, created_at: None, provisional: false };
    let entry = Entry {
        kind: "volume".into(),
        current: Some(current),
        deposed: Vec::new(),
        parent: None,
        applied: Attributes::new(),
        depends_on: Vec::new(),
        protect: false,
        keep_on_remove: false,
        delete_on_remove: false,
        unfinished: false,
        secret_lost: false,
        secret_origin: None,
        final_snapshot: false,
        verified: None,
    };
    Record::Adopted { address: Address::new("volume", &format!("r{number}")), entry: Box::new(entry) }
}

/// Returns what the store's directory holds; the lock says nothing about the ledger.
fn files(root: &Path) -> Files {
    let Ok(entries) = fs::read_dir(root.join("prod")) else { return Files::new() };
    let entries = entries.map(Result::unwrap);
    let all = entries.map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap()));
    all.filter(|(name, _)| name != "lock").collect()
}

/// Returns a directory that costs no real writing, where there is one.
fn memory() -> tempfile::TempDir {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { tempfile::tempdir_in(shared).unwrap() } else { tempfile::tempdir().unwrap() }
}

/// Lays a directory out anew, and reads the ledger in it; opening it for writing must come to the same.
fn laid_out(files: &Files) -> Option<Ledger> {
    let root = memory();
    let place = root.path().join("prod");
    fs::create_dir(&place).unwrap();
    for (name, bytes) in files {
        fs::write(place.join(name), bytes).unwrap();
    }
    let ledger = read(root.path()).unwrap_or_else(|error| panic!("{error}: {:?}", files.keys()));
    let journal = now(Journal::open(open(root.path()).unwrap())).unwrap();
    match &ledger {
        Some(ledger) => assert_eq!(*journal.ledger(), *ledger),
        None => assert_eq!(journal.ledger().serial, 1),
    }
    // What was torn is gone, and writing goes on.
    now(journal.commit(&[adopted(9_000)])).unwrap();
    assert_eq!(read(root.path()).unwrap().as_ref(), Some(&*journal.ledger()));
    ledger
}

/// Returns every state between two of the directory that a crash can leave: what is written grows byte
/// by byte beside its place or at the end of the journal, a rename is done or not, and what was not yet
/// made durable (a new journal's name, removals) has happened or has not.
fn between(before: &Files, after: &Files) -> Vec<Files> {
    let mut states = Vec::new();
    let mut now = before.clone();
    let is_summary = |name: &String| name.starts_with("ledger-");
    for (name, bytes) in after.iter().filter(|(name, _)| is_summary(name) && !before.contains_key(*name)) {
        let beside = format!("{name}.new");
        for end in 0..=bytes.len() {
            states.push(
                now.iter()
                    .map(|(n, b)| (n.clone(), b.clone()))
                    .chain([(beside.clone(), bytes[..end].to_vec())])
                    .collect(),
            );
        }
        now.insert(name.clone(), bytes.clone());
        states.push(now.clone());
    }
    for (name, bytes) in after.iter().filter(|(name, _)| !is_summary(name)) {
        let known = before.get(name).map_or(0, Vec::len);
        for end in known..=bytes.len() {
            now.insert(name.clone(), bytes[..end].to_vec());
            states.push(now.clone());
        }
    }
    let removed: Vec<&String> = before.keys().filter(|name| !after.contains_key(*name)).collect();
    for subset in 0..1_usize << removed.len() {
        let is_kept = |at: usize| subset & (1 << at) == 0;
        let mut some = now.clone();
        some.retain(|name, _| removed.iter().position(|gone| *gone == name).is_none_or(is_kept));
        states.push(some);
    }
    states
}

/// What was there before a step, and how many states were looked at.
#[derive(Default)]
struct Watcher {
    files: Files,
    ledger: Option<Ledger>,
    checked: usize,
}

impl Watcher {
    /// Looks at every state between the last step and this one, or at every so many-th.
    fn step(&mut self, root: &Path, stride: usize) {
        let (files, ledger) = (files(root), read(root).unwrap());
        let states = between(&self.files, &files);
        let last = states.len() - 1;
        for (number, state) in states.iter().enumerate() {
            if number % stride == 0 || number + 4 > last {
                let found = laid_out(state);
                assert!(found == self.ledger || found == ledger, "{:?} holds {found:?}", state.keys());
                self.checked += 1;
            }
        }
        (self.files, self.ledger) = (files, ledger);
    }
}

#[test]
fn every_possible_crash_state_contains_all_acknowledged_records() {
    let root = memory();
    let mut watcher = Watcher::default();
    let again = || now(Journal::open(open(root.path()).unwrap())).unwrap();
    let journal = again();
    watcher.step(root.path(), 1);
    now(journal.commit(&[adopted(1)])).unwrap();
    watcher.step(root.path(), 1);
    now(journal.commit(&[adopted(2), adopted(3)])).unwrap();
    watcher.step(root.path(), 1);
    now(journal.close()).unwrap();
    watcher.step(root.path(), 1);
    for number in 4..16 {
        let journal = again();
        now(journal.commit(&[adopted(number)])).unwrap();
        watcher.step(root.path(), 29);
        now(journal.close()).unwrap();
        watcher.step(root.path(), 101);
    }
    println!("{} states of the directory", watcher.checked);
    assert!(watcher.checked > 1_500, "{}", watcher.checked);
}

/// Runs another test of this binary in a process whose files cannot grow beyond so many blocks.
#[cfg(unix)]
fn cramped(blocks: usize, directory: &Path) -> String {
    let script =
        format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" --exact \"$1\" --ignored --nocapture");
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .arg("disk::child_process_that_appends_until_the_disk_is_full")
        .env("STEAD_CRAMPED", directory)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
#[ignore = "the other half of a_full_disk_is_reported_and_loses_no_acknowledged_record"]
fn child_process_that_appends_until_the_disk_is_full() {
    let directory = std::env::var("STEAD_CRAMPED").unwrap();
    let store = open(Path::new(&directory)).unwrap();
    let mut acknowledged = 0;
    let error = loop {
        match now(store.append(&[adopted(acknowledged)])) {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Io { action: "write", .. }), "{error:?}");
    assert!(matches!(now(store.append(&[adopted(0)])), Err(StoreError::Poisoned)));
    println!("acknowledged={acknowledged}");
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_reported_and_loses_no_acknowledged_record() {
    for blocks in [1, 2, 3, 5, 8] {
        let root = tempfile::tempdir().unwrap();
        let text = cramped(blocks, root.path());
        let count = text.lines().find_map(|line| line.split_once("acknowledged=")).unwrap().1;
        let count: usize = count.trim().parse().unwrap();
        let ledger = read(root.path()).unwrap().unwrap();
        assert_eq!(ledger.entries.len(), count, "{blocks} blocks");
        // With room again, the torn end is dropped and writing goes on.
        let store = open(root.path()).unwrap();
        let journal = now(Journal::open(store)).unwrap();
        now(journal.commit(&[adopted(count)])).unwrap();
        assert_eq!(read(root.path()).unwrap().unwrap().entries.len(), count + 1);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_only_directory_is_rejected_before_any_request() {
    for place in ["/proc/stead-test", "/sys/stead-test"] {
        let error = open(Path::new(place)).err().unwrap();
        assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
        assert!(read(Path::new(place)).unwrap().is_none(), "reading goes on");
    }
}
