//! Approval of data loss: on a terminal, in the configuration, on the command line, in tests.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests drive a terminal")]

use std::io::Write;
use std::process::{Command, Stdio};

use crate::case::{Case, Run, STEAD};

const DATABASE: &str = "stead: 1\nstack: one\ndatabase:\n  main: { plan: pg-1c-2g }\n";

/// Returns the names of a collection's objects, sorted.
fn names(case: &Case, path: &str) -> Vec<String> {
    let all = case.cloud().list(path);
    let mut names: Vec<String> =
        all.iter().map(|one| one["name"].as_str().unwrap_or_default().to_owned()).collect();
    names.sort();
    names
}

/// Runs a command on a pseudo terminal with typed input.
fn on_terminal(case: &Case, args: &str, typed: &str) -> Run {
    let base = case.command(args);
    let mut command = Command::new("script");
    command.current_dir(case.path("")).args([
        "-qec",
        &format!("{STEAD} {args} --color never"),
        "/dev/null",
    ]);
    command.envs(base.get_envs().filter_map(|(name, value)| Some((name, value?)))).env_remove("CI");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(typed.as_bytes()).unwrap();
    Run::of(&child.wait_with_output().unwrap())
}

#[test]
fn typing_the_address_on_a_terminal_approves_the_deletion_of_data() {
    let case = Case::new().file("stead.yaml", DATABASE).emulator();
    case.ok("apply --yes");
    case.edit("stead.yaml", "database:\n  main: { plan: pg-1c-2g }\n", "");
    let databases = || case.cloud().list("/api/v1/databases").len();
    let run = on_terminal(&case, "apply", "database.wrong\n");
    assert_eq!((run.code, databases()), (4, 1), "{}", run.all());
    run.says(&["database.main", "holds data", "No copy of it survives", "Type database.main to continue"]);
    // With --yes nobody is asked, and that is no consent.
    let run = on_terminal(&case, "apply --yes", "database.main\n");
    assert_eq!((run.code, databases()), (4, 1), "{}", run.all());
    let run = on_terminal(&case, "apply", "database.main\nn\n");
    assert_eq!((run.code, databases()), (1, 1), "{}", run.all());
    let run = on_terminal(&case, "apply", "database.main\ny\n");
    assert_eq!((run.code, databases()), (0, 0), "{}", run.all());
    run.says(&[
        "Type database.main",
        "its data is lost for good",
        "Apply this plan?",
        "Deleted objects with their data: database.main",
    ]);
}

#[test]
fn a_destroy_lists_the_objects_that_hold_data_before_and_after() {
    let case = Case::new()
        .file("stead.yaml", format!("{DATABASE}volume: {{ data: {{ size: 10 }} }}\n"))
        .emulator();
    case.ok("apply --yes");
    case.ok("do snapshot volume.data --name mine");
    let run = on_terminal(&case, "destroy", "wrong\n");
    assert_eq!(run.code, 1, "{}", run.all());
    run.says(&["this deletes objects with their data: database.main, volume.data", "Type one to continue"]);
    case.ok("plan --destroy").says(&["volume.data (", "Remaining copies: the snapshot mine"]);
    case.ok("destroy --yes --confirm one")
        .says(&["Deleted objects with their data: database.main, volume.data"]);
}

#[test]
fn the_printed_removed_entry_approves_a_deletion_with_a_for_each_key() {
    let stack = "stead: 1\nstack: one\nvolume:\n  data: { for_each: [a, b], size: 10 }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let volumes = || names(&case, "/api/v1/volumes").len();
    case.ok("do snapshot volume.data.b --name mine");
    case.edit("stead.yaml", "[a, b]", "[a]");
    let blocked = case.fails(4, "apply --yes --allow-deletes");
    blocked.says(&[
        "volume.data.b",
        "no longer a key of the `for_each`",
        "Remaining copies: the snapshot mine",
        "removed:",
        "--delete-data volume.data.b",
    ]);
    let all = blocked.all().split_whitespace().collect::<Vec<_>>().join(" ");
    let line = all
        .split('`')
        .find(|part| part.starts_with("removed:"))
        .unwrap_or_else(|| panic!("{all}"))
        .to_owned();
    assert_eq!(line, "removed: [{ from: volume.data.b, action: delete }]");
    let text = std::fs::read_to_string(case.path("stead.yaml")).unwrap();
    case.write("stead.yaml", format!("{text}{line}\n"));
    // With consent the plan still says what survives.
    case.ok("plan")
        .says(&["is deleted with the data that it holds", "Remaining copies: the snapshot mine"]);
    case.ok("apply --yes");
    assert_eq!(volumes(), 1);
    // A whole block, and a module, cover what is below.
    case.write("stead.yaml", "stead: 1\nstack: one\nremoved: [{ from: volume.data, action: delete }]\n");
    case.ok("apply --yes");
    assert_eq!(volumes(), 0);
    case.write("disk/stead.yaml", "volume: { data: { size: 10 } }\n");
    case.write("stead.yaml", "stead: 1\nstack: one\nuse: { disk: { source: ./disk } }\n");
    case.ok("apply --yes");
    assert_eq!(volumes(), 1);
    case.write("stead.yaml", "stead: 1\nstack: one\nvpc: { a: { cidr: 10.0.0.0/16 } }\n");
    case.fails(4, "apply --yes").says(&["disk.volume.data", "--delete-data disk.volume.data"]);
    case.write("stead.yaml", "stead: 1\nstack: one\nremoved: [{ from: disk, action: delete }]\n");
    case.ok("apply --yes");
    assert_eq!(volumes(), 0);
}

/// An approval of a whole block covers its instances, as `--target` does; one of nothing is an error.
#[test]
fn an_approval_of_a_block_covers_its_instances() {
    let volumes =
        "stead: 1\nstack: one\nvolume:\n  data: { for_each: [a, b], size: 10 }\n  other: { size: 10 }\n";
    let case = Case::new().file("stead.yaml", volumes).emulator();
    case.ok("apply --yes");
    case.write("stead.yaml", "stead: 1\nstack: one\nvolume: { other: { size: 10 } }\n");
    let blocked = case.fails(4, "plan --allow-deletes");
    blocked.says(&["2 problems"]);
    case.fails(64, "apply --yes --allow-deletes --delete-data volume.dat")
        .says(&["no resource volume.dat in this stack; did you mean volume.data"]);
    case.fails(64, "apply --yes --allow-deletes --delete-data volume.data.c")
        .says(&["no resource volume.data.c"]);
    // Another block's approval covers nothing of this one, although its name begins with the same letters.
    case.fails(4, "apply --yes --allow-deletes --delete-data volume.other")
        .says(&["volume.data.a", "volume.other is not deleted: --delete-data only approves"]);
    case.ok("apply --yes --allow-deletes --delete-data volume.data")
        .says(&["Applied: 2 done", "Deleted objects with their data: volume.data.a, volume.data.b"]);
    assert_eq!(names(&case, "/api/v1/volumes").len(), 1);

    let databases = DATABASE.replace("{ plan", "{ for_each: [a, b], plan");
    let case = Case::new().file("stead.yaml", &databases).emulator();
    case.ok("apply --yes");
    case.edit("stead.yaml", "pg-1c-2g", "pg-1c-2g, extensions: [pgcrypto]");
    case.fails(4, "plan").says(&["would be replaced"]);
    case.fails(64, "plan --replace database.mian").says(&["did you mean database.main"]);
    let replaced = case.ok("plan --replace database.main");
    assert!(!replaced.all().contains("is not replaced"), "{}", replaced.all());
    case.ok("plan --replace database.main.a --replace database.main.b");
    case.fails(4, "plan --replace database.main.a").says(&["database.main.b"]);
}

#[test]
fn a_resource_excluded_by_when_is_offered_a_remedy_that_works() {
    let stack = "stead: 1\nstack: one\nvars: { on: { type: bool, default: true } }\nvolume:\n  data: { when: $vars.on, size: 10 }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let blocked = case.fails(4, "apply --yes --var on=false");
    assert!(!blocked.all().contains("removed:"), "{}", blocked.all());
    case.ok("apply --yes --var on=false --delete-data volume.data");
}

#[test]
fn the_test_of_a_stack_may_delete_data() {
    let case = Case::new()
        .file("stead.yaml", "stead: 1\nstack: one\nvars: { on: { type: bool, default: true } }\nvolume:\n  data: { when: $vars.on, size: 10 }\n")
        .file(
            "gone.test.yaml",
            "test:\n  it goes:\n    given: { vars: { on: false }, applied: { vars: { on: true } } }\n    plan: { delete: [volume.data] }\n    apply: { objects: { volume: 0 } }\n  it is not lost by accident:\n    given: { vars: { on: false }, applied: { vars: { on: true } } }\n    plan: { blocks: [holds_data] }\n",
        );
    case.ok("test");
}
