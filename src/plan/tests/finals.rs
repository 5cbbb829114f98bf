//! Final copies: made before anything is undone, told with what they cost, and left alone.

use serde_json::json;

use super::World;
use crate::ledger::state::entry::Tombstone;
use crate::model::address::Address;
use crate::plan::model::change::{Action, Plan};
use crate::plan::model::step::Operation;

fn with_a_volume() -> World {
    let mut world = World::new();
    world.write("volume.media", json!({"size": 10}));
    world.lifecycle("volume.media", |lifecycle| lifecycle.final_snapshot = true);
    world.settle();
    world
}

/// The steps that make a copy, each with the numbers of the deletions that wait for it.
fn copies(plan: &Plan) -> Vec<(String, Vec<usize>)> {
    let steps = || plan.steps.iter().enumerate();
    let copies = steps().filter(|(_, step)| step.kind == "snapshot");
    let waits = |n: usize| {
        let deletions = steps().filter(|(_, step)| matches!(step.operation, Operation::Delete { .. }));
        deletions.filter(|(_, step)| step.after.contains(&n)).map(|(number, _)| number).collect()
    };
    copies.map(|(n, step)| (step.address.to_string(), waits(n))).collect()
}

#[test]
fn a_final_snapshot_precedes_the_deletion_of_an_undeclared_resource() {
    let mut world = with_a_volume();
    let plan = world.remove("volume.media").plan();
    let copies = copies(&plan);
    assert_eq!(copies.len(), 1, "{:?}", plan.steps);
    assert!(copies[0].0.starts_with("volume.media.final-") && copies[0].1 == [1], "{copies:?}");
    let change = &plan.changes[0];
    assert_eq!((change.action, change.steps.as_slice()), (Action::Delete, &[0, 1][..]));
    let told = &change.effects[0].text;
    assert!(told.contains("is created first and stays"), "{told}");
    assert!(!change.effects.iter().any(|effect| effect.text.contains("lost for good")));
}

#[test]
fn no_final_snapshot_without_a_deletion_or_the_setting() {
    let mut world = with_a_volume();
    assert!(copies(&world.set("volume.media", "size", json!(20)).plan()).is_empty());
    world.lifecycle("volume.media", |lifecycle| lifecycle.final_snapshot = false);
    world.settle();
    assert!(copies(&world.remove("volume.media").plan()).is_empty());
}

#[test]
fn the_project_of_a_final_snapshot_stays_in_the_stack() {
    let mut world = World::new();
    world.write("project.shop", json!({})).write("volume.media", json!({"size": 10}));
    world.stack.project = Some(Address::new("project", "shop"));
    world.lifecycle("volume.media", |lifecycle| lifecycle.final_snapshot = true);
    world.settle();
    let (project, volume) = (world.id("project.shop"), world.id("volume.media"));
    world.options.destroy = true;
    let plan = world.plan();
    assert_eq!(plan.changes.iter().map(|c| c.address.as_str()).collect::<Vec<_>>(), ["volume.media"]);
    assert!(
        plan.notes[0].text.starts_with("project.shop stays live and managed by this stack"),
        "{:?}",
        plan.notes
    );
    // The copy is all that is billed in the end: 10 GB at 0.05.
    assert_eq!(plan.cost.monthly_after.normalize().to_string(), "0.5");
    assert_eq!(plan.changes[0].cost.monthly_after, Some(plan.cost.monthly_after));
    // As an apply leaves it: the volume is gone and buried, its copy is nobody's.
    let key = world.key("volume.media");
    world.live.remove(&key);
    world.ledger.entries.remove("volume.media");
    let stone = Tombstone { kind: "volume".into(), at: world.now };
    world.ledger.tombstones.insert(volume.clone(), stone);
    let mark: String = volume.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    let copy = json!({"name": format!("media-final-{mark}"), "size": 10, "status": "available"});
    world.stranger("snapshot", "copy", copy);
    world.live.values_mut().find(|object| object.id == "copy").unwrap().project = Some(project.clone());
    let again = world.plan();
    assert!(again.changes.is_empty() && again.blocks.is_empty(), "{}", super::show(&again));
    assert!(again.notes[0].text.contains("the snapshot media-final-"), "{:?}", again.notes);
    world.options.destroy = false;
    let next = world.settle();
    assert!(next.changes.iter().all(|change| change.address.as_str() == "volume.media"));
    assert_eq!(world.id("project.shop"), project);
    // Once nothing is in it any more, it goes.
    world.live.retain(|_, object| object.id != "copy");
    world.lifecycle("volume.media", |lifecycle| lifecycle.final_snapshot = false);
    world.settle();
    world.options.destroy = true;
    assert!(super::show(&world.plan()).contains("- project.shop"));
}
