//! A drift check on unmanaged objects, on versions that the service upgrades, and on what a plan would not change.
#![allow(clippy::disallowed_methods, reason = "tests drive real processes")]

use serde_json::{Value, json};

use crate::case::Case;

const STACK: &str = "\
stead: 1
stack: story
environments: { staging: { default: true }, prod: {} }
vpc:
  main: { name: \"net-${env}\", cidr: \"${env == 'prod' ? '10.2.0.0/16' : '10.1.0.0/16'}\" }
";

fn default_project(case: &Case) -> String {
    let projects = case.cloud().list("/api/v1/projects");
    projects.iter().find(|one| one["is_default"] == true).unwrap()["id"].as_str().unwrap().to_owned()
}

fn unmanaged(case: &Case, args: &str) -> Vec<String> {
    let rows = case.ok(args).json()["unmanaged"].as_array().unwrap().clone();
    let name =
        |row: &Value| format!("{} {}", row["kind"].as_str().unwrap(), row["name"].as_str().unwrap_or(""));
    rows.iter().map(name).collect()
}

#[test]
fn ls_unmanaged_lists_any_kind_but_no_object_of_another_ledger() {
    let other = "stead: 1\nstack: other\nvm: { web: { template: ubuntu-24.04, plan: std-1c-1g } }\n";
    let case = Case::new().file("stead.yaml", STACK).file("other/stead.yaml", other).emulator();
    let shared = format!("--backend file:{}", case.path("shared").display());
    for stack in ["", "-e prod ", "-C other "] {
        case.ok(&format!("{stack}{shared} apply --yes"));
    }
    let (drift, list) = (format!("{shared} drift"), format!("{shared} ls --unmanaged --output json"));
    assert!(unmanaged(&case, &format!("{drift} --output json")).is_empty());
    let rows = unmanaged(&case, &list);
    assert!(rows.iter().all(|row| !row.starts_with("vpc ") && !row.starts_with("vm ")), "{rows:?}");
    // A kind that the stack does not declare.
    let project = default_project(&case);
    case.cloud().make("/api/v1/volumes", &json!({ "name": "stray", "size": 10 }), &project);
    let told = ["no drift", "50% of 2 objects managed", "volume stray", "unmanaged"];
    case.ok(&format!("{drift} --exit-code")).says(&told);
    assert_eq!(unmanaged(&case, &format!("{drift} --output json")), ["volume stray"]);
    assert!(unmanaged(&case, &list).contains(&"volume stray".to_owned()));
    // A plan lists what it needs.
    let before = case.cloud().last();
    case.ok(&format!("{shared} plan"));
    let read = case.cloud().requests();
    assert!(read.iter().all(|(n, line, _)| *n <= before || !line.contains("/volumes")), "{read:?}");
}

#[test]
fn a_backup_made_by_a_schedule_is_not_listed_as_unmanaged() {
    let stack = "stead: 1\nstack: s\nvm: { web: { template: ubuntu-24.04, plan: std-1c-1g } }\n\
                 backup_schedule: { nightly: { vm: $vm.web, frequency: daily } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    case.cloud().control("POST", "/_emulator/clock", &json!({ "advance_seconds": 200_000 }));
    let rows = unmanaged(&case, "ls --unmanaged --output json");
    assert!(rows.iter().any(|row| row.starts_with("backup auto-")), "{rows:?}");
    assert!(unmanaged(&case, "drift --output json").is_empty());
    case.ok("drift --exit-code").says(&["100% of 2 objects managed"]);
}

#[test]
fn only_a_higher_version_counts_as_an_upgrade_by_the_service() {
    let stack = "stead: 1\nstack: s\ncluster: { k: { version: \"1.33.5\", upgrade_mode: auto_patch, \
                 node_pools: { a: { plan: std-2c-4g, node_count: 2 } } } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let id = case.cloud().list("/api/v1/k8s/clusters")[0]["id"].as_str().unwrap().to_owned();
    let moved = |version: u32| case.cloud().mutate("cluster", &id, &json!({ "version_id": version }));
    // A higher patch.
    moved(833);
    case.ok("drift --exit-code").says(&["no drift", "the service itself changes it"]);
    case.ok("plan").says(&["No changes"]);
    // A lower one: the plan upgrades it.
    moved(831);
    case.fails(3, "drift --exit-code").says(&["cluster.k.version", "1.33.5 → 1.33.2", "apply reverts it"]);
    case.ok("plan").says(&["version", "1.33.2", "1.33.5"]);
    // Another minor version: no upgrade leads back, and drift does not promise one.
    moved(842);
    case.fails(3, "drift --exit-code").says(&[
        "1.33.5 → 1.34.3",
        "apply is blocked (choice)",
        "stead plan",
    ]);
    case.fails(4, "plan").says(&["cluster.k"]);
    case.edit("stead.yaml", "auto_patch", "auto_minor");
    case.cloud().mutate("cluster", &id, &json!({ "upgrade_mode": "auto_minor" }));
    case.ok("drift --exit-code").says(&["the service itself changes it"]);
    moved(822);
    case.fails(3, "drift --exit-code").says(&["1.33.5 → 1.32.11", "apply reverts it"]);
    case.ok("apply --yes");
    case.ok("drift --exit-code");
}

#[test]
fn drift_suggests_no_apply_that_a_plan_would_block() {
    let stack = "stead: 1\nstack: s\nvm: { web: { template: ubuntu-24.04, plan: std-1c-1g } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let id = case.cloud().list("/api/v1/vms")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("vm", &id, &json!({ "name": "renamed" }));
    let run = case.fails(3, "drift --exit-code");
    run.says(&["vm.web.name", "apply is blocked (holds_data)", "stead plan shows why"]);
    assert!(!run.all().contains("the object is replaced"), "{}", run.all());
    let drift = case.ok("drift --output json").json();
    assert_eq!(drift["drift"][0]["blocked_by"], "holds_data", "{drift}");
    case.fails(4, "plan").says(&["vm.web holds data"]);
}
