//! The state of a resource's object: live, being deleted, proven gone, or not seen. In: the ledger's object and
//! the snapshot. Invariant: an object that is merely missing from a list is never taken as gone. Also the index of the live copies
//! by name, with which final snapshots of earlier attempts are found.

use std::collections::BTreeSet;

use foldhash::{HashMap, HashMapExt};

use crate::ledger::state::entry::OwnedObject;
use crate::model::live::snapshot::{Object, ObjectKey, Snapshot};
use crate::model::schema::{Kind, Registry};
use crate::model::values::value::Value;
use crate::plan::inputs::PlanInputs;

/// The state of a resource's object.
#[derive(Clone, Copy)]
pub(in crate::plan) enum LiveState<'a> {
    /// The ledger owns no object, and none is adopted.
    None,
    /// The object is live.
    Present(&'a Object),
    /// The object is being deleted.
    Deleting(&'a Object),
    /// The object is proven gone.
    Gone(&'a OwnedObject),
    /// It is owned, and was neither seen nor proven gone.
    Unseen(&'a OwnedObject),
}

pub(super) fn live_state<'a>(
    inputs: &PlanInputs<'a>,
    kind: &'static Kind,
    owned: &'a OwnedObject,
) -> LiveState<'a> {
    let key = owned.key(kind.name);
    match inputs.snapshot.objects.get(&key) {
        Some(object) if is_leaving(kind, object) => LiveState::Deleting(object),
        Some(object) => LiveState::Present(object),
        None if is_gone(inputs, kind, owned) => LiveState::Gone(owned),
        None => LiveState::Unseen(owned),
    }
}

/// Returns whether an owned object is proven gone: a read by id did not find it, and its project is visible, or proven
/// gone itself. Otherwise a wrong project or a lost permission would look the same.
pub(in crate::plan) fn is_gone(inputs: &PlanInputs<'_>, kind: &Kind, owned: &OwnedObject) -> bool {
    let snapshot = inputs.snapshot;
    if !snapshot.absent.contains(&owned.key(kind.name)) {
        return false;
    }
    let projects =
        inputs.registry.top_level().find(|kind| kind.attribute(DEFAULT_PROJECT_ATTRIBUTE).is_some());
    // Without a list of projects there is no evidence against it.
    let Some(projects) = projects.filter(|kind| snapshot.listed.contains(kind.name)) else { return true };
    match owned.project.as_ref().filter(|id| **id != owned.id) {
        None => snapshot.account.is_some(),
        Some(id) => {
            let home = ObjectKey { kind: projects.name.into(), parent: None, id: id.clone() };
            snapshot.objects.contains_key(&home)
                || (snapshot.absent.contains(&home) && snapshot.account.is_some())
        }
    }
}

/// The attribute that marks an account's default project, and so identifies the kind that is a project.
const DEFAULT_PROJECT_ATTRIBUTE: &str = "is_default";

/// Returns whether the service is deleting an object, by its status; false for a kind without a status.
pub(in crate::plan) fn is_leaving(kind: &Kind, object: &Object) -> bool {
    kind.api.ready.is_some_and(|ready| {
        object.status(ready.attribute).is_some_and(|status| ready.leaving.contains(&status))
    })
}

/// Returns the objects that may be final snapshots of others, by kind and name; only those that `is_unowned` accepts. Reads no
/// objects of other kinds: most plans have no copies.
pub(super) fn copies_by_name(
    registry: Registry,
    snapshot: &Snapshot,
    is_unowned: impl Fn(&ObjectKey) -> bool,
) -> HashMap<(&str, &str), Vec<&Object>> {
    let kinds: BTreeSet<&str> =
        registry.kinds.iter().filter_map(|kind| Some(kind.final_copy?.kind)).collect();
    let mut copies: HashMap<(&str, &str), Vec<&Object>> = HashMap::new();
    let objects = kinds.into_iter().flat_map(|kind| snapshot.of_kind(kind));
    for object in objects.filter(|object| is_unowned(&object.key())) {
        if let Some(name) = object.attributes.get("name").and_then(Value::as_text) {
            copies.entry((object.kind.as_str(), name)).or_default().push(object);
        }
    }
    copies
}
