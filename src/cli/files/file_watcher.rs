//! Waits for changes of files by polling their metadata a few times a second, which works on every system and file
//! system. In: directories. Out: whether a file changed before a stop signal arrived.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};

/// Interval between two polls; short enough to feel immediate, long enough to cost nothing.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Maximum number of files of one directory that are polled; further ones are ignored.
const MAX_FILES: usize = 10_000;

/// Metadata of the files in some directories, at one time; equal if no file changed.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) struct FileFingerprints(BTreeMap<PathBuf, FileFingerprint>);

/// Size, inode number, modification time and change time of a file; at least one differs after a change.
type FileFingerprint = (u64, u64, (i64, i64), (i64, i64));

impl FileFingerprints {
    /// Reads the metadata of the files directly in these directories. Hidden files are left out, since they are not
    /// part of a configuration.
    pub(in crate::cli) fn from_directories(directories: &BTreeSet<PathBuf>) -> Self {
        let mut found = BTreeMap::new();
        for directory in directories {
            // An unreadable or missing directory counts as empty, so that its return is detected.
            let Ok(entries) = fs::read_dir(directory) else { continue };
            let shown =
                entries.flatten().filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
            for entry in shown.take(MAX_FILES) {
                // Follows links, because the target is the file that is read.
                let Ok(data) = fs::metadata(entry.path()) else { continue };
                if data.is_file() {
                    let (written, named) =
                        ((data.mtime(), data.mtime_nsec()), (data.ctime(), data.ctime_nsec()));
                    found.insert(entry.path(), (data.size(), data.ino(), written, named));
                }
            }
        }
        Self(found)
    }
}

/// Receiver for the signals that end a watch: SIGINT and SIGTERM.
pub(in crate::cli) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    /// Installs the handlers: from now on these signals no longer end the process.
    ///
    /// # Errors
    /// When the handlers cannot be installed.
    pub(in crate::cli) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits until the files differ from their earlier metadata. Returns `false` if a signal arrived first.
    pub(in crate::cli) async fn or_change(
        &mut self,
        directories: &BTreeSet<PathBuf>,
        before: &FileFingerprints,
    ) -> bool {
        let mut looks = interval(POLL_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Biased, so that a signal during a change ends the watch instead of starting another run.
        loop {
            tokio::select! {
                biased;
                _ = self.interrupt.recv() => return false,
                _ = self.terminate.recv() => return false,
                _ = looks.tick() => {}
            }
            if FileFingerprints::from_directories(directories) != *before {
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "the test changes files")]

    use super::*;

    #[test]
    fn every_file_change_changes_the_fingerprints() {
        let root = tempfile::tempdir().unwrap();
        let directories = BTreeSet::from([root.path().to_owned(), root.path().join("gone")]);
        let mut before = FileFingerprints::from_directories(&directories);
        let mut changes = |what: &str, does: bool, change: &dyn Fn()| {
            change();
            let now = FileFingerprints::from_directories(&directories);
            assert_eq!(now != before, does, "{what}");
            before = now;
        };
        let at = |name: &str| root.path().join(name);
        changes("nothing", false, &|| {});
        changes("a new file", true, &|| fs::write(at("a"), "one").unwrap());
        changes("another size", true, &|| fs::write(at("a"), "three").unwrap());
        changes("another file instead", true, &|| {
            fs::write(at(".a"), "seven").unwrap();
            fs::rename(at(".a"), at("a")).unwrap();
        });
        changes("a hidden file", false, &|| fs::write(at(".stead"), "x").unwrap());
        changes("one that goes", true, &|| fs::remove_file(at("a")).unwrap());
    }
}
