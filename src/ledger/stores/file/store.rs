//! `FileStore`: a ledger in a directory: the last checkpoint and the journal after it.
//!
//! `DIR/ENV/ledger-SERIAL.json` is the whole ledger at one moment; `journal-SERIAL.log` has every append since. The
//! checkpoint is written to a temporary file, made durable, and renamed before its journal begins, so that a crash at
//! any point leaves one of the two pairs complete. Only the end of the last line may be torn; any
//! other inconsistency is an error.
#![allow(clippy::disallowed_methods, reason = "the edge where the file store touches files")]

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use tokio::runtime::Handle;

use super::dir_handle::{DirHandle, file_error};
use super::lock::{self, FileLock, ledger_directory};
use crate::ledger::journal::chain::{self, ChainHead};
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::{self, MacKey, MacVerifier, check_readable};
use crate::ledger::journal::record::Record;
use crate::ledger::journal::replay::{check_not_moved, check_owner, load_ledger, same_owner};
use crate::ledger::journal::store::Store;
use crate::ledger::journal::trail::HeadHistory;
use crate::ledger::journal::{checkpoint, line};
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::open_options::OpenOptions;
use crate::ledger::stores::shared::lease::LeaseInfo;
use crate::ledger::stores::store_access::StoreAccess;
use crate::model::clock::Clock;

/// Number of checkpoints that are kept, with their journals.
const RETAINED_CHECKPOINTS: usize = 10;

/// Disk space reserved behind the journal before a request is sent: enough for the records of all
/// responses that may be outstanding.
const RESERVED_BYTES: u64 = 512 * 1024;

/// A ledger directory, locked for writing until it is dropped.
#[derive(Debug)]
pub struct FileStore {
    directory: DirHandle,
    /// Held as long as this exists; never read.
    lock: Arc<FileLock>,
    state: RefCell<FileStoreState>,
}

#[derive(Debug)]
struct FileStoreState {
    journal: Arc<File>,
    journal_path: PathBuf,
    head: ChainHead,
    trail: HeadHistory,
    seal: Option<MacKey>,
    /// The journal length up to which disk space is reserved.
    reserved: u64,
    poisoned: bool,
    /// The records that opening read, for the first load.
    records: Option<Vec<Record>>,
}

/// Access to the ledgers of one stack in a directory: each environment has its own subdirectory.
#[derive(Debug)]
pub struct LedgerDirectory(pub PathBuf);

impl StoreAccess for LedgerDirectory {
    type Store<K: Clock> = FileStore;

    async fn open<K: Clock>(self, _: K, options: &OpenOptions<'_>) -> Result<FileStore, StoreError> {
        FileStore::open(&self.0, options)
    }

    async fn read_with_trail<K: Clock>(
        &self,
        (stack, environment): (&str, &str),
        key: Option<&MacKey>,
    ) -> Result<Option<(Ledger, HeadHistory)>, StoreError> {
        FileStore::read_with_trail(&self.0, stack, environment, key)
    }

    async fn find_holder(&self, options: &OpenOptions<'_>) -> Result<Option<LeaseInfo>, StoreError> {
        lock::read_lock_holder(&self.0, &options.identity.environment)
    }
}

/// The content of a ledger directory.
struct FileStoreContents {
    records: Vec<Record>,
    /// The serial in the journal's name.
    serial: u64,
    head: ChainHead,
    trail: HeadHistory,
    /// Bytes of complete lines in the journal; `None` when there is no journal yet.
    whole: Option<u64>,
}

impl FileStore {
    /// Opens a ledger for writing: takes its lock, checks that it can be written, removes a torn end, and creates it if
    /// it does not exist yet.
    ///
    /// # Errors
    /// When another process holds the lock, the directory cannot be written, the ledger in it is damaged, or
    /// it is another stack's ledger.
    pub fn open(root: &Path, options: &OpenOptions<'_>) -> Result<Self, StoreError> {
        let place = ledger_directory(root, &options.identity.environment)?;
        let directory = DirHandle::create_private_dir(&place).map_err(file_error("use", &place))?;
        let lock = lock::take_file_lock(&directory, &options.holder.who, options.holder.since)?;
        let content = read_content(&directory, options.seal)?;
        check_owner(&content.records, options.identity, options.seal)?;
        let name = journal_name(content.serial);
        let mut state = FileStoreState {
            journal: Arc::new(open_journal(&directory, &name, content.whole)?),
            journal_path: place.join(name),
            head: content.head,
            trail: content.trail,
            seal: options.seal.cloned(),
            reserved: 0,
            poisoned: false,
            records: Some(content.records),
        };
        directory.sync().map_err(file_error("write", &place))?;
        let mut records = state.records.take().unwrap_or_default();
        let birth = records.is_empty().then(|| Record::birth(options.identity));
        let first: Vec<Record> =
            birth.into_iter().chain(mac::mac_start_record(&records, options.seal)).collect();
        if !first.is_empty() {
            let line = state.begin_line(&first)?;
            let written = write_durably(&state.journal, &line.bytes);
            state.finish_line(&first, line.head, written)?;
            records.extend(first);
        }
        state.records = Some(records);
        Ok(Self { directory, lock: Arc::new(lock), state: RefCell::new(state) })
    }

    /// Reads a ledger without a lock and without writing anything; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or is another stack's.
    pub fn read(
        directory: &Path,
        stack: &str,
        environment: &str,
        key: Option<&MacKey>,
    ) -> Result<Option<Ledger>, StoreError> {
        let found = Self::read_with_trail(directory, stack, environment, key)?;
        Ok(found.map(|(ledger, _)| ledger))
    }

    /// Does the same as `read`, and returns the digests of the lines.
    ///
    /// # Errors
    /// The errors of `read`.
    pub fn read_with_trail(
        directory: &Path,
        stack: &str,
        environment: &str,
        key: Option<&MacKey>,
    ) -> Result<Option<(Ledger, HeadHistory)>, StoreError> {
        let place = ledger_directory(directory, environment)?;
        let directory = match DirHandle::open_private_dir(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(file_error("read", &place))?,
        };
        let mut content = read_content(&directory, key);
        for _ in 0..3 {
            // A concurrent writer may have replaced the journal by a checkpoint between two reads.
            if content.is_ok() {
                break;
            }
            content = read_content(&directory, key);
        }
        let FileStoreContents { records, trail, .. } = content?;
        if records.is_empty() {
            return Ok(None);
        }
        check_readable(&records, key)?;
        let ledger = load_ledger(records)?;
        same_owner(&ledger.identity.stack, &ledger.identity.environment, stack, environment)?;
        check_not_moved(&ledger)?;
        Ok(Some((ledger, trail)))
    }
}

impl Store for FileStore {
    async fn load(&self) -> Result<Vec<Record>, StoreError> {
        let mut state = self.state.borrow_mut();
        match state.records.take() {
            Some(records) => Ok(records),
            None => read_content(&self.directory, state.seal.as_ref()).map(|content| content.records),
        }
    }

    async fn append(&self, records: &[Record]) -> Result<(), StoreError> {
        let line = self.state.borrow_mut().begin_line(records)?;
        let written = self.write(Arc::clone(&line.bytes)).await;
        self.state.borrow_mut().finish_line(records, line.head, written)
    }

    async fn condense(&self, ledger: &Ledger) -> Result<(), StoreError> {
        self.sum_up(ledger, None)
    }

    async fn condense_with_macs(&self, ledger: &Ledger, key: &MacKey) -> Result<(), StoreError> {
        self.sum_up(ledger, Some(key))
    }

    fn trail(&self) -> HeadHistory {
        self.state.borrow().trail.clone()
    }
}

/// A line that is being written.
struct PendingLine {
    bytes: Arc<[u8]>,
    /// The head of the chain after the line is written.
    head: ChainHead,
}

impl FileStore {
    /// Writes a checkpoint; with a key, MACs begin with it: the rename makes that atomic.
    fn sum_up(&self, ledger: &Ledger, key: Option<&MacKey>) -> Result<(), StoreError> {
        let mut state = self.state.borrow_mut();
        if std::mem::replace(&mut state.poisoned, true) {
            return Err(StoreError::Poisoned);
        }
        if let Some(key) = key {
            state.seal = Some(key.clone());
        }
        write_summary(&self.directory, ledger, &state.head, state.seal.as_ref())?;
        let name = journal_name(ledger.serial);
        state.journal = Arc::new(open_journal(&self.directory, &name, None)?);
        self.directory.sync().map_err(file_error("write", self.directory.path()))?;
        state.journal_path = self.directory.path().join(name);
        state.reserved = 0;
        state.poisoned = false;
        prune_checkpoints(&self.directory)
    }

    /// Writes a line on another thread: responses are read and other requests prepared meanwhile. Only tasks that need
    /// the line wait for the disk.
    async fn write(&self, line: Arc<[u8]>) -> io::Result<()> {
        let journal = Arc::clone(&self.state.borrow().journal);
        let Ok(runtime) = Handle::try_current() else { return write_durably(&journal, &line) };
        // The write may outlive the task that started it, so it holds the lock itself.
        let lock = Arc::clone(&self.lock);
        let write = move || {
            let written = write_durably(&journal, &line);
            drop(lock);
            written
        };
        runtime.spawn_blocking(write).await.unwrap_or_else(|gone| Err(io::Error::other(gone)))
    }
}

/// Writes and syncs a line. A failed sync is never repeated: the kernel may have dropped the data.
fn write_durably(mut journal: &File, line: &[u8]) -> io::Result<()> {
    journal.write_all(line).and_then(|()| journal.sync_data())
}

impl FileStoreState {
    /// Prepares the next line. Until it is known to be written, the store is poisoned.
    fn begin_line(&mut self, records: &[Record]) -> Result<PendingLine, StoreError> {
        if std::mem::replace(&mut self.poisoned, true) {
            return Err(StoreError::Poisoned);
        }
        let (line, head) = line::encode_line(records, &self.head, self.seal.as_ref())
            .map_err(|error| file_error("write", &self.journal_path)(error.into()))?;
        let sends = records.iter().any(|record| matches!(record, Record::Intent(_)));
        self.make_room(line.len() as u64, sends)?;
        Ok(PendingLine { bytes: line.into(), head })
    }

    /// Goes on after a line, if it is there.
    fn finish_line(
        &mut self,
        records: &[Record],
        head: ChainHead,
        written: io::Result<()>,
    ) -> Result<(), StoreError> {
        written.map_err(file_error("write", &self.journal_path))?;
        self.head = head;
        self.trail.advance(records, head);
        self.records = None;
        self.poisoned = false;
        Ok(())
    }
}

impl FileStoreState {
    /// Reserves disk space for a line and for the records that follow it: an intent must not become durable if the
    /// record of its response could not. The file's length does not change, so that a torn end can still be recognized.
    fn make_room(&mut self, line: u64, must: bool) -> Result<(), StoreError> {
        let fail = |source: io::Error| file_error("write", &self.journal_path)(source);
        let length = self.journal.metadata().map_err(fail)?.len();
        if length + line + RESERVED_BYTES / 2 <= self.reserved {
            return Ok(());
        }
        match reserve_space(&self.journal, length, line + RESERVED_BYTES) {
            Ok(()) => self.reserved = length + line + RESERVED_BYTES,
            // The record of a response may use the space that was reserved for it.
            Err(error) if must => return Err(fail(error)),
            Err(_) => {}
        }
        Ok(())
    }
}

/// Reserves disk space. A file system that cannot reserve any is not an error.
#[cfg(target_os = "linux")]
fn reserve_space(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    match fallocate(file, FallocateFlags::KEEP_SIZE, from, bytes) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Does nothing: on systems other than Linux a full disk shows when a record is written.
#[cfg(not(target_os = "linux"))]
fn reserve_space(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}

/// Opens the journal for appending; `whole` truncates a torn end.
fn open_journal(directory: &DirHandle, name: &str, whole: Option<u64>) -> Result<File, StoreError> {
    let path = &directory.path().join(name);
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    let file = directory.open_file(name, flags).map_err(file_error("write", path))?;
    let length = file.metadata().map_err(file_error("read", path))?.len();
    let whole = whole.unwrap_or(0);
    if length != whole {
        file.set_len(whole).and_then(|()| file.sync_all()).map_err(file_error("write", path))?;
    }
    Ok(file)
}

/// Reads the newest checkpoint and the journal after it.
/// Returns the `stack/environment` of the ledger in `DIR/ENV`; `None` if there is none, or it cannot be read. The ledger is
/// not authenticated.
#[must_use]
pub fn owner_name(directory: &Path, environment: &str) -> Option<String> {
    let place = ledger_directory(directory, environment).ok()?;
    let content = read_content(&DirHandle::open_private_dir(&place).ok()?, None).ok()?;
    let LedgerIdentity { stack, environment, .. } = load_ledger(content.records).ok()?.identity;
    Some(format!("{stack}/{environment}"))
}

fn read_content(directory: &DirHandle, key: Option<&MacKey>) -> Result<FileStoreContents, StoreError> {
    let names = directory.names().map_err(file_error("read", directory.path()))?;
    let newest = |prefix, suffix| names.iter().filter_map(|name| serial_of(name, prefix, suffix)).max();
    let summary = newest("ledger-", ".json");
    let journal = newest("journal-", ".log");
    let serial = summary.unwrap_or(0);
    if let Some(journal) = journal.filter(|journal| *journal > serial) {
        return Err(StoreError::Corrupt {
            place: directory.path().join(journal_name(journal)).display().to_string(),
            reason: "the checkpoint that it continues is missing".to_owned(),
        });
    }
    let mut seals = MacVerifier::new(key);
    let (mut records, head) = match summary {
        Some(serial) => {
            let (ledger, head) = read_summary(directory, serial, &mut seals)?;
            (vec![Record::Condensed(Box::new(ledger))], head)
        }
        None => (Vec::new(), chain::first_head()),
    };
    let mut trail = HeadHistory::new(serial, head);
    let name = journal_name(serial);
    let path = directory.path().join(&name);
    let Some(bytes) = directory.read(&name).map_err(file_error("read", &path))? else {
        return Ok(FileStoreContents { records, serial, head, trail, whole: None });
    };
    let lines = line::decode_lines(&bytes, head, &mut seals).map_err(|damage| StoreError::Corrupt {
        place: format!("{}, line {}", path.display(), damage.line),
        reason: damage.reason.to_owned(),
    })?;
    trail.extend_with_lines(&lines);
    records.extend(lines.records);
    Ok(FileStoreContents { records, serial, head: lines.head, trail, whole: Some(lines.whole as u64) })
}

fn read_summary(
    directory: &DirHandle,
    serial: u64,
    seals: &mut MacVerifier<'_>,
) -> Result<(Ledger, ChainHead), StoreError> {
    let name = summary_name(serial);
    let path = &directory.path().join(&name);
    let corrupt =
        |reason: &str| StoreError::Corrupt { place: path.display().to_string(), reason: reason.to_owned() };
    let bytes = directory.read(&name).map_err(file_error("read", path))?.unwrap_or_default();
    let (ledger, head) = checkpoint::parse(&bytes, seals).map_err(corrupt)?;
    if ledger.serial == serial {
        Ok((ledger, head))
    } else {
        Err(corrupt("its record number does not match its file name"))
    }
}

/// Writes a checkpoint to a temporary file, makes it durable, and renames it.
pub(in crate::ledger) fn write_summary(
    directory: &DirHandle,
    ledger: &Ledger,
    head: &ChainHead,
    key: Option<&MacKey>,
) -> Result<(), StoreError> {
    let name = summary_name(ledger.serial);
    let write = |file: &mut File| checkpoint::serialize_checkpoint(file, ledger, head, key).map(drop);
    directory.replace(&name, 0o600, write).map_err(file_error("write", &directory.path().join(&name)))
}

/// Removes all but the newest checkpoints, with the journals that follow them.
fn prune_checkpoints(directory: &DirHandle) -> Result<(), StoreError> {
    let names = directory.names().map_err(file_error("read", directory.path()))?;
    let mut serials: Vec<_> = names.iter().filter_map(|name| serial_of(name, "ledger-", ".json")).collect();
    serials.sort_unstable();
    let oldest = serials.len().checked_sub(RETAINED_CHECKPOINTS).map_or(0, |at| serials[at]);
    for name in &names {
        // A file left by a crash: this process holds the lock, so no other process is writing it.
        if name.starts_with(".ledger-") && Path::new(name).extension().is_some_and(|end| end == "new") {
            directory.remove(name).map_err(file_error("remove", &directory.path().join(name)))?;
        }
        let serial = serial_of(name, "ledger-", ".json").or_else(|| serial_of(name, "journal-", ".log"));
        if serial.is_some_and(|serial| serial < oldest) {
            directory.remove(name).map_err(file_error("remove", &directory.path().join(name)))?;
        }
    }
    Ok(())
}

pub(in crate::ledger) fn journal_name(serial: u64) -> String {
    format!("journal-{serial}.log")
}

pub(in crate::ledger) fn summary_name(serial: u64) -> String {
    format!("ledger-{serial}.json")
}

pub(in crate::ledger) fn serial_of(name: &str, prefix: &str, suffix: &str) -> Option<u64> {
    name.strip_prefix(prefix)?.strip_suffix(suffix)?.parse().ok()
}

#[cfg(test)]
mod tests;
