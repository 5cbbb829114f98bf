//! Declarations in a plan: moves, imports and removals, their ends, and what looks like a rename.

use std::sync::Arc;

use serde_json::json;

use super::world::{World, is_empty};
use super::{shop, show};
use crate::config::stack::declarations::{
    Declarations, ImportDeclaration, MovedDeclaration, RemovedAction, RemovedDeclaration,
};
use crate::config::stack::model::{ExclusionReason, OnRemove};
use crate::config::stack::module_path;
use crate::model::address::{Address, Name};
use crate::model::source::{SourceId, Span};
use crate::plan::model::change::Change;

pub(super) const SPAN: Span = Span { source: SourceId(0), start: 0, end: 5 };

pub(super) fn address(text: &str) -> Address {
    Address::parse_path(text).unwrap()
}

impl World {
    /// Declares a move, of a whole block with `for_each` or of one resource.
    pub(super) fn moved(&mut self, from: &str, to: &str, whole: bool) -> &mut Self {
        let kind = module_path::kind_at(&self.registry, &address(from));
        let module = "".into();
        let moved =
            MovedDeclaration { from: address(from), to: address(to), kind, whole, module, span: SPAN };
        self.stack.declarations.moved.push(moved);
        self
    }

    fn import(&mut self, to: &str, id: &str) -> &mut Self {
        self.stack.declarations.imports.push(ImportDeclaration {
            to: address(to),
            id: id.into(),
            span: SPAN,
        });
        self
    }

    pub(super) fn removed(&mut self, from: &str, action: RemovedAction) -> &mut Self {
        self.stack.declarations.removed.push(RemovedDeclaration {
            from: address(from),
            action,
            module: Name::default(),
            span: SPAN,
        });
        self
    }

    /// Gives a block another name, and keeps the object's.
    pub(super) fn rename(&mut self, from: &str, to: &str) -> &mut Self {
        let mut block = self.stack.resources.shift_remove(from).unwrap();
        block.address = address(to);
        block.parent = block.parent.map(|parent| address(&parent.as_str().replace(from, to)));
        self.stack.resources.insert(block.address.clone(), block);
        self.stack.resources.sort_keys();
        self
    }
}

#[test]
fn moving_a_parent_moves_only_its_children() {
    let mut world = shop();
    world.settle();
    let ids = (world.id("database.main"), world.id("database.main.users.reporting"));
    world.rename("database.main", "database.primary");
    world.rename("database.main.users.reporting", "database.primary.users.reporting");
    world.block("database.primary.users.reporting").parent = Some(address("database.primary"));
    world.moved("database.old", "database.main", false).moved("database.main", "database.primary", false);
    insta::assert_snapshot!(show(&world.plan()), @r#"
    > database.primary was database.main config
    > database.primary.users.reporting was database.main.users.reporting config
    "#);
    let fingerprint = world.plan().fingerprint;
    world.settle();
    assert_eq!((world.id("database.primary"), world.id("database.primary.users.reporting")), ids);
    let entry = &world.ledger.entries["database.primary.users.reporting"];
    assert_eq!(entry.parent, Some(address("database.primary")), "what it stands in is moved, too");
    let done = world.plan();
    assert!(is_empty(&done));
    assert_ne!(fingerprint, done.fingerprint, "a move is decided");
    assert_eq!(done.notes[0].text, "move of database.old to database.main has nothing left to do");
    assert_eq!(done.notes[1].text, "move of database.main to database.primary has nothing left to do");
}

#[test]
fn instances_move_as_one_block_and_get_and_lose_their_keys() {
    let machine = json!({"template": "ubuntu-22.04", "plan": "small", "name": "web"});
    let mut world = World::new();
    world.write("vm.web.a", machine.clone()).write("vm.web.b", machine.clone());
    world.settle();
    world.rename("vm.web.a", "vm.www.a").rename("vm.web.b", "vm.www.b").moved("vm.web", "vm.www", true);
    insta::assert_snapshot!(show(&world.settle()), @r#"
    > vm.www.a was vm.web.a config
    > vm.www.b was vm.web.b config
    "#);
    world.stack.declarations.moved.clear();
    world.rename("vm.www.a", "vm.one").remove("vm.www.b").moved("vm.www.a", "vm.one", false);
    world.removed("vm.www.b", RemovedAction::Forget);
    insta::assert_snapshot!(show(&world.settle()), @r#"
    > vm.one was vm.www.a config
    x vm.www.b config: it stays live, as `removed` specifies
    "#);
    world.stack.declarations = Declarations::default();
    world.rename("vm.one", "vm.one.x").write("vm.one.y", machine).set("vm.one.y", "name", json!("y"));
    world.moved("vm.one", "vm.one.x", false);
    insta::assert_snapshot!(show(&world.settle()), @r#"
    + vm.one.y config
    > vm.one.x was vm.one config
    0 vm.one.y create after []
    "#);
    world.stack.declarations.moved.clear();
    world.consents = true;
    world.rename("vm.one.x", "vm.one").remove("vm.one.y").moved("vm.one.x", "vm.one", false);
    insta::assert_snapshot!(show(&world.settle()), @r#"
    - vm.one.y config: its block is gone
    > vm.one was vm.one.x config
    0 vm.one.y delete vm-3 after []
    "#);
}

#[test]
fn a_moved_resource_can_be_changed_and_deleted() {
    let mut world = shop();
    world.settle();
    world.rename("vpc.main", "vpc.core").moved("vpc.main", "vpc.core", false);
    for user in ["vm.web", "database.main"] {
        world.set(user, "vpc", json!("$vpc.core"));
    }
    world.rename("vm.web", "vm.www").moved("vm.web", "vm.www", false);
    world.set("vm.www", "template", json!("ubuntu-24.04")).set("volume.media", "vm", json!("$vm.www"));
    world.set("backup_schedule.nightly", "vm", json!("$vm.www"));
    insta::assert_snapshot!(show(&world.plan()), @"
    +/- vm.www was vm.web config: the API cannot change template in place
        template ubuntu-22.04 → ubuntu-24.04 !
    +/- backup_schedule.nightly upstream: it is deleted together with the old vm.www
        vm vm-3 → (known once vm.www is applied) !
    ~ volume.media upstream
        vm vm-3 → (known once vm.www is applied)
    > vpc.core was vpc.main config
    0 vm.www create after []
    1 volume.media detach + attach after [0]
    2 backup_schedule.nightly create after [0]
    3 backup_schedule.nightly delete backup_schedule-7 after [2]
    4 vm.www delete vm-3 after [0, 1, 3]
    ");
    world.settle();
}

#[test]
fn an_impossible_move_is_an_error() {
    let machine = json!({"template": "ubuntu-22.04", "plan": "small"});
    let mut world = World::new();
    for name in ["vm.a", "vm.b", "vm.c.x"] {
        world.write(name, machine.clone());
    }
    world.settle();
    world.consents = true;
    world.remove("vm.a").remove("vm.c.x").moved("vm.a", "vm.b", false);
    insta::assert_snapshot!(world.plan().blocks[0].text, @r#"
    vm.a cannot become vm.b: that has an object of its own already.
    "#);
    world.stack.declarations.moved.clear();
    world.write("vm.d", machine.clone()).moved("vm.c", "vm.d", false);
    insta::assert_snapshot!(world.plan().blocks[0].text, @r#"
    vm.c.x is one of several, and vm.d is one resource.
    "#);
    world.stack.declarations.moved.clear();
    world.write("vm.e.x", machine).moved("vm.a", "vm.e", true);
    insta::assert_snapshot!(world.plan().blocks[0].text, @r#"
    vm.a is one resource, and vm.e has `for_each`.
    "#);
}

#[test]
fn an_import_adopts_once() {
    let mut world = World::new();
    world.write("vm.web", json!({"template": "ubuntu-22.04", "plan": "large"}));
    world.stranger("vm", "x1", json!({"name": "web", "template": "t-22", "plan": 2, "status": "active"}));
    world.import("vm.web", "x1");
    insta::assert_snapshot!(show(&world.settle()), @r#"
    < vm.web config: it exists already and is adopted
    "#);
    let next = world.plan();
    assert_eq!(next.notes.len(), 1, "{:?}", next.notes);
    assert_eq!(next.notes[0].text, "import of vm.web has nothing left to do");
    world.write("vm.other", json!({"template": "ubuntu-22.04", "plan": "large"})).import("vm.other", "x1");
    insta::assert_snapshot!(show(&world.plan()), @r#"
    < vm.other config: it exists already and is adopted
        name web → other !
    i import of vm.web has nothing left to do | stead fmt --prune removes it
    ! adopt: Adopting vm.other would replace it at once: name cannot be changed in place.
    ! adopt: x1 belongs to vm.web already.
    "#);
    world.stack.declarations.imports.truncate(1);
    world.stack.declarations.imports[0].id = "x2".into();
    world.remove("vm.other");
    insta::assert_snapshot!(show(&world.plan()), @r#"
    ! adopt: vm.web owns x1 already.
    "#);
}

#[test]
fn an_object_of_another_ledger_is_not_adopted() {
    let mut world = World::new();
    world.write("vm.web", json!({"template": "ubuntu-22.04", "plan": "large"}));
    world.stranger("vm", "x1", json!({"name": "web", "template": "t-22", "plan": 2, "status": "active"}));
    world.import("vm.web", "x1");
    let key = world.live.keys().next().unwrap().clone();
    world.options.foreign = Arc::new([(key, "vm.www of shop/staging".into())].into());
    assert_eq!(world.plan().blocks[0].text, "x1 belongs to vm.www of shop/staging already.");
}

#[test]
fn a_removal_shows_whether_the_object_is_kept_or_deleted() {
    let mut world = shop();
    world.lifecycle("database.main", |lifecycle| {
        lifecycle.on_remove = OnRemove::Keep;
    });
    world.settle();
    world.remove("database.main.users.reporting").remove("database.main").remove("volume.media");
    world.removed("volume.media", RemovedAction::Forget).removed("database.main", RemovedAction::Delete);
    insta::assert_snapshot!(show(&world.settle()), @r#"
    - database.main config: its block is gone
    - database.main.users.reporting config: its block is gone
    x volume.media config: it stays live, as `removed` specifies
    0 database.main.users.reporting delete reporting after []
    1 database.main delete database-5 after [0]
    "#);
    let notes: Vec<String> = world.plan().notes.into_iter().map(|note| note.text).collect();
    assert_eq!(
        notes,
        [
            "removal of volume.media has nothing left to do",
            "removal of database.main has nothing left to do"
        ]
    );
}

#[test]
fn a_probable_rename_is_reported_with_the_moved_entry() {
    let mut world = shop();
    world.write("vm.node.a", json!({"template": "ubuntu-22.04", "plan": "small", "name": "n"}));
    world.write("vm.node.b", json!({"template": "ubuntu-22.04", "plan": "small", "name": "n"}));
    world.settle();
    let hints =
        |world: &World| -> Vec<String> { world.plan().notes.into_iter().map(|note| note.help).collect() };
    assert_eq!(hints(&world), [""; 0]);
    world.rename("vm.node.a", "vm.nodes.a").rename("vm.node.b", "vm.nodes.b");
    assert_eq!(hints(&world), ["to keep the object, write `moved: [{ from: vm.node, to: vm.nodes }]`"]);
    world.rename("database.main", "database.primary");
    world.rename("database.main.users.reporting", "database.primary.users.reporting");
    world.block("database.primary.users.reporting").parent = Some(address("database.primary"));
    assert_eq!(hints(&world).len(), 2, "the child goes with its parent: {:#?}", hints(&world));
    world.set("database.primary", "storage_gb", json!(80));
    assert_eq!(hints(&world).len(), 1, "it is another one");
    world.options.destroy = true;
    assert_eq!(hints(&world), [""; 0]);
}

#[test]
fn a_deletion_names_the_setting_that_excluded_the_resource() {
    let mut world = World::new();
    for address in ["vpc.a", "vpc.b", "vpc.c"] {
        let cidr = format!("10.{}.0.0/16", address.as_bytes()[4]);
        world.write(address, json!({"cidr": cidr}));
    }
    world.write("database.main", json!({"plan": "pg-1"})).write("database.main.users.reporting", json!({}));
    world.settle();
    world.options.allow_deletes = true;
    for address in ["vpc.a", "vpc.b", "vpc.c", "database.main", "database.main.users.reporting"] {
        world.remove(address);
    }
    let span = Span { source: SourceId(0), start: 7, end: 11 };
    let left_out = [("vpc.a", false), ("database.main", false)];
    world.stack.left_out = left_out
        .map(|(address, keyed)| (Address::parse(address).unwrap(), ExclusionReason { keyed, span }))
        .into();
    let told = |world: &World| -> Vec<String> {
        let line = |change: &Change| {
            let place = change.source.as_ref().map(|place| format!(" {}", place.column));
            let reason = change.reason.as_deref().unwrap_or_default();
            format!("{} {reason}{}", change.address, place.unwrap_or_default())
        };
        let mut all: Vec<String> = world.plan().changes.iter().map(line).collect();
        all.sort();
        all
    };
    assert_eq!(
        told(&world),
        [
            "database.main its `when` is false now 8",
            "database.main.users.reporting the `when` of database.main is false now 8",
            "vpc.a its `when` is false now 8",
            "vpc.b its block is gone",
            "vpc.c its block is gone",
        ]
    );
}

#[test]
fn a_deleted_instance_is_reported_with_its_missing_key() {
    let mut world = World::new();
    world.write("vpc.a", json!({"cidr": "10.1.0.0/16"}));
    world.settle();
    let mut entry = world.ledger.entries.remove("vpc.a").unwrap();
    entry.protect = false;
    world.ledger.entries.insert(Address::parse("vpc.net.b").unwrap(), entry);
    world.remove("vpc.a");
    let span = Span { source: SourceId(0), start: 0, end: 5 };
    world.stack.left_out = [(Address::new("vpc", "net"), ExclusionReason { keyed: true, span })].into();
    let change = &world.plan().changes[0];
    assert_eq!(change.reason.as_deref(), Some("`b` is no longer a key of the `for_each` of vpc.net"));
    assert!(change.source.is_some());
}
