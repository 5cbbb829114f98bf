//! The file store: locks, crashes, damage and strangers.

use std::fs;

use futures_util::FutureExt;

use super::*;
use crate::ledger::fixture::*;
use crate::ledger::journal::handle::Journal;
use crate::ledger::state::entry::LedgerIdentity;
use crate::model::values::secret::Secret;
use crate::model::values::value::Value;

fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("files do not wait")
}

fn open(directory: &Path) -> Result<FileStore, StoreError> {
    FileStore::open(directory, &open_options(&identity(), "ada@loom"))
}

fn journal(directory: &Path) -> Journal<FileStore> {
    now(Journal::open(open(directory).unwrap())).unwrap()
}

fn read(directory: &Path) -> Result<Option<Ledger>, StoreError> {
    FileStore::read(directory, "shop", "prod", None)
}

fn journal_path(directory: &Path) -> PathBuf {
    directory.join("prod/journal-0.log")
}

#[test]
fn committed_records_are_read_back() {
    let root = tempfile::tempdir().unwrap();
    assert!(read(root.path()).unwrap().is_none());
    assert!(!root.path().join("prod").exists(), "reading makes nothing");
    let written = journal(root.path());
    now(written.commit(&[create(1, 1, false)])).unwrap();
    now(written.commit(&[bound(1, "x"), adopted(2, "y")])).unwrap();
    assert_eq!(read(root.path()).unwrap().as_ref(), Some(&*written.ledger()), "readers take no lock");
    let ledger = written.ledger().clone();
    drop(written);
    assert_eq!(*journal(root.path()).ledger(), ledger);
}

#[cfg(target_os = "linux")]
#[test]
fn an_intent_reserves_disk_space_for_its_outcome() {
    use std::os::unix::fs::MetadataExt;

    let root = tempfile::tempdir().unwrap();
    let journal = journal(root.path());
    now(journal.commit(&[create(1, 1, false)])).unwrap();
    let data = fs::metadata(journal_path(root.path())).unwrap();
    assert!(data.blocks() * 512 >= RESERVED_BYTES, "{} blocks", data.blocks());
    assert!(data.len() < 4_096, "the room is behind the file's end: a torn line still shows");
    now(journal.commit(&[bound(1, "x")])).unwrap();
    assert_eq!(read(root.path()).unwrap().as_ref(), Some(&*journal.ledger()));
}

#[test]
fn the_second_writer_gets_the_name_of_the_lock_holder() {
    let root = tempfile::tempdir().unwrap();
    let first = open(root.path()).unwrap();
    let Err(StoreError::Locked { holder }) = open(root.path()) else { panic!() };
    assert_eq!(holder, format!("ada@loom, process {}, since 1970-01-01 00:00:00 UTC", std::process::id()));
    drop(first);
    open(root.path()).unwrap();
}

#[test]
fn a_torn_last_line_is_dropped_and_overwritten() {
    let root = tempfile::tempdir().unwrap();
    let written = journal(root.path());
    now(written.commit(&[adopted(1, "x")])).unwrap();
    let before = written.ledger().clone();
    now(written.commit(&[adopted(2, "y")])).unwrap();
    drop(written);
    let path = journal_path(root.path());
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 7]).unwrap();
    assert_eq!(read(root.path()).unwrap().as_ref(), Some(&before));
    let again = journal(root.path());
    assert_eq!(*again.ledger(), before);
    now(again.commit(&[adopted(3, "z")])).unwrap();
    let after = again.ledger().clone();
    drop(again);
    assert_eq!(read(root.path()).unwrap(), Some(after));
}

#[test]
fn damage_stops_all_writes_and_is_located() {
    let root = tempfile::tempdir().unwrap();
    let written = journal(root.path());
    now(written.commit(&[adopted(1, "x")])).unwrap();
    now(written.commit(&[adopted(2, "y")])).unwrap();
    drop(written);
    let path = journal_path(root.path());
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"x\"", "\"z\"", 1)).unwrap();
    for result in [open(root.path()).map(|_| ()), read(root.path()).map(|_| ())] {
        let Err(StoreError::Corrupt { place, reason }) = result else { panic!("{result:?}") };
        assert!(place.ends_with("journal-0.log, line 2"), "{place}");
        assert_eq!(reason, "its digest does not match");
    }
    assert_eq!(fs::read_to_string(&path).unwrap().len(), text.len(), "nothing was written over it");
}

#[test]
fn compaction_keeps_the_ledger_and_the_last_ten_checkpoints() {
    let root = tempfile::tempdir().unwrap();
    let mut ledger = None;
    for n in 0..13 {
        let written = journal(root.path());
        now(written.commit(&[adopted(n, &format!("id{n}"))])).unwrap();
        ledger = Some(written.ledger().clone());
        now(written.close()).unwrap();
        assert_eq!(read(root.path()).unwrap(), ledger);
    }
    let names = DirHandle::open_user_dir(&root.path().join("prod")).unwrap().names().unwrap();
    assert_eq!(names.iter().filter(|name| name.starts_with("ledger-")).count(), RETAINED_CHECKPOINTS);
    assert!(
        names.iter().filter(|name| name.starts_with("journal-")).count() <= RETAINED_CHECKPOINTS + 1,
        "{names:?}"
    );
    let again = journal(root.path());
    assert_eq!(Some(again.ledger().clone()), ledger);
    now(again.commit(&[adopted(50, "more")])).unwrap();
    assert_eq!(read(root.path()).unwrap().unwrap().entries.len(), 14);
}

/// Every state of the directory that a crash during condensing can leave is one of the two.
#[test]
fn a_crash_during_compaction_loses_nothing() {
    let root = tempfile::tempdir().unwrap();
    let written = journal(root.path());
    now(written.commit(&[adopted(1, "x"), adopted(2, "y")])).unwrap();
    let ledger = written.ledger().clone();
    let serial = ledger.serial;
    now(written.close()).unwrap();
    let place = root.path().join("prod");
    let summary = fs::read(place.join(summary_name(serial))).unwrap();
    // The journal of the new summary was not made yet.
    fs::remove_file(place.join(journal_name(serial))).unwrap();
    assert_eq!(read(root.path()).unwrap().as_ref(), Some(&ledger));
    // The summary was not renamed yet, or only half written.
    fs::remove_file(place.join(summary_name(serial))).unwrap();
    for cut in [0, 1, summary.len() / 2, summary.len()] {
        fs::write(place.join(format!("{}.new", summary_name(serial))), &summary[..cut]).unwrap();
        assert_eq!(read(root.path()).unwrap().as_ref(), Some(&ledger));
        assert_eq!(*journal(root.path()).ledger(), ledger);
    }
}

#[test]
fn a_damaged_checkpoint_is_never_used() {
    let root = tempfile::tempdir().unwrap();
    let written = journal(root.path());
    now(written.commit(&[adopted(1, "x")])).unwrap();
    let serial = written.ledger().serial;
    now(written.close()).unwrap();
    let path = root.path().join("prod").join(summary_name(serial));
    let bytes = fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(&path, damaged).unwrap();
        assert!(matches!(read(root.path()), Err(StoreError::Corrupt { .. })), "byte {at}");
    }
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(matches!(read(root.path()), Err(StoreError::Corrupt { .. })));
    fs::remove_file(&path).unwrap();
    assert!(matches!(read(root.path()), Err(StoreError::Corrupt { .. })), "its journal hangs in the air");
}

#[test]
fn another_stacks_ledger_is_refused() {
    let root = tempfile::tempdir().unwrap();
    drop(journal(root.path()));
    assert!(matches!(FileStore::read(root.path(), "blog", "prod", None), Err(StoreError::Foreign { .. })));
    let identity = LedgerIdentity::new_random("blog", "prod", &Counted::default());
    let opening = open_options(&identity, "a@b");
    let Err(StoreError::Foreign { found, wanted }) = FileStore::open(root.path(), &opening) else {
        panic!()
    };
    assert_eq!((found.as_str(), wanted.as_str()), ("shop/prod", "blog/prod"));
    assert!(matches!(FileStore::read(root.path(), "shop", "../prod", None), Err(StoreError::Io { .. })));
}

#[cfg(unix)]
#[test]
fn files_are_private_and_symlinks_are_rejected() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let root = tempfile::tempdir().unwrap();
    let written = journal(root.path());
    now(written.commit(&[adopted(1, "x")])).unwrap();
    now(written.close()).unwrap();
    let place = root.path().join("prod");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place), 0o700);
    for name in DirHandle::open_user_dir(&place).unwrap().names().unwrap() {
        assert_eq!(mode(&place.join(&name)), 0o600, "{name}");
    }
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(&place, elsewhere.path().join("prod")).unwrap();
    assert!(matches!(open(elsewhere.path()), Err(StoreError::Io { .. })), "a linked directory");
    assert!(matches!(read(elsewhere.path()), Err(StoreError::Io { .. })));
    for name in ["lock", "journal-0.log"] {
        let other = tempfile::tempdir().unwrap();
        fs::create_dir(other.path().join("prod")).unwrap();
        let target = other.path().join("target");
        fs::write(&target, "mine").unwrap();
        symlink(&target, other.path().join("prod").join(name)).unwrap();
        assert!(matches!(open(other.path()), Err(StoreError::Io { .. })), "{name}");
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    }
}

#[test]
fn an_unwritable_directory_is_an_error_before_any_request() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("prod"), "a file").unwrap();
    let Err(StoreError::Io { place, .. }) = open(root.path()) else { panic!() };
    assert!(place.ends_with("prod"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_poisons_the_store() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path()).unwrap();
    store.state.borrow_mut().journal = fs::OpenOptions::new().write(true).open("/dev/full").unwrap().into();
    assert!(matches!(now(store.append(&[adopted(1, "x")])), Err(StoreError::Io { .. })));
    assert!(matches!(now(store.append(&[adopted(1, "x")])), Err(StoreError::Poisoned)));
    drop(store);
    assert_eq!(journal(root.path()).ledger().entries.len(), 0);
}

#[test]
fn in_a_runtime_a_line_is_durable_when_append_returns() {
    let root = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = open(root.path()).unwrap();
    runtime.block_on(async {
        for number in 0..20 {
            store.append(&[adopted(number, &format!("id{number}"))]).await.unwrap();
            assert_eq!(read(root.path()).unwrap().unwrap().entries.len(), usize::from(number) + 1);
        }
    });
}

/// Whoever gives up waiting for a line cannot know whether it is there: nothing more is written, and
/// nobody else gets the ledger before the line is down.
#[test]
fn an_abandoned_write_keeps_the_lock_and_ends_all_writes() {
    let root = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    let store = open(root.path()).unwrap();
    let (free, busy) = std::sync::mpsc::channel::<()>();
    runtime.block_on(async {
        let blocker = tokio::task::spawn_blocking(move || busy.recv());
        assert!(store.append(&[adopted(1, "x")]).now_or_never().is_none(), "the only thread is busy");
        assert!(matches!(store.append(&[adopted(2, "y")]).await, Err(StoreError::Poisoned)));
        drop(store);
        assert!(matches!(open(root.path()), Err(StoreError::Locked { .. })));
        free.send(()).unwrap();
        blocker.await.unwrap().unwrap();
        // There is one thread: what was asked for before is done before.
        tokio::task::spawn_blocking(|| ()).await.unwrap();
    });
    assert_eq!(journal(root.path()).ledger().entries.len(), 1);
}

#[test]
fn secrets_and_keys_are_not_shown() {
    let root = tempfile::tempdir().unwrap();
    let written = journal(root.path());
    let mut secret = entry(Some("x"));
    let value = Value::Secret(Secret::new("canary"));
    secret.applied.insert("user_data".into(), value);
    now(written.commit(&[Record::Adopted { address: address(1), entry: Box::new(secret) }])).unwrap();
    now(written.close()).unwrap();
    let place = root.path().join("prod");
    for name in DirHandle::open_user_dir(&place).unwrap().names().unwrap() {
        assert!(!fs::read_to_string(place.join(&name)).unwrap().contains("canary"), "{name}");
    }
}
