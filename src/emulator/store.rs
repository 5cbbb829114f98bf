//! `WorldStore`: the world in one crash-safe file, and the API key in a file beside it.
//!
//! Requests change rows; `WriteQueue` passes them to a thread that writes all waiting rows in one commit, and
//! reports its progress. A response is sent once the state that it depends on is on disk.

#![allow(clippy::disallowed_methods, reason = "the emulator's file and its writer are an edge")]

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition, TableError};
use thiserror::Error;
use tokio::sync::watch;
use uuid::Uuid;

use super::clock::VirtualClock;
use super::world::StoredRow;

const RECORDS: TableDefinition<&str, &[u8]> = TableDefinition::new("records");
const METADATA: TableDefinition<&str, &[u8]> = TableDefinition::new("about");
/// The file format that this program writes and reads.
const FORMAT: &[u8] = b"stead-cloud-1";
/// Most bytes to read of a key file.
const MAX_KEY_BYTES: u64 = 1_024;

/// Why the world's file or its key file cannot be used.
#[derive(Debug, Error)]
pub enum WorldStoreError {
    /// Another process has the file open.
    #[error(
        "{path} is in use by another process: stop the other `--cloud local` or `stead emulator`, or use another data directory"
    )]
    Locked {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file is damaged or is not a world file.
    #[error(
        "{path} is not a readable cloud file: {reason}. Restore it from a copy, or move it away to start with an empty cloud"
    )]
    Corrupt {
        /// Path of the file, or of the new one that was being created beside it.
        path: PathBuf,
        /// What is wrong with the content.
        reason: String,
    },
    /// The key file is empty, or contains something other than one word of visible ASCII.
    #[error("{path} has no API key: delete the file, and the emulator creates a new one")]
    Key {
        /// Path of the file.
        path: PathBuf,
    },
    /// Another version of stead wrote the file.
    #[error(
        "{path} has the format `{found}`, and this stead reads `stead-cloud-1`: use the stead that wrote it, or move it away"
    )]
    Version {
        /// Path of the file.
        path: PathBuf,
        /// Format that the file names; empty if it names none.
        found: String,
    },
    /// The operating system reported an error.
    #[error("{path}: {source}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A commit to the file failed.
    #[error("{path} cannot be written: {reason}")]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The database's error message.
        reason: String,
    },
}

/// The content of a file at the time it was opened.
#[derive(Debug, Default)]
pub struct StoredWorld {
    /// Stored rows in the order of their keys, `kind/id` or `account`; empty for a new file.
    pub rows: Vec<(String, Vec<u8>)>,
    /// The stored clock; `None` in a new file.
    pub clock: Option<VirtualClock>,
}

/// Creates an empty file under a temporary name, then links it into place: a process that is killed meanwhile
/// leaves no partial file. If another process is faster, its file is used.
fn create_empty_file(path: &Path) -> Result<(), WorldStoreError> {
    let io = |source| WorldStoreError::Io { path: path.to_owned(), source };
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let made = restrict_to_owner(OpenOptions::new().read(true).write(true).create_new(true)).open(&beside);
    drop(made.map_err(io)?);
    let written = Database::create(&beside)
        .map(drop)
        .map_err(|error| WorldStoreError::Corrupt { path: beside.clone(), reason: error.to_string() });
    let placed = written.and_then(|()| match std::fs::hard_link(&beside, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(io(error)),
        _ => Ok(()),
    });
    // The file is in place under its final name, or is not needed.
    let _ = std::fs::remove_file(&beside);
    placed
}

/// An open world file. No other process can open it at the same time (the library holds a lock on it).
#[derive(Debug)]
pub struct WorldStore {
    database: Database,
    path: PathBuf,
}

impl WorldStore {
    /// Opens the file; creates it, readable by its owner only, if it is missing.
    ///
    /// # Errors
    /// When it is in use by another process, damaged, of another version, or cannot be created or read.
    pub fn open(path: &Path) -> Result<(Self, StoredWorld), WorldStoreError> {
        let io = |source| WorldStoreError::Io { path: path.to_owned(), source };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(io)?;
        }
        if !path.exists() {
            create_empty_file(path)?;
        }
        // The library answers some damage with a panic; the caller must get an error in that case, too.
        let opened = catch_unwind(AssertUnwindSafe(|| Self::read(path)));
        opened.unwrap_or_else(|_| {
            let reason = "it is damaged".to_owned();
            Err(WorldStoreError::Corrupt { path: path.to_owned(), reason })
        })
    }

    fn read(path: &Path) -> Result<(Self, StoredWorld), WorldStoreError> {
        let corrupt = |reason: String| WorldStoreError::Corrupt { path: path.to_owned(), reason };
        let mut database = Database::create(path).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => WorldStoreError::Locked { path: path.to_owned() },
            error => corrupt(error.to_string()),
        })?;
        // Damage must show at the start: found later, it would end the server in the middle of a request.
        if !database.check_integrity().map_err(|error| corrupt(error.to_string()))? {
            return Err(corrupt("its checksums do not match".to_owned()));
        }
        let store = Self { database, path: path.to_owned() };
        let stored = store.load()?;
        Ok((store, stored))
    }

    fn corrupt_error(&self, reason: &impl ToString) -> WorldStoreError {
        WorldStoreError::Corrupt { path: self.path.clone(), reason: reason.to_string() }
    }

    fn load(&self) -> Result<StoredWorld, WorldStoreError> {
        let read = self.database.begin_read().map_err(|error| self.corrupt_error(&error))?;
        let about = match read.open_table(METADATA) {
            Ok(table) => table,
            Err(TableError::TableDoesNotExist(_)) => return Ok(StoredWorld::default()),
            Err(error) => return Err(self.corrupt_error(&error)),
        };
        let value = |key| about.get(key).map_err(|error| self.corrupt_error(&error));
        match value("format")? {
            Some(format) if format.value() == FORMAT => {}
            format => {
                let found = format.map(|format| String::from_utf8_lossy(format.value()).into_owned());
                let found = found.unwrap_or_default();
                return Err(WorldStoreError::Version { path: self.path.clone(), found });
            }
        }
        let clock = value("clock")?.map(|clock| serde_json::from_slice(clock.value()));
        let clock = clock.transpose().map_err(|error| self.corrupt_error(&error))?;
        let records = read.open_table(RECORDS).map_err(|error| self.corrupt_error(&error))?;
        let mut rows = Vec::new();
        for row in records.iter().map_err(|error| self.corrupt_error(&error))? {
            let (key, value) = row.map_err(|error| self.corrupt_error(&error))?;
            rows.push((key.value().to_owned(), value.value().to_vec()));
        }
        Ok(StoredWorld { rows, clock })
    }

    /// Writes rows and the clock in one commit; on return they are on disk. Without a clock the stored one stays.
    ///
    /// # Errors
    /// When the commit fails; the file then has its earlier content.
    pub fn write(&self, rows: &[StoredRow], clock: Option<VirtualClock>) -> Result<(), WorldStoreError> {
        let failed = |reason| WorldStoreError::Write { path: self.path.clone(), reason };
        self.commit(rows, clock).map_err(|error| failed(error.to_string()))
    }

    fn commit(&self, rows: &[StoredRow], clock: Option<VirtualClock>) -> Result<(), redb::Error> {
        let write = self.database.begin_write()?;
        {
            let mut about = write.open_table(METADATA)?;
            about.insert("format", FORMAT)?;
            if let Some(text) = clock.and_then(|clock| serde_json::to_vec(&clock).ok()) {
                about.insert("clock", text.as_slice())?;
            }
            let mut records = write.open_table(RECORDS)?;
            for row in rows {
                match &row.value {
                    Some(value) => drop(records.insert(row.key.as_str(), value.as_slice())?),
                    None => drop(records.remove(row.key.as_str())?),
                }
            }
        }
        write.commit()?;
        Ok(())
    }
}

/// Restricts a file that is about to be created to its owner (on Unix): it holds passwords, or the API key.
fn restrict_to_owner(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

/// Returns the API key from the file beside the world's file, which has the extension `key`; creates a random one if
/// the file is missing.
///
/// # Errors
/// When the file cannot be read or created, or holds no key.
pub fn read_or_create_key(data: &Path) -> Result<String, WorldStoreError> {
    let path = data.with_extension("key");
    let io = |source| WorldStoreError::Io { path: path.clone(), source };
    let mut options = OpenOptions::new();
    match restrict_to_owner(options.write(true).create_new(true)).open(&path) {
        Ok(mut file) => {
            let key = random_key();
            file.write_all(key.as_bytes()).and_then(|()| file.sync_all()).map_err(io)?;
            Ok(key)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let mut text = String::new();
            let file = File::open(&path).map_err(io)?;
            file.take(MAX_KEY_BYTES).read_to_string(&mut text).map_err(io)?;
            let key = text.trim();
            if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(WorldStoreError::Key { path });
            }
            Ok(key.to_owned())
        }
        Err(error) => Err(io(error)),
    }
}

/// Returns a new API key, `sk_` and 64 hexadecimal digits, from the system's random source.
pub fn random_key() -> String {
    format!("sk_{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

/// Progress of the journal's writer thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteProgress {
    /// Everything up to the batch with this number is on disk; 0 before the first one.
    Durable(u64),
    /// Writing a batch failed, with the reason; no later batch is written either.
    Failed(String),
}

struct WriteBatch {
    sequence: u64,
    rows: Vec<StoredRow>,
    clock: Option<VirtualClock>,
}

/// The queue of changes that still have to reach the disk, in order. Dropping it blocks until all are written.
#[derive(Debug)]
pub struct WriteQueue {
    batches: Option<mpsc::Sender<WriteBatch>>,
    sequence: u64,
    progress: watch::Receiver<WriteProgress>,
    writer: Option<JoinHandle<()>>,
}

impl WriteQueue {
    /// Returns a queue that discards its batches, for a world without a file.
    #[must_use]
    pub fn in_memory() -> Self {
        let (_, progress) = watch::channel(WriteProgress::Durable(0));
        Self { batches: None, sequence: 0, progress, writer: None }
    }

    /// Starts the thread that writes to a store.
    #[must_use]
    pub fn start(store: WorldStore) -> Self {
        let (batches, waiting) = mpsc::channel();
        let (tell, progress) = watch::channel(WriteProgress::Durable(0));
        let writer = thread::spawn(move || write_all(&store, &waiting, &tell));
        Self { batches: Some(batches), sequence: 0, progress, writer: Some(writer) }
    }

    /// Queues the rows that a request changed; returns the number to wait for. Without changes this is the number of
    /// the last batch: the response may show what that batch stores.
    pub fn submit(&mut self, rows: Vec<StoredRow>, clock: Option<VirtualClock>) -> u64 {
        let Some(batches) = &self.batches else { return 0 };
        if rows.is_empty() && clock.is_none() {
            return self.sequence;
        }
        self.sequence += 1;
        // If the writer ended, it has failed, and its progress reports the failure.
        let _ = batches.send(WriteBatch { sequence: self.sequence, rows, clock });
        self.sequence
    }

    /// Returns a receiver for the writer's progress.
    pub fn watch_progress(&self) -> watch::Receiver<WriteProgress> {
        self.progress.clone()
    }
}

impl Drop for WriteQueue {
    fn drop(&mut self) {
        self.batches = None;
        if let Some(writer) = self.writer.take() {
            // A panic of the writer was reported as a failure to the requests that waited.
            let _ = writer.join();
        }
    }
}

fn write_all(
    store: &WorldStore,
    waiting: &mpsc::Receiver<WriteBatch>,
    tell: &watch::Sender<WriteProgress>,
) {
    while let Ok(first) = waiting.recv() {
        let mut batch = first;
        // One commit, and one sync of the disk, for all requests that arrived during the last one. Rows of the same
        // key stay in order, so the latest wins.
        while let Ok(next) = waiting.try_recv() {
            batch.sequence = next.sequence;
            batch.rows.extend(next.rows);
            batch.clock = next.clock.or(batch.clock);
        }
        // The library answers some damage with a panic; requests that wait for this batch would wait forever.
        let written = catch_unwind(AssertUnwindSafe(|| store.write(&batch.rows, batch.clock)));
        let failed = !matches!(written, Ok(Ok(())));
        tell.send_replace(match written {
            Ok(Ok(())) => WriteProgress::Durable(batch.sequence),
            Ok(Err(error)) => WriteProgress::Failed(error.to_string()),
            Err(_) => WriteProgress::Failed("the cloud's file is damaged".to_owned()),
        });
        if failed {
            return;
        }
    }
}

/// Waits until everything up to the batch with this number is on disk.
///
/// # Errors
/// When the writer failed or ended before that; the text is the reason.
pub async fn wait_until_durable(
    mut progress: watch::Receiver<WriteProgress>,
    sequence: u64,
) -> Result<(), String> {
    let reached = |progress: &WriteProgress| match progress {
        WriteProgress::Durable(done) => *done >= sequence,
        WriteProgress::Failed(_) => true,
    };
    match progress.wait_for(reached).await.map(|progress| progress.clone()) {
        Ok(WriteProgress::Failed(reason)) => Err(reason),
        Ok(WriteProgress::Durable(_)) => Ok(()),
        Err(_) if sequence == 0 => Ok(()),
        Err(_) => Err("the writer of the cloud's file ended".to_owned()),
    }
}

#[cfg(test)]
mod tests;
