//! Every field of a saved plan, changed by somebody who computes its digest anew: it is refused, or what runs is what
//! the configuration says all the same.

use serde_json::{Value as Json, json};

use super::shop;
use super::world::World;
use crate::plan::artifact::binding::{DEFAULT_LIFETIME, PlanBinding, SavedPlanOptions, ledger_digest};
use crate::plan::artifact::recheck::check_recomputed;
use crate::plan::artifact::saved_plan::{LiveCheckInputs, LocalCheckInputs, SavedPlan, StalePlan};
use crate::plan::model::change::Plan;

/// A world with something of everything that a plan holds: creation, update, replacement, deletion, drift.
fn world() -> World {
    let mut world = shop();
    world.secret("vm.web", "user_data", "canary-7");
    world.settle();
    world.ledger.applied_plans.clear();
    world.options.allow_deletes = true;
    world.set("vm.web", "template", json!("ubuntu-24.04")).set("volume.media", "size", json!(200));
    world.write("volume.more", json!({"size": 5}));
    world.remove("backup_schedule.nightly");
    world
}

fn save(world: &World) -> SavedPlan {
    let plan = world.plan();
    let binding = PlanBinding {
        expires: plan.base.made_at.checked_add(DEFAULT_LIFETIME).unwrap(),
        ledger: ledger_digest(&world.ledger).unwrap(),
        requested: SavedPlanOptions::from_options(&world.options),
        ..PlanBinding::default()
    };
    SavedPlan::new(plan, binding, "0.1.0").unwrap()
}

/// Returns the plan that an apply of a file would run, or why it does not.
fn run(world: &mut World, text: &str) -> Result<Plan, String> {
    let saved = SavedPlan::parse(text, world.registry).map_err(|error| error.to_string())?;
    let stale = |stale: StalePlan| stale.to_string();
    saved.check_time(world.now, "0.1.0").map_err(stale)?;
    let origin = LocalCheckInputs {
        stack: &world.stack.name,
        environment: &world.stack.environment.name,
        config: &world.stack.digest,
        ledger: &world.ledger,
        recipients: &[],
    };
    saved.check_origin(&origin).map_err(stale)?;
    world.options = saved.binding.to_options(saved.plan.base.destroy);
    let (snapshot, computed) = (world.snapshot(), world.plan());
    let facts =
        LiveCheckInputs { registry: world.registry, reads: "", ledger: &world.ledger, snapshot: &snapshot };
    saved.check_unchanged(&facts).map_err(stale)?;
    check_recomputed(&saved.plan, &computed).map_err(stale)?;
    saved.check_secrets(None).map_err(stale)?;
    Ok(computed)
}

/// Returns a file of these contents as somebody would write it who knows the form; `None` where it is no plan at all.
fn forge(file: &Json) -> Option<String> {
    let plan: Plan = serde_json::from_value(file["plan"].clone()).ok()?;
    let binding: PlanBinding = serde_json::from_value(file["binding"].clone()).ok()?;
    SavedPlan::new(plan, binding, file["stead_version"].as_str()?).ok()?.to_text().ok()
}

/// Returns the paths of all values in a document, containers included.
fn paths(value: &Json, at: &str, into: &mut Vec<String>) {
    match value {
        Json::Object(map) => map.iter().for_each(|(key, part)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            paths(part, &format!("{at}/{key}"), into);
        }),
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(n, part)| paths(part, &format!("{at}/{n}"), into));
        }
        _ => {}
    }
    into.push(at.to_owned());
}

/// Returns other values for one, some of which are of its form, too.
fn others(value: &Json) -> Vec<Json> {
    match value {
        Json::Null => vec![json!("x"), json!(1), json!(true)],
        Json::Bool(set) => vec![json!(!set)],
        Json::Number(number) => {
            let number = number.as_i64().unwrap_or_default();
            vec![json!(number + 1), json!(number - 1), json!(0)]
        }
        Json::String(text) => {
            let mut flipped = text.clone();
            if let Some(last) = flipped.pop() {
                flipped.push(if last == '1' { '2' } else { '1' });
            }
            let address = text.contains('.').then(|| json!("vm.other"));
            let words =
                ["create", "delete", "update", "drift", "config", "restart"].map(|word| json!(word));
            [json!(format!("{text}x")), json!(flipped), json!("")]
                .into_iter()
                .chain(address)
                .chain(words)
                .collect()
        }
        Json::Array(items) => {
            let doubled = [items.as_slice(), items.as_slice()].concat();
            let reversed: Vec<_> = items.iter().rev().cloned().collect();
            vec![json!([]), json!(doubled), json!(reversed)]
        }
        Json::Object(_) => vec![json!({}), Json::Null],
    }
}

#[test]
fn every_forged_field_is_rejected_or_has_no_effect() {
    let mut world = world();
    let reviewed = world.plan();
    let text = save(&world).to_text().unwrap();
    assert_eq!(run(&mut world, &text).as_ref(), Ok(&reviewed));
    let options = world.options.clone();
    let file: Json = serde_json::from_str(&text).unwrap();
    let mut all = Vec::new();
    paths(&file, "", &mut all);
    let (mut tried, mut without_effect) = (0, Vec::new());
    for path in all.iter().filter(|path| !path.is_empty()) {
        let before = file.pointer(path).unwrap().clone();
        let mut edits: Vec<Option<Json>> = others(&before).into_iter().map(Some).collect();
        edits.push(None);
        for edit in edits.into_iter().filter(|edit| edit.as_ref() != Some(&before)) {
            let mut file = file.clone();
            match &edit {
                Some(other) => *file.pointer_mut(path).unwrap() = other.clone(),
                None => remove(&mut file, path),
            }
            // As it stands, its digest is wrong; and then as it would be forged.
            assert!(run(&mut world, &(file.to_string() + "\n")).is_err(), "{path} {edit:?}");
            let Some(forged) = forge(&file) else { continue };
            if forged == text {
                continue;
            }
            tried += 1;
            world.options = options.clone();
            if let Ok(plan) = run(&mut world, &forged) {
                assert_eq!(plan, reviewed, "{path} {edit:?}");
                without_effect.push(path.clone());
            }
        }
    }
    assert!(tried > 500, "{tried}");
    without_effect.dedup();
    let free = |path: &&String| {
        let times = ["/plan/base/made_at", "/plan/base/nonce", "/plan/base/serial", "/binding/expires"];
        let counts = path.starts_with("/plan/requests") || *path == "/plan/cost/priced_at";
        // The computed plan's own policies count.
        let policies = path.starts_with("/plan/policy");
        // They are printed for a later comparison, and those of the computed plan are.
        let policies = policies || path.starts_with("/plan/digests");
        !(times.contains(&path.as_str()) || counts || policies || path.starts_with("/binding/requested"))
    };
    let bound: Vec<&String> = without_effect.iter().filter(free).collect();
    assert!(bound.iter().all(|path| path.ends_with("/file")), "{bound:?}");
}

fn remove(file: &mut Json, path: &str) {
    let (parent, key) = path.rsplit_once('/').unwrap();
    match file.pointer_mut(parent).unwrap() {
        Json::Object(map) => drop(map.remove(&key.replace("~1", "/").replace("~0", "~"))),
        Json::Array(items) => drop(items.remove(key.parse().unwrap())),
        other => panic!("{other}"),
    }
}
