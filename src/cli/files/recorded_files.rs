//! File access for a load whose reads are recorded, to find out later whether the load would yield the same stack at
//! another commit. In: the access to the files. Out: what each read saw, by path from the repository's root. What the
//! loader gets is what is recorded: no file is read a second time, except those that are not read through `Files`.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use gix_hash::{Hasher, Kind, ObjectId};
use gix_object::encode::loose_header;

use super::git_config::extension_of;
use super::git_dir::{common_directory, find_working_tree, read_git_file};
use super::stack_files::{ConfinedFiles, full_path, read_below, real_path};
use crate::config::input::discovery::is_stack_file;
use crate::config::input::files::{DirectoryEntry, DirectoryEntryKind, Files, UsedEntries};
use crate::ledger::stores::file::dir_handle::DirHandle;
use crate::model::address::Name;
use crate::workspace::changes::recorded_reads::{ListedKind, Listing, Observation, RecordedReads};

/// Recorder of the reads of a load.
#[derive(Debug)]
pub(in crate::cli) struct ReadRecorder {
    /// Root of the repository, with all links resolved.
    root: PathBuf,
    /// Hash of the repository's objects.
    hash: Kind,
    reads: RefCell<RecordedReads>,
}

/// Access to files for a configuration, whose reads are recorded.
pub(in crate::cli) struct RecordedFiles {
    files: ConfinedFiles,
    /// Directory of the stack or module, with all links resolved.
    directory: PathBuf,
    recorder: Rc<ReadRecorder>,
}

impl ReadRecorder {
    /// Returns a recorder for a load in the repository at `root`, whose links are resolved.
    pub(in crate::cli) fn new(root: &Path, hash: Kind) -> Rc<Self> {
        Rc::new(Self { root: root.to_owned(), hash, reads: RefCell::default() })
    }

    /// Returns a recorder for a load in the working tree of a directory; `None` outside of a repository, or if the
    /// repository has a format that is not read.
    pub(in crate::cli) fn for_working_tree(directory: &Path) -> Option<Rc<Self>> {
        let (root, git) = find_working_tree(directory)?;
        let config = read_git_file(&common_directory(&git).join("config")).unwrap_or_default();
        Some(Self::new(&root, object_hash(&config).ok()?))
    }

    /// Returns what was recorded since the last call.
    pub(in crate::cli) fn take(&self) -> RecordedReads {
        self.reads.take()
    }

    /// Records the stack's own files: their contents, and that the directory has no others.
    pub(in crate::cli) fn record_stack(&self, directory: &Path, files: Vec<(String, Option<ObjectId>)>) {
        let directory = full_path(directory);
        for (name, id) in &files {
            let seen = id.map_or(Observation::Unusable, Observation::Content);
            self.add(&directory.join(name), seen);
        }
        let names = files.into_iter().map(|(name, _)| name.into());
        self.add(&directory, Observation::Listing(Listing::of_names(names, stack_files_only())));
    }

    /// Reads a file of the repository that the load reads without `Files`, and records it. A path with a link is not
    /// comparable. A file outside of the repository is the user's, and not recorded.
    pub(in crate::cli) fn record_file(&self, path: &Path) {
        let Ok(full) = std::path::absolute(path) else { return };
        let is_root = |above: &&Path| real_path(above).is_some_and(|real| real == self.root);
        let Some(relative) = full.ancestors().find(is_root).and_then(|root| full.strip_prefix(root).ok())
        else {
            return;
        };
        let read = read_below(&self.root, relative);
        self.add_read(&self.root.join(relative), &read);
    }

    /// Returns the id of Git's object for a content; `None` for a content that is made to have the id of another one.
    pub(in crate::cli) fn content_id(&self, bytes: &[u8]) -> Option<ObjectId> {
        gix_object::compute_hash(self.hash, gix_object::Kind::Blob, bytes).ok()
    }

    /// Returns a hasher for the content of a file of this size.
    fn content_hasher(&self, size: u64) -> Hasher {
        let mut hasher = gix_hash::hasher(self.hash);
        hasher.update(&loose_header(gix_object::Kind::Blob, size));
        hasher
    }

    fn add(&self, path: &Path, seen: Observation) {
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        let plain = relative.components().filter(|part| *part != Component::CurDir).collect();
        self.reads.borrow_mut().add(plain, seen);
    }

    fn add_read(&self, path: &Path, read: &io::Result<Vec<u8>>) {
        let seen = match read {
            Ok(bytes) => self.content_id(bytes).map_or(Observation::Unusable, Observation::Content),
            Err(error) => observe_error(error),
        };
        self.add(path, seen);
    }

    fn add_names(&self, path: &Path, names: &io::Result<Vec<String>>, uses: UsedEntries) {
        let seen = match names {
            Ok(names) => Observation::Listing(Listing::of_names(names.iter().map(Into::into), uses)),
            Err(error) => observe_error(error),
        };
        self.add(path, seen);
    }

    fn listed_kind(&self, what: &DirectoryEntryKind) -> ListedKind {
        match what {
            DirectoryEntryKind::Directory => ListedKind::Directory,
            DirectoryEntryKind::File { executable, .. } => ListedKind::File { executable: *executable },
            DirectoryEntryKind::Link(target) => {
                let target = self.content_id(target.as_os_str().as_encoded_bytes());
                target.map_or(ListedKind::Special, ListedKind::Link)
            }
            DirectoryEntryKind::Special => ListedKind::Special,
        }
    }
}

impl RecordedFiles {
    /// Returns access to the same files that records what is read.
    pub(in crate::cli) fn new(files: ConfinedFiles, recorder: Rc<ReadRecorder>) -> Self {
        let directory = full_path(&files.root);
        Self { files, directory, recorder }
    }

    /// Returns the files without the recorder.
    pub(in crate::cli) fn files(&self) -> &ConfinedFiles {
        &self.files
    }
}

impl Files for RecordedFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let read = self.files.read(path);
        self.recorder.add_read(&self.directory.join(path), &read);
        read
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        let full = self.directory.join(path);
        let opened = DirHandle::open_user_dir(&self.files.root).and_then(|root| root.open_below(path));
        match opened.and_then(|file| Ok((file.metadata()?.len(), file))) {
            Ok((size, file)) => {
                let hasher = Some(self.recorder.content_hasher(size));
                Ok(Box::new(RecordedFile {
                    file,
                    hasher,
                    left: size,
                    path: full,
                    recorder: self.recorder.clone(),
                }))
            }
            Err(error) => {
                self.recorder.add(&full, observe_error(&error));
                Err(error)
            }
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        self.list_used(path, &all_entries())
    }

    fn list_used(&self, path: &Path, uses: &UsedEntries) -> io::Result<Vec<DirectoryEntry>> {
        let listed = self.files.list(path);
        let seen = match &listed {
            Ok(entries) => {
                let kind =
                    |entry: &DirectoryEntry| (entry.name.clone(), self.recorder.listed_kind(&entry.what));
                Observation::Listing(Listing::of_kinds(entries.iter().map(kind), uses.clone()))
            }
            Err(error) => observe_error(error),
        };
        self.recorder.add(&self.directory.join(path), seen);
        listed
    }

    fn path_from_root(&self) -> Vec<Name> {
        self.files.path_from_root()
    }

    fn read_shared(&self, path: &Path) -> io::Result<Vec<u8>> {
        let read = self.files.read_shared(path);
        self.recorder.add_read(&self.files.shared.root.join(path), &read);
        read
    }

    fn names_shared(&self, path: &Path) -> io::Result<Vec<String>> {
        let names = self.files.names_shared(path);
        self.recorder.add_names(&self.files.shared.root.join(path), &names, all_entries());
        names
    }

    fn stack_files_shared(&self, path: &Path) -> io::Result<Vec<String>> {
        let names = self.files.stack_files_shared(path);
        self.recorder.add_names(&self.files.shared.root.join(path), &names, stack_files_only());
        names
    }

    fn in_dir(&self, path: &Path) -> Option<Rc<dyn Files>> {
        let directory = self.files.shared.root.join(path);
        let files = ConfinedFiles { root: directory.clone(), ..self.files.clone() };
        Some(Rc::new(Self { files, directory, recorder: self.recorder.clone() }))
    }
}

/// An open file, hashed as it is read.
struct RecordedFile {
    file: File,
    /// `None` once the read is recorded.
    hasher: Option<Hasher>,
    /// Number of bytes that are not read yet, of the size that the file had when it was opened.
    left: u64,
    path: PathBuf,
    recorder: Rc<ReadRecorder>,
}

impl RecordedFile {
    /// Records the content, if exactly the bytes of the file's size were read.
    fn finish(&mut self, is_whole: bool) {
        let Some(hasher) = self.hasher.take() else { return };
        let id = hasher.try_finalize().ok().filter(|_| is_whole);
        self.recorder.add(&self.path, id.map_or(Observation::Unusable, Observation::Content));
    }
}

impl Read for RecordedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&buffer[..read]);
        }
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => self.finish(false),
        }
        Ok(read)
    }
}

impl Drop for RecordedFile {
    fn drop(&mut self) {
        self.finish(self.left == 0);
    }
}

/// Returns the hash of a repository's objects, from its configuration; the name of one that is not known otherwise.
pub(in crate::cli) fn object_hash(config: &str) -> Result<Kind, String> {
    match extension_of(config, "objectformat") {
        None => Ok(Kind::Sha1),
        Some(format) => match &*format {
            "sha1" => Ok(Kind::Sha1),
            "sha256" => Ok(Kind::Sha256),
            _ => Err(format),
        },
    }
}

fn observe_error(error: &io::Error) -> Observation {
    if error.kind() == io::ErrorKind::NotFound { Observation::Absent } else { Observation::Unusable }
}

fn all_entries() -> UsedEntries {
    Arc::new(|_, _| true)
}

fn stack_files_only() -> UsedEntries {
    Arc::new(|name, _| name.to_str().is_some_and(is_stack_file))
}
