//! Final copies: made before anything is undone, told with what they cost, and left alone.

use serde_json::json;

use super::World;
use crate::plan::change::{Action, Operation, Plan};

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
fn a_copy_comes_before_the_deletion_and_is_remembered_without_the_block() {
    let mut world = with_a_volume();
    let plan = world.remove("volume.media").plan();
    let copies = copies(&plan);
    assert_eq!(copies.len(), 1, "{:?}", plan.steps);
    assert!(copies[0].0.starts_with("volume.media.final-") && copies[0].1 == [1], "{copies:?}");
    let change = &plan.changes[0];
    assert_eq!((change.action, change.steps.as_slice()), (Action::Delete, &[0, 1][..]));
    let told = &change.effects[0].text;
    assert!(told.contains("is made first and stays"), "{told}");
    assert!(!change.effects.iter().any(|effect| effect.text.contains("lost for good")));
}

#[test]
fn nobody_copies_what_stays_or_what_did_not_ask_for_it() {
    let mut world = with_a_volume();
    assert!(copies(&world.set("volume.media", "size", json!(20)).plan()).is_empty());
    world.lifecycle("volume.media", |lifecycle| lifecycle.final_snapshot = false);
    world.settle();
    assert!(copies(&world.remove("volume.media").plan()).is_empty());
}
