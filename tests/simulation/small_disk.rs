//! A real file system that is really full. Only root can mount one.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;
use stead::ledger::journal::error::StoreError;
use stead::ledger::journal::record::Record;
use stead::ledger::journal::store::Store;
use stead::ledger::state::entry::{Entry, Intent, IntentAction, OwnedObject};
use stead::model::address::{Address, Name};
use stead::model::values::value::Attributes;
use uuid::Uuid;

use super::disk::{now, open, read};

/// A file system of this many kilobytes, gone with the value.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn new(kilobytes: usize) -> Self {
        let place = tempfile::tempdir().unwrap();
        let size = format!("size={kilobytes}k,mode=700");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "none"]).arg(place.path()).status();
        assert!(mounted.unwrap().success(), "only root can mount");
        Self(place)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Takes what is left, to the last block, and returns the file that has it.
    fn fill(&self) -> PathBuf {
        let path = self.path().join("filling");
        let mut file = fs::File::options().create(true).append(true).open(&path).unwrap();
        while file.write_all(&[0; 1_024]).is_ok() {}
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

fn op(number: usize) -> Uuid {
    Uuid::from_u128(number as u128)
}

fn intent(number: usize) -> Record {
    let entry = Entry {
        kind: "volume".into(),
        current: None,
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
    Record::Intent(Intent {
        op: op(number),
        address: Address::new("volume", &format!("r{number}")),
        kind: "volume".into(),
        parent: None,
        project: None,
        at: Timestamp::UNIX_EPOCH,
        foreign: false,
        action: IntentAction::Create {
            expected: Attributes::new(),
            baseline: Vec::new(),
            server_date: None,
            entry: Box::new(entry),
            deposes: false,
        },
    })
}

fn bound(number: usize) -> Record {
    let id = Name::new(format!("made-{number}"));
    let object = OwnedObject { id, parent: None, project: None, created_at: None, provisional: false };
    Record::Bound { op: op(number), object }
}

/// An intent without room behind it is refused, so nothing is sent; the answers to those that had room
/// are recorded although nobody else could write a byte.
#[test]
#[ignore = "mounts a file system, which only root can; .ci/run does"]
fn a_full_file_system_rejects_intents_and_records_outcomes() {
    let disk = SmallDisk::new(2_048);
    let store = open(disk.path()).unwrap();
    let under_way = 1..200;
    for number in under_way.clone() {
        now(store.append(&[intent(number)])).unwrap();
    }
    let filling = disk.fill();
    for number in under_way.clone() {
        now(store.append(&[bound(number)])).unwrap();
    }
    assert!(fs::write(disk.path().join("other"), [0; 8_192]).is_err(), "nobody else has room");
    drop(store);
    assert_eq!(read(disk.path()).unwrap().unwrap().entries.len(), under_way.len());

    // Sooner or later there is no room for the answer of one more.
    let mut number = under_way.end;
    let refused = loop {
        let store = open(disk.path()).unwrap();
        if let Err(refused) = now(store.append(&[intent(number)])) {
            break refused;
        }
        now(store.append(&[bound(number)])).unwrap();
        number += 1;
    };
    let StoreError::Io { action: "write", source, .. } = &refused else { panic!("{refused:?}") };
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
    let ledger = read(disk.path()).unwrap().unwrap();
    assert!(ledger.intents.is_empty(), "what was refused left no intent: {:?}", ledger.intents);
    assert_eq!(ledger.entries.len(), number - 1);

    fs::remove_file(filling).unwrap();
    now(open(disk.path()).unwrap().append(&[intent(number)])).unwrap();
}
