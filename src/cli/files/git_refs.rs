//! The references of a Git repository, read from its directory without running Git. In: a directory of a working
//! tree; out: the commits that references name. Nothing outside of the Git directory is read.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use rustix::fs::FileType;

use super::git_dir::{common_directory, git_directory, read_git_file};
use crate::cli::process::actor::is_commit;
use crate::ledger::stores::file::dir_handle::DirHandle;
use crate::model::address::Name;

/// Maximum number of symbolic references to follow, since they can form a cycle.
const MAX_REF_DEPTH: usize = 5;

/// Maximum number of references that are listed as suggestions.
const MAX_LISTED_REFS: usize = 10_000;

/// Where Git looks for a short name, in this order.
const SEARCHED: [(&str, &str); 6] = [
    ("", ""),
    ("refs/", ""),
    ("refs/tags/", ""),
    ("refs/heads/", ""),
    ("refs/remotes/", ""),
    ("refs/remotes/", "/HEAD"),
];

/// Prefixes of the references that people name, which short names leave out.
const SHORTENED: [&str; 3] = ["refs/heads/", "refs/remotes/", "refs/tags/"];

/// The references of a working tree.
pub(in crate::cli) struct GitRefs {
    /// Git directory of the working tree.
    git: PathBuf,
    /// Git directory that all worktrees share.
    common: PathBuf,
    packed: OnceCell<BTreeMap<String, String>>,
}

/// Value of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum RefValue {
    /// Name of another reference.
    Symbolic(String),
    /// Hash of an object.
    Object(Name),
}

impl GitRefs {
    /// Finds the repository of a directory; `None` outside of a repository.
    pub(in crate::cli) fn find(directory: &Path) -> Option<Self> {
        let full = std::path::absolute(directory).ok()?;
        full.ancestors().find_map(Self::open)
    }

    /// Opens the repository whose working tree has this root; `None` if the directory is not one.
    pub(in crate::cli) fn open(root: &Path) -> Option<Self> {
        let git = git_directory(root)?;
        let common = common_directory(&git);
        Some(Self { git, common, packed: OnceCell::new() })
    }

    /// Returns the Git directory that all worktrees share.
    pub(in crate::cli) fn common(&self) -> &Path {
        &self.common
    }

    /// Reads a reference by its full name; `None` if it does not exist, or its name leads out of the Git directory.
    pub(in crate::cli) fn read(&self, name: &str) -> Option<RefValue> {
        if !is_reference(name) {
            return None;
        }
        // A reference of this worktree, else one that all worktrees share, else a packed one.
        let text = read_git_file(&self.git.join(name))
            .or_else(|| read_git_file(&self.common.join(name)))
            .or_else(|| self.packed().get(name).cloned())?;
        if let Some(target) = text.trim().strip_prefix("ref:") {
            return Some(RefValue::Symbolic(target.trim().to_owned()));
        }
        // `FETCH_HEAD` has more than the hash.
        let hash = text.split_ascii_whitespace().next()?;
        is_commit(hash).then(|| RefValue::Object(Name::new(hash)))
    }

    /// Returns the hash that a full name leads to; `None` if there is none.
    pub(in crate::cli) fn resolve(&self, name: &str) -> Option<Name> {
        let mut name = name.to_owned();
        for _ in 0..=MAX_REF_DEPTH {
            match self.read(&name)? {
                RefValue::Symbolic(target) => name = target,
                RefValue::Object(hash) => return Some(hash),
            }
        }
        None
    }

    /// Returns the hash that a short or full name leads to, with the order of Git; `None` if there is none.
    pub(in crate::cli) fn resolve_short(&self, name: &str) -> Option<Name> {
        SEARCHED.iter().find_map(|(before, after)| self.resolve(&format!("{before}{name}{after}")))
    }

    /// Returns the short names of branches, remote branches and tags.
    pub(in crate::cli) fn short_names(&self) -> Vec<String> {
        let mut found: BTreeSet<String> = self.packed().keys().cloned().collect();
        if let Ok(folder) = DirHandle::open_user_dir(&self.common) {
            list_loose(&folder, &mut found);
        }
        let short = |name: &String| {
            let short = SHORTENED.iter().find_map(|prefix| name.strip_prefix(prefix))?;
            (!short.ends_with("/HEAD")).then(|| short.to_owned())
        };
        found.iter().filter_map(short).collect()
    }

    fn packed(&self) -> &BTreeMap<String, String> {
        self.packed.get_or_init(|| {
            let list = read_git_file(&self.common.join("packed-refs")).unwrap_or_default();
            let lines = list.lines().filter_map(|line| line.split_once(' '));
            lines.map(|(hash, name)| (name.to_owned(), hash.to_owned())).collect()
        })
    }
}

/// Adds the references that have a file each.
fn list_loose(folder: &DirHandle, found: &mut BTreeSet<String>) {
    let mut folders: Vec<PathBuf> =
        SHORTENED.iter().map(|prefix| PathBuf::from(prefix.trim_end_matches('/'))).collect();
    while let Some(at) = folders.pop() {
        for (name, stat) in folder.list_below(&at).unwrap_or_default() {
            let path = at.join(name);
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => folders.push(path),
                FileType::RegularFile => found.extend(path.to_str().map(str::to_owned)),
                _ => {}
            }
            if found.len() > MAX_LISTED_REFS {
                return;
            }
        }
    }
}

/// Returns whether the name of a reference stays inside the Git directory: `HEAD` of a hostile repository
/// could name any file.
fn is_reference(name: &str) -> bool {
    let is_special = !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    is_special
        || name.starts_with("refs/")
            && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}
