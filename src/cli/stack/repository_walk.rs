//! Finds the stacks of a repository: every directory below its root with stack files. Ignored files, submodules,
//! hidden directories and links are skipped, because none of them is a part of the repository that could be applied.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use crate::cli::files::git_ignored::IgnoreFiles;
use crate::cli::process::settings::Settings;
use crate::cli::stack::project;
use crate::config::input::discovery::is_stack_file;
use crate::config::load::{DirectoryContents, StackHeader};
use crate::ledger::stores::file::dir_handle::DirHandle;

/// Maximum depth of directories below the root; deeper ones are not searched.
const MAX_DIRECTORY_DEPTH: usize = 32;

/// A directory with stack files.
pub(in crate::cli) struct FoundStack {
    pub(in crate::cli) directory: PathBuf,
    /// What the files are; `Invalid` also if they cannot be read.
    pub(in crate::cli) contents: DirectoryContents,
}

impl FoundStack {
    /// Returns the header of the stack; `None` if the files are none, or cannot be read or parsed.
    pub(in crate::cli) fn header(&self) -> Option<&StackHeader> {
        match &self.contents {
            DirectoryContents::Stack(header) => Some(header),
            DirectoryContents::NoStack | DirectoryContents::Invalid => None,
        }
    }
}

/// Returns the stacks below a repository's root, ordered by directory; empty if the root cannot be read.
pub(in crate::cli) fn find_stacks(settings: &Settings, root: &Path) -> Vec<FoundStack> {
    let Some(walk) = RepositoryWalker::walk(root) else { return Vec::new() };
    let read = |relative: PathBuf| {
        let directory = root.join(relative);
        let contents = project::inspect_directory(settings, &directory);
        FoundStack { directory, contents: contents.unwrap_or(DirectoryContents::Invalid) }
    };
    walk.found.into_iter().map(read).collect()
}

/// Returns the directories below a repository's root that have a directory `.stead` and no stack files, relative to the root:
/// a stack may have been in them.
pub(in crate::cli) fn directories_with_only_ledgers(root: &Path) -> Vec<PathBuf> {
    RepositoryWalker::walk(root).map(|walk| walk.only_ledgers).unwrap_or_default()
}

struct RepositoryWalker {
    folder: DirHandle,
    ignored: IgnoreFiles,
    /// Directories with stack files.
    found: Vec<PathBuf>,
    /// Directories without stack files, and with a directory of stead.
    only_ledgers: Vec<PathBuf>,
}

impl RepositoryWalker {
    /// Visits all directories; `None` if the root cannot be read.
    fn walk(root: &Path) -> Option<Self> {
        let folder = DirHandle::open_user_dir(root).ok()?;
        let ignored = IgnoreFiles::open(root).ok()?;
        let mut walk = Self { folder, ignored, found: Vec::new(), only_ledgers: Vec::new() };
        walk.visit(Path::new(""), 0);
        walk.found.sort();
        walk.only_ledgers.sort();
        Some(walk)
    }

    fn visit(&mut self, at: &Path, depth: usize) {
        // An unreadable directory has no stack that could be applied.
        let Ok(listed) = self.folder.list_below(at) else { return };
        // A directory with its own `.git` is another repository.
        if depth > 0 && listed.iter().any(|(name, _)| name == ".git") {
            return;
        }
        let mut has_stack = false;
        let has_ledgers = listed.iter().any(|(name, _)| name == ".stead");
        for (name, stat) in listed {
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            let path = at.join(name);
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => {
                    has_stack |= is_stack_file(name) && !self.ignored.ignores(&path).unwrap_or(false);
                }
                // Ignore patterns for directories are matched against a path inside.
                FileType::Directory
                    if depth < MAX_DIRECTORY_DEPTH
                        && !self.ignored.ignores(&path.join("stead.yaml")).unwrap_or(false) =>
                {
                    self.visit(&path, depth + 1);
                }
                _ => {}
            }
        }
        if has_stack {
            self.found.push(at.to_owned());
        } else if has_ledgers {
            self.only_ledgers.push(at.to_owned());
        }
    }
}
