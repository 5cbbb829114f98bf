//! Ids: an object can have several, and a response may name it by any of them. In: decoded objects, and the ids in
//! their records. Out: objects under one main id each, with references by that id. All ids in one record belong to one
//! object; an id that no record has shown is looked up, never guessed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::cloud::http::decode::is_uuid;
use crate::model::address::Name;
use crate::model::live::snapshot::{Object, ObjectKey, Snapshot};
use crate::model::schema::{Kind, Registry, Type};
use crate::model::values::value::Value;

/// The ids in all records that this client has read.
#[derive(Default)]
pub(in crate::cloud) struct KnownIds {
    /// From kind and any id of an object to its main id.
    by_any: RefCell<BTreeMap<(Name, Name), Name>>,
    /// Ids in a ledger: they stay the main ids.
    preferred: RefCell<BTreeSet<(Name, Name)>>,
    /// Ids whose look-up failed.
    unreadable: RefCell<BTreeSet<(Name, Name)>>,
}

impl KnownIds {
    /// Records all ids of one record.
    pub fn record_ids(&self, kind: &Kind, object: &Object, ids: &[Name]) {
        if kind.api.other_ids.is_empty() {
            return;
        }
        let (mut known, preferred) = (self.by_any.borrow_mut(), self.preferred.borrow());
        let all = || ids.iter().chain([&object.id]).map(|id| (Name::new_static(kind.name), id.clone()));
        let of_ledger = all().find(|id| preferred.contains(id)).map(|(_, id)| id);
        let earlier: Vec<Name> = all().filter_map(|id| known.get(&id).cloned()).collect();
        let is_preferred = |id: &&Name| preferred.contains(&(Name::new_static(kind.name), (*id).clone()));
        let main = of_ledger.or_else(|| earlier.iter().find(is_preferred).cloned());
        let long = ids.iter().chain(&earlier).find(|id| is_uuid(id));
        let main = main.or_else(|| long.cloned()).unwrap_or_else(|| object.id.clone());
        known.extend(all().map(|id| (id, main.clone())));
        // An earlier record may have had only the short id.
        let same = known.iter_mut().filter(|((of, _), id)| *of == kind.name && earlier.contains(id));
        same.for_each(|(_, id)| id.clone_from(&main));
    }

    /// Makes the ids in a ledger the main ids of their objects.
    pub fn prefer_ids<'k>(&self, keys: impl IntoIterator<Item = &'k ObjectKey>) {
        let keys = keys.into_iter().map(|key| (key.kind.clone(), key.id.clone()));
        self.preferred.borrow_mut().extend(keys);
    }

    /// Returns the main id of an object, if a record has shown it.
    pub fn main_id(&self, kind: &str, id: &Name) -> Option<Name> {
        self.by_any.borrow().get(&(Name::new(kind), id.clone())).cloned()
    }

    /// Replaces the id of an object by its main id.
    pub fn use_known_id(&self, object: &mut Object) {
        if let Some(id) = self.main_id(&object.kind, &object.id) {
            object.id = id;
        }
    }

    /// Returns whether an id was looked up and not found.
    pub fn is_unreadable(&self, id: &(Name, Name)) -> bool {
        self.unreadable.borrow().contains(id)
    }

    /// Records that an id was looked up and not found.
    pub fn mark_unreadable(&self, id: (Name, Name)) {
        self.unreadable.borrow_mut().insert(id);
    }

    /// Moves each object of a snapshot to its main id, after all records are read.
    pub fn merge_aliases(&self, registry: Registry, snapshot: &mut Snapshot) {
        let main = |key: &ObjectKey| self.main_id(&key.kind, &key.id).filter(|id| *id != key.id);
        let renamed: Vec<(ObjectKey, Name)> =
            snapshot.objects.keys().filter_map(|key| Some((key.clone(), main(key)?))).collect();
        for object in snapshot.objects.values_mut() {
            let Some(kind) = registry.kind(&object.kind) else { continue };
            for (name, of) in multi_id_references(registry.kinds, kind) {
                let id = object.attributes.get(name).and_then(Value::as_text).map(Name::new);
                if let Some(main) = id.and_then(|id| self.main_id(of.name, &id)) {
                    object.attributes.insert(Name::new_static(name), Value::Text(main));
                }
            }
        }
        for (key, id) in renamed {
            let Some(object) = snapshot.objects.remove(&key) else { continue };
            let object = Object { id, ..object };
            let shown = snapshot.objects.get(&object.key());
            // A read by id shows more than a list.
            if shown.is_none_or(|shown| !shown.detailed) {
                snapshot.objects.insert(object.key(), object);
            }
        }
        snapshot.ids.clone_from(&self.by_any.borrow());
    }
}

/// Returns the attributes of a kind that refer to objects with several ids.
pub(super) fn multi_id_references(
    kinds: &'static [&'static Kind],
    kind: &'static Kind,
) -> impl Iterator<Item = (&'static str, &'static Kind)> {
    kind.attributes.iter().filter_map(move |attribute| {
        let Type::Reference(of) = attribute.ty else { return None };
        let of = kinds.iter().find(|kind| kind.name == of)?;
        (!of.api.other_ids.is_empty()).then_some((attribute.name, *of))
    })
}
