//! What a plan says of a value that the service did not keep, and of one that no reading ever showed.

use serde_json::json;

use super::invented::INVENTED;
use super::world::World;
use super::{changes, show};
use crate::config::stack::model::IgnoreDrift;
use crate::ledger::state::verification::Verification;
use crate::model::source::{SourceId, Span};
use crate::model::values::value::Value;
use crate::plan::model::change::{Cause, Plan};
use crate::plan::model::note::NoteCode;

/// A gear whose shape was sent as `round`, and that showed `flat` after the last write.
fn flat_gear() -> World {
    let mut world = World::with(INVENTED);
    world.write("gear.g", json!({"shape": "round", "speed": 2}));
    world.settle();
    world.mutate("gear.g", "shape", json!("flat"));
    verify(&mut world, |verified| drop(verified.not_kept.insert("shape".into(), Value::text("flat"))));
    world
}

fn verify(world: &mut World, change: impl FnOnce(&mut Verification)) {
    let entry = world.ledger.entries.get_mut("gear.g").unwrap();
    change(entry.verified.as_mut().unwrap());
}

fn ignored(attribute: &str) -> IgnoreDrift {
    IgnoreDrift {
        attribute: attribute.into(),
        reason: None,
        until: None,
        span: Span { source: SourceId(0), start: 0, end: 1 },
    }
}

fn named(plan: &Plan) -> Vec<&str> {
    let notes = plan.notes.iter().filter(|note| note.code == NoteCode::NotKept);
    notes.map(|note| note.text.as_str()).collect()
}

#[test]
fn a_value_the_service_does_not_keep_is_reported_without_a_replacement() {
    let world = flat_gear();
    let plan = world.plan();
    assert!(plan.changes.is_empty() && plan.steps.is_empty() && plan.drift.is_empty(), "{}", show(&plan));
    let said = "the service does not keep `gear.g.shape`: `round` was sent, and the object shows `flat`";
    assert_eq!(named(&plan), [said]);
    assert!(plan.has_values_not_kept());
}

#[test]
fn each_remedy_for_a_value_that_is_not_kept_works() {
    let is_settled = |world: &World, how: &str| {
        let plan = world.plan();
        assert!(named(&plan).is_empty() && plan.steps.is_empty(), "{how}: {}", show(&plan));
    };
    let mut world = flat_gear();
    is_settled(world.set("gear.g", "shape", json!("flat")), "the kept value is written");
    let mut world = flat_gear();
    world.lifecycle("gear.g", |lifecycle| {
        lifecycle.ignore_drift.push(ignored("shape"));
    });
    is_settled(&world, "it is ignored");
    let mut world = flat_gear();
    is_settled(world.unset("gear.g", "shape"), "it is removed");
    let mut world = flat_gear();
    world.set("gear.g", "shape", json!("oval"));
    assert_eq!(changes(&world.plan()), ["shape flat → oval !"], "another value is tried");
}

#[test]
fn a_value_that_is_now_kept_is_no_longer_reported() {
    let mut world = flat_gear();
    world.mutate("gear.g", "shape", json!("round"));
    let plan = world.plan();
    assert!(named(&plan).is_empty() && plan.steps.is_empty(), "{}", show(&plan));
    world.apply(&plan);
    world.mutate("gear.g", "shape", json!("flat"));
    let plan = world.plan();
    assert_eq!(plan.changes[0].attributes[0].cause, Cause::Drift, "somebody changed it: {}", show(&plan));
}

#[test]
fn only_a_value_read_before_counts_as_drift() {
    for (what, wanted) in
        [("shown", Cause::Drift), ("not shown", Cause::Unconfirmed), ("earlier", Cause::Unconfirmed)]
    {
        let mut world = World::with(INVENTED);
        world.write("gear.g", json!({"speed": 2}));
        world.settle();
        match what {
            "not shown" => verify(&mut world, |verified| verified.not_shown.extend(["speed".into()])),
            "earlier" => world.ledger.entries.get_mut("gear.g").unwrap().verified = None,
            _ => {}
        }
        world.mutate("gear.g", "speed", json!(5));
        let plan = world.plan();
        assert_eq!(plan.changes[0].attributes[0].cause, wanted, "{what}: {}", show(&plan));
        assert_eq!(plan.drift[0].unconfirmed, wanted == Cause::Unconfirmed, "{what}");
    }
}

/// A difference under `ignore_drift` is there while another change writes the entry, and the word is lifted after it.
#[test]
fn an_ignored_attribute_is_not_verified_by_a_ledger_update() {
    for (what, wanted) in
        [("shown", Cause::Drift), ("not shown", Cause::Unconfirmed), ("earlier", Cause::Unconfirmed)]
    {
        let mut world = World::with(INVENTED);
        world.write("gear.g", json!({"speed": 2}));
        world.settle();
        match what {
            "not shown" => verify(&mut world, |verified| verified.not_shown.extend(["speed".into()])),
            "earlier" => world.ledger.entries.get_mut("gear.g").unwrap().verified = None,
            _ => {}
        }
        world.mutate("gear.g", "speed", json!(5));
        world.lifecycle("gear.g", |lifecycle| {
            lifecycle.ignore_drift.push(ignored("speed"));
            lifecycle.protect = true;
        });
        let plan = world.settle();
        assert!(!plan.bookkeeping.is_empty(), "{what}: the entry is written");
        world.lifecycle("gear.g", |lifecycle| lifecycle.ignore_drift.clear());
        let plan = world.plan();
        assert_eq!(plan.changes[0].attributes[0].cause, wanted, "{what}: {}", show(&plan));
    }
}

#[test]
fn an_ignored_value_that_is_not_kept_stays_unverified() {
    let mut world = flat_gear();
    world.lifecycle("gear.g", |lifecycle| {
        lifecycle.ignore_drift.push(ignored("shape"));
        lifecycle.protect = true;
    });
    let plan = world.settle();
    assert!(!plan.bookkeeping.is_empty(), "the entry is written");
    world.lifecycle("gear.g", |lifecycle| lifecycle.ignore_drift.clear());
    let plan = world.plan();
    assert!(named(&plan).len() == 1 && plan.steps.is_empty(), "{}", show(&plan));
}

#[test]
fn an_unfinished_creation_is_not_replaced_for_its_own_values() {
    let mut world = flat_gear();
    let entry = world.ledger.entries.get_mut("gear.g").unwrap();
    (entry.unfinished, entry.verified) = (true, None);
    let plan = world.plan();
    assert_eq!(named(&plan).len(), 1, "{}", show(&plan));
    assert!(plan.changes.iter().all(|change| change.attributes.is_empty()), "{}", show(&plan));
}
