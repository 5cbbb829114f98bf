//! Origin of a plan for the history: the commit of the stack's directory (read from `.git` without running
//! Git, because a repository's configuration can make Git run programs), the plan's fingerprint, and the
//! digest of the configuration.

use std::path::{Path, PathBuf};

use super::git_dir::{common_directory, git_directory, read_git_file};
use super::git_refs::{GitRefs, RefValue};
use crate::ledger::state::run_history::RunOrigin;
use crate::model::address::Name;
use crate::plan::decide::conflicts::competing_writers;
use crate::plan::model::change::Plan;

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
    GitRefs::find(directory)?.resolve("HEAD")
}

/// Returns the branch that is checked out in the directory's repository; `None` outside of a repository, or if no branch
/// is.
pub(in crate::cli) fn checked_out_branch(directory: &Path) -> Option<Name> {
    match GitRefs::find(directory)?.read("HEAD")? {
        RefValue::Symbolic(name) => name.strip_prefix("refs/heads/").map(Name::new),
        RefValue::Object(_) => None,
    }
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
