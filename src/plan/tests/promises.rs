//! What a plan never does unasked: empty what holds data, believe a 404 alone, overlook a late effect.

use serde_json::json;
use uuid::Uuid;

use super::invented::INVENTED;
use super::world::{self, World};
use super::{shop, show};
use crate::config::stack::model::{SecretSink, SinkUse};
use crate::ledger::journal::intent_candidates::WATCH_DURATION;
use crate::ledger::state::entry::{Intent, IntentAction, OwnedObject};
use crate::model::address::Address;
use crate::model::live::snapshot::Snapshot;
use crate::model::schema::{Kind, Registry};
use crate::model::source::{SourceId, Span};
use crate::plan::inputs::PlanInputs;
use crate::plan::model::change::{Action, Plan};
use crate::plan::pipeline::make_plan;

fn codes(plan: &Plan) -> Vec<&str> {
    plan.blocks.iter().map(|block| block.code.as_str()).collect()
}

fn plan_over(world: &World, snapshot: &Snapshot) -> Plan {
    make_plan(&PlanInputs {
        registry: world.registry,
        stack: &world.stack,
        ledger: &world.ledger,
        snapshot,
        catalog: &world.catalog,
        pinned: None,
        options: &world.options,
        now: world.now,
        nonce: Uuid::from_u128(9),
    })
}

#[test]
fn an_object_that_holds_data_is_replaced_only_with_its_own_approval() {
    let mut world = shop();
    world.settle();
    world.set("volume.media", "billing_type", json!("subscription"));
    let plan = world.plan();
    assert_eq!(codes(&plan), ["holds_data"], "{}", show(&plan));
    assert!(plan.blocks[0].help.contains("--replace volume.media"), "{}", plan.blocks[0].help);
    world.options.allow_deletes = true;
    assert_eq!(codes(&world.plan()), ["holds_data"], "the budget is another matter");
    world.options.replace = [Address::new("volume", "other")].into();
    assert_eq!(codes(&world.plan()), ["holds_data", "target"]);
    world.options.replace = [Address::new("volume", "media")].into();
    assert_eq!(codes(&world.plan()), [] as [&str; 0]);
    // One that never got as far as holding any needs no consent.
    world.options.replace.clear();
    world.ledger.entries.get_mut("volume.media").unwrap().unfinished = true;
    assert_eq!(codes(&world.plan()), [] as [&str; 0]);
}

#[test]
fn a_404_counts_only_while_the_project_of_the_object_is_visible() {
    let mut world = shop();
    world.settle();
    world.vanish("volume.media");
    let mut snapshot = world.snapshot();
    snapshot.listed.insert("project".into());
    assert_eq!(codes(&plan_over(&world, &snapshot)), [] as [&str; 0]);
    // The role lost the project: everything in it looks gone.
    let project = world.key("project.shop");
    world.ledger.entries.get_mut("volume.media").unwrap().current.as_mut().unwrap().project =
        Some(project.id.clone());
    snapshot.objects.remove(&project);
    let plan = plan_over(&world, &snapshot);
    assert!(codes(&plan).contains(&"unread"), "{}", show(&plan));
    assert!(plan.changes.iter().all(|change| change.address.as_str() != "volume.media"));
    // The project itself is proven gone, and with it what it held.
    snapshot.absent.insert(project);
    let plan = plan_over(&world, &snapshot);
    let change = plan.changes.iter().find(|change| change.address.as_str() == "volume.media");
    assert_eq!(change.map(|change| change.action), Some(Action::Create), "{}", show(&plan));
    // In an account that does not show itself nothing is believed.
    snapshot.account = None;
    assert!(codes(&plan_over(&world, &snapshot)).contains(&"unread"));
}

#[test]
fn a_late_effect_freezes_its_resource_and_lists_the_resolutions() {
    let mut world = World::with(INVENTED);
    world.write("axle.a", json!({"number": 1})).write("axle.b", json!({"number": 2}));
    world.settle();
    let entry = Box::new(world.ledger.entries["axle.a"].clone());
    let intent = Intent {
        op: Uuid::from_u128(0xabcd << 112),
        address: Address::new("axle", "a"),
        kind: "axle".into(),
        parent: None,
        project: None,
        at: world.now,
        foreign: false,
        action: IntentAction::Create {
            expected: [("number".into(), 9.into())].into(),
            baseline: Vec::new(),
            server_date: None,
            entry,
            deposes: false,
        },
    };
    world.ledger.watched.insert(intent.op, intent);
    assert_eq!(codes(&world.plan()), [] as [&str; 0]);
    world.stranger("axle", "late", json!({"name": "a", "number": 9}));
    world.set("axle.a", "metal", json!("tin")).set("axle.b", "metal", json!("tin"));
    let plan = world.plan();
    assert_eq!(codes(&plan), ["late_effect"], "{}", show(&plan));
    assert!(plan.blocks[0].only_freezes());
    assert_eq!(plan.blocks[0].help, "Resolve it: stead resolve abcd0000 surplus late | forget.");
    assert!(plan.changes.iter().all(|change| change.address.as_str() == "axle.b"), "{}", show(&plan));
    world.now += WATCH_DURATION + std::time::Duration::from_secs(1);
    assert_eq!(codes(&world.plan()), [] as [&str; 0], "it is not watched for ever");
}

/// One object too many, attached to what goes or stays: the service deletes nothing that is attached.
#[test]
fn a_deposed_object_is_detached_before_it_is_deleted() {
    let with_older = |vm: bool| {
        let mut world = shop();
        world.settle();
        let link = if vm { json!(world.id("vm.web").as_str()) } else { json!(null) };
        world.stranger("volume", "late", json!({"name": "media", "size": 100, "vm": link}));
        let entry = world.ledger.entries.get_mut("volume.media").unwrap();
        let current = entry.current.clone().unwrap();
        entry.deposed.push(OwnedObject { id: "late".into(), ..current });
        world
    };
    let mut world = with_older(true);
    let plan = world.plan();
    insta::assert_snapshot!(show(&plan), @"
    - volume.media unfinished: an earlier replacement did not delete the old object
    0 volume.media detach after []
    1 volume.media delete late after [0]
    ");
    assert_eq!(plan.changes[0].id.as_deref(), Some("late"));
    world.apply(&plan);
    assert!(world::is_empty(&world.plan()), "{}", show(&world.plan()));
    assert_eq!(with_older(false).plan().steps.len(), 1, "nothing to undo");
    // Everything goes: the machine comes after both.
    let mut world = with_older(true);
    world.options.destroy = true;
    world.settle();
    assert!(world.live.is_empty());
}

/// One network too many, or one that a replacement left half-way, lies where the new one is to be.
#[test]
fn a_deposed_network_is_deleted_before_its_range_is_reused() {
    for used in [false, true] {
        let mut world = shop();
        world.settle();
        world.stranger("vpc", "old", json!({"name": "main", "cidr": "10.9.0.0/24", "status": "active"}));
        let entry = world.ledger.entries.get_mut("vpc.main").unwrap();
        let current = entry.current.clone().unwrap();
        entry.deposed.push(OwnedObject { id: "old".into(), ..current });
        if used {
            world.mutate("vm.web", "vpc", json!("old"));
        }
        world.set("vpc.main", "cidr", json!("10.9.0.0/16"));
        world.options.allow_deletes = true;
        world.consents = true;
        let plan = world.plan();
        assert_eq!(codes(&plan), [] as [&str; 0], "{}", show(&plan));
        let shown = show(&plan);
        let at = |what: &str| shown.lines().position(|line| line.contains(what)).unwrap();
        assert!(at("vpc.main delete old") < at("vpc.main create"), "{shown}");
        // Only for what is in the older one does anything go before its replacement comes.
        assert_eq!(at("vm.web delete") < at("vm.web create"), used, "{shown}");
        assert_eq!(at("vpc.main delete vpc") < at("vpc.main create"), used, "{shown}");
        world.apply(&plan);
        assert!(world::is_empty(&world.plan()), "{}", show(&world.plan()));
    }
    // Beside one that lies elsewhere there is room.
    let mut world = shop();
    world.settle();
    world.stranger("vpc", "old", json!({"name": "main", "cidr": "10.7.0.0/24", "status": "active"}));
    let entry = world.ledger.entries.get_mut("vpc.main").unwrap();
    let current = entry.current.clone().unwrap();
    entry.deposed.push(OwnedObject { id: "old".into(), ..current });
    world.set("vpc.main", "cidr", json!("10.9.0.0/16"));
    let shown = show(&world.plan());
    let at = |what: &str| shown.lines().position(|line| line.contains(what)).unwrap();
    assert!(at("vpc.main create") < at("vm.web delete"), "{shown}");
    assert!(at("vm.web delete") < at("vpc.main delete old"), "{shown}");
}

#[test]
fn a_lost_secret_is_delivered_again_if_readable_and_blocks_otherwise() {
    let user = "database.main.users.reporting";
    let mut world = shop();
    world.settle();
    world.ledger.entries.get_mut(user).unwrap().secret_lost = true;
    assert!(world.plan().changes.is_empty(), "nobody asked for it");
    let sink = || Some(SecretSink::File("x".to_owned()));
    world.stack.resources[user].deliver_secret = sink().map(Box::new);
    insta::assert_snapshot!(show(&world.plan()), @"
    ~ database.main.users.reporting unfinished: its secret did not reach its sink, and is delivered again
    0 database.main.users.reporting  after []
    ");
    // A kind that shows it once and never again.
    let axle = INVENTED.kind("axle").unwrap();
    let sealed: &'static Kind = Box::leak(Box::new(Kind { shown_once: Some("token"), ..*axle }));
    let mut world = World::with(Registry { kinds: Box::leak(Box::new([sealed])), catalogs: &[] });
    world.write("axle.a", json!({"number": 1}));
    world.settle();
    world.ledger.entries.get_mut("axle.a").unwrap().secret_lost = true;
    world.stack.resources["axle.a"].deliver_secret = sink().map(Box::new);
    let plan = world.plan();
    assert!(plan.changes.is_empty(), "{}", show(&plan));
    assert_eq!((plan.blocks[0].code.as_str(), plan.steps.len()), ("secret_lost", 0));
    world.ledger.secrets.rotating.insert("axle.a".into());
    let plan = world.plan();
    assert_eq!((plan.changes[0].action, plan.blocks.len()), (Action::Replace, 0), "{}", show(&plan));
    assert!(plan.changes[0].reason.as_deref().unwrap().starts_with("its secret is rotated"));
    world.ledger.secrets.rotating.clear();
    // Where it is kept, nothing is made anew.
    world.options.undelivered.insert(Address::new("axle", "a"));
    assert_eq!(world.plan().changes[0].action, Action::Update);
}

/// Whoever changes the target between a review and its apply would receive the secret.
#[test]
fn where_a_secret_is_delivered_is_a_part_of_the_review() {
    let fingerprint = |target: &str| {
        let user = "database.main.users.reporting";
        let mut world = shop();
        world.settle();
        world.ledger.entries.get_mut(user).unwrap().secret_lost = true;
        let sink = SecretSink::File(target.to_owned());
        world.stack.resources[user].deliver_secret = Some(Box::new(sink.clone()));
        let span = Span { source: SourceId(0), start: 0, end: 0 };
        world.stack.sinks.push(SinkUse { address: user.into(), sink, span });
        let plan = world.plan();
        assert!(plan.notes.iter().any(|note| note.text.contains(target)), "{:?}", plan.notes);
        plan.fingerprint
    };
    assert_ne!(fingerprint("ours"), fingerprint("theirs"));
    assert_eq!(fingerprint("ours"), fingerprint("ours"));
}
