//! The lock of a ledger directory: a lock of the operating system, which ends with its process. The file contains the
//! holder, for people and for checking whether the process is alive.
#![allow(clippy::disallowed_methods, reason = "the edge where the file store locks its directory")]

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rustix::fs::OFlags;
use uuid::Uuid;

use super::dir_handle::{DirHandle, file_error};
use super::process;
use crate::ledger::journal::error::StoreError;
use crate::ledger::state::holder::LeaseHolder;
use crate::ledger::stores::shared::lease::{LeaseInfo, LeaseStatus};
use crate::model::address::is_legal_segment;

/// Name of the lock file in the ledger's directory.
const LOCK_FILE_NAME: &str = "lock";

/// Maximum number of bytes read from a lock file.
const MAX_LOCK_FILE_BYTES: u64 = 4_096;

/// A lock of a ledger directory, held until it is dropped.
#[derive(Debug)]
pub(in crate::ledger) struct FileLock(File);

impl Drop for FileLock {
    /// Releases the lock itself: closing the file is not enough while a process that this one has just started, for a
    /// command or a keyring, still has a copy of the descriptor.
    fn drop(&mut self) {
        // The lock ends with the process at the latest.
        let _ = self.0.unlock();
    }
}

/// Takes the lock and writes the holder into the file, which also proves that the directory is writable.
pub(in crate::ledger) fn take_file_lock(
    directory: &DirHandle,
    who: &str,
    now: Timestamp,
) -> Result<FileLock, StoreError> {
    let path = directory.path().join(LOCK_FILE_NAME);
    let fail = || file_error("lock", &path);
    let file = directory.open_file(LOCK_FILE_NAME, OFlags::RDWR | OFlags::CREATE).map_err(fail())?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let holder = read_lock_file(&file).unwrap_or_default();
            let holder = holder.lines().next().unwrap_or_default();
            let holder = if holder.is_empty() { "another process" } else { holder };
            return Err(StoreError::Locked { holder: holder.to_owned() });
        }
        Err(TryLockError::Error(error)) => return Err(fail()(error)),
    }
    // From here on an error releases the lock, too.
    let mut lock = FileLock(file);
    let file = &mut lock.0;
    let text = lock_file_text(who, now);
    file.set_len(0)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .and_then(|_| file.write_all(text.as_bytes()))
        .and_then(|()| file.sync_data())
        .map_err(file_error("write", &path))?;
    Ok(lock)
}

/// Returns the lock file's text: one line for people, and one for programs.
fn lock_file_text(who: &str, now: Timestamp) -> String {
    let since = now.strftime("%Y-%m-%d %H:%M:%S UTC");
    let holder = LeaseHolder {
        session: Uuid::nil(),
        who: who.to_owned(),
        process: process::current_process(),
        since: now,
    };
    let record = serde_json::to_string(&holder).unwrap_or_default();
    format!("{who}, process {}, since {since}\n{record}\n", std::process::id())
}

/// Returns the holder of the lock of an environment's ledger, without taking it; `None` when it is free.
///
/// # Errors
/// When the lock file is there and cannot be read.
pub fn read_lock_holder(directory: &Path, environment: &str) -> Result<Option<LeaseInfo>, StoreError> {
    let place = ledger_directory(directory, environment)?;
    let path = place.join(LOCK_FILE_NAME);
    let opened = DirHandle::open_private_dir(&place)
        .and_then(|folder| folder.open_file(LOCK_FILE_NAME, OFlags::RDONLY));
    let lock = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        lock => lock.map_err(file_error("read", &path))?,
    };
    let text = read_lock_file(&lock).map_err(file_error("read", &path))?;
    let Some(holder) =
        text.lines().nth(1).and_then(|record| serde_json::from_str::<LeaseHolder>(record).ok())
    else {
        return Ok(is_locked(&lock).then(|| unnamed_holder(&text)));
    };
    let held = match &holder.process {
        // An inspection must not take the lock, not even briefly, from a process that needs it.
        Some(process) if process::is_dead(process) => false,
        _ => is_locked(&lock),
    };
    Ok(held.then_some(LeaseInfo { holder, standing: LeaseStatus::Held(Duration::MAX), renewed: None }))
}

fn unnamed_holder(text: &str) -> LeaseInfo {
    let who = text.lines().next().filter(|line| !line.is_empty()).unwrap_or("another process").to_owned();
    let holder = LeaseHolder { session: Uuid::nil(), who, process: None, since: Timestamp::UNIX_EPOCH };
    LeaseInfo { holder, standing: LeaseStatus::Held(Duration::MAX), renewed: None }
}

fn is_locked(lock: &File) -> bool {
    let attempt = lock.try_lock_shared();
    if attempt.is_ok() {
        // As for `FileLock`: closing the file may not release it yet.
        let _ = lock.unlock();
    }
    matches!(attempt, Err(TryLockError::WouldBlock))
}

fn read_lock_file(lock: &File) -> io::Result<String> {
    let mut text = String::new();
    lock.take(MAX_LOCK_FILE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the directory of an environment's ledger.
pub(in crate::ledger) fn ledger_directory(
    directory: &Path,
    environment: &str,
) -> Result<PathBuf, StoreError> {
    let place = directory.join(environment);
    if is_legal_segment(environment) {
        return Ok(place);
    }
    let source =
        io::Error::new(io::ErrorKind::InvalidInput, "an environment's name holds a-z, 0-9, _ and -");
    Err(file_error("use", &place)(source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_while_open_and_names_its_holder() {
        let root = tempfile::tempdir().unwrap();
        let folder = DirHandle::create_private_dir(&root.path().join("prod")).unwrap();
        assert_eq!(read_lock_holder(root.path(), "prod").unwrap(), None);
        let now = "2026-11-21T12:00:00Z".parse().unwrap();
        let lock = take_file_lock(&folder, "ada@host", now).unwrap();
        let found = read_lock_holder(root.path(), "prod").unwrap().unwrap();
        assert_eq!((found.holder.who.as_str(), found.holder.since), ("ada@host", now));
        assert_eq!(found.holder.process.map(|process| process.id), Some(std::process::id()));
        let error = take_file_lock(&folder, "bob@host", now).unwrap_err().to_string();
        assert!(error.contains("ada@host, process"), "{error}");
        drop(lock);
        assert_eq!(read_lock_holder(root.path(), "prod").unwrap(), None);
        drop(take_file_lock(&folder, "bob@host", now).unwrap());
    }

    #[test]
    fn a_dropped_lock_is_free_while_a_copy_of_its_descriptor_is_open() {
        let root = tempfile::tempdir().unwrap();
        let folder = DirHandle::create_private_dir(&root.path().join("prod")).unwrap();
        let now = "2026-11-21T12:00:00Z".parse().unwrap();
        let lock = take_file_lock(&folder, "ada@host", now).unwrap();
        // A process has such a copy between its start and its first instruction.
        let copy = lock.0.try_clone().unwrap();
        drop(lock);
        assert_eq!(read_lock_holder(root.path(), "prod").unwrap(), None);
        drop(take_file_lock(&folder, "bob@host", now).unwrap());
        drop(copy);
    }

    #[test]
    fn the_golden_lock_file_is_read_and_written_as_before() {
        let golden = include_str!("../../../../tests/golden/files/lock");
        let holder: LeaseHolder = serde_json::from_str(golden.lines().nth(1).unwrap()).unwrap();
        let written = lock_file_text(&holder.who, holder.since);
        // What is of this process differs.
        let id = format!("process {},", std::process::id());
        let (first, record) = written.trim_end().split_once('\n').unwrap();
        let first = first.replace(&id, &format!("process {},", holder.process.as_ref().unwrap().id));
        let mut now: LeaseHolder = serde_json::from_str(record).unwrap();
        now.process.clone_from(&holder.process);
        assert_eq!(format!("{first}\n{}\n", serde_json::to_string(&now).unwrap()), golden);
    }
}
