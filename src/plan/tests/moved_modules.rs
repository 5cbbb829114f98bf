//! Moves of whole modules, of their instances, and of modules in modules.

use serde_json::json;
use uuid::Uuid;

use super::declared::{SPAN, address};
use super::show;
use super::world::{World, is_empty};
use crate::config::stack::declarations::RemovedAction;
use crate::ledger::state::entry::{AmbiguousIntent, Intent, IntentAction};

const MACHINE: &str = "vm.web";

impl World {
    /// Uses a module at a place.
    fn uses(&mut self, place: &str) -> &mut Self {
        self.stack.modules.insert(place.into(), SPAN);
        self
    }

    /// Gives everything in a module another place, and keeps the names.
    fn carry(&mut self, from: &str, to: &str) -> &mut Self {
        let inside: Vec<String> = self.stack.resources.keys().map(ToString::to_string).collect();
        for old in inside.iter().filter(|old| address(old).is_within(&address(from))) {
            self.rename(old, &format!("{to}{}", &old[from.len()..]));
        }
        let places: Vec<String> = self.stack.modules.keys().map(ToString::to_string).collect();
        for old in places.iter().filter(|old| address(old).is_within(&address(from))) {
            self.stack.modules.remove(old.as_str());
            self.uses(&format!("{to}{}", &old[from.len()..]));
        }
        self
    }
}

fn two_modules() -> World {
    let machine = |name: &str| json!({"template": "ubuntu-22.04", "plan": "small", "name": name});
    let mut world = World::new();
    for (module, cidr) in [("eu", "10.0.0.0/16"), ("us", "10.1.0.0/16")] {
        world.uses(module).uses(&format!("{module}.cache"));
        world.write(&format!("{module}.{MACHINE}"), machine(module));
        world.write(&format!("{module}.cache.{MACHINE}"), machine(&format!("{module}-cache")));
        world.write(&format!("{module}.vpc.main"), json!({"cidr": cidr, "name": module}));
    }
    world.settle();
    world
}

#[test]
fn a_moved_module_moves_all_resources_and_specific_entries_win() {
    let mut world = two_modules();
    let id = world.id("eu.cache.vm.web");
    world.carry("eu.cache", "europe.store").carry("eu", "europe");
    world.rename("europe.vpc.main", "vpc.main");
    world.moved("eu", "europe", false).moved("europe.cache", "europe.store", false);
    world.moved("eu.vpc.main", "vpc.main", false);
    insta::assert_snapshot!(show(&world.plan()), @"
    > europe.store.vm.web was eu.cache.vm.web config
    > europe.vm.web was eu.vm.web config
    > vpc.main was eu.vpc.main config
    ");
    let carried: Vec<_> =
        world.plan().changes.iter().map(|change| change.was.clone().unwrap().module).collect();
    assert_eq!(carried.iter().flatten().count(), 1, "{carried:?}");
    world.settle();
    assert_eq!(world.id("europe.store.vm.web"), id);
    assert!(is_empty(&world.plan()));
    assert_eq!(world.plan().notes.len(), 3, "each is done");
}

#[test]
fn a_module_gains_and_loses_for_each_keys() {
    let mut world = two_modules();
    world.carry("eu", "eu.a").moved("eu", "eu.a", false);
    insta::assert_snapshot!(show(&world.settle()), @"
    > eu.a.cache.vm.web was eu.cache.vm.web config
    > eu.a.vm.web was eu.vm.web config
    > eu.a.vpc.main was eu.vpc.main config
    ");
    world.stack.declarations.moved.clear();
    world.carry("eu.a", "eu").moved("eu.a", "eu", false);
    insta::assert_snapshot!(show(&world.settle()), @"
    > eu.cache.vm.web was eu.a.cache.vm.web config
    > eu.vm.web was eu.a.vm.web config
    > eu.vpc.main was eu.a.vpc.main config
    ");
    world.stack.declarations.moved.clear();
    world.carry("eu", "ue.a").moved("eu", "ue", true);
    insta::assert_snapshot!(blocked(&world), @"eu.cache.vm.web is in one module, and ue has `for_each`. Name the instance that it becomes: `to: ue.KEY`.");
    world.stack.declarations.moved.clear();
    world.moved("eu", "ue.a", false);
    world.settle();
    world.stack.declarations.moved.clear();
    world.carry("ue.a", "eu").moved("ue", "eu", false);
    insta::assert_snapshot!(blocked(&world), @"ue.a.cache.vm.web is in one of several modules, and eu is one module. Name the one that moves: `from: ue.a`.");
}

fn blocked(world: &World) -> String {
    let blocks = world.plan().blocks.into_iter().filter(|block| block.code == "moved");
    let told: Vec<String> = blocks.map(|block| format!("{} {}", block.text, block.help)).collect();
    told.join("\n")
}

#[test]
fn a_module_does_not_move_onto_another_one() {
    let mut world = two_modules();
    world.carry("eu", "x").moved("eu", "us", false);
    insta::assert_snapshot!(blocked(&world), @"eu cannot become us: us.cache.vm.web, us.vm.web, us.vpc.main have objects of their own already. Remove the `moved` entry; then forget the object that is not needed: `removed: [{ from: eu, action: forget }]` (or delete).");
}

#[test]
fn a_renamed_module_is_reported_once() {
    let mut world = two_modules();
    world.carry("eu", "europe").carry("us", "america");
    for resource in ["europe.vm.web", "america.vm.web"] {
        let name = resource.split('.').next().unwrap();
        world.set(resource, "plan", json!(if name == "europe" { "small" } else { "large" }));
    }
    world.set("europe.vm.web", "name", json!("europe-web"));
    let told = world.plan().notes.into_iter().map(|note| format!("{}: {}", note.text, note.help));
    insta::assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @"
    the deletion of all of eu and the creation of europe look like a rename: to keep the objects, write `moved: [{ from: eu, to: europe }]`, and in the block of europe `name: eu`, which keeps their names
    the deletion of all of us and the creation of america look like a rename: to keep the objects, write `moved: [{ from: us, to: america }]`
    ");
}

/// Returns a world in which volumes with their modules are applied.
fn volumes(places: &[impl AsRef<str>], volumes: &[impl AsRef<str>]) -> World {
    let mut world = World::new();
    world.volumes(places, volumes).settle();
    world
}

impl World {
    /// Declares these modules and volumes alone.
    fn volumes(&mut self, places: &[impl AsRef<str>], volumes: &[impl AsRef<str>]) -> &mut Self {
        self.stack.resources.clear();
        self.stack.modules.clear();
        self.stack.declarations.moved.clear();
        for place in places {
            self.uses(place.as_ref());
        }
        for volume in volumes.iter().map(AsRef::as_ref) {
            self.write(volume, json!({"size": 10, "name": volume.rsplit('.').next()}));
        }
        self
    }
}

#[test]
fn a_for_each_key_with_the_name_of_a_nested_module_is_rejected() {
    let text = "shop.a.volume.deep may be in shop.a already, or in the module of shop that has the same name as \
                the key. If it is in that module, write `moved: [{ from: shop.a.volume.deep, to: \
                shop.a.a.volume.deep }]`. If all of shop has its key, remove the entry.";
    let places = ["shop.a", "shop.a.a", "shop.b", "shop.b.a"];
    let after = ["shop.a.volume.own", "shop.a.a.volume.deep", "shop.b.volume.own", "shop.b.a.volume.deep"];
    let mut world = volumes(&["shop", "shop.a"], &["shop.volume.own", "shop.a.volume.deep"]);
    world.volumes(&places, &after).moved("shop", "shop.a", false);
    assert_eq!(blocked(&world), text);
    // The outer one has a volume of that name now, too.
    let both = [after.as_slice(), &["shop.a.volume.deep", "shop.b.volume.deep"]].concat();
    world.volumes(&places, &both).moved("shop", "shop.a", false);
    assert_eq!(blocked(&world), text);
    // What is said of the one volume is stronger.
    world.volumes(&places, &after).moved("shop", "shop.a", false);
    world.moved("shop.a.volume.deep", "shop.a.a.volume.deep", false);
    assert_eq!(blocked(&world), "");
    world.settle();
    assert!(is_empty(&world.plan()));
}

#[test]
fn a_completed_module_move_leaves_other_keys_unchanged() {
    let after = |world: &mut World| {
        world.volumes(&["shop.a", "shop.a.b"], &["shop.a.volume.own", "shop.a.b.volume.x"]);
        world.moved("shop", "shop.a", false);
    };
    let mut world = volumes(&["shop", "shop.b"], &["shop.volume.own", "shop.b.volume.x"]);
    after(&mut world);
    world.settle();
    let both = ["shop.a.volume.own", "shop.a.b.volume.x", "shop.b.volume.own", "shop.b.b.volume.x"];
    world.volumes(&["shop.a", "shop.a.b", "shop.b", "shop.b.b"], &both).moved("shop", "shop.a", false);
    world.settle();
    after(&mut world);
    world.removed("shop.b", RemovedAction::Forget);
    insta::assert_snapshot!(show(&world.plan()), @"
    x shop.b.b.volume.x config: it stays live, as `removed` specifies
    x shop.b.volume.own config: it stays live, as `removed` specifies
    ");
}

#[test]
fn a_nested_module_is_not_mistaken_for_a_for_each_key() {
    let mut world = volumes(&["shop", "shop.n"], &["shop.n.volume.v"]);
    world.volumes(&["shop2.k", "shop2.k.n"], &["shop2.k.n.volume.v"]).moved("shop", "shop2", true);
    let text = "shop.n.volume.v is in one module, and shop2 has `for_each`. Name the instance that it becomes: \
                `to: shop2.KEY`.";
    assert_eq!(blocked(&world), text);
    world.volumes(&["shop2.n", "shop2.n.n"], &["shop2.n.n.volume.v"]).moved("shop", "shop2", true);
    assert_eq!(blocked(&world), text);
    // A key that is gone is another matter.
    let mut world = volumes(&["shop.n", "shop.k"], &["shop.n.volume.v", "shop.k.volume.v"]);
    world.volumes(&["shop2.k"], &["shop2.k.volume.v"]).moved("shop", "shop2", true);
    assert_eq!(blocked(&world), "");
}

#[test]
fn a_module_without_for_each_receives_only_one_of_several_modules() {
    let mut world = volumes(&["shop.n", "shop.m"], &["shop.n.volume.v", "shop.m.volume.v"]);
    world.volumes(&["shop2"], &["shop2.volume.old"]).moved("shop", "shop2", false);
    assert_eq!(
        blocked(&world),
        "shop.m.volume.v is in one of several modules, and shop2 is one module. Name the one that moves: \
         `from: shop.m`."
    );
}

#[test]
fn many_renamed_modules_get_no_hint() {
    let write = |world: &mut World, front: &str, count: usize| {
        let places: Vec<String> = (0..count).map(|n| format!("{front}{n}")).collect();
        let all: Vec<String> = places.iter().map(|place| format!("{place}.volume.v")).collect();
        world.volumes(&places, &all);
    };
    let hints = |count: usize| {
        let mut world = World::new();
        write(&mut world, "old", count);
        world.settle();
        write(&mut world, "new", count);
        let notes = world.plan().notes;
        notes.iter().filter(|note| note.text.contains("the deletion of all of")).count()
    };
    assert_eq!([hints(1), hints(201)], [1, 0]);
}

#[test]
fn a_blocked_move_names_the_address_in_its_way() {
    let mut world = volumes(&["eu"], &["eu.volume.a", "eu.volume.b"]);
    let intent = Intent {
        op: Uuid::from_u128(5),
        address: address("eu.volume.b"),
        kind: "volume".into(),
        parent: None,
        project: None,
        at: world.now,
        foreign: false,
        action: IntentAction::Update {
            id: world.id("eu.volume.b"),
            call: "resize".into(),
            before: [].into(),
            target: [].into(),
        },
    };
    let question = AmbiguousIntent { intent, candidates: vec![], text: "Was it resized?".to_owned() };
    world.ledger.questions.insert(question.intent.op, question);
    world.volumes(&["us"], &["us.volume.a", "us.volume.b"]).moved("eu", "us", false);
    insta::assert_snapshot!(blocked(&world), @"eu.volume.b cannot be moved: a request for the address is open or ambiguous. Resolve it first, or apply without the move: `stead resolve` lists it.");
}
