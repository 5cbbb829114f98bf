//! Directories that share one backend: real git repositories, checkouts, moves, copies and renames.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests run git and remove files")]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::case::{Case, Run};

const STACK: &str = "stead: 1\nstack: shop\nvpc: { main: { cidr: 10.1.0.0/16 } }\nssh_key: { ops: { public_key: \
                     \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGTyrkGuOFpuyZBHUaSmVKiKFdpeS7+pmAoQBnNOYwVF\" } }\n";
const OTHER: &str = "stead: 1\nstack: shop\nvpc: { other: { cidr: 10.2.0.0/16 } }\n";
const REMOTE: &str = "https://token:secret@GitHub.com/acme/infra.git";

/// A case whose stacks keep their ledgers in one shared directory.
struct Shared(Case);

impl Shared {
    fn new() -> Self {
        Self(Case::new().emulator())
    }

    /// Creates a git repository in a directory, with a remote.
    fn repository(&self, directory: &str, remote: &str) {
        fs::create_dir_all(self.0.path(directory)).unwrap();
        self.git(directory, &["init", "-q", "-b", "main"]);
        self.git(directory, &["remote", "add", "origin", remote]);
    }

    fn git(&self, directory: &str, args: &[&str]) {
        let mut command = Command::new("git");
        command.current_dir(self.0.path(directory)).env("HOME", self.0.path(""));
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(args);
        let output = command.output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn commit(&self, directory: &str) {
        self.git(directory, &["add", "-A"]);
        self.git(directory, &["commit", "-q", "-m", "x"]);
    }

    /// Clones a repository, as a fresh runner does, with the remote of the original.
    fn checkout(&self, from: &str, to: &str, remote: &str) {
        let path = self.0.path(from);
        self.git("", &["clone", "-q", path.to_str().unwrap(), to]);
        self.git(to, &["remote", "set-url", "origin", remote]);
    }

    fn exits_with(&self, code: i32, (directory, args): (&str, &str), set: &[(&str, &str)]) -> Run {
        let mut command = self.0.command(args);
        command.current_dir(self.0.path(directory));
        command.env("STEAD_BACKEND", format!("file:{}", self.0.path("ledgers").display()));
        command.envs(set.iter().copied());
        let run = Run::of(&command.output().unwrap());
        assert_eq!(run.code, code, "stead {args} in {directory}\n{}\n{}", run.stdout, run.stderr);
        run
    }

    fn exits(&self, code: i32, directory: &str, args: &str) -> Run {
        self.exits_with(code, (directory, args), &[])
    }

    fn vpcs(&self) -> Vec<String> {
        let all = self.0.cloud().list("/api/v1/vpcs");
        all.iter()
            .map(|vpc| vpc["name"].as_str().unwrap().to_owned())
            .filter(|name| name != "default")
            .collect()
    }

    /// Checks that plan, apply and destroy are refused and change nothing.
    fn refuses(&self, directory: &str, words: &[&str]) {
        let last = self.0.cloud().last();
        for args in ["plan", "apply --yes", "apply --yes --allow-deletes", "destroy --yes --confirm shop"] {
            self.exits(4, directory, args).says(words);
        }
        assert_eq!(self.0.cloud().mutations_since(last), Vec::<String>::new());
        assert_eq!(self.vpcs(), ["main"]);
    }
}

/// Returns a repository with the stack in `infra/shop`, applied.
fn applied() -> Shared {
    let shared = Shared::new();
    shared.repository("one", REMOTE);
    shared.0.write("one/infra/shop/stead.yaml", STACK);
    shared.0.write("one/.gitignore", ".stead/\n");
    shared.commit("one");
    shared.exits(0, "one/infra/shop", "apply --yes");
    shared
}

#[test]
fn a_second_directory_with_the_same_stack_name_must_be_adopted() {
    let shared = applied();
    shared.0.write("one/infra/copy/stead.yaml", OTHER);
    shared.refuses(
        "one/infra/copy",
        &[
            "applied from infra/shop of github.com/acme/infra",
            "still exists",
            "this is infra/copy of",
            "adopt-directory",
        ],
    );
    let document = shared.exits(4, "one/infra/copy", "plan --output json").json();
    assert_eq!(document["blocks"][0]["code"], "other_directory", "{document:#}");
    shared.exits(0, "one/infra/copy", "explain other_directory").says(&["adopt-directory"]);
    // The first one goes on as before.
    shared.exits(0, "one/infra/shop", "plan").says(&["No changes"]);
    // What the message proposes: the same ledger from both; or another name.
    shared.exits(64, "one/infra/copy", "state adopt-directory");
    shared
        .exits(0, "one/infra/copy", "state adopt-directory --yes")
        .says(&["shop/default: 2 resources, applied from infra/shop of", "also from infra/copy of"]);
    shared.exits(0, "one/infra/copy", "state adopt-directory --yes").says(&["nothing was written"]);
    shared.exits(0, "one/infra/copy", "plan").says(&["vpc.main", "delete"]);
    shared.exits(0, "one/infra/shop", "plan").says(&["No changes"]);
    shared.0.edit("one/infra/copy/stead.yaml", "stack: shop", "stack: shop-two");
    shared.exits(0, "one/infra/copy", "apply --yes");
    assert_eq!(shared.vpcs().len(), 2);
}

#[test]
fn checkouts_worktrees_symlinks_and_moves_need_no_step() {
    let shared = applied();
    for remote in ["git@github.com:acme/infra.git", "ssh://git@github.com:22/acme/infra", REMOTE] {
        let to = format!("runner-{}", remote.len());
        shared.checkout("one", &to, remote);
        shared.exits(0, &format!("{to}/infra/shop"), "apply --yes").says(&["No changes"]);
        // A request from a fork is checked out from the base repository.
        shared.git(&to, &["checkout", "-q", "-b", "pull/7/merge"]);
        shared.exits(0, &format!("{to}/infra/shop"), "plan").says(&["No changes"]);
    }
    shared.git("one", &["worktree", "add", "-q", "../tree", "-b", "topic"]);
    shared.exits(0, "tree/infra/shop", "plan").says(&["No changes"]);
    // Moved on a branch: its plans are not blocked, and the old directory's are not, either.
    shared.git("tree", &["mv", "infra/shop", "shop"]);
    shared.commit("tree");
    shared.exits(0, "tree/shop", "plan").says(&["No changes"]);
    shared.exits(0, "one/infra/shop", "plan").says(&["No changes"]);
    // Applied from there it is recorded: who still has the old directory sees a move back.
    shared.exits(0, "tree/shop", "apply --yes").says(&["No changes"]);
    shared.exits(0, "one/infra/shop", "plan").says(&["No changes"]);
    shared.git("one", &["merge", "-q", "topic"]);
    shared.exits(0, "one/shop", "apply --yes").says(&["No changes"]);
    // A new stack in the directory that the first one left is another one.
    shared.0.write("one/infra/shop/stead.yaml", OTHER);
    shared.refuses("one/infra/shop", &["applied from shop of"]);
    fs::write(shared.0.path("one/infra/shop/stead.yaml"), "stead: 1\nstack: [").unwrap();
    shared.0.write("one/third/stead.yaml", STACK);
    shared.refuses("one/third", &["applied from shop of"]);
}

#[test]
fn a_sparse_checkout_proves_no_move() {
    let shared = applied();
    shared.0.write("one/copy/stead.yaml", OTHER);
    shared.commit("one");
    shared.checkout("one", "sparse", REMOTE);
    shared.git("sparse", &["sparse-checkout", "set", "copy"]);
    assert!(!Path::new(&shared.0.path("sparse/infra/shop")).exists());
    shared.refuses("sparse/copy", &["sparse checkout", "adopt-directory"]);
}

#[test]
fn a_renamed_repository_is_adopted_with_all_its_stacks() {
    let shared = applied();
    shared.0.write(
        "one/infra/net/stead.yaml",
        "stead: 1\nstack: net\nenvironments: { prod: {}, test: {} }\nssh_key: { ops: { name: \"k-${env}\", public_key: \
         \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGTyrkGuOFpuyZBHUaSmVKiKFdpeS7+pmAoQBnNOYwVF\" } }\n",
    );
    for environment in ["prod", "test"] {
        shared.exits(0, "one/infra/net", &format!("apply --yes -e {environment}"));
    }
    // Ignored directories and other repositories below this one have no stacks of it.
    shared.0.write("one/infra/.stead/copy/stead.yaml", STACK);
    shared.repository("one/sub", "https://github.com/acme/sub");
    shared.0.write("one/sub/stead.yaml", STACK);
    shared.git("one", &["remote", "set-url", "origin", "https://github.com/acme/platform"]);
    shared.refuses(
        "one/infra/shop",
        &[
            "infra/shop of github.com/acme/infra",
            "this is infra/shop of github.com/acme/platform",
            "adopt-directory",
        ],
    );
    let adopted = shared.exits(0, "one", "state adopt-directory --all --yes");
    adopted.says(&["net/prod:", "net/test:", "shop/default:", "Recorded"]);
    assert!(!adopted.all().contains("sub"), "{}", adopted.all());
    shared.exits(0, "one/infra/shop", "plan").says(&["No changes"]);
    shared.exits(0, "one/infra/net", "plan -e prod").says(&["No changes"]);
    shared.exits(0, "one", "state adopt-directory --all --yes").says(&["nothing was written"]);
    shared.exits(0, "one/infra/shop", "state verify").says(&["is intact"]);
}

#[test]
fn without_git_a_plan_that_removes_most_of_the_ledger_is_blocked() {
    let shared = Shared::new();
    shared.0.write("a/stead.yaml", STACK);
    shared.0.write("b/stead.yaml", OTHER);
    shared.exits(0, "a", "apply --yes");
    shared.refuses("b", &["0 of the 2 addresses", "no git repository", "STEAD_ORIGIN", "adopt-directory"]);
    // Its own directory goes on, also with a part of it removed, and destroys.
    shared.exits(1, "a", "state adopt-directory --yes").says(&["STEAD_ORIGIN=REPOSITORY//DIRECTORY"]);
    shared.0.edit("a/stead.yaml", "vpc: { main: { cidr: 10.1.0.0/16 } }\n", "");
    shared.exits(0, "a", "plan").says(&["vpc.main", "delete"]);
    // By hand: here and there.
    let (a, b) = (("STEAD_ORIGIN", "acme//a"), ("STEAD_ORIGIN", "acme//b"));
    shared.exits_with(4, ("b", "plan"), &[b]).says(&["does not record which directory it is applied from"]);
    shared.exits_with(0, ("a", "apply --yes"), &[a]);
    shared.exits_with(4, ("b", "plan"), &[b]).says(&["applied from a of acme"]);
    shared.exits_with(0, ("b", "state adopt-directory --yes"), &[b]);
    shared.exits_with(0, ("b", "plan"), &[b]).says(&["ssh_key.ops", "delete"]);
    shared.exits_with(64, ("a", "plan"), &[("STEAD_ORIGIN", "acme//../a")]).says(&["HOST/PATH//DIRECTORY"]);
    shared.exits_with(0, ("a", "destroy --yes --confirm shop"), &[a]);
    assert_eq!(shared.vpcs(), Vec::<String>::new());
    // A ledger that owns nothing is whose who applies next.
    shared.0.write("c/stead.yaml", STACK);
    shared.exits_with(0, ("c", "apply --yes"), &[("STEAD_ORIGIN", "acme//c")]);
    shared.exits_with(4, ("a", "apply --yes"), &[a]).says(&["applied from c of acme"]);
}

#[test]
fn a_ledger_in_its_own_directory_records_no_origin() {
    let shared = applied();
    let private = |code, directory: &str, args: &str| {
        shared.exits_with(code, (directory, args), &[("STEAD_BACKEND", "")])
    };
    shared.0.write("one/copy/stead.yaml", OTHER.replace("other", "third"));
    private(0, "one/copy", "apply --yes");
    private(64, "one/copy", "state adopt-directory --yes").says(&["STEAD_BACKEND"]);
    let ledger = private(0, "one/copy", "state pull").stdout;
    assert!(!ledger.contains("origins"), "{ledger}");
    let ledger = shared.exits(0, "one/infra/shop", "state pull").stdout;
    assert!(ledger.contains("github.com/acme/infra") && !ledger.contains("secret"), "{ledger}");
}

#[test]
fn the_stacks_of_a_repository_share_one_built_in_cloud() {
    let case = Case::new();
    fs::create_dir_all(case.path("one")).unwrap();
    let git = Command::new("git").current_dir(case.path("one")).args(["init", "-q"]).status().unwrap();
    assert!(git.success());
    let first = "stead: 1\nstack: first\nvpc: { main: { cidr: 10.1.0.0/16 } }\n";
    case.write("one/a/stead.yaml", first);
    case.write("one/b/stead.yaml", first.replace("first", "second"));
    case.ok("-C one/a apply --yes --cloud local");
    assert!(case.path("one/.stead/cloud.db").exists() && !case.path("one/a/.stead/cloud.db").exists());
    assert_eq!(fs::read_to_string(case.path("one/.stead/.gitignore")).unwrap(), "*\n");
    case.fails(4, "-C one/b plan --cloud local").says(&["exists already"]);
    let listed = case.ok("-C one/a ls --cloud local --output json").json();
    let id = listed["resources"][0]["id"].as_str().unwrap().to_owned();
    // It belongs to the other stack: nobody takes it over.
    case.fails(4, &format!("-C one/b plan --cloud local --adopt vpc.main={id}"))
        .says(&["vpc.main of first/"]);
    // Where a stack has its own, it keeps it.
    fs::create_dir_all(case.path("one/c/.stead")).unwrap();
    fs::rename(case.path("one/.stead/cloud.db"), case.path("one/c/.stead/cloud.db")).unwrap();
    fs::rename(case.path("one/.stead/cloud.key"), case.path("one/c/.stead/cloud.key")).unwrap();
    case.write("one/c/stead.yaml", first.replace("first", "third"));
    case.fails(4, "-C one/c plan --cloud local").says(&["exists already"]);
    case.ok("-C one/b apply --yes --cloud local");
    // Without a repository the cloud is beside the stack.
    case.write("plain/stead.yaml", first);
    case.ok("-C plain apply --yes --cloud local");
    assert!(case.path("plain/.stead/cloud.db").exists());
}

#[test]
fn commands_of_two_stacks_wait_for_the_shared_built_in_cloud() {
    let case = Case::new();
    fs::create_dir_all(case.path("one")).unwrap();
    let git = Command::new("git").current_dir(case.path("one")).args(["init", "-q"]).status().unwrap();
    assert!(git.success());
    let stack = "stead: 1\nstack: NAME\nproject: { NAME: {} }\nvpc: { NAME: { cidr: 10.N.0.0/16 } }\n";
    let names = ["first", "second", "third"];
    for (number, name) in names.iter().enumerate() {
        let text = stack.replace("NAME", name).replace(".N.", &format!(".{number}."));
        case.write(&format!("one/{name}/stead.yaml"), text);
    }
    // None is alone: each has the data for a part of the time that the others run.
    std::thread::scope(|scope| {
        for name in names {
            let case = &case;
            scope.spawn(move || case.ok(&format!("-C one/{name} apply --yes --cloud local")));
        }
    });
    for name in names {
        case.ok(&format!("-C one/{name} plan --cloud local")).says(&["No changes"]);
    }
}
