//! What the store keeps, and what it refuses.

#![allow(clippy::disallowed_methods, reason = "tests touch files")]

use std::fs;

use super::*;

fn row(key: &str, value: Option<&str>) -> StoredRow {
    StoredRow { key: key.to_owned(), value: value.map(|text| text.as_bytes().to_vec()) }
}

#[test]
fn written_rows_persist_across_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/cloud.db");
    let (store, stored) = WorldStore::open(&path).unwrap();
    assert!(stored.rows.is_empty() && stored.clock.is_none());
    store.write(&[row("a/1", Some("x")), row("a/2", Some("y"))], None).unwrap();
    store.write(&[row("a/1", None), row("a/3", Some("z"))], None).unwrap();
    drop(store);
    let (_store, stored) = WorldStore::open(&path).unwrap();
    let keys: Vec<_> = stored.rows.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["a/2", "a/3"]);
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_the_file_and_the_key() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cloud.db");
    drop(WorldStore::open(&path).unwrap());
    let made = read_or_create_key(&path).unwrap();
    assert_eq!(read_or_create_key(&path).unwrap(), made);
    for name in ["cloud.db", "cloud.key"] {
        let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_database_file_in_use_is_an_error_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cloud.db");
    let _first = WorldStore::open(&path).unwrap();
    let error = WorldStore::open(&path).unwrap_err();
    assert!(matches!(error, WorldStoreError::Locked { .. }), "{error}");
    assert!(error.to_string().contains("in use by another process"));
}

#[test]
fn a_damaged_file_and_one_of_another_version_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cloud.db");
    fs::write(&path, b"this is no database at all, but long enough to look like one").unwrap();
    assert!(matches!(WorldStore::open(&path).unwrap_err(), WorldStoreError::Corrupt { .. }));
    assert_eq!(fs::read(&path).unwrap()[..4], *b"this");

    let path = folder.path().join("later.db");
    let (store, _) = WorldStore::open(&path).unwrap();
    let write = store.database.begin_write().unwrap();
    write.open_table(METADATA).unwrap().insert("format", b"stead-cloud-9".as_slice()).unwrap();
    write.commit().unwrap();
    drop(store);
    let error = WorldStore::open(&path).unwrap_err();
    assert!(error.to_string().contains("stead-cloud-9"), "{error}");
}

#[test]
fn a_key_file_without_a_key_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cloud.db");
    for bad in ["", " \n", "two words", "caf\u{e9}"] {
        fs::write(path.with_extension("key"), bad).unwrap();
        assert!(matches!(read_or_create_key(&path).unwrap_err(), WorldStoreError::Key { .. }), "{bad:?}");
    }
}

#[tokio::test]
async fn a_sequence_number_is_durable_when_its_rows_are_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cloud.db");
    let (store, _) = WorldStore::open(&path).unwrap();
    let mut journal = WriteQueue::start(store);
    let numbers: Vec<_> =
        (0..50).map(|n| journal.submit(vec![row(&format!("a/{n}"), Some("x"))], None)).collect();
    for number in numbers {
        wait_until_durable(journal.watch_progress(), number).await.unwrap();
    }
    drop(journal);
    assert_eq!(WorldStore::open(&path).unwrap().1.rows.len(), 50);
    wait_until_durable(WriteQueue::in_memory().watch_progress(), 0).await.unwrap();
}

#[test]
fn damage_at_any_byte_never_causes_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cloud.db");
    let (store, _) = WorldStore::open(&path).unwrap();
    let value = "x".repeat(400);
    let rows: Vec<_> = (0..40).map(|n| row(&format!("a/{n}"), Some(&value))).collect();
    store.write(&rows, None).unwrap();
    drop(store);
    let whole = fs::read(&path).unwrap();
    let damaged = folder.path().join("damaged.db");
    for at in (0..whole.len()).step_by(whole.len() / 50) {
        let mut flipped = whole.clone();
        flipped[at..].iter_mut().take(64).for_each(|byte| *byte ^= 0xff);
        for bytes in [&flipped[..], &whole[..at]] {
            fs::write(&damaged, bytes).unwrap();
            if let Ok((store, stored)) = WorldStore::open(&damaged) {
                assert!(stored.rows.len() <= 40 && store.write(&[row("a/1", Some("y"))], None).is_ok());
            }
        }
    }
}
