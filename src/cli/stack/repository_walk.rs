//! Finds the stacks of a repository: every directory below its root with stack files. Ignored files, submodules,
//! hidden directories and links to directories are skipped, because none of them is a part of the repository that could be
//! applied. What may be a stack and cannot be read is returned with the reason: a stack that is left out looks like one that
//! was removed.

use std::collections::BTreeSet;
use std::env;
use std::path::{Component, Path, PathBuf};

use rustix::fs::FileType;

use crate::cli::files::git_ignored::IgnoreFiles;
use crate::cli::files::shell_path::quote_path;
use crate::cli::files::stack_files::{self, SharedRoot};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::cli::stack::project::{self, LoadedStack};
use crate::config::input::discovery::is_stack_file;
use crate::config::load::{DirectoryContents, StackHeader};
use crate::ledger::stores::file::dir_handle::DirHandle;
use crate::model::address::Name;
use crate::workspace::unit::{Unit, UnitName};

/// Maximum depth of directories below the root; deeper ones are not searched, and returned as unreadable.
const MAX_DIRECTORY_DEPTH: usize = 32;

/// A directory with stack files.
pub(in crate::cli) struct FoundStack {
    pub(in crate::cli) directory: PathBuf,
    /// What the files are; `Invalid` also if they cannot be read.
    pub(in crate::cli) contents: DirectoryContents,
    /// Why the directory could not be searched, or is none that a unit can have; `None` if its files were found.
    pub(in crate::cli) failure: Option<CliFailure>,
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

/// Returns the stacks below a repository's root, and the directories that cannot be searched, ordered by directory; empty if
/// the root cannot be opened.
pub(in crate::cli) fn find_stacks(settings: &Settings, root: &Path) -> Vec<FoundStack> {
    RepositoryWalker::walk(root).map_or_else(Vec::new, |walk| read_stacks(settings, root, walk.found))
}

/// Does the same, and returns the links to directories with stack files, relative to the root: git has the link, and not what
/// is in the directory, so that a stack there is none of the repository; one that is in it is found where it is.
pub(in crate::cli) fn find_stacks_and_links(
    settings: &Settings,
    root: &Path,
) -> (Vec<FoundStack>, Vec<PathBuf>) {
    let Some(walk) = RepositoryWalker::walk(root) else { return (Vec::new(), Vec::new()) };
    let links = walk.links.into_iter().filter(|link| has_stack_files(&root.join(link))).collect();
    (read_stacks(settings, root, walk.found), links)
}

/// Reads what the directories of a walk are; one that cannot be searched has the reason.
fn read_stacks(settings: &Settings, root: &Path, found: Vec<(PathBuf, Option<String>)>) -> Vec<FoundStack> {
    let read = |(relative, reason): (PathBuf, Option<String>)| {
        let directory = root.join(relative);
        let failure = reason.map(|reason| {
            let shown = stack_files::display_path(&directory);
            CliFailure::new(Exit::Failed, format!("the directory {shown} cannot be searched: {reason}"))
                .help("Whether it has a stack is not known. Make it readable, rename it, or list it in .gitignore.")
        });
        let contents = match failure {
            Some(_) => DirectoryContents::Invalid,
            None => project::inspect_directory(settings, &directory).unwrap_or(DirectoryContents::Invalid),
        };
        FoundStack { directory, contents, failure }
    };
    found.into_iter().map(read).collect()
}

/// Returns whether a directory, or one in it, has stack files. What cannot be listed has none.
fn has_stack_files(directory: &Path) -> bool {
    let names = stack_files::entry_names(directory, |_| true).unwrap_or_default();
    names.iter().any(|name| is_stack_file(name) || has_own_stack_files(&directory.join(name)))
}

/// Returns whether a directory itself has stack files. What cannot be listed has none.
pub(in crate::cli) fn has_own_stack_files(directory: &Path) -> bool {
    stack_files::entry_names(directory, is_stack_file).is_ok_and(|names| !names.is_empty())
}

/// A directory with a directory `.stead`, in which a stack is, or was.
pub(in crate::cli) struct LedgerDirectory {
    /// Its path, relative to the root.
    pub(in crate::cli) path: PathBuf,
    /// Whether git ignores it.
    pub(in crate::cli) is_ignored: bool,
}

/// Returns all directories below a repository's root that have a directory `.stead`.
pub(in crate::cli) fn directories_with_ledgers(root: &Path) -> Vec<LedgerDirectory> {
    RepositoryWalker::walk(root).map_or_else(Vec::new, |walk| walk.with_ledgers)
}

/// Returns a sentence about a link to a directory with stack files.
pub(in crate::cli) fn link_note(link: &Path) -> String {
    format!(
        "`{}` is a link to a directory with stack files, and is not searched: git has the link, not what it leads to.",
        link.display()
    )
}

/// Returns the units of a stack: one for each environment, or one without. What they read is not known from the header.
pub(in crate::cli) fn units_of(header: &StackHeader, directory: &Name) -> Vec<Unit> {
    let has_environments = !header.environments.is_empty();
    let default = BTreeSet::from([Name::new_static("default")]);
    let environments = if has_environments { &header.environments } else { &default };
    let unit = |environment: &Name| Unit {
        name: UnitName { stack: header.name.clone(), environment: environment.clone() },
        directory: directory.clone(),
        has_environments,
        is_removed: false,
        upstream: Vec::new(),
    };
    environments.iter().map(unit).collect()
}

/// Returns the directory that a path of a stack's declarations names, as a user types it in a command: from the working
/// directory where the two are in one repository, and one word of a shell.
pub(in crate::cli) fn quote_other_directory(project: &LoadedStack, declared: &str) -> String {
    let directory = project.other_directory(declared);
    let short = repository_root(&project.directory).join(declared);
    // A working directory that is removed, or a link, may lead elsewhere.
    let is_same = stack_files::real_path(&short) == stack_files::real_path(&directory);
    quote_path(if is_same { &short } else { &directory })
}

/// Returns the root of the repository that contains a directory: relative to the working directory if that is inside of
/// it, or it inside of the working directory, so that messages name short paths.
pub(in crate::cli) fn repository_root(directory: &Path) -> PathBuf {
    let root = SharedRoot::find_root(directory, false).root;
    let Some(here) = env::current_dir().ok().and_then(|here| stack_files::real_path(&here)) else {
        return root;
    };
    let full = stack_files::real_path(&root).unwrap_or_else(|| root.clone());
    if let Ok(below) = full.strip_prefix(&here) {
        return if below.as_os_str().is_empty() { PathBuf::from(".") } else { below.to_owned() };
    }
    match here.strip_prefix(&full) {
        Ok(way) => way.components().map(|_| Component::ParentDir).collect(),
        Err(_) => full,
    }
}

/// Returns a directory relative to the root, with `/` between its parts; `.` for the root itself.
pub(in crate::cli) fn relative_name(root: &Path, directory: &Path) -> Name {
    let relative = directory.strip_prefix(root).unwrap_or(directory);
    let parts = relative.components().filter(|part| *part != Component::CurDir);
    let parts: Vec<_> = parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    if parts.is_empty() { Name::new_static(".") } else { Name::new(parts.join("/")) }
}

struct RepositoryWalker {
    folder: DirHandle,
    ignored: IgnoreFiles,
    /// Directories with stack files; and those that cannot be searched, each with the reason.
    found: Vec<(PathBuf, Option<String>)>,
    /// Links, to whatever.
    links: Vec<PathBuf>,
    with_ledgers: Vec<LedgerDirectory>,
}

impl RepositoryWalker {
    /// Visits all directories; `None` if the root cannot be read.
    fn walk(root: &Path) -> Option<Self> {
        let folder = DirHandle::open_user_dir(root).ok()?;
        let ignored = IgnoreFiles::open(root).ok()?;
        let mut walk =
            Self { folder, ignored, found: Vec::new(), links: Vec::new(), with_ledgers: Vec::new() };
        walk.visit(Path::new(""), 0);
        walk.found.sort();
        walk.links.sort();
        walk.with_ledgers.sort_by(|one, other| one.path.cmp(&other.path));
        Some(walk)
    }

    /// Returns whether a directory that is not searched is that of a stack with a ledger, and no other repository.
    fn is_applied_stack(&self, directory: &Path) -> bool {
        // An ignored directory can have many entries, and most have no ledger: only those with one are listed.
        if self.folder.list_below(&directory.join(".stead")).is_err() {
            return false;
        }
        let listed = self.folder.list_below(directory).unwrap_or_default();
        let mut names = listed.iter().filter_map(|(name, _)| name.to_str());
        names.clone().any(is_stack_file) && !names.any(|name| name == ".git")
    }

    fn visit(&mut self, at: &Path, depth: usize) {
        if depth > MAX_DIRECTORY_DEPTH {
            let reason = format!("it is more than {MAX_DIRECTORY_DEPTH} directories below the root");
            self.found.push((at.to_owned(), Some(reason)));
            return;
        }
        let listed = match self.folder.list_below(at) {
            Ok(listed) => listed,
            Err(error) => {
                self.found.push((at.to_owned(), Some(error.to_string())));
                return;
            }
        };
        // A directory with its own `.git` is another repository.
        if depth > 0 && listed.iter().any(|(name, _)| name == ".git") {
            return;
        }
        let mut has_stack = false;
        let has_ledgers = listed.iter().any(|(name, _)| name == ".stead");
        for (name, stat) in listed {
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = at.join(&name);
            let file_type = FileType::from_raw_mode(stat.st_mode);
            let is_directory = file_type == FileType::Directory;
            if file_type == FileType::Symlink
                && !name.to_str().is_some_and(is_stack_file)
                && !self.ignored.ignores(&path).unwrap_or(false)
            {
                self.links.push(path.clone());
            }
            // A link or a pipe with the name of a stack file is one that cannot be read, not a stack that is gone.
            if name.to_str().is_some_and(is_stack_file) {
                has_stack |= !self.ignored.ignores(&path).unwrap_or(false);
            }
            // Ignore patterns for directories are matched against a path inside.
            if !is_directory {
                continue;
            }
            if !self.ignored.ignores(&path.join("stead.yaml")).unwrap_or(false) {
                self.visit(&path, depth + 1);
            } else if self.is_applied_stack(&path) {
                self.with_ledgers.push(LedgerDirectory { path, is_ignored: true });
            }
        }
        if has_stack {
            let is_text = at.to_str().is_some();
            let reason = (!is_text).then(|| "its name is not valid UTF-8".to_owned());
            self.found.push((at.to_owned(), reason));
        }
        if has_ledgers {
            self.with_ledgers.push(LedgerDirectory { path: at.to_owned(), is_ignored: false });
        }
    }
}
