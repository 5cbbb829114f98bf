//! A replacement that is killed after its new object was requested: until that is ready, the older object is the one in use.
#![allow(clippy::disallowed_methods, reason = "tests start and kill processes")]

use serde_json::{Value, json};

use crate::case::Case;

const BOUNDS: &str = "--effect-bound 1s --listing-bound 1s";

fn stack(more: &str) -> String {
    format!(
        "stead: 1\nstack: nine\nvpc: {{ v: {{ cidr: 10.0.0.0/16 }} }}\nvm:\n  nine:\n    template: ubuntu-24.04\n    plan: std-1c-1g\n{more}"
    )
}

fn machines(case: &Case) -> Vec<Value> {
    case.cloud().list("/api/v1/vms")
}

fn id(machine: &Value) -> String {
    machine["id"].as_str().unwrap().to_owned()
}

/// Returns a stack whose apply was killed when its replacement's new object existed, and the id of the older object.
fn killed(more: &str) -> (Case, String) {
    let case = Case::new().file("stead.yaml", stack(more)).emulator();
    case.ok("apply --yes");
    let older = id(&machines(&case)[0]);
    case.edit("stead.yaml", "ubuntu-24.04", "debian-12");
    case.cloud().control("POST", "/_emulator/clock", &json!({ "speed": 1 }));
    let last = case.cloud().last();
    // Its response is recorded when the next request is sent.
    let is_recorded = || {
        let requests = case.cloud().requests();
        let mut later = requests
            .iter()
            .skip_while(|(number, line, _)| *number <= last || !line.contains("POST /api/v1/vms"));
        later.nth(2).is_some()
    };
    let mut child = case.command(&format!("apply --yes --replace vm.nine {BOUNDS}")).spawn().unwrap();
    while !is_recorded() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(machines(&case).len(), 2);
    (case, older)
}

const CREATE_FIRST: &str = "    lifecycle: { replace: create_first }\n";

#[test]
fn the_older_object_stays_until_the_new_one_is_ready() {
    let (case, older) = killed(CREATE_FIRST);
    let plan = case.ok("plan --output json").json();
    assert_eq!(
        (&plan["summary"]["update"], &plan["summary"]["delete"]),
        (&json!(1), &json!(1)),
        "{plan:#}"
    );
    case.ok("plan").says(&["1 update", "1 delete"]);
    case.fails(4, &format!("apply --yes=update {BOUNDS}"))
        .says(&["the deletion of the older object of vm.nine", "Add `delete` to --yes"]);
    // The new one fails: the older one must not be deleted.
    let new = machines(&case).iter().map(id).find(|one| *one != older).unwrap();
    case.cloud().mutate("vm", &new, &json!({ "status": "failed" }));
    case.cloud().control("POST", "/_emulator/clock", &json!({ "speed": 1000 }));
    let run = case.run(&format!("apply --yes {BOUNDS}"));
    assert!(machines(&case).iter().any(|one| id(one) == older) || run.code == 0, "{}", run.all());
    // Whatever became of the new one, the next applies end with one that is ready.
    for _ in 0..3 {
        case.run(&format!("apply --yes {BOUNDS}"));
    }
    let left = machines(&case);
    assert_eq!((left.len(), &left[0]["status"]), (1, &json!("active")), "{left:#?}");
}

#[test]
fn a_policy_counts_the_deletion_of_the_older_object() {
    let (case, _) = killed(CREATE_FIRST);
    case.write(
        "policy.stead.yaml",
        "policy: { keep: { deny: \"${plan.delete > 0}\", message: No deletions. } }\n",
    );
    case.fails(4, "plan").says(&["No deletions."]);
}

#[test]
fn a_protection_that_is_declared_meanwhile_stops_the_deletion() {
    let (case, older) = killed(CREATE_FIRST);
    case.edit("stead.yaml", "create_first", "create_first, protect: true");
    case.fails(4, &format!("apply --yes {BOUNDS}")).says(&["vm.nine is protected and would be replaced"]);
    assert!(machines(&case).iter().any(|one| id(one) == older));
}

#[test]
fn the_data_of_the_older_object_needs_an_approval() {
    let (case, older) = killed(CREATE_FIRST);
    case.cloud().control("POST", "/_emulator/clock", &json!({ "speed": 1000 }));
    case.write("stead.yaml", stack("").split("vm:").next().unwrap());
    case.fails(4, &format!("apply --yes {BOUNDS}")).says(&["holds_data", "--delete-data vm.nine"]);
    assert!(machines(&case).iter().any(|one| id(one) == older));
    case.ok(&format!("apply --yes --delete-data vm.nine {BOUNDS}"));
    assert!(machines(&case).is_empty());
}

/// The copy that the killed apply made is used: there is no second one.
#[test]
fn a_final_snapshot_is_made_once() {
    let (case, older) = killed("    lifecycle: { replace: create_first, final_snapshot: true }\n");
    case.cloud().control("POST", "/_emulator/clock", &json!({ "speed": 1000 }));
    let made = case.cloud().list("/api/v1/snapshots").len();
    for _ in 0..3 {
        case.run(&format!("apply --yes {BOUNDS}"));
    }
    let copies = case.cloud().list("/api/v1/snapshots");
    assert_eq!(copies.len(), 1, "{made} before, {copies:#?}");
    assert!(copies[0]["name"].as_str().unwrap().contains(&older[..8]), "{copies:#?}");
    assert_eq!(machines(&case).len(), 1);
}
