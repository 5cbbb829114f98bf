//! What is due at once, beside the monthly cost: charged in advance, for the rest of a paid month, or not known.

use serde_json::{Value as Json, json};

use super::show;
use super::world::World;
use crate::model::address::Address;
use crate::model::values::value::Value;
use crate::plan::model::change::Plan;

/// Returns what is due for each change, and the sum with the number of changes without a known amount.
fn due(plan: &Plan) -> (Vec<String>, String) {
    let amount = |amount: Option<rust_decimal::Decimal>| {
        amount.map_or_else(|| "?".to_owned(), |amount| amount.to_string())
    };
    let lines = plan.changes.iter().map(|c| format!("{} {}", c.address, amount(c.cost.due_now))).collect();
    (lines, format!("{} and {} unknown", plan.cost.due.amount, plan.cost.due.unknown))
}

/// Applies a world's plan, and sets when an object was created: 100 hours and a minute before the next plan.
fn settle(world: &mut World, address: &str) {
    world.settle();
    let key = world.key(address);
    world.live.get_mut(&key).unwrap().created_at = Some("2026-06-27T07:59:00Z".into());
}

fn json_value(text: &str) -> Value {
    Value::from_json(&serde_json::from_str(text).unwrap())
}

fn world(address: &str, attributes: Json) -> World {
    let mut world = World::new();
    world.write(address, attributes);
    world
}

#[test]
fn a_subscription_is_charged_for_a_month_and_hourly_billing_for_nothing() {
    let mut world = world("vm.web", json!({"template": "ubuntu-24.04", "plan": "small"}));
    world.write("volume.v", json!({"size": 105, "billing_type": "subscription"}));
    let plan = world.plan();
    assert_eq!(due(&plan).0, ["vm.web 0", "volume.v 10.50"], "{}", show(&plan));
    assert_eq!(plan.cost.due.at, Some(world.now));
    assert_eq!(plan.cost.monthly_after.to_string(), "16.50", "it is not in the monthly amount");
    world.remove("volume.v");
    assert_eq!(world.plan().cost.due.at, None, "nothing is due");
}

#[test]
fn a_deleted_vm_is_refunded_by_full_hours() {
    let web = json!({"template": "ubuntu-24.04", "plan": "large", "billing_type": "subscription"});
    let mut world = world("vm.web", web);
    settle(&mut world, "vm.web");
    world.remove("vm.web");
    // 24.00 × 629 / 730: 100 hours and one minute are used.
    assert_eq!(due(&world.plan()).0, ["vm.web -20.68"]);
    world.now = "2026-07-27T17:59:00Z".parse().unwrap();
    assert_eq!(due(&world.plan()).0, ["vm.web -24.00"], "the second month has just begun");
}

#[test]
fn a_replacement_is_refunded_and_charged() {
    let web = json!({"template": "ubuntu-24.04", "plan": "large", "billing_type": "subscription"});
    let mut world = world("vm.web", web);
    settle(&mut world, "vm.web");
    world.set("vm.web", "template", json!("ubuntu-22.04"));
    let plan = world.plan();
    assert_eq!(due(&plan), (vec!["vm.web 3.32".to_owned()], "3.32 and 0 unknown".to_owned()));
    let fingerprint = plan.fingerprint.clone();
    world.now = "2026-07-02T12:00:00Z".parse().unwrap();
    let later = world.plan();
    assert_eq!(later.fingerprint, fingerprint, "a later hour voids no review");
    assert_ne!(later.cost.due, plan.cost.due);
    // The service charges by its own clock.
    world.now = "2026-07-20T12:00:00Z".parse().unwrap();
    world.options.policy.time = later.cost.due.at;
    assert_eq!(world.plan().cost.due, later.cost.due);
}

#[test]
fn a_change_for_which_the_service_shows_no_rule_is_counted() {
    let web = json!({"template": "ubuntu-24.04", "plan": "small", "billing_type": "subscription"});
    let mut world = world("vm.web", web);
    world.write("backup.b", json!({"vm": "$vm.web"}));
    let plan = world.plan();
    assert_eq!(due(&plan).1, "6.00 and 1 unknown", "the price of a backup is not known before it exists");
    settle(&mut world, "vm.web");
    world.set("vm.web", "plan", json!("large"));
    assert_eq!(due(&world.plan()), (vec!["vm.web ?".to_owned()], "0 and 1 unknown".to_owned()));
    let mut alone = self::world("vm.web", json!({"template": "ubuntu-24.04", "plan": "small"}));
    settle(&mut alone, "vm.web");
    let key = alone.key("vm.web");
    alone.live.get_mut(&key).unwrap().attributes.insert("billing_type".into(), json_value("[]"));
    alone.remove("vm.web");
    assert_eq!(due(&alone.plan()).0, ["vm.web ?"], "billing in another form is no rule");
}

#[test]
fn a_backup_is_refunded_as_its_vm_was_paid_and_not_as_the_new_one_is() {
    let web = json!({"template": "ubuntu-24.04", "plan": "small", "billing_type": "subscription"});
    let mut world = world("vm.web", web);
    world.write("backup.b", json!({"vm": "$vm.web"}));
    settle(&mut world, "vm.web");
    world.set("vm.web", "billing_type", json!("payg"));
    world.options.replace.insert(Address::parse("backup.b").unwrap());
    assert_eq!(due(&world.plan()).0, ["backup.b ?", "vm.web -5.17"]);
}

#[test]
fn a_larger_volume_is_charged_for_the_rest_of_the_month() {
    let mut world = world("volume.v", json!({"size": 100, "billing_type": "subscription"}));
    settle(&mut world, "volume.v");
    world.set("volume.v", "size", json!(200));
    // 10.00 × 629 / 730
    assert_eq!(due(&world.plan()).0, ["volume.v 8.62"]);
    world.remove("volume.v");
    assert_eq!(due(&world.plan()).0, ["volume.v ?"], "a refund is shown for VMs only");
    let key = world.key("volume.v");
    world.live.get_mut(&key).unwrap().created_at = Some("yesterday".into());
    world.write("volume.v", json!({"size": 200, "billing_type": "subscription"}));
    assert_eq!(due(&world.plan()).0, ["volume.v ?"], "the paid month has no known beginning");
}

#[test]
fn a_database_that_leaves_the_free_plan_pays_a_month() {
    let mut world = world("database.main", json!({"plan": "pg-free"}));
    settle(&mut world, "database.main");
    world.mutate("database.main", "is_free", json!(true));
    world.set("database.main", "plan", json!("pg-1"));
    assert_eq!(due(&world.plan()).0, ["database.main 15.00"]);
    // Since then the service shows a subscription, and not when it began.
    world.mutate("database.main", "is_free", json!(false));
    world.mutate("database.main", "plan", json!(11));
    world.mutate("database.main", "billing_type", json!("subscription"));
    world.set("database.main", "plan", json!("pg-4"));
    assert_eq!(due(&world.plan()).0, ["database.main ?"]);
}

#[test]
fn what_outlives_a_destroy_is_named_with_its_price_and_counted() {
    let mut world = world("vm.web", json!({"template": "ubuntu-24.04", "plan": "small"}));
    world.settle();
    let id = world.id("vm.web");
    world.stranger(
        "volume",
        "v9",
        json!({"name": "scratch", "size": 10, "vm": id.as_str(), "status": "in_use"}),
    );
    world.stranger("snapshot", "s9", json!({"name": "old", "size": 20, "vm": id.as_str()}));
    world.options.destroy = true;
    let plan = world.plan();
    let texts: Vec<&str> = plan.changes[0].effects.iter().map(|effect| effect.text.as_str()).collect();
    let stays =
        "volume scratch is detached and stays, live and billed, not managed by this stack, $1.00 a month";
    assert!(texts.contains(&stays), "{texts:?}");
    let is_named = plan.notes.iter().any(|note| {
        note.text.contains("snapshot old")
            && note.text.contains("$1.00 a month")
            && note.text.contains("billed")
    });
    assert!(is_named, "{:?}", plan.notes);
    let cost = (plan.cost.monthly_before.to_string(), plan.cost.monthly_after.to_string());
    assert_eq!(cost, ("8.00".to_owned(), "2.00".to_owned()));
    world.options.with_leftovers = true;
    assert_eq!(world.plan().cost.monthly_after.to_string(), "1.00", "only the volume is left");
}
