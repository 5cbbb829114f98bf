//! Drift that a block ignores: what the plan leaves alone, no request changes.

use serde_json::json;

use crate::case::Case;

/// A call that always has a second attribute sends the live value of that one.
#[test]
fn an_ignored_attribute_keeps_its_live_value_beside_one_that_changes() {
    let stack = "stead: 1\nstack: a\n\
        database: { d: { plan: pg-1c-2g, public_access: false, public_allowlist: [], lifecycle: { ignore_drift: [public_allowlist] } } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let id = case.cloud().list("/api/v1/databases")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("database", &id, &json!({ "public_allowlist": ["10.9.0.0/24"] }));
    case.edit("stead.yaml", "public_access: false", "public_access: true");
    let plan = case.ok("plan");
    plan.says(&["[] → [10.9.0.0/24]", "left alone (ignore_drift)", "public_access  false → true"]);
    assert!(!plan.stdout.contains("X01"), "{}", plan.stdout);
    case.ok("apply --yes");
    let live = &case.cloud().list("/api/v1/databases")[0];
    assert_eq!(
        (&live["public_access"], &live["public_allowlist"]),
        (&json!(true), &json!(["10.9.0.0/24"]))
    );
    case.ok("plan --exit-code").says(&["1 live difference left alone"]);
}

#[test]
fn the_ignored_keys_of_a_map_keep_their_live_values_when_another_key_changes() {
    let stack = "stead: 1\nstack: a\n\
        app: { x: { name: x, type: worker, image: \"x:1\", env_vars: { A: \"1\", B: \"2\", C: \"3\" }, lifecycle: { ignore_drift: [env_vars] } } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let id = case.cloud().list("/api/v1/apps/services")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("app", &id, &json!({ "env_vars": { "A": "9", "B": "2", "Z": "z" } }));
    case.edit("stead.yaml", "B: \"2\"", "B: \"5\"");
    case.ok("plan").says(&["env_vars.A", "1 → 9", "left alone (ignore_drift)", "env_vars.B  2 → 5"]);
    case.ok("apply --yes");
    let live = case.cloud().control("GET", &format!("/api/v1/apps/services/{id}"), &json!(null));
    let live = live.to_string();
    // The key that was removed by hand stays removed, too.
    for (part, is_there) in
        [("\"A\":\"9\"", true), ("\"B\":\"5\"", true), ("\"Z\":\"z\"", true), ("\"C\"", false)]
    {
        assert_eq!(live.contains(part), is_there, "{part}: {live}");
    }
    case.ok("plan --exit-code");
}

/// A new object has what is written: the plan of a replacement shows what that ends.
#[test]
fn a_replacement_ends_ignored_drift_and_says_so() {
    let stack = "stead: 1\nstack: a\n\
        vm: { b: { name: b, template: ubuntu-24.04, plan: std-1c-2g, lifecycle: { ignore_drift: [plan] } } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let id = case.cloud().list("/api/v1/vms")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("vm", &id, &json!({ "pricing_id": 3 }));
    case.ok("plan --exit-code").says(&["1 live difference left alone"]);
    case.edit("stead.yaml", "ubuntu-24.04", "debian-12");
    let plan = case.ok("plan --replace vm.b");
    plan.says(&["plan", "std-2c-4g → std-1c-2g"]);
    assert!(!plan.stdout.contains("left alone"), "{}", plan.stdout);
    case.ok("apply --yes --replace vm.b");
    case.ok("plan --exit-code");
}

#[test]
fn the_ignored_parts_of_a_record_keep_their_live_values_when_another_part_changes() {
    let stack = "stead: 1\nstack: a\n\
        app: { x: { name: x, type: web, image: \"x:1\", port: 80, autoscaling: { min_replicas: 1, max_replicas: 4, metric: concurrency, target: 50 }, lifecycle: { ignore_drift: [autoscaling] } } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let id = case.cloud().list("/api/v1/apps/services")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("app", &id, &json!({ "min_replicas": 2 }));
    case.edit("stead.yaml", "max_replicas: 4", "max_replicas: 5");
    case.ok("plan").says(&["left alone (ignore_drift)", "autoscaling.max_replicas  4 → 5"]);
    case.ok("apply --yes");
    let live = case.cloud().control("GET", &format!("/api/v1/apps/services/{id}"), &json!(null));
    let live = &live["data"];
    assert_eq!((&live["min_replicas"], &live["max_replicas"]), (&json!(2), &json!(5)), "{live}");
    case.ok("plan --exit-code").says(&["1 live difference left alone"]);
}
