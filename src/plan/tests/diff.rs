//! What is written, applied and live → what changes.

use serde_json::json;

use super::{shop, show};

#[test]
fn a_new_stack_is_made_in_order_and_then_settled() {
    let mut world = shop();
    let plan = world.settle();
    insta::assert_snapshot!(show(&plan), @"");
}

#[test]
fn destroy_goes_the_other_way() {
    let mut world = shop();
    world.settle();
    world.options.destroy = true;
    let plan = world.settle();
    insta::assert_snapshot!(show(&plan), @"");
}

#[test]
fn a_machine_is_replaced_with_all_that_hangs_on_it() {
    let mut world = shop();
    world.settle();
    world.set("vm.web", "template", json!("ubuntu-24.04"));
    let plan = world.settle();
    insta::assert_snapshot!(show(&plan), @"");
}

#[test]
fn a_network_is_replaced_old_one_first() {
    let mut world = shop();
    world.settle();
    world.set("vpc.main", "cidr", json!("10.20.0.0/17"));
    let plan = world.settle();
    insta::assert_snapshot!(show(&plan), @"");
}
