//! `stead recover`: a lost ledger is rebuilt from the configuration and the live objects.
#![allow(clippy::disallowed_methods, reason = "tests remove the files that commands leave")]

use std::fs;

use serde_json::json;

use crate::case::Case;

const STACK: &str = "\
stead: 1
stack: story
vpc:
  main: { cidr: 10.1.0.0/16 }
vm:
  a: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.main }
  b: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.main }
backup_schedule:
  nightly: { vm: $vm.a, frequency: daily, hour: 3 }
";

fn lose(case: &Case) {
    fs::remove_dir_all(case.path(".stead/ledger")).unwrap();
}

#[test]
fn a_lost_ledger_is_rebuilt_and_nothing_changes() {
    let case = Case::example("shop").emulator();
    case.ok("apply --yes");
    case.fails(1, "recover --yes").says(&["the ledger exists", "Nothing is lost"]);
    lose(&case);
    let before = case.cloud().last();
    case.fails(4, "apply --yes").says(&["--adopt"]);
    case.fails(64, "recover").says(&["exact", "--yes"]);
    assert!(!case.ok("state list").stdout.contains("vm."), "nothing is written before it is confirmed");
    case.ok("recover --yes").says(&["ADDRESS", "exact", "The ledger is rebuilt"]);
    // No object has the outputs: the next apply computes them again, without a request that changes anything.
    case.ok("plan").says(&["OUTPUTS", "0 create · 0 update · 0 replace · 0 delete"]);
    case.ok("apply --yes");
    case.ok("apply --yes").says(&["No changes"]);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    case.ok("history").says(&["it was rebuilt from"]);
}

#[test]
fn objects_of_another_ledger_are_not_recovered() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("apply --yes --backend file:ledgers");
    // The same blocks under another name: everything fits, and everything has an owner.
    case.write("stead.yaml", STACK.replace("stack: story", "stack: copy"));
    let recovered = case.ok("recover --yes --backend file:ledgers --output json").json();
    assert_eq!(recovered["found"], json!([]), "{recovered:#}");
    assert_eq!(recovered["missing"].as_array().unwrap().len(), 4);
    assert!(!case.ok("state list --backend file:ledgers").stdout.contains("vpc.main"));
    // Where the owner's ledger is lost, too, the objects have none.
    fs::remove_dir_all(case.path("ledgers/story")).unwrap();
    case.ok("recover --yes --backend file:ledgers").says(&["vpc.main", "The ledger is rebuilt"]);
}

#[test]
fn ambiguous_matches_are_listed_and_left_out() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("apply --yes");
    let vms = case.cloud().list("/api/v1/vms");
    let b = vms.iter().find(|vm| vm["name"] == "b").unwrap()["id"].as_str().unwrap();
    case.cloud().mutate("vm", b, &json!({ "name": "a" }));
    lose(&case);
    let run = case.fails(4, "recover --yes --output json");
    let document = run.json();
    assert_eq!(document["found"].as_array().unwrap().len(), 1, "{document:#}");
    assert_eq!(document["found"][0]["address"], "vpc.main");
    assert_eq!(document["ties"][0]["address"], "vm.a");
    assert_eq!(document["ties"][0]["candidates"].as_array().unwrap().len(), 2);
    assert_eq!(document["missing"], json!(["backup_schedule.nightly", "vm.b"]));
    case.ok("state list").says(&["vpc.main"]);
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 2);
}

#[test]
fn the_plan_after_a_rebuild_shows_the_drift() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("apply --yes");
    let schedule = case.cloud().list("/api/v1/backup-schedules")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("backup_schedule", &schedule, &json!({ "hour": 7 }));
    lose(&case);
    case.ok("recover --yes").says(&["backup_schedule.nightly", "likely", "hour"]);
    case.ok("plan").says(&["backup_schedule.nightly", "hour", "7", "3"]);
    case.ok("apply --yes");
    assert_eq!(case.cloud().list("/api/v1/backup-schedules")[0]["hour"], 3);
    case.ok("plan").says(&["No changes"]);
}

#[test]
fn the_seeded_shop_of_the_emulator_equals_the_example() {
    let case = Case::example("shop").emulator_with(&["--seed", "shop"]);
    let recovered = case.ok("recover --yes --output json").json();
    let found = recovered["found"].as_array().unwrap();
    assert_eq!(found.len(), 18, "{recovered}");
    // Everything is as the example wants it, but for what nobody can know: the secrets that it makes.
    let plan = case.ok("plan --output json").json();
    let changed: Vec<&str> = plan["changes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|change| change["action"] != "none")
        .map(|change| change["address"].as_str().unwrap())
        .collect();
    assert_eq!(changed, ["app.web", "app.worker"], "{plan}");
}
