//! What a plan shows and an apply refuses; and what is left out of a plan.

use serde_json::json;
use uuid::Uuid;

use super::invented::INVENTED;
use super::world::{World, is_empty};
use super::{shop, show};
use crate::config::stack::model::OnRemove;
use crate::ledger::state::entry::{AmbiguousIntent, Intent, IntentAction};
use crate::model::address::Address;
use crate::model::schema::ReplaceOrder;
use crate::model::source::{Source, Sources};
use crate::model::values::value::Value;
use crate::plan::model::block::Blocker;

fn codes(world: &World) -> Vec<String> {
    world.plan().blocks.iter().map(|block| block.code.to_string()).collect()
}

pub(super) fn axles(count: i64) -> World {
    let mut world = World::with(INVENTED);
    for number in 0..count {
        world.write(&format!("axle.a{number}"), json!({"number": number}));
    }
    world.settle();
    world
}

#[test]
fn protect_blocks_deletion_and_replacement_even_without_the_block() {
    let mut world = shop();
    world.lifecycle("vm.web", |lifecycle| lifecycle.protect = true);
    world.settle();
    world.set("vm.web", "template", json!("ubuntu-24.04"));
    assert_eq!(codes(&world), ["protected"]);
    world.set("vm.web", "template", json!("ubuntu-22.04"));
    world.options.destroy = true;
    assert_eq!(codes(&world), ["protected"]);
    world.options.destroy = false;
    world.consents = true;
    world.remove("vm.web").remove("backup_schedule.nightly").write("volume.media", json!({"size": 100}));
    let plan = world.plan();
    insta::assert_snapshot!(show(&plan), @"
    - vm.web config: its block is gone
    - backup_schedule.nightly config: its block is gone
    ~ volume.media upstream
        vm vm-3 → null
    0 volume.media detach after []
    1 backup_schedule.nightly delete backup_schedule-7 after []
    2 vm.web delete vm-3 after [0, 1]
    ! protected: vm.web is protected and would be deleted (its block is gone).
    ");
    assert!(plan.blocks[0].help.contains("protect: false"));
    world.write("vm.web", json!({"template": "ubuntu-22.04", "plan": "small", "vpc": "$vpc.main"}));
    let plan = world.settle();
    assert_eq!((plan.steps.len(), plan.bookkeeping.len()), (1, 2), "protection is lifted: {}", show(&plan));
}

#[test]
fn deletions_above_the_limit_need_allow_deletes() {
    for (count, gone, blocked) in [(10, 3, false), (10, 4, true), (4, 2, false), (3, 3, true)] {
        let mut world = axles(count);
        for number in 0..gone {
            world.remove(&format!("axle.a{number}"));
        }
        assert_eq!(codes(&world).contains(&"deletion_budget".to_owned()), blocked, "{gone} of {count}");
        world.options.allow_deletes = true;
        assert_eq!(codes(&world), [""; 0]);
        world.settle();
    }
}

#[test]
fn replace_never_blocks_every_replacement() {
    let mut world = World::with(INVENTED);
    world.write("vault.v", json!({"metal": "iron"})).write("axle.a", json!({"number": 1}));
    world.settle();
    world.set("vault.v", "metal", json!("gold"));
    assert_eq!(codes(&world), ["replace_never"]);
    world.lifecycle("vault.v", |lifecycle| lifecycle.replace = Some(ReplaceOrder::DeleteFirst));
    assert_eq!(codes(&world), ["holds_data"], "an order is no consent");
    world.options.replace = [Address::new("vault", "v")].into();
    assert!(show(&world.settle()).starts_with("-/+ vault.v"), "the block's word is stronger");
    world.lifecycle("axle.a", |lifecycle| lifecycle.replace = Some(ReplaceOrder::Never));
    world.set("axle.a", "metal", json!("gold"));
    assert_eq!(codes(&world), ["replace_never"]);
}

#[test]
fn an_existing_object_is_adopted_or_avoided() {
    let mut world = World::new();
    world.write("vm.web", json!({"template": "ubuntu-22.04", "plan": "small"}));
    world.stranger("vm", "x1", json!({"name": "web", "template": "t-22", "plan": 2, "status": "active"}));
    let plan = world.plan();
    assert_eq!(plan.blocks[0].code, "exists");
    assert!(plan.blocks[0].help.contains("--adopt vm.web=x1"), "{}", plan.blocks[0].help);
    world.options.adopt.insert(Address::new("vm", "web"), "x1".into());
    let plan = world.plan();
    insta::assert_snapshot!(show(&plan), @"
    < vm.web config: it exists already and is adopted
    ! grow_only: vm.web.plan's storage would change from 80 to 20; it can only grow.
    ");
    world.set("vm.web", "plan", json!("large"));
    let plan = world.settle();
    assert_eq!((plan.changes.len(), plan.steps.len(), plan.bookkeeping.len()), (1, 0, 1));
    world.options.adopt.clear();
    assert!(is_empty(&world.plan()));
}

#[test]
fn adopting_never_replaces() {
    let mut world = World::new();
    world.write("vm.web", json!({"template": "ubuntu-24.04", "plan": "small"}));
    world.stranger("vm", "x1", json!({"name": "web", "template": "t-22", "plan": 1, "status": "active"}));
    world.options.adopt.insert(Address::new("vm", "web"), "x1".into());
    insta::assert_snapshot!(show(&world.plan()), @r#"
    < vm.web config: it exists already and is adopted
        template ubuntu-22.04 → ubuntu-24.04 !
    ! adopt: Adopting vm.web would replace it at once: template cannot be changed in place.
    "#);
    world.options.adopt.insert(Address::new("vm", "web"), "x2".into());
    assert_eq!(codes(&world), ["adopt", "exists"]);
}

#[test]
fn one_object_has_one_address() {
    let mut world = World::new();
    world.write("vm.a", json!({"template": "ubuntu-22.04", "plan": "small"}));
    world.write("vm.b", json!({"template": "ubuntu-22.04", "plan": "small"}));
    world.stranger("vm", "x1", json!({"name": "a", "template": "t-22", "plan": 1, "status": "active"}));
    world.options.adopt.insert(Address::new("vm", "a"), "x1".into());
    world.options.adopt.insert(Address::new("vm", "b"), "x1".into());
    let plan = world.plan();
    let texts: Vec<_> = plan.blocks.iter().collect();
    assert_eq!(texts.len(), 1, "{:#?}", plan.blocks);
    assert_eq!(texts[0].text, "The vm x1 would become vm.a (--adopt) and vm.b (--adopt).");
    world.options.adopt.remove("vm.b");
    assert!(world.plan().blocks.is_empty(), "one of them may have it");
    // What a replacement left behind goes: nobody takes it over before.
    world.settle();
    let mut old = world.ledger.entries["vm.b"].current.clone().unwrap();
    old.id = "x2".into();
    world.stranger("vm", "x2", json!({"name": "b", "template": "t-22", "plan": 1, "status": "active"}));
    world.ledger.entries.get_mut("vm.b").unwrap().deposed.push(old);
    world.write("vm.c", json!({"template": "ubuntu-22.04", "plan": "small"}));
    world.options.adopt = [(Address::new("vm", "c"), "x2".into())].into();
    assert!(
        show(&world.plan()).contains("! adopt: x2 belongs to vm.b already."),
        "{}",
        show(&world.plan())
    );
}

#[test]
fn an_object_named_after_another_address_is_not_adopted() {
    let mut world = World::new();
    world.write("database.a", json!({"plan": "pg-1"})).write("database.b", json!({"plan": "pg-1"}));
    let live = json!({"name": "b", "plan": 101, "engine": "postgres", "status": "running"});
    world.stranger("database", "x1", live);
    world.options.adopt.insert(Address::new("database", "a"), "x1".into());
    let plan = world.plan();
    let texts: Vec<_> = plan.blocks.iter().map(|block| block.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "The database x1 has the name `b`, which database.b needs, and would be adopted as database.a (--adopt)."
        ]
    );
    world.options.adopt = [(Address::new("database", "b"), "x1".into())].into();
    assert_eq!(codes(&world), [""; 0]);
}

#[test]
fn an_empty_ledger_with_several_existing_objects_suggests_recover() {
    let help = |world: &World| -> Vec<bool> {
        let exists = |block: &&Blocker| block.code == "exists";
        let plan = world.plan();
        plan.blocks.iter().filter(exists).map(|block| block.help.contains("stead recover")).collect()
    };
    let mut world = shop();
    world.settle();
    let ledger = std::mem::take(&mut world.ledger.entries);
    assert_eq!(help(&world), [true], "the project, with all that is in it");
    // One that is there may be anybody's.
    world.ledger.entries = ledger;
    world.ledger.entries.remove("volume.media");
    assert_eq!(help(&world), [false]);
}

#[test]
fn data_is_deleted_only_with_its_own_approval() {
    let removed = || {
        let mut world = shop();
        world.settle();
        world.remove("volume.media");
        world
    };
    let mut world = removed();
    world.options.allow_deletes = true;
    let plan = world.plan();
    assert_eq!(codes(&world), ["holds_data"], "more deletions are no consent");
    assert!(plan.blocks[0].text.ends_with("No copy of it survives."), "{}", plan.blocks[0].text);
    assert!(plan.blocks[0].help.contains("removed"), "{}", plan.blocks[0].help);
    assert!(plan.blocks[0].help.contains("--delete-data volume.media"), "{}", plan.blocks[0].help);
    // A copy that is made and stays is named, with its age.
    let copy = json!({"name": "nightly", "volume": world.ledger.entries["volume.media"].current.clone().unwrap().id,
        "status": "available"});
    world.stranger("snapshot", "s1", copy);
    let text = world.plan().blocks[0].text.clone();
    assert!(text.ends_with("Remaining copies: the snapshot nightly (181 days old)."), "{text}");
    // Of no other object, and not while it is made.
    let pending = world.live.values_mut().find(|object| object.id == "s1").unwrap();
    pending.attributes.insert("status".into(), Value::text("pending"));
    assert!(world.plan().blocks[0].text.ends_with("No copy of it survives."));
    let before = world.plan().fingerprint;
    world.options.delete_data = [Address::new("volume", "media")].into();
    assert_eq!(codes(&world), [""; 0]);
    assert_ne!(world.plan().fingerprint, before);
    let agreed = world.plan();
    assert!(agreed.base.delete_data.contains("volume.media"), "it is a part of the plan");
    let mut world = removed();
    world.write("volume.media", json!({"size": 100, "vm": "$vm.web"}));
    world.lifecycle("volume.media", |lifecycle| lifecycle.on_remove = OnRemove::Delete);
    world.settle();
    world.remove("volume.media");
    assert_eq!(codes(&world), [""; 0], "the ledger remembers the word");
    // Protection is stronger than any consent.
    let mut world = removed();
    world.ledger.entries.get_mut("volume.media").unwrap().protect = true;
    world.options.delete_data = [Address::new("volume", "media")].into();
    assert_eq!(codes(&world), ["protected"]);
    // What was never ready holds nothing, and who destroys said enough.
    let mut world = removed();
    world.ledger.entries.get_mut("volume.media").unwrap().unfinished = true;
    assert_eq!(codes(&world), [""; 0]);
    let mut world = removed();
    world.options.destroy = true;
    assert_eq!(codes(&world), [""; 0]);
}

#[test]
fn a_vm_is_not_replaced_because_of_a_dependency_without_approval() {
    let mut world = shop();
    world.settle();
    world.set("vpc.main", "cidr", json!("10.8.0.0/16"));
    world.options.allow_deletes = true;
    assert_eq!(codes(&world), ["holds_data"]);
    assert_eq!(world.plan().blocks[0].address, Some(Address::new("vm", "web")));
    world.options.replace = [Address::new("vm", "web")].into();
    assert_eq!(codes(&world), [""; 0]);
    world.set("vpc.main", "cidr", json!("10.9.0.0/16"));
    let mut world = shop();
    world.settle();
    world.set("vm.web", "template", json!("ubuntu-24.04"));
    assert_eq!(codes(&world), [""; 0], "its own block says so");
}

#[test]
fn with_a_lost_ledger_nothing_is_destroyed_and_the_plan_reports_it() {
    let mut world = World::new();
    world.write("vm.web", json!({"template": "ubuntu-22.04", "plan": "small"}));
    let stranger = json!({"name": "web", "template": "t-22", "plan": 2, "status": "active"});
    world.stranger("vm", "x1", stranger.clone());
    world.options.destroy = true;
    assert_eq!(codes(&world), ["ledger_lost"]);
    world.options.excluded = [Address::new("vm", "web")].into();
    assert_eq!(codes(&world), ["ledger_lost"], "a part says nothing about the ledger");
    world.options.excluded.clear();
    world.live.clear();
    assert_eq!(codes(&world), [""; 0], "nothing was there before");
    world.options.destroy = false;
    world.settle();
    world.options.destroy = true;
    world.settle();
    assert!(world.ledger.entries.is_empty());
    world.stranger("vm", "x2", stranger);
    assert_eq!(codes(&world), [""; 0], "it had one, and destroyed it: the name is anybody's now");
}

#[test]
fn accept_drift_is_suggested_only_for_drifted_attributes() {
    let mut world = shop();
    world.settle();
    let help = |world: &World| world.plan().blocks[0].help.clone();
    let mut sources = Sources::default();
    sources.add(Source::new("shop.yaml", "volume: { media: { size: 50 } }\n"));
    world.stack.sources = sources;
    world.set("volume.media", "size", json!(50));
    assert!(help(&world).starts_with("Write 100; or"), "nothing drifted: {}", help(&world));
    world.mutate("volume.media", "size", json!(200));
    assert!(help(&world).starts_with("Write 200 (`stead drift --accept volume.media.size`"));
    let setting = world.block("volume.media").attributes.get_mut("size").unwrap();
    setting.set_by = Some(Box::new("vars.media_gb".into()));
    assert!(help(&world).starts_with("Write 200 where its value comes from, vars.media_gb; or"));
}

#[test]
fn an_unconfirmed_object_is_deleted_only_after_confirmation() {
    let mut world = axles(1);
    world.ledger.entries.get_mut("axle.a0").unwrap().current.as_mut().unwrap().provisional = true;
    assert!(is_empty(&world.plan()));
    world.set("axle.a0", "metal", json!("gold"));
    assert_eq!(codes(&world), ["provisional"]);
    let id = world.id("axle.a0");
    world.options.adopt.insert(Address::new("axle", "a0"), id);
    assert_eq!(codes(&world), [""; 0]);
    world.remove("axle.a0");
    let plan = world.plan();
    assert!(!format!("{:?}", plan.steps).contains("provisional: true"));
    assert_eq!((plan.blocks.len(), plan.steps.len()), (0, 1));
}

#[test]
fn an_ambiguous_intent_freezes_only_its_dependents() {
    let mut world = shop();
    world.settle();
    world.set("vm.web", "plan", json!("large")).set("volume.media", "size", json!(200));
    world.set("database.main", "plan", json!("pg-4"));
    let intent = Intent {
        op: Uuid::from_u128(5),
        address: Address::new("vm", "web"),
        kind: "vm".into(),
        parent: None,
        project: None,
        at: world.now,
        foreign: false,
        action: IntentAction::Update {
            id: world.id("vm.web"),
            call: "resize".into(),
            before: [].into(),
            target: [].into(),
        },
    };
    let question = AmbiguousIntent { intent, candidates: vec![], text: "Was vm.web resized?".to_owned() };
    world.ledger.questions.insert(question.intent.op, question);
    let plan = world.plan();
    insta::assert_snapshot!(show(&plan), @"
    ~ database.main config
        plan pg-1 → pg-4
    0 database.main scale after []
    ! question: Was vm.web resized?
    ");
    assert!(plan.blocks[0].only_freezes());
    world.remove("vpc.main").remove("vm.web").remove("backup_schedule.nightly");
    world.write("volume.media", json!({"size": 100}));
    world.write("database.main", json!({"plan": "pg-1", "engine": "postgres", "storage_gb": 40}));
    assert!(!show(&world.plan()).contains("vpc.main"), "held by what is frozen");
}

#[test]
fn an_unknown_catalog_name_gets_a_suggestion() {
    let mut world = World::new();
    world.write("vm.web", json!({"template": "ubuntu-22.04", "plan": "smal"}));
    let plan = world.plan();
    assert_eq!(plan.blocks[0].code, "catalog");
    assert!(plan.blocks[0].help.contains("`small`"), "{}", plan.blocks[0].help);
}

#[test]
fn a_smaller_disk_is_refused() {
    let mut world = World::new();
    world.write("vm.web", json!({"template": "ubuntu-22.04", "plan": "large"}));
    world.settle();
    world.set("vm.web", "plan", json!("flat"));
    insta::assert_snapshot!(show(&world.plan()), @"! grow_only: vm.web.plan's storage would change from 80 to 10; it can only grow.");
    world.set("vm.web", "template", json!("ubuntu-24.04"));
    assert_eq!(codes(&world), [""; 0], "a new machine may be smaller");
}

#[test]
fn the_services_rules_are_checked_against_live_objects_and_the_catalog() {
    let mut world = World::new();
    world.stranger("vpc", "v1", json!({"name": "other", "cidr": "10.0.0.0/8", "status": "active"}));
    world.stranger("vpc", "v2", json!({"name": "inner", "cidr": "10.1.0.0/16", "status": "active"}));
    world
        .write("vpc.a", json!({"cidr": "10.20.0.0/16"}))
        .write("vpc.b", json!({"cidr": "192.168.0.0/16"}))
        .write("database.wrong", json!({"plan": "my-1"}))
        .write("database.free", json!({"plan": "pg-free", "ha_enabled": true}))
        .write("database.fine", json!({"plan": "my-1", "engine": "mysql"}));
    insta::assert_snapshot!(show(&world.plan()).lines().filter(|l| l.starts_with('!')).collect::<Vec<_>>().join("\n"), @"
    ! rule: The free plan has no high availability. (database.free: pg-free with ha_enabled true)
    ! rule: A database's plan must be one of its engine's. (database.wrong: my-1 is of mysql, not postgres)
    ! rule: The networks of an account's VPCs must not overlap. (vpc.a: 10.20.0.0/16 overlaps 10.0.0.0/8 of v1)
    ");
    let mut world = World::with(INVENTED);
    world.write("axle.a", json!({"number": 1}));
    world.settle();
    world.stranger("axle", "x", json!({"name": "x", "number": 2}));
    for name in ["one", "two", "three"] {
        world.write(&format!("axle.a.drawers.{name}"), json!({}));
    }
    world.write("axle.b", json!({"number": 2}));
    insta::assert_snapshot!(show(&world.plan()).lines().filter(|l| l.starts_with('!')).collect::<Vec<_>>().join("\n"), @"
    ! rule: An axle has at most 2 drawers. (axle.a.drawers.two: there would be 3)
    ! rule: An axle's number is unique. (axle.b: x has the same number)
    ");
}

#[test]
fn a_wrong_account_or_target_is_an_error() {
    let mut world = shop();
    world.ledger.identity.account = Some("somebody".into());
    assert_eq!(codes(&world), ["account"]);
    world.ledger.identity.account = None;
    world.options.targets.insert(Address::new("vm", "wbe"));
    let plan = world.plan();
    assert_eq!(
        (plan.blocks[0].code.as_str(), plan.blocks[0].help.as_str()),
        ("target", "Did you mean vm.web?")
    );
}

#[test]
fn an_object_is_deleted_only_after_the_references_to_it_are_removed() {
    let mut world = shop();
    world.settle();
    world.remove("vpc.main").unset("vm.web", "vpc").unset("database.main", "vpc");
    insta::assert_snapshot!(show(&world.plan()), @r#"
    - vpc.main config: its block is gone
    ~ database.main upstream
        vpc vpc-2 → null
    0 database.main disconnect-vpc after []
    1 vpc.main delete vpc-2 after [0]
    ! held: vpc.main would be deleted, but vm.web.vpc still refers to it, although no block sets that attribute any more.
    "#);
}

#[test]
fn a_deposed_network_with_a_foreign_object_in_it_is_not_deleted() {
    let mut world = shop();
    world.settle();
    world.stranger("vpc", "old", json!({"name": "main", "cidr": "10.9.0.0/24", "status": "active"}));
    let mut old = world.ledger.entries["vpc.main"].current.clone().unwrap();
    old.id = "old".into();
    world.ledger.entries.get_mut("vpc.main").unwrap().deposed.push(old);
    assert_eq!(codes(&world), [""; 0]);
    world.stranger("vm", "theirs", json!({"name": "theirs", "status": "active", "vpc": "old"}));
    let plan = world.plan();
    assert_eq!(codes(&world), ["rule"]);
    assert!(plan.blocks[0].text.contains("the vm theirs uses it"), "{}", plan.blocks[0].text);
}

#[test]
fn targets_include_their_dependencies_and_exclusions_their_dependents() {
    let touched = |world: &World| -> Vec<String> {
        world.plan().changes.iter().map(|change| change.address.to_string()).collect()
    };
    let mut world = shop();
    world.options.targets.insert(Address::new("vm", "web"));
    assert_eq!(touched(&world), ["project.shop", "vm.web", "vpc.main"]);
    world.options.targets.clear();
    world.options.excluded.insert(Address::new("vm", "web"));
    assert_eq!(
        touched(&world),
        ["database.main", "database.main.users.reporting", "project.shop", "vpc.main"]
    );
    world.options.excluded.clear();
    world.settle();
    world.options.destroy = true;
    world.options.excluded.insert(Address::new("database", "main"));
    assert_eq!(touched(&world), ["vm.web", "volume.media", "backup_schedule.nightly"]);
    world.options.excluded.clear();
    world.options.targets.insert(Address::new("vm", "web"));
    assert_eq!(touched(&world), ["vm.web", "volume.media", "backup_schedule.nightly"]);
}
