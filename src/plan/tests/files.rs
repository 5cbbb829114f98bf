//! Saved plans, and what is to be read before a plan.

use serde_json::json;

use super::world::World;
use super::{shop, show};
use crate::ledger::entry::Ledger;
use crate::model::address::{Address, Name};
use crate::model::snapshot::Wanted;
use crate::plan::make::wanted;
use crate::plan::saved::{Facts, SavedError, SavedPlan, Stale};

fn check(world: &World, saved: &SavedPlan) -> Result<(), Stale> {
    let snapshot = world.snapshot();
    saved.check(&Facts {
        registry: world.registry,
        stack: &world.stack.name,
        environment: &world.stack.environment.name,
        config: &world.stack.digest,
        reads: "",
        ledger: &world.ledger,
        snapshot: &snapshot,
    })
}

fn changed() -> (World, SavedPlan) {
    let mut world = shop();
    world.settle();
    world.ledger.applied_plans.clear();
    world.set("vm.web", "template", json!("ubuntu-24.04")).set("volume.media", "size", json!(200));
    let saved = SavedPlan::new(world.plan(), "0.1.0");
    assert_eq!(check(&world, &saved), Ok(()));
    (world, saved)
}

#[test]
fn a_saved_plan_comes_back_whole_or_not_at_all() {
    let (_, saved) = changed();
    let text = saved.to_text().unwrap();
    assert_eq!(SavedPlan::parse(&text).unwrap(), saved);
    assert_eq!(SavedPlan::parse(&text).unwrap().to_text().unwrap(), text);
    let tampered = text.replace("t-24", "t-66");
    assert!(matches!(SavedPlan::parse(&tampered), Err(SavedError::Tampered)));
    let newer = text.replace("\"schema\":1", "\"schema\":2");
    assert!(matches!(SavedPlan::parse(&newer), Err(SavedError::Version { found: 2 })));
    for text in ["", "{}", "[1]", "{\"schema\":1}"] {
        assert!(matches!(SavedPlan::parse(text), Err(SavedError::Malformed(_))), "{text}");
    }
}

#[test]
fn a_saved_plan_is_refused_when_anything_that_it_stands_on_has_moved() {
    type Change = fn(&mut World);
    let cases: &[(&str, Change)] = &[
        ("for stack shop, and this is other", |w| w.stack.name = "other".into()),
        ("for environment prod, and this is dev", |w| w.stack.environment.name = "dev".into()),
        ("from another ledger", |w| w.ledger.identity.lineage = uuid::Uuid::from_u128(2)),
        ("the ledger is older than the plan", |w| w.ledger.serial = 0),
        ("the configuration changed", |w| w.stack.digest = "1".repeat(16)),
        ("applied already", |w| {
            w.ledger.applied_plans.insert(uuid::Uuid::from_u128(9));
        }),
        ("volume.media changed since the plan was made: size is not what it was", |w| {
            w.mutate("volume.media", "size", json!(150));
        }),
        ("vm.web changed since the plan was made: the object is gone", |w| {
            w.vanish("vm.web");
        }),
        ("vm.web changed since the plan was made: it has the object other now", |w| {
            w.ledger.entries.get_mut("vm.web").unwrap().current.as_mut().unwrap().id = "other".into();
        }),
        ("volume.media changed since the plan was made: created_at", |w| {
            let key = w.key("volume.media");
            w.live.get_mut(&key).unwrap().created_at = Some("2026-05-05T00:00:00Z".into());
        }),
    ];
    for (expected, change) in cases {
        let (mut world, saved) = changed();
        change(&mut world);
        let stale = check(&world, &saved).unwrap_err().to_string();
        assert!(stale.contains(expected), "{stale}");
    }
}

#[test]
fn what_a_saved_plan_does_not_touch_may_change() {
    let (mut world, saved) = changed();
    let wanted = saved.wanted(world.registry);
    assert_eq!(
        wanted.owned,
        [world.key("backup_schedule.nightly"), world.key("vm.web"), world.key("volume.media")]
    );
    world.mutate("database.main", "plan", json!(12)).mutate("vm.web", "cpu", json!(64));
    world.stranger("vm", "new", json!({"name": "other", "status": "active"}));
    world.ledger.serial += 5;
    assert_eq!(check(&world, &saved), Ok(()));
}

#[test]
fn a_late_object_of_an_earlier_apply_gets_no_twin() {
    let mut world = shop();
    let saved = SavedPlan::new(world.plan(), "0.1.0");
    assert_eq!(check(&world, &saved), Ok(()));
    world.settle();
    world.ledger.applied_plans.clear();
    let stale = check(&world, &saved).unwrap_err().to_string();
    assert!(stale.contains("it has the object"), "{stale}");
}

#[test]
fn a_saved_plan_holds_no_secret() {
    let mut world = shop();
    world.secret("vm.web", "user_data", "canary-7");
    world.settle();
    world.secret("vm.web", "user_data", "canary-8");
    let plan = world.plan();
    assert!(show(&plan).contains("user_data (secret) → (secret) !"));
    let text = SavedPlan::new(plan, "0.1.0").to_text().unwrap();
    assert!(!text.contains("canary"));
}

fn read(world: &World) -> (Wanted, Vec<&'static str>) {
    let (wanted, tables) = wanted(world.registry, &world.stack, &world.ledger, &world.options);
    (wanted, tables.into_iter().collect())
}

fn names<'w>(all: impl IntoIterator<Item = &'w Name>) -> Vec<&'w str> {
    all.into_iter().map(Name::as_str).collect()
}

#[test]
fn only_what_is_in_use_is_read() {
    let mut world = World::new();
    world.write("vm.web", json!({"template": "ubuntu-22.04", "plan": "small"}));
    let (wanted, tables) = read(&world);
    assert_eq!((names(&wanted.kinds), tables), (vec!["vm"], vec!["template", "vm"]));
    assert_eq!(wanted.projects, Some(vec!["account".into()]));
    assert!(wanted.owned.is_empty() && wanted.details.is_empty() && wanted.parents.is_empty());
    world.settle();
    world.set("vm.web", "console_require_mfa", json!(true));
    assert_eq!(read(&world).0.details, [world.key("vm.web")].into());
    world.remove("vm.web");
    let (wanted, _) = read(&world);
    assert_eq!(names(&wanted.kinds), ["vm", "volume"], "volumes may be left behind");
    assert_eq!(wanted.owned, [world.key("vm.web")]);
}

#[test]
fn children_are_read_under_their_parents_and_networks_over_the_whole_account() {
    let mut world = shop();
    world.settle();
    let (wanted, tables) = read(&world);
    assert_eq!(names(&wanted.kinds), ["backup_schedule", "database", "project", "vm", "volume", "vpc"]);
    assert_eq!(wanted.parents, [("database_user".into(), world.id("database.main"))].into());
    assert_eq!(wanted.projects, Some(vec![world.id("project.shop")]));
    assert_eq!(names(&wanted.everywhere), ["vpc"]);
    assert_eq!(tables, ["database", "template", "vm", "volume"]);
    assert_eq!(wanted.owned.len(), world.ledger.entries.len());
}

#[test]
fn an_adopted_id_and_a_projects_name_are_looked_up() {
    let mut world = World::new();
    world.write("vm.web", json!({"template": "ubuntu-22.04", "plan": "small"}));
    world.options.adopt.insert(Address::new("vm", "web"), "x1".into());
    world.options.project = Some("team".into());
    let (wanted, _) = read(&world);
    assert_eq!((names(&wanted.kinds), wanted.projects), (vec!["project", "vm"], None));
    assert_eq!(wanted.owned[0].id, "x1");
    world.stranger("project", "p1", json!({"name": "team"}));
    assert_eq!(world.plan().base.project.as_deref(), Some("p1"));
    world.options.project = Some("tame".into());
    assert!(world.plan().blocks.iter().any(|block| block.code == "project"));
}

#[test]
fn the_ledger_of_a_newer_version_is_not_guessed_at() {
    let mut world = World::new();
    world.write("vm.web", json!({"template": "ubuntu-22.04", "plan": "small"}));
    world.settle();
    let ledger: &mut Ledger = &mut world.ledger;
    ledger.entries.get_mut("vm.web").unwrap().kind = "teleporter".into();
    world.remove("vm.web");
    let plan = world.plan();
    assert_eq!(plan.blocks[0].code, "unknown_kind");
    assert!(plan.steps.is_empty());
}
