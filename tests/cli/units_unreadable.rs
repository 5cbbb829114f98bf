//! Stacks of a repository that are there and cannot be read: they are named, and never taken for removed ones.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::case::{Case, Run};

fn repository() -> Case {
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n");
    case.file("net/stead.yaml", "stead: 1\nstack: net\nvpc: { main: { cidr: 10.1.0.0/16 } }\n").file(
        "app/stead.yaml",
        "stead: 1\nstack: app\nenvironments: { prod: {} }\nvolume: { v: { size: 10 } }\n",
    )
}

#[test]
fn a_stack_file_that_is_a_link_or_a_pipe_is_not_a_removed_stack() {
    let case = repository().emulator();
    let plan = case.ok("plan --all --output json").json();
    case.ok(&format!("apply --all --expect {}", plan["fingerprint"].as_str().unwrap()));
    let file = case.path("app/stead.yaml");
    fs::rename(&file, case.path("app/real.yaml.txt")).unwrap();
    let link = || std::os::unix::fs::symlink("real.yaml.txt", &file).unwrap();
    let pipe = || assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    for make in [&link as &dyn Fn(), &pipe] {
        make();
        for command in ["plan --all", "validate --all", "stacks", "apply --all --yes=update"] {
            let run = case.fails(1, command);
            run.says(&["app/stead.yaml"]);
            assert!(!run.all().contains("--remove"), "{command}: {}", run.all());
        }
        fs::remove_file(&file).unwrap();
    }
    case.fails(4, "plan --all").says(&["--remove app/prod"]);
}

#[test]
fn a_directory_that_cannot_be_searched_is_named() {
    let case = repository();
    let odd = case.path("").join(OsStr::from_bytes(b"odd-\xff"));
    fs::create_dir(&odd).unwrap();
    // Without a stack file, it is no stack.
    case.ok("validate --all");
    fs::copy(case.path("app/stead.yaml"), odd.join("stead.yaml")).unwrap();
    case.fails(1, "validate --all").says(&["odd-", "is not valid UTF-8"]);
    fs::remove_dir_all(&odd).unwrap();
    let deep = vec!["d"; 33].join("/");
    case.write(&format!("{deep}/stead.yaml"), "stead: 1\nstack: deep\n");
    case.fails(1, "validate --all").says(&["more than 32 directories"]);
    fs::remove_dir_all(case.path("d")).unwrap();
    let mode = |name: &str, mode| {
        fs::set_permissions(case.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("app", 0o000);
    mode("", 0o755);
    let mut command = case.command("validate --all");
    if rustix::process::geteuid().is_root() {
        // The permissions of files do not bind root.
        command.uid(65534).gid(65534);
    }
    let run = Run::of(&command.output().unwrap());
    mode("app", 0o755);
    assert_eq!(run.code, 1, "{}", run.all());
    run.says(&["app cannot be searched"]);
}

#[test]
fn a_link_to_a_directory_with_a_stack_is_named_and_its_stack_is_not_removed() {
    let case = repository().emulator();
    let backend = format!("file:{}", case.path("ledgers").display());
    let runs = |code: i32, args: &str| {
        let run = Run::of(&case.command(args).env("STEAD_BACKEND", &backend).output().unwrap());
        assert_eq!(run.code, code, "stead {args}\n{}", run.all());
        run
    };
    case.write(".git/config", "[remote \"origin\"]\n\turl = git@github.com:acme/infra.git\n");
    let plan = runs(0, "plan --all --output json").json();
    assert!(plan["summary"]["links"].is_null(), "{plan}");
    runs(0, &format!("apply --all --expect {}", plan["fingerprint"].as_str().unwrap()));
    let elsewhere = tempfile::tempdir().unwrap();
    fs::rename(case.path("app"), elsewhere.path().join("app")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("app"), case.path("app")).unwrap();
    // A link to a directory without stack files is of no interest.
    fs::create_dir(elsewhere.path().join("docs")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("docs"), case.path("docs")).unwrap();
    for command in ["plan --all", "stacks", "validate --all", "apply --all --yes=update"] {
        let run = runs(0, command);
        run.says(&["`app` is a link to a directory with stack files, and is not searched"]);
        assert!(!run.all().contains("--remove") && !run.all().contains("docs"), "{command}: {}", run.all());
    }
    assert_eq!(runs(0, "plan --all --output json").json()["summary"]["links"], 1);
    // The directory is not here: that says nothing about the stack.
    fs::remove_dir_all(elsewhere.path().join("app")).unwrap();
    let run = runs(0, "plan --all");
    assert!(!run.all().contains("--remove"), "{}", run.all());
    assert_eq!(case.cloud().list("/api/v1/volumes").len(), 1);
}

#[test]
fn a_stack_without_its_name_is_removed_and_one_that_git_ignores_is_named() {
    let case = repository().emulator();
    let plan = case.ok("plan --all --output json").json();
    case.ok(&format!("apply --all --expect {}", plan["fingerprint"].as_str().unwrap()));
    let text = fs::read_to_string(case.path("app/stead.yaml")).unwrap();
    for text in ["", "volume: { v: { size: 10 } }\n"] {
        case.write("app/stead.yaml", text);
        case.fails(4, "plan --all").says(&["removed_unit", "--remove app/prod"]);
    }
    case.write("app/stead.yaml", &text);
    case.ok("plan --all").says(&["No changes"]);
    case.write(".gitignore", "/app/\n");
    let run = case.ok("plan --all");
    run.says(&["`app` is ignored by git, so its stack `app` is no part of the repository"]);
    assert!(!run.all().contains("--remove"), "{}", run.all());
}
