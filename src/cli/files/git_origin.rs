//! Origin of a plan for the history: the commit of the stack's directory (read from `.git` without running
//! Git, because a repository's configuration can make Git run programs), the plan's fingerprint, and the
//! digest of the configuration.

use std::path::{Component, Path, PathBuf};

use super::stack_files;
use crate::cli::process::actor::is_commit;
use crate::ledger::state::run_history::RunOrigin;
use crate::model::address::Name;
use crate::plan::decide::conflicts::competing_writers;
use crate::plan::model::change::Plan;

/// Maximum number of symbolic references to follow, since they can form a cycle.
const MAX_REF_DEPTH: usize = 5;

/// Returns the origin of a plan. The commit of the directory takes precedence over `said`, the one that
/// the CI job states.
pub(in crate::cli) fn plan_origin(plan: &Plan, directory: &Path, said: Option<&Name>) -> RunOrigin {
    RunOrigin {
        commit: checked_out_commit(directory).or_else(|| said.cloned()),
        fingerprint: Some(Name::new(&plan.fingerprint)),
        config: Some(Name::new(&plan.base.config)),
        put_back: competing_writers::put_back(&plan.drift),
        ..RunOrigin::default()
    }
}

/// Returns the commit that is checked out in the directory's repository; `None` outside of a repository, before the
/// first commit, or if `.git` has an unexpected form.
pub(in crate::cli) fn checked_out_commit(directory: &Path) -> Option<Name> {
    let full = std::path::absolute(directory).ok()?;
    let git = full.ancestors().find_map(git_directory)?;
    let shared = common_directory(&git);
    let mut found = read_git_file(&git.join("HEAD"))?;
    for _ in 0..MAX_REF_DEPTH {
        let Some(name) = found.trim().strip_prefix("ref:").map(str::trim) else {
            let commit = found.trim();
            return is_commit(commit).then(|| Name::new(commit));
        };
        if !is_reference(name) {
            return None;
        }
        // A reference of this worktree, else one that all worktrees share, else a packed one.
        found = read_git_file(&git.join(name))
            .or_else(|| read_git_file(&shared.join(name)))
            .or_else(|| packed_ref(&read_git_file(&shared.join("packed-refs"))?, name))?;
    }
    None
}

/// Returns the directory of Git hooks for a directory of a repository; `None` outside of a repository, or if the
/// repository's own configuration sets `core.hooksPath`. The user's and the system's configuration are not read.
pub(in crate::cli) fn hooks_directory(directory: &Path) -> Option<PathBuf> {
    let full = std::path::absolute(directory).ok()?;
    let git = full.ancestors().find_map(git_directory)?;
    let shared = common_directory(&git);
    // With `core.hooksPath` set, Git does not run hooks from this directory.
    let elsewhere = read_git_file(&shared.join("config"))
        .is_some_and(|config| config.to_lowercase().contains("hookspath"));
    (!elsewhere).then(|| shared.join("hooks"))
}

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

/// Returns the content of a file in the Git directory; `None` if it is missing, is not text or cannot be read.
pub(in crate::cli) fn read_git_file(path: &Path) -> Option<String> {
    stack_files::read_optional(path).ok()?
}

/// Returns whether the name of a reference stays inside the Git directory: `HEAD` of a hostile repository
/// could name any file.
fn is_reference(name: &str) -> bool {
    name.starts_with("refs/")
        && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Returns the commit of a reference in the list of packed references.
fn packed_ref(list: &str, name: &str) -> Option<String> {
    let mut lines = list.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(_, at)| *at == name).map(|(commit, _)| commit.to_owned())
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "builds repositories to read")]
mod tests {
    use std::fs;

    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    fn test_repository(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    /// Files by name, and the commit that they tell.
    type Case<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);

    #[test]
    fn the_commit_is_read_without_git() {
        let packed =
            format!("# pack-refs with: peeled\n{TWO} refs/heads/x\n{ONE} refs/heads/main\n^{TWO}\n");
        let table: &[Case<'_>] = &[
            (&[(".git/HEAD", ONE)], Some(ONE)),
            (&[(".git/HEAD", "ref: refs/heads/main\n"), (".git/refs/heads/main", ONE)], Some(ONE)),
            (&[(".git/HEAD", "ref: refs/heads/main\n"), (".git/packed-refs", &packed)], Some(ONE)),
            (
                &[
                    (".git", "gitdir: git/worktrees/w\n"),
                    ("git/worktrees/w/HEAD", "ref: refs/heads/main\n"),
                    ("git/worktrees/w/commondir", "../..\n"),
                    ("git/refs/heads/main", TWO),
                ],
                Some(TWO),
            ),
            (&[(".git/HEAD", "ref: refs/heads/unborn\n")], None),
            (&[(".git/HEAD", "ref: refs/../../secret"), ("secret", ONE)], None),
            (&[(".git/HEAD", "ref: /etc/passwd")], None),
            (&[(".git/HEAD", "ref: refs/a"), (".git/refs/a", "ref: refs/a")], None),
            (&[(".git/HEAD", "not a commit")], None),
        ];
        for (files, wanted) in table {
            let root = test_repository(files);
            let below = root.path().join("infra/prod");
            fs::create_dir_all(&below).unwrap();
            assert_eq!(checked_out_commit(&below).as_deref(), *wanted, "{files:?}");
        }
    }
}
