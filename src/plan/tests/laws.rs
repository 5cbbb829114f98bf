//! Laws over generated stacks: a plan, applied, leaves nothing to do; everything that is made can be
//! destroyed; the order in which things are written does not matter.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::show;
use super::world::{World, is_empty};
use crate::config::stack::model::Resource;
use crate::model::address::Address;
use crate::model::diagnostic::blocker_code;
use crate::model::schema::ReplaceOrder;

/// What a generated stack says: for each slot whether it is there, and a few choices.
#[derive(Debug, Clone)]
struct Choice {
    there: bool,
    size: u8,
    flavour: bool,
    link: Option<u8>,
    first: Option<ReplaceOrder>,
}

const SLOTS: usize = 3;
/// Kinds, in the order in which one may refer to another.
const KINDS: [&str; 5] = ["vpc", "vm", "volume", "backup_schedule", "database"];

fn choices() -> impl Strategy<Value = Vec<Choice>> {
    let order = prop_oneof![
        Just(None),
        Just(Some(ReplaceOrder::CreateFirst)),
        Just(Some(ReplaceOrder::DeleteFirst))
    ];
    let one = (any::<bool>(), 0u8..3, any::<bool>(), prop::option::of(0u8..3), order)
        .prop_map(|(there, size, flavour, link, first)| Choice { there, size, flavour, link, first });
    prop::collection::vec(one, SLOTS * KINDS.len())
}

/// Writes a stack. What can only grow is larger in a later generation.
fn write(world: &mut World, choices: &[Choice], generation: u8) {
    world.stack.resources.clear();
    world.write("project.shop", json!({}));
    world.stack.project = Some(Address::new("project", "shop"));
    // Networks pass from one address to the next, and become wider or narrower.
    let turn = usize::from(choices[0].size);
    let block =
        |choice: &Choice| if choice.flavour { "0.0/16".into() } else { format!("{}.0/24", choice.size) };
    let there = |kind: usize, slot: u8| choices[kind * SLOTS + usize::from(slot)].there;
    for (n, choice) in choices.iter().enumerate().filter(|(_, choice)| choice.there) {
        let (kind, slot) = (n / SLOTS, n % SLOTS);
        let link = |to: usize| match choice.link.filter(|slot| there(to, *slot)) {
            Some(slot) => json!(format!("${}.n{slot}", KINDS[to])),
            None => Json::Null,
        };
        let attributes = match KINDS[kind] {
            "vpc" => json!({"cidr": format!("10.{}.{}", (slot + turn) % SLOTS, block(choice))}),
            "vm" => json!({
                "template": if choice.flavour { "ubuntu-22.04" } else { "ubuntu-24.04" },
                "plan": if choice.size + generation > 0 { "large" } else { "small" },
                "vpc": link(0),
            }),
            "volume" => json!({"size": 10 + u32::from(choice.size + generation), "vm": link(1)}),
            "backup_schedule" if link(1) == Json::Null => continue,
            "backup_schedule" => json!({
                "vm": link(1),
                "frequency": "daily",
                "hour": choice.size,
            }),
            _ => json!({
                "plan": if choice.flavour { "pg-1" } else { "pg-4" },
                "storage_gb": 10 + u32::from(choice.size + generation),
                "vpc": link(0),
                "public_access": choice.flavour,
            }),
        };
        let address = format!("{}.n{slot}", KINDS[kind]);
        world.write(&address, attributes);
        world.lifecycle(&address, |lifecycle| lifecycle.replace = choice.first);
        if KINDS[kind] == "database" && choice.size > 0 {
            world.write(&format!("{address}.users.app"), json!({}));
        }
    }
    // A machine has one schedule of a frequency: configuration would refuse a second one.
    let mut seen = std::collections::BTreeSet::new();
    world.stack.resources.retain(|address, resource| {
        address.root() != "backup_schedule"
            || seen.insert(format!("{:?}", resource.attributes["vm"].expression))
    });
}

fn drift(world: &mut World, choices: &[Choice]) {
    let owned: Vec<Address> = world.ledger.entries.keys().cloned().collect();
    for (address, choice) in owned.iter().zip(choices.iter().rev()).filter(|(_, choice)| choice.there) {
        let address = address.as_str();
        match world.ledger.entries[address].kind.as_str() {
            "vm" => world.mutate(address, "plan", json!(2)),
            "volume" if choice.flavour => world.mutate(address, "vm", Json::Null),
            "volume" => world.mutate(address, "size", json!(10 + u32::from(choice.size))),
            "backup_schedule" if choice.flavour => world.vanish(address),
            "database" => world.mutate(address, "public_access", json!(choice.flavour)),
            _ => continue,
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn after_an_apply_the_plan_is_empty(before in choices(), after in choices()) {
        let mut world = World::new();
        world.options.allow_deletes = true;
        world.consents = true;
        write(&mut world, &before, 0);
        world.settle();
        drift(&mut world, &before);
        write(&mut world, &after, 3);
        let plan = world.plan();
        // Orders of replacement that the configuration sets can exclude each other: such a plan is blocked.
        prop_assume!(plan.blocks.iter().all(|block| block.code != blocker_code::CYCLE.code));
        prop_assert!(plan.blocks.is_empty(), "{}", show(&plan));
        world.apply(&plan);
        let next = world.plan();
        prop_assert!(is_empty(&next), "{}\nthen\n{}{:#?}", show(&plan), show(&next), next.bookkeeping);
    }

    #[test]
    fn every_created_stack_can_be_destroyed(choices in choices()) {
        let mut world = World::new();
        write(&mut world, &choices, 0);
        world.settle();
        world.options.destroy = true;
        world.settle();
        prop_assert!(world.live.is_empty());
        prop_assert!(world.ledger.entries.is_empty());
    }

    #[test]
    fn a_lost_ledger_is_rebuilt(choices in choices()) {
        let mut world = World::new();
        write(&mut world, &choices, 0);
        world.settle();
        let lost = std::mem::take(&mut world.ledger.entries);
        let recovery = world.recover();
        prop_assert!(recovery.ties.is_empty() && recovery.missing.is_empty(), "{recovery:#?}");
        world.remember(&recovery);
        for (address, entry) in &world.ledger.entries {
            prop_assert_eq!(&entry.current, &lost[address].current, "{}", address);
        }
        prop_assert_eq!(world.ledger.entries.len(), lost.len());
        let next = world.plan();
        prop_assert!(is_empty(&next), "{}\n{:#?}", show(&next), next.bookkeeping);
    }

    #[test]
    fn the_order_of_declarations_does_not_matter(choices in choices(), after in choices()) {
        let mut world = World::new();
        write(&mut world, &choices, 0);
        world.settle();
        write(&mut world, &after, 3);
        let plan = world.plan();
        world.stack.resources.reverse();
        prop_assert_eq!(world.plan(), plan.clone());
        let text = serde_json::to_string(&plan).unwrap();
        let read: super::Plan = serde_json::from_str(&text).unwrap();
        // A file holds no fingerprint: it is computed.
        prop_assert_eq!(super::Plan { fingerprint: plan.fingerprint.clone(), ..read }, plan);
    }
}

/// The volume moves from a machine that goes to one whose network waits until that machine has gone.
#[test]
fn a_moving_attachment_is_detached_before_a_network_is_recreated() {
    let mut world = World::new();
    world.options.allow_deletes = true;
    world.consents = true;
    let vm = json!({"template": "ubuntu-22.04", "plan": "small", "vpc": "$vpc.net"});
    world.write("vpc.net", json!({"cidr": "10.0.1.0/24"}));
    world.write("vm.old", vm.clone());
    world.write("volume.data", json!({"size": 10, "vm": "$vm.old"}));
    world.settle();
    world.stack.resources.clear();
    world.write("vpc.net", json!({"cidr": "10.0.0.0/24"}));
    world.lifecycle("vpc.net", |lifecycle| lifecycle.replace = Some(ReplaceOrder::DeleteFirst));
    world.write("vm.new", vm);
    world.write("volume.data", json!({"size": 13, "vm": "$vm.new"}));
    let plan = world.plan();
    assert!(plan.blocks.is_empty(), "{}", show(&plan));
    world.apply(&plan);
    assert!(is_empty(&world.plan()), "{}", show(&world.plan()));
}

#[test]
fn many_resources_are_planned_quickly() {
    let mut world = World::new();
    world.write("vm.n", json!({"template": "ubuntu-22.04", "plan": "small"}));
    let one = world.block("vm.n").clone();
    world.stack.resources = (0..10_000)
        .map(|n| Address::new("vm", &format!("n{n:05}")))
        .map(|address| (address.clone(), Resource { address, ..one.clone() }))
        .collect();
    let plan = world.plan();
    assert_eq!((plan.changes.len(), plan.steps.len()), (10_000, 10_000));
    assert!(plan.steps.iter().all(|step| step.after.is_empty()));
}
