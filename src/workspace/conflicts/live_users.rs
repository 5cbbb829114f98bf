//! Which live objects of the units use others. In: the snapshot, and the ledgers of the units. Out: by the used object, its users:
//! those whose use a rule of the service protects, and those that refer to it in an attribute that a configuration may write.

use foldhash::{HashMap, HashMapExt};

use super::unit_claims::{Claimant, UnitClaims};
use crate::model::address::{Address, Name};
use crate::model::live::snapshot::{Object, ObjectKey, Snapshot};
use crate::model::schema::{Registry, RuleCheck};
use crate::model::values::value::Value;
use crate::plan::model::change::Change;
use crate::workspace::conflicts::outside_readers::visit_texts;

/// A live object that uses another.
#[derive(Debug, Clone, Copy)]
pub(super) struct LiveUser<'a> {
    /// The position of the unit that owns it.
    pub unit: usize,
    pub address: &'a Address,
    /// The attribute that refers to the other; `None`: it is inside of the other, a project.
    pub attribute: Option<&'static str>,
    pub key: &'a ObjectKey,
    /// Whether the service refuses the deletion of the other for that.
    pub is_held: bool,
}

/// The users of live objects.
pub(super) type LiveUsers<'a> = HashMap<ObjectKey, Vec<LiveUser<'a>>>;

/// Returns the owned live objects that use others, by the used object.
pub(super) fn live_users<'a>(
    registry: Registry,
    snapshot: &'a Snapshot,
    units: &[UnitClaims<'a>],
) -> LiveUsers<'a> {
    let owners = owners(units);
    let mut users = LiveUsers::new();
    let mut add = |of: ObjectKey, key: &'a ObjectKey, attribute: Option<&'static str>, is_held: bool| {
        if let Some((unit, address)) = owners.get(key) {
            users.entry(of).or_default().push(LiveUser { unit: *unit, address, attribute, key, is_held });
        }
    };
    let top_level = |kind: &str, id: &str| ObjectKey { kind: kind.into(), parent: None, id: Name::new(id) };
    for kind in registry.kinds {
        for rule in kind.rules {
            match rule.check {
                RuleCheck::NotUsed { by } => {
                    for (user, attribute) in by {
                        for (key, object) in objects_of_kind(snapshot, user) {
                            if let Some(id) = object.attributes.get(*attribute).and_then(Value::as_text) {
                                add(top_level(kind.name, id), key, Some(attribute), true);
                            }
                        }
                    }
                }
                RuleCheck::NotFilled => {
                    for (key, object) in &snapshot.objects {
                        if let Some(project) = &object.project {
                            add(top_level(kind.name, project), key, None, true);
                        }
                    }
                }
                _ => {}
            }
        }
        for attribute in kind.attributes.iter().filter(|attribute| attribute.is_writable()) {
            let Some(of) = attribute.ty.referenced_kind() else { continue };
            if registry.kind(of).is_some_and(|of| of.is_held_by(kind.name, Some(attribute.name))) {
                continue;
            }
            for (key, object) in objects_of_kind(snapshot, kind.name) {
                if let Some(ids) = object.attributes.get(attribute.name) {
                    visit_texts(ids, &mut |id| add(top_level(of, id), key, Some(attribute.name), false));
                }
            }
        }
    }
    users
}

/// Returns the unit and the address of each owned object; of one that moves to another unit, those that it gets.
fn owners<'a>(units: &[UnitClaims<'a>]) -> HashMap<ObjectKey, Claimant<'a>> {
    let moved = moved_objects(units);
    let mut owners = HashMap::new();
    for (number, unit) in units.iter().enumerate() {
        for (address, entry) in &unit.ledger.entries {
            let objects = entry.current.iter().chain(&entry.deposed);
            let owner = |id: &Name| moved.get(&(&entry.kind, id)).copied().unwrap_or((number, address));
            owners.extend(objects.map(|owned| (owned.key(&entry.kind), owner(&owned.id))));
        }
    }
    owners
}

/// Returns the new owner of each object that moves to another unit, by kind and id.
fn moved_objects<'a>(units: &[UnitClaims<'a>]) -> HashMap<(&'a Name, &'a Name), Claimant<'a>> {
    let mut moved = HashMap::new();
    for (number, unit) in units.iter().enumerate() {
        let arrives = |change: &&Change| change.was.as_ref().is_some_and(|was| was.stack.is_some());
        for change in unit.plan.changes.iter().filter(arrives) {
            moved.extend(change.id.as_ref().map(|id| ((&change.kind, id), (number, &change.address))));
        }
    }
    moved
}

fn objects_of_kind<'a>(
    snapshot: &'a Snapshot,
    kind: &str,
) -> impl Iterator<Item = (&'a ObjectKey, &'a Object)> {
    let first = ObjectKey { kind: kind.into(), parent: None, id: Name::default() };
    let kind = Name::new(kind);
    snapshot.objects.range(first..).take_while(move |(key, _)| key.kind == kind)
}
