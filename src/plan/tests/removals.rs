//! Objects that are gone, and objects that a removed block leaves live.

use serde_json::json;

use super::guards::axles;
use super::{shop, show};
use crate::config::stack::model::OnRemove;
use crate::model::address::Address;

#[test]
fn an_unlisted_object_is_not_deleted_unless_proven_absent() {
    let mut world = axles(1);
    world.live.clear();
    insta::assert_snapshot!(show(&world.plan()), @"! unread: axle.a0 axle-1 was not listed, and stead cannot confirm that it is gone.");
    world.absent.insert(world.key("axle.a0"));
    insta::assert_snapshot!(show(&world.settle()), @"
    + axle.a0 drift: the object is gone from the service
    0 axle.a0 create after []
    ≠ axle.a0 axle-1 → null Gone
    ");
}

#[test]
fn a_child_of_a_deleted_parent_is_deleted_too() {
    let mut world = shop();
    world.settle();
    let child = world.key("database.main.users.reporting");
    world.vanish("database.main");
    world.live.remove(&child);
    insta::assert_snapshot!(show(&world.settle()), @"
    + database.main drift: the object is gone from the service
    + database.main.users.reporting drift: the object is gone from the service
    0 database.main create after []
    1 database.main.users.reporting create after [0]
    ≠ database.main database-5 → null Gone
    ≠ database.main.users.reporting reporting → null Gone
    ");
}

#[test]
fn on_remove_keep_forgets_the_object() {
    let mut world = shop();
    world.lifecycle("volume.media", |lifecycle| lifecycle.on_remove = OnRemove::Keep);
    world.settle();
    world.remove("volume.media");
    let plan = world.settle();
    insta::assert_snapshot!(show(&plan), @"x volume.media config: it stays live, as `on_remove` specifies");
    assert_eq!(plan.changes[0].effects.len(), 1);
}

#[test]
fn a_kept_object_keeps_its_children_and_dependencies_for_readoption() {
    let mut world = shop();
    world.write("database.main.users.reporting", json!({}));
    world.lifecycle("database.main", |lifecycle| lifecycle.on_remove = OnRemove::Keep);
    world.settle();
    let id = world.id("database.main");
    world.options.destroy = true;
    let plan = world.settle();
    insta::assert_snapshot!(show(&plan), @"
    - vm.web config: everything is destroyed
    - volume.media config: everything is destroyed
    - backup_schedule.nightly config: everything is destroyed
    x database.main config: it stays live, as `on_remove` specifies
    x database.main.users.reporting config: database.main stays live, with its children
    0 volume.media detach after []
    1 volume.media delete volume-4 after [0]
    2 backup_schedule.nightly delete backup_schedule-7 after []
    3 vm.web delete vm-3 after [0, 1, 2]
    i project.shop stays live and managed by this stack: database.main stays, and needs it | the next apply uses it again; once no object needs it, another destroy deletes it
    i vpc.main stays live and managed by this stack: database.main stays, and needs it | the next apply uses it again; once no object needs it, another destroy deletes it
    ");
    let said = |address: &str| {
        let change = plan.changes.iter().find(|change| change.address.as_str() == address).unwrap();
        change.effects.iter().map(|effect| effect.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(said("database.main"), ["it stays live and billed, unmanaged, $18.75 a month"]);
    assert_eq!(said("database.main.users.reporting"), ["it stays live, unmanaged"], "it costs nothing");
    assert!(world.ledger.entries.contains_key(&Address::new("vpc", "main")), "the next apply finds it");
    world.options.destroy = false;
    let plan = world.plan();
    let texts: Vec<&str> = plan.blocks.iter().map(|block| block.text.as_str()).collect();
    assert_eq!(
        texts,
        [format!("database.main is live already ({id}): an apply forgot it and kept the object.")]
    );
    assert!(plan.blocks[0].help.contains("apply --adopt database.main."), "{}", plan.blocks[0].help);
    world.options.taken_back = [Address::new("database", "main")].into();
    insta::assert_snapshot!(show(&world.settle()), @"
    + backup_schedule.nightly config
    + vm.web config
    + volume.media config
    < database.main config: it exists already and is adopted
    < database.main.users.reporting config: it exists already and is adopted
    0 vm.web create after []
    1 volume.media create after [0]
    2 backup_schedule.nightly create after [0]
    ");
}
