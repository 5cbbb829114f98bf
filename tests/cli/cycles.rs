//! Replacements of objects with children through the whole program; and real dependency cycles.
#![allow(clippy::disallowed_methods, reason = "tests drive real processes")]

use crate::case::Case;

const STACK: &str = "\
stead: 1
stack: k
vpc: { net: { cidr: 10.1.0.0/16 } }
cluster:
  jobs:
    version: \"1.31\"
    vpc: $vpc.net
    node_pools:
      a: { plan: std-2c-4g, node_count: 1 }
      b: { plan: std-2c-4g, node_count: 1 }
";

fn applied(stack: &str) -> Case {
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    case
}

fn no_changes(case: &Case) {
    let before = case.cloud().last();
    case.ok("apply --yes").says(&["No changes"]);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
}

/// Replaces the cluster, and checks what was sent and what is live.
fn replaced(case: &Case, networks: usize) {
    let old = case.cloud().list("/api/v1/k8s/clusters")[0]["id"].clone();
    let before = case.cloud().last();
    case.fails(4, "apply --yes").says(&["cluster.jobs holds data", "--replace cluster.jobs"]);
    case.ok("apply --yes --allow-deletes --replace cluster.jobs");
    // A deletion that is refused, because the object is not at rest yet, is sent again.
    let sent: Vec<_> = case.cloud().requests().into_iter().filter(|(seq, ..)| *seq > before).collect();
    let is_deletion =
        |(_, line, status): &&(u64, String, u64)| line.starts_with("DELETE ") && *status < 300;
    let deleted: Vec<_> = sent.iter().filter(is_deletion).collect();
    assert!(deleted.iter().all(|(_, line, _)| !line.contains("/pools/")), "{sent:?}");
    assert_eq!(deleted.len(), networks, "{sent:?}");
    let clusters = case.cloud().list("/api/v1/k8s/clusters");
    assert_eq!(clusters.len(), 1);
    assert_ne!(clusters[0]["id"], old);
    let pools = format!("/api/v1/k8s/clusters/{}/pools", clusters[0]["id"].as_str().unwrap());
    assert_eq!(case.cloud().list(&pools).len(), 2);
    assert_eq!(case.cloud().list("/api/v1/vpcs").len(), 1);
    no_changes(case);
}

#[test]
fn a_cluster_is_replaced_together_with_its_pools_and_its_network() {
    let case = applied(STACK);
    case.edit("stead.yaml", "    vpc: $vpc.net\n", "    vpc: $vpc.net\n    control_plane_count: 3\n");
    replaced(&case, 1);
    case.edit("stead.yaml", "10.1.0.0/16", "10.2.0.0/16");
    replaced(&case, 2);
    // The new network and the old one cannot stand beside each other.
    case.edit("stead.yaml", "10.2.0.0/16", "10.2.0.0/17");
    replaced(&case, 2);
    let first = "    name: other\n    lifecycle: { replace: create_first }\n    vpc: $vpc.net\n";
    case.edit("stead.yaml", "    vpc: $vpc.net\n", first);
    replaced(&case, 1);
}

#[test]
fn a_dependency_cycle_names_its_steps_and_a_workaround() {
    let case = applied(STACK);
    let old = "a: { plan: std-2c-4g, node_count: 1 }";
    case.edit(
        "stead.yaml",
        old,
        "a: { plan: cpu-4c-8g, node_count: 1, lifecycle: { replace: delete_first } }",
    );
    case.fails(4, "plan").says(&[
        "Dependency cycle: deleting `cluster.jobs.node_pools.a` (stead.yaml:9) waits for creating",
        "(stead.yaml:9), which waits for the first",
        "Write `lifecycle: { replace: create_first }` in cluster.jobs.node_pools.a",
        "(stead.yaml:9): the plan has no cycle then",
    ]);
    let before = case.cloud().last();
    case.fails(4, "apply --yes");
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    case.edit("stead.yaml", "replace: delete_first", "replace: create_first");
    case.ok("apply --yes");
    no_changes(&case);
}

#[test]
fn apps_swap_their_names_in_two_runs() {
    let case = applied(
        "stead: 1\nstack: s\napp:\n  a: { type: worker, image: x:1, name: one }\n  b: { type: worker, image: x:1, name: two }\n",
    );
    case.edit("stead.yaml", "name: one", "name: 2");
    case.edit("stead.yaml", "name: two", "name: one");
    case.edit("stead.yaml", "name: 2", "name: two");
    case.fails(4, "plan").says(&[
        "Dependency cycle: changing `app.b` (stead.yaml:5) waits for changing `app.a`",
        "(stead.yaml:4), which waits for the first",
        "Apply in two runs: with `name: two-2` in app.a (stead.yaml:4)",
    ]);
    case.edit("stead.yaml", "name: two", "name: two-2");
    case.ok("apply --yes");
    case.edit("stead.yaml", "name: two-2", "name: two");
    case.ok("apply --yes");
    no_changes(&case);
}
