//! What is written, applied and live → what changes.

use serde_json::json;

use super::{shop, show};

#[test]
fn a_new_stack_is_created_in_order_and_then_has_an_empty_plan() {
    let mut world = shop();
    let plan = world.settle();
    insta::assert_snapshot!(show(&plan), @"
    + backup_schedule.nightly config
    + database.main config
    + database.main.users.reporting config
    + project.shop config
    + vm.web config
    + volume.media config
    + vpc.main config
    0 project.shop create after []
    1 vpc.main create after [0]
    2 vm.web create after [0, 1]
    3 volume.media create after [0, 2]
    4 database.main create after [0, 1]
    5 database.main.users.reporting create after [4]
    6 backup_schedule.nightly create after [0, 2]
    ");
}

#[test]
fn destroy_uses_the_reverse_order() {
    let mut world = shop();
    world.settle();
    world.options.destroy = true;
    let plan = world.settle();
    insta::assert_snapshot!(show(&plan), @"
    - database.main config: everything is destroyed
    - vm.web config: everything is destroyed
    - volume.media config: everything is destroyed
    - backup_schedule.nightly config: everything is destroyed
    - database.main.users.reporting config: everything is destroyed
    - project.shop config: everything is destroyed
    - vpc.main config: everything is destroyed
    0 volume.media detach after []
    1 volume.media delete volume-4 after [0]
    2 database.main.users.reporting delete reporting after []
    3 database.main delete database-5 after [2]
    4 backup_schedule.nightly delete backup_schedule-7 after []
    5 vm.web delete vm-3 after [0, 1, 4]
    6 vpc.main delete vpc-2 after [3, 5]
    7 project.shop delete project-1 after [0, 1, 3, 4, 5, 6]
    ");
}

#[test]
fn a_vm_is_replaced_with_its_attachments() {
    let mut world = shop();
    world.settle();
    world.set("vm.web", "template", json!("ubuntu-24.04"));
    let plan = world.settle();
    insta::assert_snapshot!(show(&plan), @"
    +/- vm.web config: the API cannot change template in place
        template ubuntu-22.04 → ubuntu-24.04 !
    +/- backup_schedule.nightly upstream: it is deleted together with the old vm.web
        vm vm-3 → (known once vm.web is applied) !
    ~ volume.media upstream
        vm vm-3 → (known once vm.web is applied)
    0 vm.web create after []
    1 volume.media detach + attach after [0]
    2 backup_schedule.nightly create after [0]
    3 backup_schedule.nightly delete backup_schedule-7 after [2]
    4 vm.web delete vm-3 after [0, 1, 3]
    ");
}

#[test]
fn a_network_is_replaced_delete_first() {
    let mut world = shop();
    world.settle();
    world.consents = true;
    world.set("vpc.main", "cidr", json!("10.20.0.0/17"));
    let plan = world.settle();
    insta::assert_snapshot!(show(&plan), @"
    -/+ vm.web upstream: the API cannot change vpc in place; the old one is deleted first, because a dependency is deleted before it is created again
        vpc vpc-2 → (known once vpc.main is applied) !
    -/+ vpc.main config: the API cannot change cidr in place; the old one is deleted first, because their cidr would overlap
        cidr 10.20.0.0/16 → 10.20.0.0/17 !
    -/+ backup_schedule.nightly upstream: it is deleted together with the old vm.web; the old one is deleted first, because a dependency is deleted before it is created again
        vm vm-3 → (known once vm.web is applied) !
    ~ database.main upstream
        vpc vpc-2 → (known once vpc.main is applied)
    ~ volume.media upstream
        vm vm-3 → (known once vm.web is applied)
    0 volume.media detach after []
    1 database.main disconnect-vpc after []
    2 backup_schedule.nightly delete backup_schedule-7 after []
    3 vm.web delete vm-3 after [0, 2]
    4 vpc.main delete vpc-2 after [1, 3]
    5 vpc.main create after [4]
    6 database.main connect-vpc after [1, 5]
    7 vm.web create after [3, 5]
    8 volume.media attach after [0, 7]
    9 backup_schedule.nightly create after [2, 7]
    ");
}
