//! Reports: a committed link or pipe does not redirect a report.
#![allow(clippy::disallowed_methods, reason = "tests lay out a repository")]

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::case::Case;

const STACK: &str = "stead: 1\nstack: shop\nvpc: { main: { cidr: 10.0.0.0/16 } }\n";

fn case() -> Case {
    Case::new().file("stead.yaml", STACK).file(".git/HEAD", "ref: refs/heads/main\n").emulator()
}

#[test]
fn no_report_is_written_through_a_symlink() {
    let elsewhere = tempfile::tempdir().unwrap();
    let victim = elsewhere.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    let case = case();
    fs::create_dir(case.path("sub")).unwrap();
    symlink(&victim, case.path("plan.md")).unwrap();
    symlink(elsewhere.path(), case.path("out")).unwrap();
    symlink(case.path("stead.yaml"), case.path("sub/own.md")).unwrap();
    let absolute = case.path("out/victim").display().to_string();
    for path in ["plan.md", "out/victim", "out/new/plan.md", "sub/own.md", "sub/../plan.md", &absolute] {
        for args in [
            format!("plan --report md={path}"),
            format!("plan --report html={path}"),
            format!("plan -o {path}"),
            format!("validate --report sarif={path}"),
            format!("state pull -o {path}"),
        ] {
            let run = case.run(&args);
            assert_ne!(run.code, 0, "{args}: {}", run.all());
        }
        case.fails(1, &format!("plan --report md={path}")).says(&["cannot write", "link"]);
        case.fails(1, &format!("apply --yes --report md={path}"));
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(case.path("stead.yaml")).unwrap(), STACK);
    // A broken stack removes what an earlier run reported, and no more.
    case.edit("stead.yaml", "10.0.0.0/16", "10.0.0.0/99");
    assert_ne!(case.run("plan --report md=out/victim").code, 0);
    assert!(victim.exists());
}

#[test]
fn a_repository_path_through_a_symlink_is_the_same_repository() {
    let elsewhere = tempfile::tempdir().unwrap();
    let case = case();
    symlink(elsewhere.path(), case.path("out")).unwrap();
    let alias = elsewhere.path().join("alias");
    symlink(case.path(""), &alias).unwrap();
    case.fails(1, &format!("plan --report md={}/out/plan.md", alias.display())).says(&["link"]);
    case.ok(&format!("plan --report md={}/plan.md", alias.display()));
    assert!(case.path("plan.md").exists());
}

#[test]
fn a_report_is_a_regular_file() {
    let case = case();
    assert!(Command::new("mkfifo").arg(case.path("pipe.md")).status().unwrap().success());
    for path in ["pipe.md", "/dev/null", ".git"] {
        case.fails(1, &format!("plan --report md={path}")).says(&["not a regular file"]);
    }
    // Outside of the repository links on the way are the user's own.
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(outside.path().join("real")).unwrap();
    symlink(outside.path().join("real"), outside.path().join("link")).unwrap();
    case.ok(&format!("plan --report md={}/link/new/plan.md", outside.path().display()));
    assert!(outside.path().join("real/new/plan.md").exists());
    case.ok("plan --report md=reports/plan.md");
    case.ok("plan --report md=reports/plan.md");
}
