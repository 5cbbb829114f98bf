//! Replacements of what has children, and cycles: the false ones are none, and a real one names its
//! steps and a way out.

use serde_json::json;

use super::show;
use super::world::World;
use crate::ledger::state::entry::OwnedObject;
use crate::model::address::Address;
use crate::model::live::catalog::CatalogRecord;
use crate::model::schema::ReplaceOrder;
use crate::model::values::value::Value;
use crate::plan::model::change::Plan;

/// A network with a cluster in it, whose workers are in these pools.
fn cluster(pools: &[(&str, u32)]) -> World {
    let mut world = World::new();
    let record = |id: &str| CatalogRecord {
        id: Value::text(id),
        slug: id.into(),
        fields: [("monthly_price".into(), Value::text("5.00"))].into(),
    };
    for table in ["kubernetes", "kubernetes_version", "control_plane"] {
        world.catalog.tables.insert(table.into(), vec![record("one"), record("two")]);
    }
    world.options.allow_deletes = true;
    world.options.replace.insert(Address::new("cluster", "k"));
    world.write("vpc.net", json!({"cidr": "10.1.0.0/16"}));
    world.write("cluster.k", json!({"version": "one", "vpc": "$vpc.net"}));
    for (name, count) in pools {
        world.write(&pool(name), json!({"plan": "one", "node_count": count}));
    }
    world.settle();
    world
}

fn pool(name: &str) -> String {
    format!("cluster.k.node_pools.{name}")
}

fn steps(plan: &Plan) -> String {
    let shown = show(plan);
    let steps = shown.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit() || c == '!'));
    steps.collect::<Vec<_>>().join("\n")
}

/// The one blocker, with its help.
fn refusal(world: &World) -> String {
    let blocks = world.plan().blocks;
    assert_eq!(blocks.len(), 1, "{blocks:#?}");
    format!("{}\n{}", blocks[0].text, blocks[0].help)
}

#[test]
fn pools_are_replaced_with_their_cluster_after_the_new_one_exists() {
    let mut world = cluster(&[("a", 1), ("b", 1)]);
    world.set("cluster.k", "control_plane_count", json!(3));
    insta::assert_snapshot!(steps(&world.settle()), @r"
    0 cluster.k delete cluster-2 after []
    1 cluster.k create after [0]
    2 cluster.k.node_pools.b create after [0, 1]
    3 cluster.k.node_pools.a create after [0, 1]
    ");
    assert_eq!(world.live.len(), 4);
}

#[test]
fn a_create_first_cluster_replacement_deletes_its_deposed_pools() {
    let mut world = cluster(&[("a", 2)]);
    world.lifecycle("cluster.k", |lifecycle| lifecycle.replace = Some(ReplaceOrder::CreateFirst));
    world.set("cluster.k", "name", json!("other")).set("cluster.k", "control_plane_count", json!(3));
    insta::assert_snapshot!(steps(&world.settle()), @r"
    0 cluster.k create after []
    1 cluster.k.node_pools.a create after [0]
    2 cluster.k delete cluster-2 after [0, 1]
    ");
    assert_eq!(world.live.len(), 3);
}

#[test]
fn the_network_under_a_cluster_is_replaced_with_it() {
    let mut world = cluster(&[("a", 2)]);
    // One that may stand beside the old one, and one that may not.
    world.set("vpc.net", "cidr", json!("10.2.0.0/16"));
    insta::assert_snapshot!(steps(&world.settle()), @r"
    0 vpc.net create after []
    1 cluster.k delete cluster-2 after []
    2 vpc.net delete vpc-1 after [0, 1]
    3 cluster.k create after [0, 1]
    4 cluster.k.node_pools.a create after [1, 3]
    ");
    world.set("vpc.net", "cidr", json!("10.2.0.0/17"));
    insta::assert_snapshot!(steps(&world.settle()), @r"
    0 cluster.k delete cluster-5 after []
    1 vpc.net delete vpc-4 after [0]
    2 vpc.net create after [1]
    3 cluster.k create after [0, 2]
    4 cluster.k.node_pools.a create after [0, 3]
    ");
}

#[test]
fn after_an_interrupted_replacement_a_pool_is_created_in_the_new_cluster() {
    let mut world = cluster(&[("a", 2)]);
    world.lifecycle("cluster.k", |lifecycle| lifecycle.replace = Some(ReplaceOrder::CreateFirst));
    world.set("cluster.k", "name", json!("other")).set("cluster.k", "control_plane_count", json!(3));
    let mut plan = world.plan();
    plan.steps.truncate(1);
    world.apply(&plan);
    insta::assert_snapshot!(steps(&world.settle()), @r"
    0 cluster.k.node_pools.a create after []
    1 cluster.k delete cluster-2 after [0]
    ");
    assert_eq!(world.live.len(), 3);
}

#[test]
fn deposed_pools_are_deleted_with_their_deposed_cluster() {
    let mut world = cluster(&[("a", 2)]);
    world.lifecycle("cluster.k", |lifecycle| lifecycle.replace = Some(ReplaceOrder::CreateFirst));
    world.set("cluster.k", "name", json!("other")).set("cluster.k", "control_plane_count", json!(3));
    let mut plan = world.plan();
    plan.steps.pop();
    world.apply(&plan);
    let older = |world: &World| -> Vec<OwnedObject> {
        let entries = world.ledger.entries.values();
        entries.flat_map(|entry| entry.deposed.clone()).collect()
    };
    assert_eq!(older(&world).len(), 2);
    insta::assert_snapshot!(steps(&world.settle()), @r"
    0 cluster.k delete cluster-2 after []
    ");
    assert!(older(&world).is_empty());
}

#[test]
fn workers_of_one_cluster_do_not_count_in_another() {
    let mut world = cluster(&[("a", 2), ("b", 2)]);
    // The old pool goes first where the others have enough workers.
    let replaced = |world: &mut World| {
        world.lifecycle(&pool("a"), |lifecycle| lifecycle.replace = Some(ReplaceOrder::DeleteFirst));
        world.set(&pool("a"), "plan", json!("two"));
    };
    replaced(&mut world);
    insta::assert_snapshot!(steps(&world.settle()), @r"
    0 cluster.k.node_pools.a delete node_pool-4 after []
    1 cluster.k.node_pools.a create after [0]
    ");
    let mut world = cluster(&[("a", 2), ("b", 1)]);
    replaced(&mut world);
    insta::assert_snapshot!(refusal(&world), @r"
    Dependency cycle: deleting `cluster.k.node_pools.a` (shop.yaml:1) waits for creating `cluster.k.node_pools.a` (shop.yaml:1), which waits for the first.
    Write `lifecycle: { replace: create_first }` in cluster.k.node_pools.a (shop.yaml:1): the plan has no cycle then (tried).
    ");
    world.lifecycle(&pool("a"), |lifecycle| lifecycle.replace = Some(ReplaceOrder::CreateFirst));
    world.settle();
}

#[test]
fn swapping_names_in_place_is_a_dependency_cycle_with_a_workaround() {
    let mut world = World::new();
    for name in ["a", "b"] {
        world.write(&format!("app.{name}"), json!({"type": "worker", "image": "x:1"}));
    }
    world.settle();
    world.set("app.a", "name", json!("b")).set("app.b", "name", json!("a"));
    insta::assert_snapshot!(refusal(&world), @r"
    Dependency cycle: changing `app.b` (shop.yaml:1) waits for changing `app.a` (shop.yaml:1), which waits for the first.
    Apply in two runs: with `name: b-2` in app.a (shop.yaml:1) the plan has no cycle (tried); then write the intended value.
    ");
    world.set("app.a", "name", json!("b-2"));
    world.settle();
    world.set("app.a", "name", json!("b"));
    world.settle();
}
