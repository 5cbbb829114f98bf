//! The base: its names, its defaults, the merge base, and the failures with their remedies.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::fixture::{Repository, describe, git};
use crate::cli::process::env::EnvVariables;
use crate::cli::workspace::git::changed_stacks::ChangeBase;

const ALONE: &[(&str, &str)] = &[("stead.yaml", "stead: 1\nstack: alone\n")];

impl Repository {
    /// Returns the commit that `base` compares with.
    fn base(&self, base: Option<&str>, variables: &[(&str, &str)]) -> String {
        let variables: EnvVariables =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        match ChangeBase::open(&self.root, base, &variables) {
            Ok(found) => found.commit(),
            Err(failure) => describe(&failure),
        }
    }

    /// Returns a clone next to the repository.
    fn cloned(&self, name: &str, flags: &[&str]) -> Self {
        let (from, to) = (format!("file://{}", self.root.display()), self.beside(name));
        let words = [&["clone", "-q"], flags, &[&from, to.to_str().unwrap()]].concat();
        git(&self.root, &words);
        Self::at(to)
    }
}

#[test]
fn a_base_is_named_like_a_commit_in_git() {
    let one = Repository::new(ALONE);
    one.git(&["tag", "-a", "v1", "-m", "one"]);
    one.git(&["tag", "light"]);
    one.git(&["tag", "-a", "again", "-m", "a tag of a tag", "v1"]);
    one.commit("second");
    one.git(&["checkout", "-q", "-b", "side", "v1"]);
    one.commit("third");
    one.git(&["merge", "-q", "--no-ff", "main", "-m", "merge"]);
    one.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    one.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
    let full = one.git(&["rev-parse", "v1^{commit}"]);
    let names = [
        "v1",
        "light",
        "again",
        "refs/tags/v1",
        "tags/v1",
        "main",
        "heads/main",
        "HEAD",
        "@",
        "HEAD~",
        "HEAD~1",
        "HEAD^2",
        "HEAD^^",
        "HEAD~2",
        "@~1^",
        "v1^{commit}",
        "v1^{}",
        "again^0",
        "HEAD^0",
        "origin",
        "origin/main",
        "side~2",
        &full,
        &full[..12],
        &full.to_uppercase(),
    ];
    for packed in [false, true] {
        for name in names {
            let wanted = one.git(&["merge-base", "HEAD", name]);
            assert_eq!(one.base(Some(name), &[]), wanted, "{name}, packed: {packed}");
        }
        one.git(&["gc", "-q", "--aggressive"]);
        one.git(&["pack-refs", "--all"]);
    }
    one.git(&["fetch", "-q", one.root.to_str().unwrap(), "main"]);
    assert_eq!(one.base(Some("FETCH_HEAD"), &[]), one.git(&["rev-parse", "main"]));
}

#[test]
fn a_name_that_leads_to_no_commit_is_an_error() {
    let one = Repository::new(ALONE);
    one.git(&["checkout", "-q", "-b", "side"]);
    let tree = one.git(&["rev-parse", "HEAD^{tree}"]);
    insta::with_settings!({filters => vec![(tree.as_str(), "TREE")]}, {
        insta::assert_snapshot!(one.failure(Some(&tree)), @"
        1: `TREE` is a tree, not a commit
        Name a branch, a tag or a commit.
        ");
    });
    for name in [
        "",
        "a b",
        "HEAD@{1}",
        "main..side",
        ":/first",
        "v1^{tree}",
        "HEAD~x",
        "HEAD:stead.yaml",
        "-x\n",
        "~1",
    ] {
        let failure = one.failure(Some(name));
        assert!(failure.contains("is not the name of a branch, a tag or a commit"), "{name:?}: {failure}");
    }
    insta::assert_snapshot!(one.failure(Some("HEAD~9")), @"1: `HEAD~9` does not exist in this clone");
    insta::assert_snapshot!(one.failure(Some("mian")), @"
    1: `mian` does not exist in this clone
    Did you mean `main`?
    If the server has the branch: git fetch origin +refs/heads/mian:refs/remotes/origin/mian
    ");
    insta::assert_snapshot!(one.failure(Some("0123456789abcdef")), @"
    1: `0123456789abcdef` does not exist in this clone
    If the server has it: git fetch origin 0123456789abcdef
    ");
}

#[test]
fn the_merge_base_is_compared_and_not_the_base() {
    let shop = Repository::shop();
    shop.write("stacks/alone/stead.yaml", "stead: 1\nstack: alone\n");
    shop.commit("on the branch");
    shop.git(&["checkout", "-q", "main"]);
    shop.write("modules/net/stead.yaml", "stead: 1\noutputs: { cidr: none }\n");
    shop.commit("on main");
    shop.git(&["checkout", "-q", "work"]);
    assert_eq!(shop.changed("main"), "stacks/alone: stacks/alone/stead.yaml modified");
    shop.git(&["merge", "-q", "main", "-m", "merge"]);
    assert_eq!(shop.changed("main"), "stacks/alone: stacks/alone/stead.yaml modified");
    shop.git(&["checkout", "-q", "--orphan", "other"]);
    shop.commit("no parent");
    insta::assert_snapshot!(shop.failure(Some("main")), @"
    1: `HEAD` and `main` have no common history
    Name a base from which `HEAD` descends.
    ");
}

#[test]
fn without_a_name_the_base_is_the_default_branch() {
    let one = Repository::new(ALONE);
    let first = one.git(&["rev-parse", "HEAD"]);
    insta::assert_snapshot!(one.failure(None), @"
    64: `--changed` needs a base: `main` is checked out, which is the default branch
    Name a commit, a branch or a tag, for example the last release: --changed=v1.2.0, or --changed=HEAD~1
    ");
    one.git(&["checkout", "-q", "-b", "work"]);
    assert_eq!(one.base(None, &[]), first);
    one.commit("second");
    assert_eq!(one.base(None, &[]), first);
    // The server's default branch has precedence over the usual names.
    one.git(&["branch", "trunk"]);
    let clone = one.cloned("clone", &["-b", "trunk"]);
    clone.commit("third");
    clone.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk"]);
    let failure = clone.failure(None);
    assert!(failure.starts_with("64: ") && failure.contains("`trunk` is checked out"), "{failure}");
    clone.git(&["checkout", "-q", "-b", "work"]);
    assert_eq!(clone.base(None, &[]), one.git(&["rev-parse", "trunk"]));
    // A job of CI checks out a commit of the default branch, without a branch.
    clone.git(&["checkout", "-q", "--detach", "origin/trunk"]);
    insta::assert_snapshot!(clone.failure(None), @"
    64: `--changed` needs a base: the commit that is checked out is in `origin/trunk`, the default branch
    Name a commit, a branch or a tag, for example the last release: --changed=v1.2.0, or --changed=HEAD~1
    ");
    clone.commit("fourth");
    assert_eq!(clone.base(None, &[]), one.git(&["rev-parse", "trunk"]));
    let bare = Repository::new(ALONE);
    bare.git(&["branch", "-m", "main", "develop"]);
    insta::assert_snapshot!(bare.failure(None), @"
    64: `--changed` needs a base: the clone has no default branch
    Name a commit, a branch or a tag, for example the last release: --changed=v1.2.0, or --changed=HEAD~1
    ");
}

#[test]
fn in_ci_the_base_is_the_target_of_the_request() {
    let one = Repository::new(ALONE);
    one.git(&["checkout", "-q", "-b", "release"]);
    let target = one.commit("target");
    let clone = one.cloned("clone", &[]);
    clone.git(&["checkout", "-q", "-b", "work"]);
    let own = clone.commit("work");
    // GitHub checks out a commit, and has the target as a branch of the server only.
    clone.git(&["checkout", "-q", "--detach"]);
    clone.git(&["branch", "-q", "-D", "release"]);
    for (variables, wanted) in [
        (&[("GITHUB_BASE_REF", "release")][..], &target),
        (&[("GITHUB_BASE_REF", "")], &one.git(&["rev-parse", "main"])),
        (&[("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "release")], &target),
        (
            &[("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "gone"), ("CI_MERGE_REQUEST_DIFF_BASE_SHA", &target)],
            &target,
        ),
        (
            &[
                ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "release"),
                ("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", &own),
            ],
            &own,
        ),
    ] {
        // Here the server's default branch is `release`, too: `main` is asked for.
        clone.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
        assert_eq!(&clone.base(None, variables), wanted, "{variables:?}");
        assert_eq!(
            clone.base(Some("origin/main"), variables),
            one.git(&["rev-parse", "main"]),
            "a flag wins"
        );
    }
    insta::assert_snapshot!(clone.base(None, &[("GITHUB_BASE_REF", "relaese")]), @"
    1: `origin/relaese` (GITHUB_BASE_REF) does not exist in this clone
    Did you mean `origin/release`?
    If the server has the branch: git fetch origin +refs/heads/relaese:refs/remotes/origin/relaese
    Or give actions/checkout `fetch-depth: 0`.
    ");
}

/// Runs the commands that a message names as remedies, and returns how many it names.
fn run_remedies(clone: &Repository, message: &str) -> usize {
    let commands: Vec<&str> = message
        .lines()
        .filter_map(|line| line.split_once(": git ").map(|(_, command)| command))
        .map(|command| command.split(". ").next().unwrap_or(command))
        .collect();
    for command in &commands {
        let words: Vec<&str> = command.split(' ').collect();
        clone.git(&words);
    }
    commands.len()
}

#[test]
fn a_history_that_is_too_short_is_an_error_that_names_the_fetch() {
    let one = Repository::new(ALONE);
    let first = one.git(&["rev-parse", "HEAD"]);
    one.git(&["checkout", "-q", "-b", "work"]);
    for n in 0..5 {
        one.commit(&format!("work {n}"));
    }
    one.git(&["checkout", "-q", "main"]);
    for n in 0..5 {
        one.commit(&format!("main {n}"));
    }
    let shallow = one.cloned("shallow", &["--depth=2", "-b", "work", "--no-single-branch"]);
    let failure = shallow.failure(Some("origin/main"));
    insta::assert_snapshot!(failure, @"
    1: the history in this clone does not reach the commit at which `HEAD` and `origin/main` diverged
    Fetch the rest of the history: git fetch --unshallow
    Or more of it: git fetch --deepen=100. In GitHub Actions give actions/checkout `fetch-depth: 0`; in GitLab CI set GIT_DEPTH to 0.
    ");
    shallow.git(&["fetch", "-q", "--deepen=1"]);
    assert!(shallow.failure(Some("origin/main")).contains("does not reach"));
    // As in a job of a request: the merge is checked out, and its first parent is the base.
    one.git(&["checkout", "-q", "-b", "merged", "main"]);
    one.git(&["merge", "-q", "--no-ff", "work", "-m", "merge"]);
    let merged = one.cloned("merged", &["--depth=2", "-b", "merged", "--no-single-branch"]);
    assert_eq!(merged.base(Some("origin/main"), &[]), one.git(&["rev-parse", "main"]));
    assert_eq!(run_remedies(&shallow, &failure), 2);
    assert_eq!(shallow.base(Some("origin/main"), &[]), first);
    // One commit of one branch: the base itself is missing.
    let single = one.cloned("single", &["--depth=1", "-b", "work"]);
    let failure = single.failure(Some("origin/main"));
    assert!(failure.contains("`origin/main` does not exist in this clone"), "{failure}");
    assert_eq!(run_remedies(&single, &failure), 1);
    let failure = single.failure(Some("origin/main"));
    assert_eq!(run_remedies(&single, &failure), 2, "{failure}");
    assert_eq!(single.base(Some("origin/main"), &[]), first);
}

#[test]
fn there_must_be_a_repository_with_a_commit() {
    let one = Repository::new(ALONE);
    let outside = Repository::at(one.beside("outside"));
    fs::create_dir(&outside.root).unwrap();
    let failure = outside.failure(Some("main")).replace(outside.root.to_str().unwrap(), "DIR");
    insta::assert_snapshot!(failure, @"
    1: `--changed` compares with a commit, but DIR is not in a Git repository
    Run it in a clone of the repository, or without `--changed`.
    ");
    git(&outside.root, &["init", "-q"]);
    insta::assert_snapshot!(outside.failure(Some("main")), @"
    1: the repository has no commit: `HEAD` names none
    Make the first commit, or run it without `--changed`.
    ");
}

/// Makes commits with random parents; returns their hashes. Times are random, too, as clocks are.
fn random_history(one: &Repository, commits: u64, seed: u64) -> Vec<String> {
    let tree = one.git(&["rev-parse", "HEAD^{tree}"]);
    let mut state = seed;
    let mut next = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    let mut made: Vec<String> = Vec::new();
    for n in 0..commits {
        let mut words = vec!["commit-tree".to_owned(), tree.clone(), "-m".to_owned(), n.to_string()];
        let parents =
            if made.is_empty() { 0 } else { [0, 1, 1, 1, 2, 2, 3][usize::try_from(next(7)).unwrap()] };
        for _ in 0..parents {
            // Mostly recent ones, so that branches run side by side.
            let back = next(6.min(made.len() as u64)) + 1;
            let parent = made[made.len() - usize::try_from(back).unwrap()].clone();
            if !words.contains(&parent) {
                words.extend(["-p".to_owned(), parent]);
            }
        }
        let time = format!("{} +0000", 1_700_000_000 + n * 10 + next(200));
        let output = Command::new("git")
            .current_dir(&one.root)
            .args(&words)
            .envs([("GIT_AUTHOR_DATE", &time), ("GIT_COMMITTER_DATE", &time)])
            .envs(["AUTHOR", "COMMITTER"].iter().flat_map(|who| {
                [
                    (format!("GIT_{who}_NAME"), "a".to_owned()),
                    (format!("GIT_{who}_EMAIL"), "a@b".to_owned()),
                ]
            }))
            .output()
            .unwrap();
        made.push(String::from_utf8(output.stdout).unwrap().trim().to_owned());
    }
    made
}

#[test]
fn the_merge_base_is_one_that_git_finds() {
    let one = Repository::new(ALONE);
    let (mut unrelated, mut several) = (0, 0);
    for seed in 0..6 {
        let made = random_history(&one, 40, seed);
        for pair in 0..40 {
            let (head, base) = (&made[39 - pair % 12], &made[(pair * 7 + 3) % 40]);
            one.git(&["update-ref", "--no-deref", "refs/heads/main", head]);
            let all = Command::new("git")
                .current_dir(&one.root)
                .args(["merge-base", "--all", head, base])
                .output()
                .unwrap();
            let all = String::from_utf8(all.stdout).unwrap();
            let found = one.base(Some(base), &[]);
            if all.is_empty() {
                unrelated += 1;
                assert!(found.contains("have no common history"), "{found}");
            } else {
                several += usize::from(all.lines().count() > 1);
                assert!(all.lines().any(|line| line == found), "{head} and {base}: {found}, not of {all}");
            }
        }
    }
    assert!(unrelated > 3 && several > 3, "{unrelated} pairs without a base, {several} with more than one");
}

#[test]
fn a_base_in_the_working_tree_of_another_directory_is_not_used() {
    let one = Repository::new(ALONE);
    let below = one.root.join("below");
    fs::create_dir(&below).unwrap();
    let opened = ChangeBase::open(&below, Some("main"), &EnvVariables::new());
    assert!(opened.is_err(), "the root is the caller's to find: {:?}", PathBuf::from("below"));
}
