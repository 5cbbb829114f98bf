//! What is paid for an object without a price in its block, and what the service makes of a free one.

use crate::case::Case;

#[test]
fn the_pool_that_comes_with_a_cluster_has_its_price_and_counts_for_a_budget() {
    let stack = "stead: 1\nstack: a\n\
        cluster: { k: { name: k, version: \"1.34\", worker_plan: cpu-8c-16g } }\n";
    let budget = "policy: { budget: { level: mandatory, deny: \"${plan.monthly_after > 10.0}\", message: Over 10 USD } }\n";
    let case = Case::new().file("stead.yaml", stack).file("budget.stead.yaml", budget).emulator();
    case.fails(4, "plan").says(&["COST   $0.00 → $320.00 a month"]);
    std::fs::remove_file(case.path("budget.stead.yaml")).unwrap();
    case.ok("apply --yes");
    // What the service says of the live cluster, by the hour.
    let live = &case.cloud().list("/api/v1/k8s/clusters")[0]["price_per_hour"];
    let live: f64 = live.as_f64().or_else(|| live.as_str()?.parse().ok()).unwrap();
    assert!((live * 730.0 - 320.0).abs() < 0.5, "{live}");
    case.ok("cost").says(&["total      $320.00  $320.00"]);
    case.ok("plan --exit-code");
    // A resource that manages the pool has the price then.
    let id = case.cloud().list("/api/v1/k8s/clusters")[0]["id"].as_str().unwrap().to_owned();
    let pool = case.cloud().list(&format!("/api/v1/k8s/clusters/{id}/pools"))[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    case.edit(
        "stead.yaml",
        "cpu-8c-16g }",
        "cpu-8c-16g, node_pools: { default: { plan: cpu-8c-16g, node_count: 2 } } }",
    );
    case.ok(&format!("apply --yes --adopt cluster.k.node_pools.default={pool}"));
    case.ok("cost").says(&["$320.00  $320.00"]);
    let listed = case.run("ls --output json").json();
    let listed: Vec<String> = listed["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| format!("{} {}", row["kind"], row["monthly"]).replace('"', ""))
        .collect();
    assert_eq!(listed, ["cluster 0.0", "node_pool 320.0"]);
    // A pool of another name takes its place: the cluster has no pool that no resource manages.
    case.edit("stead.yaml", "node_pools: { default: {", "node_pools: { jobs: {");
    case.ok("apply --yes");
    case.ok("plan --exit-code").says(&["No changes"]);
    case.ok("cost").says(&["$320.00  $320.00"]);
    case.ok("plan --destroy").says(&["COST   $320.00 → $0.00 a month"]);
}

#[test]
fn a_moved_resource_is_one_row_of_the_costs() {
    let vm = |key: &str| format!("{key}: {{ name: a, template: ubuntu-24.04, plan: std-1c-1g }}");
    let case =
        Case::new().file("stead.yaml", format!("stead: 1\nstack: a\nvm: {{ {} }}\n", vm("a"))).emulator();
    case.ok("apply --yes");
    case.edit("stead.yaml", "{ a: {", "{ b: {");
    case.write("moved.stead.yaml", "moved: [{ from: vm.a, to: vm.b }]\n");
    let cost = case.ok("cost").stdout;
    assert!(
        cost.contains("vm.b") && !cost.contains("vm.a") && cost.contains("total     $5.00  $5.00"),
        "{cost}"
    );
}

#[test]
fn a_free_database_with_a_paid_plan_becomes_a_subscription_in_the_plan_too() {
    let stack = "stead: 1\nstack: a\ndatabase: { f: { name: f, plan: pg-free } }\n\
        outputs: { paid: $database.f.billing_type }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    assert_eq!(case.ok("output --raw paid").stdout.trim(), "payg");
    case.edit("stead.yaml", "pg-free", "pg-1c-2g");
    case.ok("plan").says(&["~ paid  payg → (known once database.f"]);
    let refused = |written: &str| {
        case.edit("stead.yaml", "plan: pg-1c-2g }", &format!("plan: pg-1c-2g, billing_type: {written} }}"));
        let plan = case.run("plan");
        case.edit("stead.yaml", &format!(", billing_type: {written}"), "");
        plan
    };
    let plan = refused("payg");
    assert_eq!(plan.code, 4, "{}", plan.all());
    plan.says(&[
        "database.f.billing_type is payg",
        "Write `billing_type: subscription` in the same change",
    ]);
    // The remedy: nothing is replaced for it.
    let plan = refused("subscription");
    assert_eq!(plan.code, 0, "{}", plan.all());
    plan.says(&["1 update · 0 replace"]);
    case.edit("stead.yaml", "plan: pg-1c-2g }", "plan: pg-1c-2g, billing_type: subscription }");
    let id = case.cloud().list("/api/v1/databases")[0]["id"].clone();
    case.ok("apply --yes");
    let live = case.cloud().list("/api/v1/databases")[0].clone();
    assert_eq!((&live["id"], &live["billing_type"]), (&id, &"subscription".into()));
    assert_eq!(case.ok("output --raw paid").stdout.trim(), "subscription");
    case.ok("plan --exit-code");
}

/// The pool that the service creates with a cluster is another one than a pool `default` that the plan creates.
#[test]
fn the_pool_that_comes_with_a_new_cluster_is_billed_beside_a_written_one() {
    let stack = |cluster: &str| {
        format!(
            "stead: 1\nstack: a\ncluster: {{ k: {{ name: k, version: \"1.31\"{cluster} }} }}\n\
             policy: {{ budget: {{ level: mandatory, deny: \"${{plan.monthly_after > 200.0}}\", message: Over 200 USD }} }}\n"
        )
    };
    let pool = ", node_pools: { default: { plan: std-2c-4g, node_count: 3 } }";
    let case = Case::new().file("stead.yaml", stack(pool)).emulator();
    case.ok("apply --yes").says(&["COST   $0.00 → $72.00 a month"]);
    case.write("stead.yaml", stack(&format!(", worker_plan: cpu-4c-8g{pool}")));
    case.fails(4, "plan --replace cluster.k").says(&["COST   $72.00 → $232.00 a month"]);
    case.write("stead.yaml", stack(", worker_plan: cpu-4c-8g"));
    case.ok("apply --yes --replace cluster.k").says(&["COST   $72.00 → $160.00 a month"]);
    case.ok("cost").says(&["total      $160.00  $160.00"]);

    let both =
        stack(", worker_plan: std-2c-4g, node_pools: { default: { plan: std-2c-4g, node_count: 3 } }");
    let case = Case::new().file("stead.yaml", &both).emulator();
    case.ok("apply --yes").says(&["COST   $0.00 → $120.00 a month"]);
    case.ok("cost").says(&["$120.00  $120.00"]);
    case.edit("stead.yaml", "node_count: 3", "node_count: 4");
    case.ok("plan").says(&["COST   $120.00 → $144.00 a month"]);
}
