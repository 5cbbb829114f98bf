//! What a plan was made from, for the history: the commit of the stack's directory, read from `.git`
//! without running git; the plan's fingerprint; the configuration's digest.

use std::path::{Component, Path, PathBuf};

use super::stack_files;
use crate::cli::process::actor::is_commit;
use crate::ledger::state::run_history::RunOrigin;
use crate::model::address::Name;
use crate::plan::decide::conflicts::competing_writers;
use crate::plan::model::change::Plan;

/// References that point at references, at most.
const MAX_REF_DEPTH: usize = 5;

/// Returns where a plan came from. The directory's own commit is stronger than what a CI job says.
pub(in crate::cli) fn plan_origin(plan: &Plan, directory: &Path, said: Option<&Name>) -> RunOrigin {
    RunOrigin {
        commit: checked_out_commit(directory).or_else(|| said.cloned()),
        fingerprint: Some(Name::new(&plan.fingerprint)),
        config: Some(Name::new(&plan.base.config)),
        put_back: competing_writers::put_back(&plan.drift),
        ..RunOrigin::default()
    }
}

/// Returns the commit that is checked out where the directory is. Whatever does not fit is no commit.
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
        found = read_git_file(&git.join(name))
            .or_else(|| read_git_file(&shared.join(name)))
            .or_else(|| packed_ref(&read_git_file(&shared.join("packed-refs"))?, name))?;
    }
    None
}

/// Returns the directory of git's hooks for a directory below a repository; `None` where git looks elsewhere.
pub(in crate::cli) fn hooks_directory(directory: &Path) -> Option<PathBuf> {
    let full = std::path::absolute(directory).ok()?;
    let git = full.ancestors().find_map(git_directory)?;
    let shared = common_directory(&git);
    // Whoever keeps hooks elsewhere has a program for them, and git does not look here.
    let elsewhere = read_git_file(&shared.join("config"))
        .is_some_and(|config| config.to_lowercase().contains("hookspath"));
    (!elsewhere).then(|| shared.join("hooks"))
}

/// Returns the directory that the worktrees of a repository share.
pub(in crate::cli) fn common_directory(git: &Path) -> PathBuf {
    read_git_file(&git.join("commondir")).map_or_else(|| git.to_owned(), |at| git.join(at.trim()))
}

/// Returns the repository's own directory: `.git`, or what the file of that name points at.
pub(in crate::cli) fn git_directory(directory: &Path) -> Option<PathBuf> {
    let git = directory.join(".git");
    if stack_files::path_exists(&git.join("HEAD")) {
        return Some(git);
    }
    let pointer = read_git_file(&git)?;
    Some(directory.join(pointer.strip_prefix("gitdir:")?.trim()))
}

/// Returns the text of a file of git's; `None` for one that is not there or cannot be read.
pub(in crate::cli) fn read_git_file(path: &Path) -> Option<String> {
    stack_files::read_optional(path).ok()?
}

/// A reference's name leads nowhere but below the repository's directory.
fn is_reference(name: &str) -> bool {
    name.starts_with("refs/")
        && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

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
