//! One list of a refresh, and how its objects enter a snapshot. In: a kind, and the parent or the project that the list
//! is of. Out: its objects, or nothing under a parent that is proven gone.

use std::collections::BTreeSet;

use super::object_project;
use super::object_reader::ObjectReader;
use super::paging::{ListScope, list_consistently};
use crate::cloud::error::ReadError;
use crate::cloud::http::message::Transport;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::{Object, ObjectKey, Snapshot};
use crate::model::schema::Kind;

/// A list to read: its kind, the parent's id (`None` for a kind without a parent), and the id of the project to filter
/// by (`None` for no filter).
pub(super) type ListRequest = (&'static Kind, Option<Name>, Option<Name>);

/// The result of a list: its objects, or `None` under a missing parent.
pub(super) type ListResult = (&'static Kind, Option<Name>, Option<Vec<Object>>);

pub(super) async fn read_list<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    kind: &'static Kind,
    parent: Option<&Name>,
    project: Option<&Name>,
) -> Result<ListResult, ReadError> {
    match list_consistently(reader, &ListScope { kind, parent, project }).await {
        Ok(mut objects) => {
            // A service that ignores the filter must not add objects of other projects to the plan.
            objects.retain(|object| {
                object.project.is_none() || project.is_none() || object.project.as_ref() == project
            });
            object_project::settle_listed(kind, project, &mut objects);
            Ok((kind, parent.cloned(), Some(objects)))
        }
        Err(error) if error.is_not_found() && parent.is_some() => {
            let child = ObjectKey { kind: kind.name.into(), parent: parent.cloned(), id: Name::default() };
            if reader.parent_is_gone(kind, &child).await? {
                Ok((kind, parent.cloned(), None))
            } else {
                Err(error)
            }
        }
        Err(error) => Err(error),
    }
}

/// Adds lists to the snapshot; returns the `(child kind, parent)` pairs whose lists were read,
/// or whose parent is missing.
pub(super) fn record_lists(snapshot: &mut Snapshot, lists: Vec<ListResult>) -> BTreeSet<(Name, Name)> {
    let mut parents = BTreeSet::new();
    for (kind, parent, objects) in lists {
        let name = Name::new_static(kind.name);
        if let Some(parent) = parent {
            if let (None, Some((of, _))) = (&objects, kind.child_of()) {
                let gone = ObjectKey { kind: of.into(), parent: None, id: parent.clone() };
                snapshot.absent.insert(gone);
            }
            parents.insert((name.clone(), parent));
        }
        snapshot.listed.insert(name);
        for object in objects.into_iter().flatten() {
            let object = object_project::merge_listed(snapshot.objects.get(&object.key()), object);
            snapshot.objects.insert(object.key(), object);
        }
    }
    parents
}

pub(super) fn record_object(snapshot: &mut Snapshot, key: ObjectKey, object: Option<Object>) {
    if let Some(object) = object {
        snapshot.objects.remove(&key);
        snapshot.objects.insert(object.key(), object);
    } else {
        snapshot.objects.remove(&key);
        snapshot.absent.insert(key);
    }
}
