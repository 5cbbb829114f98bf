//! Saved plans: applied once, and refused if live objects or inputs changed.

use serde_json::json;

use crate::case::Case;

const STACK: &str = "\
stead: 1
stack: saved
environments:
  staging: { default: true }
  prod: {}
project:
  home: { name: home, description: one }
ssh_key:
  deploy: { public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtD1m0Jt1pXcVb1cYc0oY2uJ4s8Zb3vQfV8sF3kXq5L a@b }
";

#[test]
fn a_saved_plan_is_applied_exactly_once() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("plan -o plan.json").says(&["project.home"]);
    let before = case.cloud().last();
    case.ok("show plan.json").says(&["project.home", "create"]);
    assert_eq!(case.cloud().last(), before, "show asks nobody");
    case.ok("apply plan.json");
    case.fails(5, "apply plan.json").says(&["already"]);
    case.ok("apply --yes").says(&["No changes"]);
}

#[test]
fn only_a_change_to_a_planned_object_makes_a_saved_plan_stale() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("apply --yes");
    case.edit("stead.yaml", "description: one", "description: two");
    let id = case.cloud().list("/api/v1/projects").iter().find(|p| p["name"] == "home").unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    case.ok("plan -o a.json");
    case.cloud().mutate("project", &id, &json!({ "description": "moved" }));
    case.fails(5, "apply a.json").says(&["project.home", "description"]);
    case.ok("plan -o b.json");
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtD1m0Jt1pXcVb1cYc0oY2uJ4s8Zb3vQfV8sF3kXq5M x@y";
    case.cloud().control("POST", "/api/v1/ssh-keys", &json!({"name": "x", "public_key": key}));
    case.ok("apply b.json");
}

#[test]
fn a_plan_of_another_environment_account_or_config_is_rejected() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("plan -o plan.json");
    case.fails(5, "apply plan.json -e prod").says(&["staging", "prod"]);
    let other = Case::new().file("stead.yaml", STACK).emulator();
    std::fs::copy(case.path("plan.json"), other.path("plan.json")).unwrap();
    assert_eq!(other.run("apply plan.json").code, 5);
    case.edit("stead.yaml", "description: one", "description: two");
    case.fails(5, "apply plan.json").says(&["configuration"]);
}

#[test]
fn a_tampered_plan_is_refused() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("plan -o plan.json");
    case.edit("plan.json", "\"one\"", "\"two\"");
    let before = case.cloud().last();
    let run = case.run("apply plan.json");
    assert_ne!(run.code, 0);
    run.says(&["plan.json"]);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
}

#[test]
fn expect_binds_an_apply_to_a_reviewed_plan() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let plan = case.ok("plan --output json").json();
    let fingerprint = plan["fingerprint"].as_str().unwrap().to_owned();
    case.fails(5, &format!("apply --yes --expect {}", "0".repeat(64))).says(&[&fingerprint]);
    case.ok(&format!("apply --yes --expect {fingerprint}"));
}

#[test]
fn yes_with_kinds_approves_only_those_kinds_of_change() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("apply --yes=create");
    case.edit("stead.yaml", "XcVb1c", "XcVb1d");
    let before = case.cloud().last();
    case.fails(4, "apply --yes=create,update").says(&["replace", "ssh_key.deploy"]);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    case.ok("apply --yes=replace");
}
