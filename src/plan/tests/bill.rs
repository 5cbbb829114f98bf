//! Drift, cost, effects, time and the fingerprint.

use jiff::Timestamp;
use serde_json::json;

use super::invented::INVENTED;
use super::world::World;
use super::{shop, show};
use crate::config::stack::model::IgnoreDrift;
use crate::ledger::state::run_history::{ResourceCounts, Run, RunEnd, RunOrigin};
use crate::model::source::{SourceId, Span};
use crate::plan::model::change::{DriftClass, Plan};

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
fn drift_is_classified_by_its_outcome() {
    let mut world = World::with(INVENTED);
    world.write("gear.g", json!({"speed": 2, "size": 5, "shape": "round", "env": {"A": "1"}}));
    world.settle();
    world.mutate("gear.g", "speed", json!(9));
    assert_eq!(classes(&world.plan()), [DriftClass::Reverted]);
    world.mutate("gear.g", "env", json!({"A": "x", "B": "y"}));
    insta::assert_snapshot!(show(&world.plan()), @"
    ~ gear.g drift
        speed 9 → 2
        env.A x → 1
    0 gear.g tune after []
    ≠ gear.g.speed 2 → 9 Reverted
    ≠ gear.g.env.B null → y Unmanaged
    ≠ gear.g.env.A 1 → x Reverted
    ");
    world.set("gear.g", "speed", json!(9));
    let all = [DriftClass::Accepted, DriftClass::Unmanaged, DriftClass::Reverted];
    assert_eq!(classes(&world.plan()), all);
    world.mutate("gear.g", "shape", json!("flat"));
    let plan = world.plan();
    assert_eq!(plan.drift[0].class, DriftClass::Replaced, "{}", show(&plan));
    world.vanish("gear.g");
    assert_eq!(classes(&world.plan()), [DriftClass::Gone]);
}

#[test]
fn ignored_drift_is_ignored_until_its_date_and_not_against_the_files() {
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
fn ignored_drift_is_reported_with_its_difference_and_its_expiry() {
    let mut world = World::with(INVENTED);
    world.write("gear.g", json!({"speed": 2}));
    world.settle();
    world.mutate("gear.g", "speed", json!(9));
    assert_eq!(world.plan().drift[0].leave, None);
    for (until, ended) in [("2026-07-01", false), ("2026-06-30", true)] {
        ignore(&mut world, "gear.g", "speed", Some(until));
        world.block("gear.g").lifecycle.ignore_drift[0].reason = Some("busy weeks".into());
        let leave = world.plan().drift[0].leave.clone().unwrap();
        let told = (leave.reason.as_deref(), leave.until.as_deref(), leave.ended);
        assert_eq!(told, (Some("busy weeks"), Some(until), ended));
        assert!(leave.source.is_some());
    }
}

#[test]
fn unmanaged_map_keys_are_kept_unless_the_map_is_exclusive() {
    let mut world = World::new();
    world.write("app.web", json!({"type": "web", "image": "nginx", "env_vars": {"A": "1"}}));
    world.settle();
    world.mutate("app.web", "env_vars", json!({"A": "1", "B": "canary"}));
    let plan = world.plan();
    assert!(plan.changes.is_empty(), "{}", show(&plan));
    assert_eq!(classes(&plan), [DriftClass::Unmanaged]);
    assert_eq!(plan.drift[0].path.as_deref(), Some("env_vars.B"));
    assert!(!format!("{plan:?}").contains("canary"), "it may be somebody's secret");
    world.set("app.web", "env_vars", json!({"A": "2"}));
    assert_eq!(super::changes(&world.plan()), ["env_vars.A 1 → 2"]);
    // What a change of another key sends keeps it.
    let before = world.clone();
    world.apply(&world.plan());
    assert_eq!(world.live[&world.key("app.web")].attributes["env_vars"].to_string(), "{ A: 2, B: canary }");
    assert!(!serde_json::to_string(&before.plan()).unwrap().contains("canary"), "nor does a file say it");
    let mut reset = before.clone();
    reset.set("app.web", "env_vars", json!(null));
    assert_eq!(super::changes(&reset.plan()), ["env_vars { A: 1, B: (secret) } → null"]);
    assert!(!serde_json::to_string(&reset.plan()).unwrap().contains("canary"));
    let mut world = before;
    world.block("app.web").attributes.get_mut("env_vars").unwrap().exclusive = true;
    let plan = world.plan();
    assert_eq!(super::changes(&plan), ["env_vars.A 1 → 2", "env_vars.B (secret) → null"]);
    assert!(plan.changes[0].attributes[1].removed);
    assert_eq!(classes(&plan), [DriftClass::Reverted]);
    ignore(&mut world, "app.web", "env_vars", None);
    assert_eq!(super::changes(&world.plan()), ["env_vars.A 1 → 2"], "ignore_drift is stronger");
    world.lifecycle("app.web", |lifecycle| lifecycle.ignore_drift.clear());
    world.settle();
    assert_eq!(world.live[&world.key("app.web")].attributes["env_vars"].to_string(), "{ A: 2 }");
    world.set("app.web", "env_vars", json!({}));
    assert!(world.plan().changes[0].attributes[0].removed, "a key that is not written any more");
}

#[test]
fn destructive_changes_are_listed_first_by_severity() {
    let mut world = shop();
    world.settle();
    world.set("vm.web", "template", json!("ubuntu-24.04")).set("database.main", "plan", json!("pg-4"));
    world.set("volume.media", "size", json!(200)).remove("database.main.users.reporting");
    let plan = world.plan();
    let order: Vec<String> =
        plan.changes.iter().map(|change| format!("{:?} {}", change.action, change.address)).collect();
    assert_eq!(
        order,
        [
            "Replace vm.web",
            "Replace backup_schedule.nightly",
            "Delete database.main.users.reporting",
            "Update database.main",
            "Update volume.media",
        ]
    );
}

#[test]
fn the_cost_lines_sum_to_the_total() {
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
    // What stays, and whose price is no longer known, does not become free.
    world.set("volume.media", "size", json!(200));
    let plan = world.plan();
    let grown = plan.changes.iter().find(|change| change.kind == "volume").unwrap();
    assert!(grown.cost.unpriced && grown.cost.monthly_after.is_none(), "{:?}", grown.cost);
}

#[test]
fn unchanged_resources_keep_their_cost() {
    let mut world = shop();
    world.settle();
    let cost = |world: &World| {
        let cost = world.plan().cost;
        (cost.monthly_before.normalize().to_string(), cost.monthly_after.normalize().to_string())
    };
    // What can only grow, and has grown: nothing makes it smaller.
    world.mutate("volume.media", "size", json!(200));
    assert_eq!(cost(&world), ("44.75".to_owned(), "44.75".to_owned()));
    world.set("volume.media", "size", json!(50));
    assert_eq!(cost(&world), ("44.75".to_owned(), "44.75".to_owned()), "refused");
    world.set("volume.media", "size", json!(300));
    assert_eq!(cost(&world), ("44.75".to_owned(), "54.75".to_owned()));
    // What is left to itself on purpose.
    world.set("volume.media", "size", json!(200));
    world.settle();
    world.mutate("vm.web", "plan", json!(2));
    ignore(&mut world, "vm.web", "plan", None);
    let (before, after) = cost(&world);
    assert_eq!(before, after);
    // What is let go of is billed all the same.
    world.remove("volume.media");
    world.ledger.entries.get_mut("volume.media").unwrap().keep_on_remove = true;
    assert_eq!(cost(&world), (before.clone(), after));
    // What an earlier replacement left behind is billed until it goes.
    let mut old = world.ledger.entries["vm.web"].current.clone().unwrap();
    old.id = "old".into();
    world.stranger("vm", "old", json!({"name": "web", "plan": 1, "status": "active"}));
    world.ledger.entries.get_mut("vm.web").unwrap().deposed.push(old);
    let (with, without) = cost(&world);
    assert_eq!(without, before);
    assert_ne!(with, before);
}

#[test]
fn a_replacement_recomputes_the_defaults_of_the_service() {
    let mut world = World::new();
    world.write("database.main", json!({"plan": "pg-1", "engine_version": "16"}));
    world.settle();
    world.mutate("database.main", "storage_gb", json!(40));
    world.set("database.main", "engine_version", json!("17"));
    let cost = world.plan().cost;
    assert_eq!(
        (cost.monthly_before.to_string(), cost.monthly_after.to_string()),
        ("18.75".into(), "18.75".into())
    );
}

#[test]
fn an_update_of_metadata_only_has_a_minimal_duration() {
    let mut world = World::new();
    world.write("app.web", json!({"type": "web", "image": "nginx", "description": "one", "port": 80}));
    world.settle();
    world.set("app.web", "description", json!("two"));
    let plan = world.plan();
    assert_eq!(plan.changes[0].seconds, 1);
    let rest: Vec<&str> = plan.changes[0].rest.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(rest, ["name", "type", "image", "port"], "what stays");
    world.set("app.web", "port", json!(81));
    assert_eq!(world.plan().changes[0].seconds, 25, "it is deployed anew");
}

#[test]
fn a_changed_price_is_reported() {
    let mut world = shop();
    let mut pinned = world.catalog.clone();
    let price = pinned.tables.get_mut("vm").unwrap()[0].fields.get_mut("monthly_price").unwrap();
    *price = json!("5.00").as_str().unwrap().into();
    world.pinned = Some(pinned);
    let moved = world.plan().cost.moved;
    assert_eq!(moved, [("vm small".to_owned(), "5.00".parse().unwrap(), "6.00".parse().unwrap())]);
}

#[test]
fn a_change_lists_its_side_effects() {
    let effects = |plan: &Plan| -> Vec<String> {
        let all = plan.changes.iter().flat_map(|c| c.effects.iter().map(move |e| (c, e)));
        all.map(|(change, effect)| format!("{}: {}", change.address, effect.text)).collect()
    };
    let mut world = shop();
    world.settle();
    let id = world.id("vm.web");
    world.stranger(
        "volume",
        "v9",
        json!({"name": "scratch", "size": 10, "vm": id.as_str(), "status": "in_use"}),
    );
    world.set("vm.web", "template", json!("ubuntu-24.04")).set("database.main", "plan", json!("pg-4"));
    let plan = world.plan();
    insta::assert_snapshot!(effects(&plan).join("\n"), @r#"
    vm.web: the old object's data is lost for good
    vm.web: its address changes
    vm.web: volume scratch is detached and stays, live and billed, not managed by this stack, $1.00 a month
    database.main: clients may lose their connections for a short time, because plan changes
    volume.media: clients may lose their connections for a short time, because vm changes
    "#);
    let hit: Vec<_> =
        plan.changes.iter().find(|c| c.address.as_str() == "vm.web").unwrap().hits.iter().collect();
    assert_eq!(format!("{hit:?}"), "[backup_schedule.nightly, volume.media]");
}

#[test]
fn the_duration_estimate_is_that_of_the_longest_chain() {
    let plan = shop().plan();
    let chain: Vec<&str> =
        plan.critical_path.steps.iter().map(|n| plan.steps[*n].address.as_str()).collect();
    assert_eq!(chain, ["project.shop", "vpc.main", "database.main", "database.main.users.reporting"]);
    assert_eq!(plan.critical_path.seconds, 1 + 1 + 47 + 1);
    assert!(plan.steps.iter().all(|step| step.timeout_seconds >= step.seconds));
}

#[test]
fn the_fingerprint_covers_exactly_the_decisions() {
    let mut world = shop();
    let first = world.plan().fingerprint;
    assert!(first.len() == 64 && first.bytes().all(|b| b.is_ascii_hexdigit()), "{first}");
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
fn an_unknown_value_names_the_resource_it_depends_on() {
    let mut world = World::with(INVENTED);
    world.write("axle.a", json!({"number": 1})).write("gear.a", json!({}));
    world.write("gear.b", json!({"axle": "$axle.a", "shape": "$gear.a.address", "env": {"A": "1"}}));
    let plan = world.plan();
    let change = plan.changes.iter().find(|c| c.address.as_str() == "gear.b").unwrap();
    let after: Vec<_> = change.attributes.iter().map(|a| format!("{} {}", a.path, a.after)).collect();
    assert_eq!(
        after,
        [
            "name b",
            "shape (known once gear.a is applied)",
            "env { A: 1 }",
            "axle (known once axle.a is applied)"
        ]
    );
    world.settle();
    world.mutate("gear.a", "address", json!("elsewhere"));
    let plan = world.plan();
    assert_eq!(super::changes(&plan), ["shape address-1 → elsewhere !"]);
    // Whether the block was edited, too, is not known.
    assert!(show(&plan).contains("gear.b config"), "{}", show(&plan));
    let origin = RunOrigin { config: Some(plan.base.config.as_str().into()), ..RunOrigin::default() };
    let end = Some(RunEnd { at: Timestamp::UNIX_EPOCH, complete: true, tally: ResourceCounts::default() });
    world.ledger.history.push_back(Run { origin, end, ..Run::default() });
    assert!(show(&world.plan()).contains("gear.b upstream"), "{}", show(&world.plan()));
}

/// One key of a map is edited and another one refers to a resource: only what refers to something can follow from it.
#[test]
fn an_edited_key_of_a_map_does_not_follow_from_what_another_key_refers_to() {
    let mut world = World::with(INVENTED);
    world.write("gear.a", json!({}));
    world.write("gear.b", json!({"env": {"A": "$gear.a.address", "B": "1"}}));
    world.settle();
    world.set("gear.b", "env", json!({"A": "$gear.a.address", "B": "2"}));
    let plan = world.plan();
    assert_eq!(super::changes(&plan), ["env.B 1 → 2"]);
    assert!(show(&plan).contains("gear.b config"), "{}", show(&plan));
}
