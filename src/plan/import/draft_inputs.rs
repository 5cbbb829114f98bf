//! The inputs of a draft, and the choice of the live objects that it writes. An object is written if this
//! account can manage it: no ledger owns it, and the service neither provides nor deletes it itself.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashMapExt};

use crate::model::address::{Address, Name};
use crate::model::live::catalog::Catalog;
use crate::model::live::snapshot::{Object, ObjectKey, Snapshot};
use crate::model::schema::{Kind, KindScope, Registry};
use crate::plan::join::live_state::is_leaving;

/// The attribute that marks an account's default project, and so identifies the kind that is a project.
pub(super) const DEFAULT_PROJECT_ATTRIBUTE: &str = "is_default";

/// The inputs of a draft.
pub(super) struct DraftInputs<'a> {
    pub(super) registry: Registry,
    pub(super) snapshot: &'a Snapshot,
    pub(super) catalog: &'a Catalog,
    /// Objects that have an address already.
    pub(super) owned: &'a HashMap<ObjectKey, Address>,
    /// Objects that another ledger owns, with its name.
    pub(super) foreign: &'a BTreeMap<ObjectKey, Name>,
    /// Addresses that must not be assigned.
    pub(super) taken: &'a BTreeSet<Address>,
    /// Drafts only this object, at this address, with its children; `None`: all objects.
    pub(super) only: Option<(&'a Address, &'a ObjectKey)>,
    /// Drafts only objects of this project (its id), and the project itself; `None`: of all projects.
    pub(super) project: Option<&'a Name>,
    /// The id of the project of resources that do not declare one; `None` if it is not known.
    pub(super) home: Option<&'a Name>,
    /// Names of variables that the stack already declares.
    pub(super) declared: &'a BTreeSet<Name>,
    /// Keys of private map entries that must become secrets, whatever their values look like; `*` means all.
    pub(super) hidden: &'a [String],
    /// Whether children with a single attribute are written as the items of a list.
    pub(super) listed: bool,
}

/// The objects and attributes that a draft leaves out, with the reasons.
#[derive(Debug, Default)]
pub(super) struct DraftOmissions {
    pub(super) objects: BTreeMap<ObjectKey, String>,
    pub(super) attributes: BTreeMap<(ObjectKey, Name), String>,
}

/// Children by their kind and parent's id.
pub(super) type ChildrenByParent<'a> = HashMap<(&'static str, &'a Name), Vec<&'a Object>>;

/// Returns whether all project-scoped objects are in the one project that needs no declaration.
pub(super) fn has_one_home(material: &DraftInputs<'_>, chosen: &[(&'static Kind, &Object)]) -> bool {
    let projects: Vec<&Name> = chosen
        .iter()
        .filter(|(kind, _)| kind.attribute(DEFAULT_PROJECT_ATTRIBUTE).is_some())
        .map(|(_, object)| &object.id)
        .collect();
    let home = match projects.as_slice() {
        [] => material.home,
        [one] => Some(*one),
        _ => return false,
    };
    let mut inside = chosen.iter().filter(|(kind, _)| kind.scope == KindScope::Project);
    inside.all(|(_, object)| object.project.as_ref() == home)
}

/// Returns the objects of the top level that are written, by kind in the order of the registry.
pub(super) fn chosen_objects<'a>(
    material: &DraftInputs<'a>,
    omitted: &DraftOmissions,
) -> Vec<(&'static Kind, &'a Object)> {
    let wanted = |kind: &'static Kind, object: &Object| {
        let key = object.key();
        if let Some((_, only)) = material.only {
            return *only == key;
        }
        let inside = match (material.project, kind.scope) {
            (None, _) => true,
            (Some(project), KindScope::Project) => object.project.as_ref() == Some(project),
            // The project itself is included, but no other object of the account.
            (Some(project), _) => {
                kind.attribute(DEFAULT_PROJECT_ATTRIBUTE).is_some() && object.id == *project
            }
        };
        inside
            && !kind.is_given(&object.attributes)
            && !kind.passes(&object.attributes)
            && !is_leaving(kind, object)
            && !material.owned.contains_key(&key)
            && !material.foreign.contains_key(&key)
            && !omitted.objects.contains_key(&key)
    };
    let mut found = Vec::new();
    for kind in material.registry.top_level() {
        let objects = material.snapshot.of_kind(kind.name);
        found.extend(objects.filter(|object| wanted(kind, object)).map(|object| (kind, object)));
    }
    found
}

/// Returns the live objects that cannot be managed here, with the reasons as sentences; empty for the import
/// of a single object.
pub(super) fn unmanageable_objects(material: &DraftInputs<'_>) -> Vec<(ObjectKey, String)> {
    let mut found = Vec::new();
    for kind in material.registry.top_level().filter(|_| material.only.is_none()) {
        for object in material.snapshot.of_kind(kind.name) {
            let key = object.key();
            let inside = material.project.is_none()
                || kind.scope == KindScope::Project && object.project.as_ref() == material.project;
            let why = if !inside || material.owned.contains_key(&key) {
                continue;
            } else if let Some(owner) = material.foreign.get(&key) {
                format!("It belongs to {owner}.")
            } else if kind.is_given(&object.attributes) {
                "It belongs to the service: it cannot be created or deleted.".to_owned()
            } else if kind.passes(&object.attributes) {
                "The service deletes it when it expires.".to_owned()
            } else if is_leaving(kind, object) {
                "It is being deleted.".to_owned()
            } else {
                continue;
            };
            found.push((key, why));
        }
    }
    found
}

pub(super) fn group_children<'a>(
    material: &DraftInputs<'a>,
    omitted: &DraftOmissions,
) -> ChildrenByParent<'a> {
    let mut found: HashMap<_, Vec<&Object>> = HashMap::new();
    for kind in material.registry.kinds.iter().filter(|kind| kind.child_of().is_some()) {
        for object in material.snapshot.of_kind(kind.name) {
            let key = object.key();
            let out = material.owned.contains_key(&key) || omitted.objects.contains_key(&key);
            if let Some(parent) = object.parent.as_ref().filter(|_| !out && !is_leaving(kind, object)) {
                found.entry((kind.name, parent)).or_default().push(object);
            }
        }
    }
    found
}
