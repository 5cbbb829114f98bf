//! Recovery: what tells objects apart, how sure it is, and who is asked.

use serde_json::json;

use super::invented::INVENTED;
use super::world::{World, is_empty};
use crate::model::address::Address;
use crate::model::expression::Expression;
use crate::plan::import::rebuild_ledger::RebuiltLedger;

/// Describes a rebuilt ledger, one line per address: `address=id attributes` for a match and the attributes that
/// differ; `? address=id|id rivals` for an ambiguous match; `- address` for a missing object.
fn words(recovery: &RebuiltLedger) -> Vec<String> {
    let found = recovery.found.iter().map(|found| {
        let differs = found.candidate.differs.join(",");
        format!("{}={} {differs}", found.address, found.candidate.id).trim_end().to_owned()
    });
    let ties = recovery.ties.iter().map(|tie| {
        let ids: Vec<_> = tie.candidates.iter().map(|candidate| candidate.id.as_str()).collect();
        let rivals: Vec<_> = tie.rivals.iter().map(Address::as_str).collect();
        format!("? {}={} {}", tie.address, ids.join("|"), rivals.join("|")).trim_end().to_owned()
    });
    let missing = recovery.missing.iter().map(|address| format!("- {address}"));
    found.chain(ties).chain(missing).collect()
}

fn lost(write: impl FnOnce(&mut World)) -> World {
    let mut world = World::new();
    write(&mut world);
    world.settle();
    world.ledger.entries.clear();
    world
}

fn machines() -> World {
    lost(|world| {
        world.write("vpc.main", json!({"cidr": "10.1.0.0/16"}));
        world.write("vm.web", json!({"template": "ubuntu-24.04", "plan": "small", "vpc": "$vpc.main"}));
        world.write("backup_schedule.nightly", json!({"vm": "$vm.web", "frequency": "daily", "hour": 3}));
    })
}

#[test]
fn objects_are_matched_by_names_networks_and_references() {
    let world = machines();
    assert_eq!(
        words(&world.recover()),
        ["backup_schedule.nightly=backup_schedule-3", "vm.web=vm-2", "vpc.main=vpc-1"]
    );
}

#[test]
fn an_object_that_differs_is_matched_as_unconfirmed_and_planned() {
    let mut world = machines();
    world.set("vm.web", "plan", json!("large"));
    let recovery = world.recover();
    assert!(words(&recovery).contains(&"vm.web=vm-2 plan".to_owned()), "{:?}", words(&recovery));
    world.remember(&recovery);
    let provisional = |address: &str| world.ledger.entries[address].current.as_ref().unwrap().provisional;
    assert!(provisional("vm.web") && !provisional("vpc.main"));
    assert!(!world.ledger.entries["vm.web"].applied.contains_key("plan"));
    let plan = world.plan();
    assert_eq!(plan.changes.iter().map(|change| change.address.as_str()).collect::<Vec<_>>(), ["vm.web"]);
}

#[test]
fn an_immutable_difference_does_not_prevent_the_match_of_dependents() {
    let mut world = machines();
    world.set("vm.web", "template", json!("ubuntu-22.04"));
    assert_eq!(
        words(&world.recover()),
        ["backup_schedule.nightly=backup_schedule-3", "vm.web=vm-2 template", "vpc.main=vpc-1"]
    );
}

#[test]
fn two_equal_objects_are_an_ambiguous_match() {
    let mut world = machines();
    world.stranger("vm", "x", json!({"name": "web", "status": "active", "template": "t-24", "plan": 2}));
    let recovery = world.recover();
    assert_eq!(
        words(&recovery),
        ["vpc.main=vpc-1", "? vm.web=vm-2|x", "- backup_schedule.nightly"],
        "what refers to it waits"
    );
    world.options.adopt.insert(Address::new("vm", "web"), "vm-2".into());
    assert_eq!(
        words(&world.recover()),
        ["backup_schedule.nightly=backup_schedule-3", "vm.web=vm-2", "vpc.main=vpc-1"]
    );
}

#[test]
fn one_object_is_never_matched_to_two_resources() {
    let mut world = lost(|world| {
        world.write("vm.web", json!({"template": "ubuntu-24.04", "plan": "small"}));
    });
    world.write("vm.also", json!({"template": "ubuntu-24.04", "plan": "small", "name": "web"}));
    assert_eq!(words(&world.recover()), ["? vm.also=vm-1 vm.web", "? vm.web=vm-1 vm.also"]);
    world.options.adopt.insert(Address::new("vm", "web"), "vm-1".into());
    assert_eq!(words(&world.recover()), ["vm.web=vm-1", "- vm.also"]);
}

#[test]
fn a_network_with_another_range_is_not_matched_by_name() {
    let mut world = lost(|world| {
        world.write("vpc.main", json!({"cidr": "10.1.0.0/16"}));
    });
    world.set("vpc.main", "cidr", json!("10.2.0.0/16"));
    assert_eq!(words(&world.recover()), ["- vpc.main"]);
}

#[test]
fn deleting_objects_and_those_of_other_projects_are_not_matched() {
    let mut world = machines();
    for object in world.live.values_mut() {
        match object.kind.as_str() {
            "vpc" => object.project = Some("other".into()),
            "vm" => drop(object.attributes.insert("status".into(), "deleting".into())),
            _ => {}
        }
    }
    assert!(world.recover().found.is_empty());
}

#[test]
fn a_write_only_attribute_is_assumed_to_be_as_declared() {
    let mut world = World::with(INVENTED);
    world.write("gear.a", json!({"speed": 2})).secret("gear.a", "token", "s3cret");
    world.write("axle.b", json!({"number": 7}));
    world.write("axle.b.drawers.left", json!({}));
    world.write("oiling.c", json!({"axle": "$axle.b"}));
    world.settle();
    let lost = std::mem::take(&mut world.ledger.entries);
    let recovery = world.recover();
    world.remember(&recovery);
    assert_eq!(world.ledger.entries, lost);
    assert!(is_empty(&world.plan()), "{}", super::show(&world.plan()));
}

#[test]
fn ten_thousand_lost_resources_are_matched_quickly() {
    let mut world = World::new();
    for n in 0..10_000 {
        let address = Address::new("vm", &format!("n{n:05}"));
        let name = address.last().to_owned();
        if n == 0 {
            world.write(address.as_str(), json!({"template": "ubuntu-22.04", "plan": "small"}));
        } else {
            let mut block = world.stack.resources[0].clone();
            block.address = address.clone();
            let name = Expression::Value(name.as_str().into());
            block.attributes.get_mut("name").unwrap().expression = name;
            world.stack.resources.insert(address, block);
        }
        let attributes = json!({"name": name, "status": "active", "template": "t-22", "plan": 1});
        world.stranger("vm", &format!("id-{n}"), attributes);
    }
    let recovery = world.recover();
    assert_eq!((recovery.found.len(), recovery.ties.len(), recovery.missing.len()), (10_000, 0, 0));
}
