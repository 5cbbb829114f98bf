//! The tree of a commit, as the comparison asks for it. In: a repository and a commit. Out: what a path is at that
//! commit. Each tree is read at most once, and the content of a file only if it is asked for. A path below a submodule is looked up in the submodule's
//! own objects, at the commit that the tree names.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use foldhash::HashMap;
use gix_hash::ObjectId;
use gix_object::tree::EntryKind;

use super::git_error::GitError;
use super::git_repository::{GitRepository, Tree, TreeEntry};
use crate::cli::files::git_ignored::IgnoreFiles;
use crate::config::input::discovery::is_stack_file;
use crate::workspace::changes::base_tree::{BaseEntry, BaseTree};

/// The tree of the base commit.
pub(super) struct GitBase {
    /// Root of the working tree.
    root: PathBuf,
    repository: Rc<GitRepository>,
    commit: ObjectId,
    /// What each directory was, by path from the root.
    directories: RefCell<HashMap<PathBuf, Directory>>,
    /// Tree of `HEAD`, which tells a tracked file from an ignored one; `None` if it cannot be read.
    head: OnceCell<Option<Box<GitBase>>>,
    ignore_files: OnceCell<Option<RefCell<IgnoreFiles>>>,
}

/// What a path is, seen as a directory.
#[derive(Clone)]
enum Directory {
    Tree {
        /// The repository that has the tree: a submodule's below a submodule.
        repository: Rc<GitRepository>,
        tree: Rc<Tree>,
    },
    Absent,
    /// A file or a link, or a path below one.
    Blocked,
    /// A submodule whose commit is not in this clone, or a path below one.
    MissingSubmodule,
}

impl GitBase {
    pub(super) fn new(root: &Path, repository: Rc<GitRepository>, commit: ObjectId) -> Self {
        Self {
            root: root.to_owned(),
            repository,
            commit,
            directories: RefCell::default(),
            head: OnceCell::new(),
            ignore_files: OnceCell::new(),
        }
    }

    fn directory(&self, path: &Path) -> Result<Directory, GitError> {
        if let Some(known) = self.directories.borrow().get(path) {
            return Ok(known.clone());
        }
        let found = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => match self.directory(parent)? {
                Directory::Tree { repository, tree } => match tree.get(name) {
                    Some(entry) => self.open_entry(path, &repository, entry)?,
                    None => Directory::Absent,
                },
                other => other,
            },
            _ => Self::open_commit(&self.repository, &self.commit)?,
        };
        self.directories.borrow_mut().insert(path.to_owned(), found.clone());
        Ok(found)
    }

    fn open_commit(repository: &Rc<GitRepository>, commit: &ObjectId) -> Result<Directory, GitError> {
        let tree = Rc::new(repository.tree(&repository.commit_tree(commit)?)?);
        Ok(Directory::Tree { repository: Rc::clone(repository), tree })
    }

    fn open_entry(
        &self,
        path: &Path,
        repository: &Rc<GitRepository>,
        entry: &TreeEntry,
    ) -> Result<Directory, GitError> {
        match entry.mode.kind() {
            EntryKind::Tree => {
                let tree = Rc::new(repository.tree(&entry.id)?);
                Ok(Directory::Tree { repository: Rc::clone(repository), tree })
            }
            // Any reason for which the submodule's objects cannot be read has the same result: they cannot be compared.
            EntryKind::Commit => Ok(GitRepository::open(&self.root.join(path))
                .and_then(|submodule| Self::open_commit(&Rc::new(submodule), &entry.id))
                .unwrap_or(Directory::MissingSubmodule)),
            EntryKind::Blob | EntryKind::BlobExecutable | EntryKind::Link => Ok(Directory::Blocked),
        }
    }

    /// Returns the content of a regular file; `None` if the path is none, or its content is not in this clone.
    pub(super) fn content(&self, path: &Path) -> Option<Vec<u8>> {
        let Directory::Tree { repository, tree } = self.directory(path.parent()?).ok()? else {
            return None;
        };
        let entry = tree.get(path.file_name()?)?;
        let is_file = matches!(entry.mode.kind(), EntryKind::Blob | EntryKind::BlobExecutable);
        is_file.then(|| repository.blob(&entry.id).ok()).flatten()
    }

    /// Returns the directories with stack files, in any order, as a search of the working tree finds them: not in submodules,
    /// nor in directories whose name begins with a dot.
    ///
    /// # Errors
    /// When a tree is missing or damaged.
    pub(super) fn stack_directories(&self) -> Result<Vec<PathBuf>, GitError> {
        let mut found = Vec::new();
        let mut left = vec![(PathBuf::new(), self.repository.commit_tree(&self.commit)?)];
        while let Some((path, id)) = left.pop() {
            let tree = self.repository.tree(&id)?;
            let is_stack = |name: &OsString| name.to_str().is_some_and(is_stack_file);
            if path.to_str().is_some() && tree.keys().any(is_stack) {
                found.push(path.clone());
            }
            let is_searched = |name: &OsString| !name.as_encoded_bytes().starts_with(b".");
            let below = tree.iter().filter(|(name, entry)| entry.mode.is_tree() && is_searched(name));
            left.extend(below.map(|(name, entry)| (path.join(name), entry.id)));
        }
        Ok(found)
    }

    /// Returns whether the commit that is checked out has this file.
    fn is_in_head(&self, path: &Path) -> bool {
        let open = || {
            let head = self.repository.refs().resolve("HEAD")?;
            let commit = self.repository.parse_id(&head)?;
            Some(Box::new(Self::new(&self.root, Rc::clone(&self.repository), commit)))
        };
        let head = self.head.get_or_init(open);
        head.as_ref().is_some_and(|head| head.entry(path).is_ok_and(|entry| entry != BaseEntry::Absent))
    }
}

impl BaseTree for GitBase {
    type Error = GitError;

    fn entry(&self, path: &Path) -> Result<BaseEntry, GitError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(BaseEntry::Directory);
        };
        Ok(match self.directory(parent)? {
            Directory::Tree { tree, .. } => match tree.get(name) {
                None => BaseEntry::Absent,
                // A submodule of which nothing is fetched may still be named in a listing.
                Some(entry) if entry.mode.kind() == EntryKind::Commit => match self.directory(path)? {
                    Directory::MissingSubmodule => BaseEntry::InMissingSubmodule,
                    _ => BaseEntry::Directory,
                },
                Some(entry) => base_entry(entry),
            },
            Directory::Absent => BaseEntry::Absent,
            Directory::Blocked => BaseEntry::Blocked,
            Directory::MissingSubmodule => BaseEntry::InMissingSubmodule,
        })
    }

    fn entries(&self, directory: &Path) -> Result<BTreeMap<OsString, BaseEntry>, GitError> {
        match self.directory(directory)? {
            Directory::Tree { tree, .. } => {
                Ok(tree.iter().map(|(name, entry)| (name.clone(), base_entry(entry))).collect())
            }
            Directory::Absent | Directory::Blocked | Directory::MissingSubmodule => Ok(BTreeMap::new()),
        }
    }

    fn is_ignored(&self, path: &Path) -> bool {
        if self.is_in_head(path) {
            return false;
        }
        let open = || IgnoreFiles::open(&self.root).ok().map(RefCell::new);
        let files = self.ignore_files.get_or_init(open).as_ref();
        files.is_some_and(|files| files.borrow_mut().ignores(path).unwrap_or(false))
    }
}

fn base_entry(entry: &TreeEntry) -> BaseEntry {
    match entry.mode.kind() {
        EntryKind::Tree | EntryKind::Commit => BaseEntry::Directory,
        EntryKind::Blob => BaseEntry::File { id: entry.id, executable: false },
        EntryKind::BlobExecutable => BaseEntry::File { id: entry.id, executable: true },
        EntryKind::Link => BaseEntry::Link(entry.id),
    }
}
