//! Names and networks that pass from one address to another within one plan.

use serde_json::json;

use super::show;
use super::world::{World, is_empty};
use crate::model::schema::ReplaceOrder;

fn machine(network: &str) -> serde_json::Value {
    json!({"template": "ubuntu-22.04", "plan": "small", "vpc": network})
}

/// Two networks, each with a machine in it.
fn two_networks() -> World {
    let mut world = World::new();
    world.options.allow_deletes = true;
    world.consents = true;
    world.write("vpc.a", json!({"cidr": "10.1.0.0/16"})).write("vpc.b", json!({"cidr": "10.2.0.0/16"}));
    world.write("vm.in_a", machine("$vpc.a")).write("vm.in_b", machine("$vpc.b"));
    world.settle();
    world
}

fn settles(mut world: World) -> String {
    let plan = world.plan();
    world.apply(&plan);
    let next = world.plan();
    assert!(is_empty(&next), "{}\nthen\n{}", show(&plan), show(&next));
    show(&plan)
}

#[test]
fn an_overlapping_network_is_created_after_the_old_one_is_deleted() {
    let mut world = two_networks();
    world.remove("vpc.a").remove("vm.in_a");
    world.write("vpc.core", json!({"cidr": "10.1.64.0/18"})).write("vm.in_core", machine("$vpc.core"));
    insta::assert_snapshot!(settles(world), @r#"
    - vm.in_a config: its block is gone
    - vpc.a config: its block is gone
    + vm.in_core config
    + vpc.core config
    0 vm.in_a delete vm-4 after []
    1 vpc.a delete vpc-2 after [0]
    2 vpc.core create after [1]
    3 vm.in_core create after [2]
    i the deletion of vm.in_a and the creation of vm.in_core look like a rename | to keep the object, write `moved: [{ from: vm.in_a, to: vm.in_core }]`
    "#);
}

#[test]
fn networks_that_swap_ranges_are_all_deleted_before_one_is_created() {
    let mut world = two_networks();
    for address in ["vpc.a", "vpc.b", "vm.in_a", "vm.in_b"] {
        world.lifecycle(address, |lifecycle| lifecycle.replace = Some(ReplaceOrder::CreateFirst));
    }
    world.set("vpc.a", "cidr", json!("10.2.0.0/16")).set("vpc.b", "cidr", json!("10.1.0.0/16"));
    insta::assert_snapshot!(settles(world), @r#"
    -/+ vm.in_a upstream: the API cannot change vpc in place; the old one is deleted first, because a dependency is deleted before it is created again
        vpc vpc-2 → (known once vpc.a is applied) !
    -/+ vm.in_b upstream: the API cannot change vpc in place; the old one is deleted first, because a dependency is deleted before it is created again
        vpc vpc-1 → (known once vpc.b is applied) !
    -/+ vpc.a config: the API cannot change cidr in place; the old one is deleted first, because it and other resources exchange names or networks
        cidr 10.1.0.0/16 → 10.2.0.0/16 !
    -/+ vpc.b config: the API cannot change cidr in place; the old one is deleted first, because it and other resources exchange names or networks
        cidr 10.2.0.0/16 → 10.1.0.0/16 !
    0 vm.in_b delete vm-3 after []
    1 vpc.b delete vpc-1 after [0]
    2 vm.in_a delete vm-4 after []
    3 vpc.a delete vpc-2 after [2]
    4 vpc.b create after [1, 3]
    5 vm.in_b create after [0, 4]
    6 vpc.a create after [1, 3]
    7 vm.in_a create after [2, 6]
    "#);
}

#[test]
fn a_network_frees_its_range_before_the_next_one_is_created() {
    let mut world = two_networks();
    for address in ["vpc.a", "vpc.b", "vm.in_a", "vm.in_b"] {
        world.lifecycle(address, |lifecycle| lifecycle.replace = Some(ReplaceOrder::CreateFirst));
    }
    world.set("vpc.a", "cidr", json!("10.2.0.0/16")).set("vpc.b", "cidr", json!("10.3.0.0/16"));
    insta::assert_snapshot!(settles(world), @r#"
    +/- vm.in_a upstream: the API cannot change vpc in place
        vpc vpc-2 → (known once vpc.a is applied) !
    +/- vm.in_b upstream: the API cannot change vpc in place
        vpc vpc-1 → (known once vpc.b is applied) !
    +/- vpc.a config: the API cannot change cidr in place
        cidr 10.1.0.0/16 → 10.2.0.0/16 !
    +/- vpc.b config: the API cannot change cidr in place
        cidr 10.2.0.0/16 → 10.3.0.0/16 !
    0 vpc.b create after []
    1 vm.in_b create after [0]
    2 vm.in_b delete vm-3 after [1]
    3 vpc.b delete vpc-1 after [0, 2]
    4 vpc.a create after [3]
    5 vm.in_a create after [4]
    6 vm.in_a delete vm-4 after [5]
    7 vpc.a delete vpc-2 after [4, 6]
    "#);
}
