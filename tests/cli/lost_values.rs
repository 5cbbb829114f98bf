//! Values that no block writes any more, and that a change takes away: the plan shows them, and its cost is that of the objects
//! that exist afterwards.

use serde_json::Value;

use crate::case::Case;

/// Returns what the live objects cost a month.
fn monthly(case: &Case) -> Value {
    case.ok("plan --output json").json()["cost"]["monthly_before"].clone()
}

#[test]
fn a_replacement_shows_every_value_that_the_new_object_does_not_have() {
    let stack = |vm: &str, app: &str| {
        format!(
            "stead: 1\nstack: s\nvpc: {{ n: {{ cidr: 10.120.0.0/16 }} }}\nvm: {{ w: {{ plan: std-1c-1g, {vm} }} }}\napp: {{ a: {{ image: nginx, port: 8080, {app} }} }}\n"
        )
    };
    let case = Case::new()
        .file(
            "stead.yaml",
            stack(
                "template: ubuntu-24.04, vpc: $vpc.n, console_require_mfa: true",
                "type: web, size: app-s, instances: 3, start_command: run, env_vars: { MODE: \"on\" }",
            ),
        )
        .emulator();
    case.ok("apply --yes");
    case.write("stead.yaml", stack("template: debian-12", "type: private"));
    case.ok("plan -o p.plan --delete-data vm.w").says(&["vpc.n (", "→ (removed)"]);
    let plan = case.ok("plan --delete-data vm.w --output json").json();
    let changes = plan["changes"].as_array().unwrap();
    let attributes = |address: &str| {
        let change = changes.iter().find(|change| change["address"] == address).unwrap();
        let attributes = change["attributes"].as_array().unwrap().iter();
        let text = |one: &Value| {
            format!("{} {} → {} {}", one["path"], one["before"], one["after"], one["forces_replacement"])
        };
        attributes.map(text).collect::<Vec<_>>().join("\n").replace('"', "")
    };
    let id = case.cloud().list("/api/v1/vpcs")[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        attributes("vm.w").replace(&id, "ID"),
        "template ubuntu-24.04 → debian-12 true\nvpc ID → null false\nconsole_require_mfa true → false false"
    );
    assert_eq!(
        attributes("app.a"),
        "type web → private true\nsize app-s → app-xs false\nstart_command run → null false\nenv_vars.MODE on → null false\ninstances 3 → 1 false"
    );
    let after = plan["cost"]["monthly_after"].clone();
    case.ok("apply p.plan --yes");
    assert_eq!(monthly(&case), after);
    case.ok("plan --exit-code");
    // What a stack never configured and the service chose is not lost.
    case.write("stead.yaml", stack("template: ubuntu-24.04", "type: private"));
    let plan = case.ok("plan --delete-data vm.w --output json").json();
    assert_eq!(plan["changes"][0]["attributes"].as_array().unwrap().len(), 1, "{plan}");
}

#[test]
fn the_price_of_an_app_is_that_of_its_instances_once_its_autoscaling_ends() {
    let stack = |scale: &str, more: &str| {
        format!(
            "stead: 1\nstack: s\napp: {{ w: {{ type: web, image: nginx, port: 8080, size: app-s, {scale} }} }}\n{more}"
        )
    };
    let scaled = "autoscaling: { min_replicas: 1, max_replicas: 4, metric: concurrency, target: 50 }";
    let case = Case::new().file("stead.yaml", stack(scaled, "")).emulator();
    case.ok("apply --yes");
    let budget =
        "policy: { b: { level: mandatory, deny: \"${plan.monthly_after > 20.0}\", message: over 20 } }\n";
    case.write("stead.yaml", stack("instances: 5", budget));
    case.fails(4, "plan").says(&["autoscaling", "over 20"]);
    case.write("stead.yaml", stack("instances: 5", ""));
    let plan = case.ok("plan --output json").json();
    case.ok("plan").says(&["instances", "5", "autoscaling", "- max_replicas: 4"]);
    case.ok("apply --yes");
    assert_eq!(monthly(&case), plan["cost"]["monthly_after"]);
    case.write("stead.yaml", stack(scaled, ""));
    let plan = case.ok("plan --output json").json();
    case.ok("apply --yes");
    assert_eq!(monthly(&case), plan["cost"]["monthly_after"]);
}

#[test]
fn an_output_of_a_value_that_a_change_may_raise_is_unknown_until_then() {
    let stack = |plan: &str| {
        format!(
            "stead: 1\nstack: s\ndatabase: {{ d: {{ plan: {plan} }} }}\noutputs: {{ gb: $database.d.storage_gb }}\n"
        )
    };
    let case = Case::new().file("stead.yaml", stack("pg-1c-2g")).emulator();
    case.ok("apply --yes");
    case.write("stead.yaml", stack("pg-2c-4g"));
    case.ok("plan").says(&["gb", "known once database.d"]);
    case.ok("apply --yes").says(&["gb", "50"]);
    case.ok("plan --exit-code");
}

#[test]
fn an_output_that_the_service_computes_from_children_is_read_after_them() {
    let stack = |count: u8| {
        format!(
            "stead: 1\nstack: s\ncluster: {{ c: {{ version: \"1.31\", node_pools: {{ g: {{ plan: std-2c-4g, node_count: {count} }} }} }} }}\noutputs: {{ price: $cluster.c.price_per_hour, twice: \"${{cluster.c.price_per_hour * 2.0}}\" }}\n"
        )
    };
    let case = Case::new().file("stead.yaml", stack(2)).emulator();
    case.ok("apply --yes");
    case.ok("plan --exit-code");
    case.write("stead.yaml", stack(3));
    case.ok("plan").says(&["price", "known once cluster.c.node_pools.g"]);
    case.ok("apply --yes");
    case.ok("plan --exit-code");
}

#[test]
fn a_resource_whose_change_an_output_does_not_read_is_not_its_cause() {
    let stack = |output: &str, size: u8| {
        format!("stead: 1\nstack: s\nvolume: {{ v: {{ size: {size} }} }}\noutputs: {{ o: {output} }}\n")
    };
    let case = Case::new().file("stead.yaml", stack("$volume.v.name", 10)).emulator();
    case.ok("apply --yes");
    case.write("stead.yaml", stack("$volume.v.created_at", 20));
    let plan = case.ok("plan --output json").json();
    assert_eq!(plan["outputs"][0]["cause"], "config", "{plan}");
    case.write("stead.yaml", stack("$volume.v.size", 20));
    let plan = case.ok("plan --output json").json();
    assert_eq!(
        (&plan["outputs"][0]["cause"], &plan["outputs"][0]["because"]),
        (&"upstream".into(), &serde_json::json!(["volume.v"]))
    );
}

#[test]
fn what_was_due_for_a_replacement_is_what_its_plan_said() {
    let stack = |version: u8| {
        format!(
            "stead: 1\nstack: s\ndatabase: {{ d: {{ plan: pg-1c-2g, engine_version: \"{version}\", billing_type: subscription }} }}\n"
        )
    };
    let case = Case::new().file("stead.yaml", stack(16)).emulator();
    case.ok("apply --yes").says(&["was due: $19.00 charged"]);
    case.write("stead.yaml", stack(17));
    let flags = "--replace database.d --delete-data database.d";
    case.ok(&format!("plan {flags}")).says(&["due now: not known", "1 change without a known amount"]);
    let run = case.ok(&format!("apply {flags} --yes"));
    run.says(&["was due: not known", "1 change without a known amount"]);
}

#[test]
fn the_effect_of_a_power_change_is_that_of_its_direction() {
    let stack = |power: &str, volume: &str| {
        format!(
            "stead: 1\nstack: s\nvm: {{ w: {{ template: ubuntu-24.04, plan: std-1c-1g, power: \"{power}\" }} }}\nvolume: {{ v: {{ size: 10{volume} }} }}\n"
        )
    };
    let case = Case::new().file("stead.yaml", stack("on", "")).emulator();
    case.ok("apply --yes");
    let effects = || {
        let plan = case.ok("plan --output json").json();
        let codes = plan["changes"][0]["effects"].as_array().unwrap().iter().map(|one| one["code"].clone());
        codes.collect::<Vec<_>>()
    };
    case.write("stead.yaml", stack("off", ""));
    assert_eq!(effects(), ["stops"]);
    case.ok("apply --yes");
    assert_eq!(case.cloud().list("/api/v1/vms")[0]["status"], "stopped");
    case.write("stead.yaml", stack("on", ""));
    assert_eq!(effects(), Vec::<Value>::new());
    case.ok("apply --yes");
    // Nothing uses a volume that is attached for the first time.
    case.write("stead.yaml", stack("on", ", vm: $vm.w"));
    assert_eq!(effects(), Vec::<Value>::new());
    case.ok("apply --yes");
    case.write("stead.yaml", stack("on", ", vm: null"));
    assert_eq!(effects(), ["brief_outage"]);
}

#[test]
fn a_destroy_counts_the_final_snapshots_that_earlier_applies_made() {
    let stack = |billing: &str, last: bool| {
        format!(
            "stead: 1\nstack: s\nproject: {{ p: {{}} }}\nvolume: {{ v: {{ size: 100, billing_type: {billing}, lifecycle: {{ final_snapshot: {last} }} }} }}\n"
        )
    };
    let case = Case::new().file("stead.yaml", stack("payg", true)).emulator();
    case.ok("apply --yes");
    case.write("stead.yaml", stack("subscription", true));
    case.ok("apply --yes --replace volume.v");
    let price = |plan: &Value| plan["cost"]["monthly_after"].clone();
    // The new volume gets a snapshot of its own, and the one of the old volume stays, too.
    let both = case.ok("plan --destroy --output json").json();
    case.write("stead.yaml", stack("subscription", false));
    case.ok("apply --yes");
    for flags in ["--delete-data volume.v", "--delete-data volume.v --with-leftovers"] {
        let plan = case.ok(&format!("plan --destroy {flags} --output json")).json();
        assert_eq!(price(&both).as_f64(), price(&plan).as_f64().map(|one| 2.0 * one), "{plan}");
        assert!(price(&plan).as_f64() > Some(0.0), "{plan}");
        case.ok(&format!("plan --destroy {flags}")).says(&["v-final-", "a month", "stays live and billed"]);
    }
}

#[test]
fn a_secret_that_is_removed_was_not_changed_outside() {
    let stack = |app: &str| {
        format!(
            "stead: 1\nstack: s\nvars: {{ tok: {{ type: secret, default: canary-77 }} }}\napp: {{ a: {{ image: nginx, port: 8080, {app} }} }}\n"
        )
    };
    let with = "type: web, env_vars: { TOK: $vars.tok, MIX: \"x-${vars.tok}\", PLAIN: a }";
    let case = Case::new().file("stead.yaml", stack(with)).emulator();
    case.ok("apply --yes");
    for new in
        ["type: web, env_vars: { PLAIN: a }", "type: private, env_vars: { PLAIN: a }", "type: private"]
    {
        case.write("stead.yaml", stack(new));
        let plan = case.ok("plan --output json").json();
        let change = &plan["changes"][0];
        assert_eq!(change["cause"], "config", "{new}: {change}");
        let lost: Vec<&Value> =
            change["attributes"].as_array().unwrap().iter().map(|one| &one["cause"]).collect();
        assert!(lost.len() > 1 && lost.iter().all(|cause| **cause == "config"), "{new}: {change}");
        assert!(!plan.to_string().contains("canary"), "{new}");
        assert_eq!(plan["drift"], serde_json::json!([]), "{new}");
    }
}
