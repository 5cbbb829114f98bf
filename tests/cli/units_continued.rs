//! An `apply --all` that was refused or interrupted, and the same command again.

use std::path::Path;
use std::process::Command;

use crate::case::Case;

const REPOSITORY: (&str, &str) = (".git/HEAD", "ref: refs/heads/main\n");

fn fingerprint(case: &Case, flags: &str) -> String {
    let plan = case.run(&format!("plan --all {flags} --output json"));
    plan.json()["fingerprint"].as_str().unwrap().to_owned()
}

/// A repository of two stacks with a volume of ten gigabytes each.
fn two_stacks() -> Case {
    let stack =
        |name: &str| format!("stead: 1\nstack: {name}\nvolume: {{ x: {{ name: {name}, size: 10 }} }}\n");
    Case::new()
        .file(REPOSITORY.0, REPOSITORY.1)
        .file("a/stead.yaml", stack("a"))
        .file("b/stead.yaml", stack("b"))
        .emulator()
}

fn copy_directory(from: &Path, to: &Path) {
    let copied = Command::new("cp").args(["-r".as_ref(), from.as_os_str(), to.as_os_str()]).status();
    assert!(copied.unwrap().success());
}

/// The deletions that are left of reviewed replacements are no deletions that the limit is about.
#[test]
fn the_deletion_limit_does_not_count_what_replacements_left() {
    let stack = |n: u8, more: &str| {
        format!(
            "stead: 1\nstack: s{n}\n{more}vars: {{ o: {{ type: int, default: 40 }} }}\n\
             vpc: {{ main: {{ name: s{n}, cidr: \"10.${{vars.o}}.{}.0/20\" }} }}\n\
             vm: {{ web: {{ for_each: [a, b], name: \"s{n}-${{each.key}}\", template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.main }} }}\n\
             outputs: {{ ip: $vm.web.a.public_ipv4_address }}\n",
            n * 16
        )
    };
    let case = Case::new()
        .file(REPOSITORY.0, REPOSITORY.1)
        .file("s1/stead.yaml", stack(1, ""))
        .file("s2/stead.yaml", stack(2, "stacks: { up: ../s1 }\n"))
        .emulator();
    case.apply_all();
    for n in ["s1", "s2"] {
        case.edit(&format!("{n}/stead.yaml"), "default: 40", "default: 41");
    }
    let flags = "--replace s1/default:vm.web --replace s2/default:vm.web";
    let reviewed = fingerprint(&case, flags);
    case.cloud().faults(&["DELETE /vms/*=403:40"]);
    case.fails(6, &format!("apply --all {flags} --expect {reviewed}"));
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 8);
    case.cloud().faults(&[]);
    // Without a fingerprint, too: nothing that is current would be deleted.
    case.ok(&format!("plan --all {flags}")).says(&["0 replace"]);
    case.ok(&format!("apply --all {flags} --expect {reviewed}"));
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 4);
    case.ok("plan --all --exit-code");
}

/// The start of a unit would refuse its ledger, so the apply does before any unit starts; with the flag, the same review is applied.
#[test]
fn an_older_ledger_is_refused_before_any_unit_is_applied() {
    let case = two_stacks();
    case.apply_all();
    copy_directory(&case.path("a/.stead"), &case.path("old"));
    case.edit("a/stead.yaml", "size: 10", "size: 11");
    case.apply_all();
    std::fs::remove_dir_all(case.path("a/.stead")).unwrap();
    copy_directory(&case.path("old"), &case.path("a/.stead"));
    case.edit("a/stead.yaml", "size: 11", "size: 12");
    case.edit("b/stead.yaml", "size: 10", "size: 12");
    let plan = case.ok("plan --all");
    plan.says(&["warning: a/default: the ledger is older", "An apply refuses it", "--accept-older-ledger"]);
    assert!(
        plan.stderr.contains("# once the newer ledger is restored, or this one is accepted"),
        "{}",
        plan.stderr
    );
    case.ok("-C a plan").says(&["An apply refuses it"]);
    let reviewed = fingerprint(&case, "");
    let last = case.cloud().last();
    for _ in 0..2 {
        let refused = case.fails(5, &format!("apply --all --expect {reviewed}"));
        refused.says(&["a/default: the ledger is older", "--accept-older-ledger"]);
        assert!(!refused.all().contains("next:"), "{}", refused.all());
    }
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    case.ok(&format!("apply --all --accept-older-ledger --expect {reviewed}"));
    case.ok("plan --all --exit-code");
}

#[test]
fn a_set_is_written_in_place_of_an_earlier_one() {
    let stack = |name: &str| {
        format!(
            "stead: 1\nstack: {name}\nenvironments: {{ dev: {{}}, prod: {{}} }}\n\
             volume: {{ x: {{ name: \"{name}-${{env}}\", size: 10 }} }}\n"
        )
    };
    let case = Case::new()
        .file(REPOSITORY.0, REPOSITORY.1)
        .file("a/stead.yaml", stack("a"))
        .file("b/stead.yaml", stack("b"))
        .emulator();
    case.ok("plan --all -o plans");
    case.write("plans/mine.plan", "not a part of the set");
    case.ok("plan --all --stacks a -e dev -o plans");
    let mut files: Vec<String> = std::fs::read_dir(case.path("plans"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["a.dev.plan", "manifest.json", "mine.plan"]);
    case.fails(64, "apply plans -e prod").says(&["-e prod: the set has plans of a/dev"]);
    case.ok("apply plans");
}

#[test]
fn the_sums_say_that_a_unit_without_a_plan_is_not_in_them() {
    let case = two_stacks();
    case.apply_all();
    case.edit("a/stead.yaml", "size: 10", "size: 10, bogus: 1");
    let left_out = "1 unit without a plan, not counted";
    assert!(case.fails(1, "plan --all").stdout.contains(left_out));
    assert!(case.fails(1, "cost --all").stdout.contains(left_out));
    for format in ["md", "html"] {
        case.run(&format!("plan --all --report {format}=report"));
        let report = std::fs::read_to_string(case.path("report")).unwrap();
        assert!(report.contains(left_out), "{format}: {report}");
    }
}

/// As an earlier version, or two backends, could leave it behind.
#[test]
fn an_object_in_two_ledgers_blocks_both_units_until_one_forgets_it() {
    let stack = |name: &str, more: &str| format!("stead: 1\nstack: {name}\n{more}");
    let volume = "volume: { x: { name: one, size: 20 } }\n";
    let case =
        Case::new().file(REPOSITORY.0, REPOSITORY.1).file("a/stead.yaml", stack("a", volume)).emulator();
    case.ok("-C a apply --yes");
    let id = case.cloud().list("/api/v1/volumes")[0]["id"].as_str().unwrap().to_owned();
    // The other stack adopts it where the first one is not known.
    let other = Case::new().file(REPOSITORY.0, REPOSITORY.1).file("b/stead.yaml", stack("b", volume));
    let adopted = other
        .command(&format!("-C b apply --yes --adopt volume.x={id}"))
        .env("STEAD_API_URL", &case.cloud().url)
        .env("STEAD_API_KEY", &case.cloud().key)
        .output()
        .unwrap();
    assert!(adopted.status.success(), "{}", String::from_utf8_lossy(&adopted.stderr));
    copy_directory(&other.path("b"), &case.path("b"));
    let plan = case.fails(4, "plan --all");
    plan.says(&["unit_conflict", "are one object", &format!("{id}: both ledgers have it")]);
    // The remedy, in one of the two.
    case.write("b/stead.yaml", stack("b", "removed: [{ from: volume.x, action: forget }]\n"));
    case.ok("apply --all --yes");
    case.ok("plan --all --exit-code");
    case.ok("-C a plan --exit-code");
    assert_eq!(case.cloud().list("/api/v1/volumes").len(), 1);
}

/// Only a policy blocks a reviewed unit at its turn: whatever else its plan meets does not fit the review.
#[test]
fn a_unit_whose_plan_becomes_impossible_at_its_turn_is_out_of_date() {
    let case = Case::new()
        .file(REPOSITORY.0, REPOSITORY.1)
        .file(
            "a/stead.yaml",
            "stead: 1\nstack: a\nvpc: { m: { cidr: 10.1.0.0/16 } }\noutputs: { id: $vpc.m.id }\n",
        )
        .file(
            "b/stead.yaml",
            "stead: 1\nstack: b\nstacks: { up: ../a }\nvolume: { x: { size: \"${int(stacks.up.id)}\" } }\n",
        )
        .emulator();
    let run = case.fails(6, "apply --all --yes --output json");
    let units = run.json()["units"].clone();
    let status = |stack: &str| {
        let unit = units.as_array().unwrap().iter().find(|unit| unit["stack"] == stack).unwrap();
        (unit["status"].as_str().unwrap().to_owned(), unit["exit"].clone())
    };
    assert_eq!(status("a"), ("applied".to_owned(), 0.into()));
    assert_eq!(status("b"), ("out_of_date".to_owned(), 5.into()), "{}", run.stdout);
    assert_eq!(case.cloud().list("/api/v1/volumes").len(), 0);
}
