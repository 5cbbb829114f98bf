//! The Git directory of a working tree, and reads of the small files in it. No program is run.

use std::path::{Path, PathBuf};

use super::stack_files;

/// Returns the Git directory that all worktrees of a repository share; `git` itself without worktrees.
pub(in crate::cli) fn common_directory(git: &Path) -> PathBuf {
    read_git_file(&git.join("commondir")).map_or_else(|| git.to_owned(), |at| git.join(at.trim()))
}

/// Returns the Git directory of a working tree: `.git`, or the directory that a file of that name refers to. `None`
/// if the directory is not the root of a working tree.
pub(in crate::cli) fn git_directory(directory: &Path) -> Option<PathBuf> {
    let git = directory.join(".git");
    if stack_files::path_exists(&git.join("HEAD")) {
        return Some(git);
    }
    let pointer = read_git_file(&git)?;
    Some(directory.join(pointer.strip_prefix("gitdir:")?.trim()))
}

/// Returns the working tree that a directory is in: its root, and its Git directory. `None` outside of one.
pub(in crate::cli) fn find_working_tree(directory: &Path) -> Option<(PathBuf, PathBuf)> {
    let full = stack_files::full_path(directory);
    full.ancestors().find_map(|root| Some((root.to_owned(), git_directory(root)?)))
}

/// Returns the content of a file in the Git directory; `None` if it is missing, is not text or cannot be read.
pub(in crate::cli) fn read_git_file(path: &Path) -> Option<String> {
    stack_files::read_optional(path).ok()?
}
