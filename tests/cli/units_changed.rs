//! `--changed` where the change takes something away: a stack that does not load any more, a stack or an environment that is
//! gone, a file that a stack includes.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::case::{Case, Run};

const NET: &str = "stead: 1\nstack: net\nenvironments: { dev: { vars: { cidr: 10.40.0.0/16 } }, prod: {} }\nvars: { cidr: { default: 10.30.0.0/16 } }\nvpc: { main: { name: \"main-${env}\", cidr: $vars.cidr } }\noutputs: { vpc_id: $vpc.main }\n";
const APP: &str = "stead: 1\nstack: app\nenvironments: { dev: {}, prod: {} }\nstacks: { net: ../net }\nvm: { web: { name: \"web-${env}\", template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.net.vpc_id } }\n";
const LOG: &str = "stead: 1\nstack: log\ninclude: [../shared/log.stead.yaml]\n";
const SHARED: &str = "stead: 1\nvolume: { v: { size: 10 } }\n";

/// Runs git in the case's directory, independent of the user's configuration.
fn git(case: &Case, words: &str) {
    let mut command = Command::new("git");
    command.current_dir(case.path("")).env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_CONFIG_SYSTEM", "/dev/null");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]);
    let output = command.args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "git {words}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns a repository whose stacks were committed on `main`, on another branch.
fn repository() -> Case {
    let case = Case::new()
        .file("net/stead.yaml", NET)
        .file("app/stead.yaml", APP)
        .file("log/stead.yaml", LOG)
        .file("shared/log.stead.yaml", SHARED)
        .file(".gitignore", ".stead/\ncloud/\n.local/\n");
    git(&case, "init -q");
    git(&case, "add .");
    git(&case, "commit -qm first");
    git(&case, "checkout -qb work");
    case
}

/// Applies all units, on both branches.
fn apply(case: &Case) {
    let plan = case.ok("plan --all --output json").json();
    case.ok(&format!("apply --all --expect {}", plan["fingerprint"].as_str().unwrap()));
    // The lock files that an apply writes.
    git(case, "add .");
    git(case, "commit -qm applied");
    git(case, "branch -qf main");
}

fn names(document: &Value) -> Vec<String> {
    let name = |unit: &Value| {
        format!("{}/{}", unit["stack"].as_str().unwrap(), unit["environment"].as_str().unwrap())
    };
    let mut names: Vec<String> = document["units"].as_array().unwrap().iter().map(name).collect();
    // A plan has the worst first.
    names.sort();
    names
}

const COMMANDS: [&str; 3] = ["plan --all", "validate --all", "stacks"];

#[test]
fn a_change_that_breaks_a_stack_fails() {
    let case = repository().emulator();
    let fails = |flags: &str, says: &[&str]| {
        for command in COMMANDS {
            let run = case.fails(1, &format!("{command} --changed=main {flags}"));
            run.says(says);
            assert!(!run.all().contains("No selected stack changed"), "{}", run.all());
        }
    };
    case.edit("log/stead.yaml", "include", "x: [\ninclude");
    fails("", &["Bracket is not closed", "log/stead.yaml"]);
    fails("--stacks */*", &["log/stead.yaml"]);
    // The selection is about another stack.
    case.ok("plan --all --changed=main --stacks net").says(&["No selected stack changed"]);
    git(&case, "checkout -q .");
    git(&case, "rm -q shared/log.stead.yaml");
    fails("", &["log.stead.yaml` cannot be read"]);
    git(&case, "reset -q --hard");
    // The header can be read, and the stack refers to what it has no longer.
    case.edit("net/stead.yaml", "$vpc.main", "$vpc.mian");
    fails("", &["net/stead.yaml"]);
    git(&case, "checkout -q .");
    // No file of the reader changed.
    case.edit("net/stead.yaml", "outputs: { vpc_id: $vpc.main }", "");
    fails("--stacks app", &["app/stead.yaml"]);
    git(&case, "reset -q --hard");
    git(&case, "rm -qr net");
    fails("-e prod", &["there is no stack in this directory", "app/stead.yaml"]);
}

#[test]
fn a_change_that_removes_a_stack_or_an_environment_plans_its_removal() {
    let case = repository().emulator();
    apply(&case);
    let removed = |expected: &[&str]| {
        let plan: Run = case.fails(4, "plan --all --changed=main --output json");
        assert_eq!(names(&plan.json()), expected);
        let list = case.ok("stacks --changed=main --output json").json();
        assert_eq!(names(&list), expected);
        let gone = list["units"].as_array().unwrap().iter().filter(|unit| unit["directory"].is_null());
        assert!(gone.clone().count() > 0 && gone.into_iter().all(|unit| unit["changed"] == json!(true)));
        let run = case.ok("validate --all --changed=main");
        run.says(&["app/prod was removed since `main`", "stead plan --all"]);
        assert!(!run.all().contains("No selected stack changed"), "{}", run.all());
    };
    git(&case, "rm -qr app");
    removed(&["app/dev", "app/prod"]);
    // Parts of a selection intersect for removed units, too.
    let plan = case.fails(4, "plan --all --changed=main -e prod --output json").json();
    assert_eq!(names(&plan), ["app/prod"]);
    case.ok("plan --all --changed=main --stacks net/*").says(&["No selected stack changed since `main`"]);
    git(&case, "reset -q --hard");
    case.edit("app/stead.yaml", "dev: {}, prod: {}", "dev: {}");
    removed(&["app/dev", "app/prod"]);
    // What an earlier change removed is not part of this one.
    git(&case, "commit -qam second");
    git(&case, "branch -qf main");
    case.edit("app/stead.yaml", "stead: 1", "stead: 1\n# a comment");
    assert_eq!(names(&case.ok("plan --all --changed=main --output json").json()), ["app/dev"]);
    // A stack that moves to another directory is the same unit.
    git(&case, "checkout -q .");
    git(&case, "mv log log2");
    let list = case.ok("stacks --changed=main --output json").json();
    assert_eq!(
        (names(&list), &list["units"][0]["directory"]),
        (vec!["log/default".to_owned()], &json!("log2"))
    );
}

#[test]
fn a_removed_stack_that_was_never_applied_is_named() {
    let case = repository().emulator();
    fs::remove_dir_all(case.path("log")).unwrap();
    for command in ["plan --all", "stacks"] {
        let run = case.ok(&format!("{command} --changed=main"));
        run.says(&["log/default was removed since `main`. No ledger that was found has objects of it."]);
        assert!(!run.all().contains("No selected stack changed"), "{}", run.all());
    }
}
