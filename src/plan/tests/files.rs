//! Saved plans, and what is to be read before a plan.

use serde_json::json;

use super::world::World;
use super::{shop, show};
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::expression::Expression;
use crate::model::live::snapshot::RefreshRequest;
use crate::model::values::secret::{FingerprintKey, Secret};
use crate::model::values::value::Value;
use crate::plan::artifact::binding::{
    DEFAULT_LIFETIME, NewLedgerKey, PlanBinding, SavedPlanOptions, ledger_digest, secrets_digest,
};
use crate::plan::artifact::recheck::check_recomputed;
use crate::plan::artifact::saved_plan::{
    LiveCheckInputs, LocalCheckInputs, SavedPlan, SavedPlanError, StalePlan,
};
use crate::plan::model::change::{Action, Plan};
use crate::plan::model::step::Operation;
use crate::plan::pipeline::refresh_request;

fn check(world: &World, saved: &SavedPlan) -> Result<(), StalePlan> {
    saved.check_origin(&LocalCheckInputs {
        stack: &world.stack.name,
        environment: &world.stack.environment.name,
        config: &world.stack.digest,
        ledger: &world.ledger,
        recipients: &[],
    })?;
    let snapshot = world.snapshot();
    saved.check_unchanged(&LiveCheckInputs {
        registry: world.registry,
        reads: "",
        ledger: &world.ledger,
        snapshot: &snapshot,
    })
}

fn save(world: &World) -> SavedPlan {
    let plan = world.plan();
    let binding = PlanBinding {
        expires: plan.base.made_at.checked_add(DEFAULT_LIFETIME).unwrap(),
        ledger: ledger_digest(&world.ledger).unwrap(),
        requested: SavedPlanOptions::from_options(&world.options),
        recipients: Vec::new(),
        unborn: None,
    };
    SavedPlan::new(plan, binding, "0.1.0").unwrap()
}

fn changed() -> (World, SavedPlan) {
    let mut world = shop();
    world.settle();
    world.ledger.applied_plans.clear();
    world.set("vm.web", "template", json!("ubuntu-24.04")).set("volume.media", "size", json!(200));
    let saved = save(&world);
    assert_eq!(check(&world, &saved), Ok(()));
    (world, saved)
}

#[test]
fn a_saved_plan_is_read_completely_or_rejected() {
    let (world, saved) = changed();
    let text = saved.to_text().unwrap();
    let parse = |text: &str| SavedPlan::parse(text, world.registry);
    let read = parse(&text).unwrap();
    assert_eq!(read, saved);
    assert_eq!(read.to_text().unwrap(), text);
    assert!(
        !text.contains(&read.plan.fingerprint),
        "the fingerprint is computed, and is no claim of the file"
    );
    let tampered = text.replace("t-24", "t-66");
    assert!(matches!(parse(&tampered), Err(SavedPlanError::Tampered)));
    for other in [
        text.replacen('{', "{ ", 1),
        format!("{text} "),
        text.replacen("\"plan\":{", "\"plan\":{\"x\":1,", 1),
    ] {
        assert!(matches!(parse(&other), Err(SavedPlanError::Tampered)), "{other}");
    }
    for form in [1, 3] {
        let other = text.replace("\"schema\":2", &format!("\"schema\":{form}"));
        assert!(
            matches!(parse(&other), Err(SavedPlanError::UnsupportedVersion { found }) if found == form)
        );
        assert!(parse(&other).unwrap_err().to_string().contains("plan again"));
    }
    for text in ["", "{}", "[2]", "{\"schema\":2}"] {
        assert!(matches!(parse(text), Err(SavedPlanError::Malformed(_))), "{text}");
    }
}

/// Shows another value of an attribute.
fn show_as(plan: &mut Plan, path: &str, value: &Value) {
    for one in plan.changes.iter_mut().flat_map(|change| &mut change.attributes) {
        if one.path == path {
            one.after = value.clone();
        }
    }
}

/// Changes a plan as who writes its file can.
type Edit<'e> = &'e dyn Fn(&mut Plan);

/// Who edits a file can compute its digest anew: what is shown must still be what is run.
#[test]
fn a_plan_whose_changes_differ_from_its_steps_is_rejected() {
    let (world, saved) = changed();
    let read = |edit: &dyn Fn(&mut Plan)| {
        let mut plan = saved.plan.clone();
        edit(&mut plan);
        let forged = SavedPlan::new(plan, saved.binding.clone(), "0.1.0").unwrap();
        SavedPlan::parse(&forged.to_text().unwrap(), world.registry)
    };
    let size = |plan: &mut Plan, value: i64| {
        let step = plan.steps.iter_mut().find(|step| step.address.as_str() == "volume.media").unwrap();
        let Operation::Update { calls, .. } = &mut step.operation else { panic!("{step:?}") };
        calls[0].attributes.get_mut("size").unwrap().1 = Expression::Value(value.into());
    };
    let edits: [(&str, Edit<'_>); 8] = [
        ("volume.media.size is not what its step says", &|plan| size(plan, 999)),
        ("volume.media.size is not what its step says", &|plan| show_as(plan, "size", &999.into())),
        ("belongs to no change", &|plan| plan.changes.truncate(1)),
        ("step 0 does not belong to", &|plan| plan.steps[0].address = Address::new("vm", "other")),
        ("belongs to two changes", &|plan| {
            let steps = plan.changes[0].steps.clone();
            plan.changes[1].steps.extend(steps);
        }),
        ("do not match the action", &|plan| {
            plan.changes[0].action = Action::Forget;
        }),
        ("the critical path", &|plan| plan.critical_path.seconds += 1),
        ("the duration of", &|plan| plan.changes[0].seconds += 1),
    ];
    for (expected, edit) in edits {
        let error = read(edit).unwrap_err().to_string();
        assert!(error.contains(expected) && error.ends_with("plan again"), "{expected}: {error}");
    }
    // What is shown is a part of the fingerprint: the name of a catalog entry, for which a step has an id, too.
    let renamed = read(&|plan| show_as(plan, "template", &"ubuntu-99.04".into()));
    assert_ne!(renamed.unwrap().plan.fingerprint, saved.plan.fingerprint);
    // An edit that follows through everything is another plan, with another fingerprint, and none that is computed.
    let forged = read(&|plan| {
        size(plan, 999);
        show_as(plan, "size", &999.into());
    })
    .unwrap();
    assert_ne!(forged.plan.fingerprint, saved.plan.fingerprint);
    let stale = check_recomputed(&forged.plan, &world.plan()).unwrap_err().to_string();
    assert!(stale.contains("differs from the saved one: volume.media"), "{stale}");
    assert_eq!(check_recomputed(&saved.plan, &world.plan()), Ok(()));
}

#[test]
fn a_saved_plan_expires_and_requires_the_same_version() {
    let (_, saved) = changed();
    let (made, expires) = (saved.plan.base.made_at, saved.binding.expires);
    assert_eq!(saved.check_time(made, "0.1.0"), Ok(()));
    let just_before = expires.checked_sub(jiff::SignedDuration::from_nanos(1)).unwrap();
    assert_eq!(saved.check_time(just_before, "0.1.0"), Ok(()));
    assert_eq!(saved.check_time(expires, "0.1.0"), Err(StalePlan::Expired { at: expires }));
    assert!(matches!(saved.check_time(made, "0.1.1"), Err(StalePlan::SteadVersion { .. })));
    for hours in [-1, 0, 31 * 24] {
        let mut saved = saved.clone();
        saved.binding.expires = made.checked_add(jiff::SignedDuration::from_hours(hours)).unwrap();
        assert!(matches!(saved.check_time(made, "0.1.0"), Err(StalePlan::InvalidTimes { .. })), "{hours}");
    }
}

#[test]
fn without_a_ledger_the_key_of_the_plan_file_binds_objects_and_secrets() {
    let named = |world: &mut World, text: &str| {
        world.secret("vm.web", "user_data", text);
        let secret = Value::Secret(Secret::new(text).named_after("boot"));
        let setting = world.block("vm.web").attributes.get_mut("user_data").unwrap();
        setting.expression = Expression::Value(secret);
    };
    let mut world = shop();
    named(&mut world, "canary-7");
    world.ledger = world.ledger.clone().for_plans();
    world.stranger("volume", "old", json!({"name": "media", "size": 100, "status": "available"}));
    world.options.adopt.insert(Address::new("volume", "media"), "old".into());
    let images = |world: &World| world.plan().base.objects;
    assert!(images(&world).iter().all(|image| image.attributes.is_empty()), "without a key there are none");
    let key = FingerprintKey([5; 32]);
    world.options.image_key = Some(key.clone());
    let values = |world: &World| secrets_digest(&world.stack, &key).unwrap();
    let mut saved = save(&world);
    saved.binding.unborn = Some(NewLedgerKey { key: key.clone(), secrets: values(&world) });
    assert_eq!(check(&world, &saved), Ok(()));
    assert!(!images(&world)[0].attributes.is_empty());
    assert_eq!(saved.check_secrets(Some(&values(&world))), Ok(()));
    assert_eq!(saved.check_secrets(None), Err(StalePlan::SecretChanged));
    let before = world.plan();
    named(&mut world, "canary-8");
    assert_eq!(world.plan().fingerprint, before.fingerprint, "nothing else tells them apart");
    assert_eq!(saved.check_secrets(Some(&values(&world))), Err(StalePlan::SecretChanged));
    let stale = |world: &World| check(world, &saved).unwrap_err().to_string();
    let old = world.live.values_mut().find(|object| object.id == "old").unwrap();
    old.attributes.insert("size".into(), 150.into());
    assert!(
        stale(&world).contains("volume.media changed since the plan was made: size"),
        "{}",
        stale(&world)
    );
}

#[test]
fn a_saved_plan_is_stale_when_any_of_its_inputs_has_changed() {
    type WorldChange = fn(&mut World);
    let cases: &[(&str, WorldChange)] = &[
        ("for stack shop, and this is other", |w| w.stack.name = "other".into()),
        ("for environment prod, and this is dev", |w| w.stack.environment.name = "dev".into()),
        ("from another ledger", |w| w.ledger.identity.lineage = uuid::Uuid::from_u128(2)),
        ("the ledger is older than the plan", |w| w.ledger.serial = 0),
        ("the ledger changed since the plan was made", |w| {
            w.ledger.entries.get_mut("database.main").unwrap().protect ^= true;
        }),
        ("the configuration, or a variable", |w| w.stack.digest = "1".repeat(64)),
        ("applied already", |w| {
            w.ledger.applied_plans.insert(uuid::Uuid::from_u128(9));
        }),
        ("volume.media changed since the plan was made: size has another value", |w| {
            w.mutate("volume.media", "size", json!(150));
        }),
        ("vm.web changed since the plan was made: the object is gone", |w| {
            w.vanish("vm.web");
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
fn objects_that_a_saved_plan_does_not_affect_may_change() {
    let (mut world, saved) = changed();
    world.mutate("database.main", "plan", json!(12)).mutate("vm.web", "cpu", json!(64));
    world.stranger("vm", "new", json!({"name": "other", "status": "active"}));
    world.ledger.serial += 5;
    assert_eq!(check(&world, &saved), Ok(()));
}

#[test]
fn an_object_created_late_by_an_earlier_apply_is_not_duplicated() {
    let mut world = shop();
    let saved = save(&world);
    assert_eq!(check(&world, &saved), Ok(()));
    world.settle();
    world.ledger.applied_plans.clear();
    assert_eq!(check(&world, &saved), Err(StalePlan::LedgerChanged));
    let snapshot = world.snapshot();
    let facts =
        LiveCheckInputs { registry: world.registry, reads: "", ledger: &world.ledger, snapshot: &snapshot };
    let stale = saved.check_unchanged(&facts).unwrap_err().to_string();
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
    assert!(!save(&world).to_text().unwrap().contains("canary"));
}

fn read(world: &World) -> (RefreshRequest, Vec<&'static str>) {
    let (wanted, tables) = refresh_request(world.registry, &world.stack, &world.ledger, &world.options);
    (wanted, tables.into_iter().collect())
}

fn names<'w>(all: impl IntoIterator<Item = &'w Name>) -> Vec<&'w str> {
    all.into_iter().map(Name::as_str).collect()
}

#[test]
fn only_the_kinds_and_tables_in_use_are_read() {
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
    assert_eq!(
        names(&wanted.kinds),
        ["backup", "snapshot", "vm", "volume"],
        "volumes may be left behind, and copies of its disk survive"
    );
    assert_eq!(wanted.owned, [world.key("vm.web")]);
}

#[test]
fn children_are_listed_under_their_parents_and_networks_account_wide() {
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
fn an_adopted_id_and_a_project_name_are_read() {
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
fn a_ledger_of_a_newer_version_is_rejected() {
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
