//! Drift, cost, effects, time and the fingerprint.

use serde_json::json;

use super::invented::INVENTED;
use super::world::World;
use super::{shop, show};
use crate::config::stack::IgnoreDrift;
use crate::model::source::{SourceId, Span};
use crate::plan::change::{DriftClass, Plan};

fn ignore(world: &mut World, address: &str, attribute: &str, until: Option<&str>) {
    let ignored = IgnoreDrift {
        attribute: attribute.into(),
        reason: None,
        until: until.map(|day| day.parse().unwrap()),
        span: Span { source: SourceId(0), start: 0, end: 1 },
    };
    world.lifecycle(address, |lifecycle| lifecycle.ignore_drift = vec![ignored]);
}

fn classes(plan: &Plan) -> Vec<DriftClass> {
    plan.drift.iter().map(|drift| drift.class).collect()
}

#[test]
fn drift_is_classed_by_what_becomes_of_it() {
    let mut world = World::with(INVENTED);
    world.write("gear.g", json!({"speed": 2, "size": 5, "shape": "round", "env": {"A": "1"}}));
    world.settle();
    world.mutate("gear.g", "speed", json!(9));
    assert_eq!(classes(&world.plan()), [DriftClass::Reverted]);
    world.mutate("gear.g", "env", json!({"A": "x", "B": "y"}));
    insta::assert_snapshot!(show(&world.plan()), @r#"
    ~ gear.g drift
        speed 9 → 2
        env.A x → 1
    0 gear.g tune after []
    ≠ gear.g.speed 2 → 9 Reverted
    ≠ gear.g.env.A 1 → x Reverted
    "#);
    world.set("gear.g", "speed", json!(9));
    assert_eq!(classes(&world.plan()), [DriftClass::Accepted, DriftClass::Reverted]);
    world.mutate("gear.g", "shape", json!("flat"));
    let plan = world.plan();
    assert_eq!(plan.drift[0].class, DriftClass::Replaced, "{}", show(&plan));
    world.vanish("gear.g");
    assert_eq!(classes(&world.plan()), [DriftClass::Gone]);
}

#[test]
fn an_ignored_drift_is_ignored_until_its_day_and_never_against_the_configuration() {
    let mut world = World::with(INVENTED);
    world.write("gear.g", json!({"speed": 2}));
    world.settle();
    world.mutate("gear.g", "speed", json!(9));
    for (until, class) in [
        (None, DriftClass::Ignored),
        (Some("2026-07-01"), DriftClass::Ignored),
        (Some("2026-06-30"), DriftClass::Reverted),
    ] {
        ignore(&mut world, "gear.g", "speed", until);
        let plan = world.plan();
        assert_eq!(classes(&plan), [class]);
        assert_eq!(plan.changes.is_empty(), class == DriftClass::Ignored);
    }
    ignore(&mut world, "gear.g", "speed", None);
    world.set("gear.g", "speed", json!(3));
    let plan = world.plan();
    assert_eq!(plan.changes.len(), 1, "an edit still applies");
}

#[test]
fn lines_add_up_to_the_bill() {
    let mut world = shop();
    let plan = world.settle();
    let cost = |plan: &Plan| (plan.cost.monthly_before.to_string(), plan.cost.monthly_after.to_string());
    // vm 6 + volume 100 × 0.10 + database 15 + (40 - 10) × 0.125
    assert_eq!(cost(&plan), ("0".to_owned(), "34.75".to_owned()));
    let lines: rust_decimal::Decimal = plan.changes.iter().filter_map(|c| c.cost.monthly_after).sum();
    assert_eq!(lines, plan.cost.monthly_after);
    world.set("database.main", "ha_enabled", json!(true)).set("database.main", "replica_count", json!(2));
    // + 70 % of 15, + 2 × 15
    assert_eq!(cost(&world.plan()), ("34.75".to_owned(), "75.25".to_owned()));
    world.remove("database.main.users.reporting").remove("database.main");
    assert_eq!(cost(&world.plan()), ("34.75".to_owned(), "16.00".to_owned()));
    world.catalog.tables.remove("volume");
    let plan = world.plan();
    assert_eq!(plan.cost.unpriced, 1, "never taken as zero");
    assert_eq!(plan.changes.iter().filter(|c| c.kind == "volume").count(), 0);
}

#[test]
fn a_moved_price_is_told() {
    let mut world = shop();
    let mut pinned = world.catalog.clone();
    let price = pinned.tables.get_mut("vm").unwrap()[0].fields.get_mut("monthly_price").unwrap();
    *price = json!("5.00").as_str().unwrap().into();
    world.pinned = Some(pinned);
    let moved = world.plan().cost.moved;
    assert_eq!(moved, [("vm small".to_owned(), "5.00".parse().unwrap(), "6.00".parse().unwrap())]);
}

#[test]
fn effects_say_what_else_happens() {
    let effects = |plan: &Plan| -> Vec<String> {
        let all = plan.changes.iter().flat_map(|c| c.effects.iter().map(move |e| (c, e)));
        all.map(|(change, effect)| format!("{}: {}", change.address, effect.text)).collect()
    };
    let mut world = shop();
    world.settle();
    let id = world.id("vm.web");
    world.stranger("volume", "v9", json!({"name": "scratch", "vm": id.as_str(), "status": "in_use"}));
    world.set("vm.web", "template", json!("ubuntu-24.04")).set("database.main", "plan", json!("pg-4"));
    let plan = world.plan();
    insta::assert_snapshot!(effects(&plan).join("\n"), @r#"
    vm.web: the old object's data is lost for good
    vm.web: its address changes
    vm.web: volume scratch is detached and stays, live and billed, unmanaged
    database.main: clients may lose their connections for a short time, because plan changes
    database.main: the difference is charged or credited at once, because plan changes
    volume.media: clients may lose their connections for a short time, because vm changes
    "#);
    let hit: Vec<_> =
        plan.changes.iter().find(|c| c.address.as_str() == "vm.web").unwrap().hits.iter().collect();
    assert_eq!(format!("{hit:?}"), "[backup_schedule.nightly, volume.media]");
}

#[test]
fn the_time_is_that_of_the_longest_chain() {
    let plan = shop().plan();
    let chain: Vec<&str> =
        plan.critical_path.steps.iter().map(|n| plan.steps[*n].address.as_str()).collect();
    assert_eq!(chain, ["project.shop", "vpc.main", "database.main", "database.main.users.reporting"]);
    assert_eq!(plan.critical_path.seconds, 1 + 1 + 47 + 1);
    assert!(plan.steps.iter().all(|step| step.timeout_seconds >= step.seconds));
}

#[test]
fn the_fingerprint_is_that_of_what_is_decided() {
    let mut world = shop();
    let first = world.plan().fingerprint;
    assert!(first.len() == 9 && first.as_bytes()[4] == b'-', "{first}");
    world.now = "2027-01-01T00:00:00Z".parse().unwrap();
    world.ledger.serial = 77;
    assert_eq!(world.plan().fingerprint, first);
    world.set("volume.media", "size", json!(101));
    assert_ne!(world.plan().fingerprint, first);
    world.set("volume.media", "size", json!(100));
    world.stack.environment.name = "staging".into();
    assert_ne!(world.plan().fingerprint, first);
}

#[test]
fn values_that_wait_name_what_they_wait_for() {
    let mut world = World::with(INVENTED);
    world.write("axle.a", json!({"number": 1})).write("gear.a", json!({}));
    world.write("gear.b", json!({"axle": "$axle.a", "shape": "$gear.a.address", "env": {"A": "1"}}));
    let plan = world.plan();
    let change = plan.changes.iter().find(|c| c.address.as_str() == "gear.b").unwrap();
    let after: Vec<_> = change.attributes.iter().map(|a| format!("{} {}", a.path, a.after)).collect();
    assert_eq!(
        after,
        ["name b", "shape (known once gear.a exists)", "env { A: 1 }", "axle (known once axle.a exists)"]
    );
    world.settle();
    world.mutate("gear.a", "address", json!("elsewhere"));
    let plan = world.plan();
    assert_eq!(super::changes(&plan), ["shape address-1 → elsewhere !"]);
    assert!(show(&plan).contains("gear.b upstream"), "{}", show(&plan));
}
