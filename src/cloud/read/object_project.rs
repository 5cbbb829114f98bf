//! The project of an object, which a change of it must state in a header. In: an object whose records do not have a
//! project. Out: the project whose filtered list shows it, or that a read by id returns; otherwise none, and no change
//! is sent. It is never guessed: not from the account's default project, and not from the stack's.

use std::collections::BTreeSet;

use super::find_object::find_object;
use super::object_reader::ObjectReader;
use super::paging::{self, list_consistently};
use crate::cloud::error::ReadError;
use crate::cloud::http::message::Transport;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::{Object, ObjectKey, RefreshRequest, Snapshot};
use crate::model::schema::{Kind, KindScope, Registry};
use crate::model::values::value::Value;

/// The attribute that marks an account's default project, and so the kind of projects.
pub(super) const DEFAULT_PROJECT_ATTRIBUTE: &str = "is_default";

/// Sets the project of objects from a filtered list, whose records have none, to the project of the filter.
pub(in crate::cloud) fn settle_listed(kind: &Kind, project: Option<&Name>, objects: &mut [Object]) {
    if kind.scope != KindScope::Project {
        return;
    }
    for object in objects.iter_mut().filter(|object| object.project.is_none()) {
        object.project = project.cloned();
    }
}

/// Merges an object that two lists showed. A record with a project passes only one filter: an object in two lists has
/// none, and the service does not filter.
pub(in crate::cloud) fn merge_listed(one: Option<&Object>, other: Object) -> Object {
    match one {
        Some(one) if one.project != other.project => Object { project: None, ..other },
        _ => other,
    }
}

/// Returns the kind of projects: the one with a default object.
pub(in crate::cloud) fn project_kind(registry: Registry) -> Option<&'static Kind> {
    registry.top_level().find(|kind| kind.attribute(DEFAULT_PROJECT_ATTRIBUTE).is_some())
}

/// Returns whether an object is marked as the account's default project.
pub(in crate::cloud) fn is_default_project(object: &Object) -> bool {
    object.attributes.get(DEFAULT_PROJECT_ATTRIBUTE) == Some(&Value::Bool(true))
}

/// Maximum number of projects that are read by id to find the default one.
const MAX_PROJECT_READS: usize = 20;

/// Returns listed projects with the account's default one marked. Where no row of the list is marked, reads them by
/// id until one is.
///
/// # Errors
/// When the service refuses a read or does not answer.
pub(in crate::cloud) async fn show_default<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    mut projects: Vec<Object>,
) -> Result<Vec<Object>, ReadError> {
    if projects.iter().any(is_default_project) {
        return Ok(projects);
    }
    for project in projects.iter_mut().filter(|project| !project.detailed).take(MAX_PROJECT_READS) {
        // A project that is deleted at this moment stays as it was listed.
        let Some(read) = find_object(reader, &project.key()).await? else { continue };
        *project = read;
        if is_default_project(project) {
            break;
        }
    }
    Ok(projects)
}

/// Returns the project that a change of an object states: the one that is `known`, else the one that the service
/// says; `None` where no change of the kind states one.
///
/// # Errors
/// When the project cannot be determined, with the reason: then the change must not be sent.
pub(in crate::cloud) async fn project_of<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    key: &ObjectKey,
    known: Option<&Name>,
) -> Result<Option<Name>, String> {
    let states = reader.registry.kind(&key.kind).is_some_and(|kind| kind.states_project);
    if known.is_some() || !states {
        return Ok(known.cloned());
    }
    let found = find_project(reader, key).await.map_err(|error| error.to_string())?;
    let unknown =
        || format!("the project of {} {} is not known, and a change must state it", key.kind, key.id);
    found.map(Some).ok_or_else(unknown)
}

/// Reads the projects of objects that are to be changed and whose records have none.
pub(in crate::cloud) async fn find_projects<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    wanted: &RefreshRequest,
    snapshot: &mut Snapshot,
) -> Result<(), ReadError> {
    for key in &wanted.homeless {
        let Some(object) = snapshot.find(key).filter(|object| object.project.is_none()) else {
            continue;
        };
        let key = object.key();
        let project = find_project(reader, &key).await?;
        if let Some(object) = snapshot.objects.get_mut(&key) {
            object.project = project;
        }
    }
    Ok(())
}

/// Determines the project of an object: a child is in its parent's.
async fn find_project<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    key: &ObjectKey,
) -> Result<Option<Name>, ReadError> {
    if let Some(project) = reader.homes.borrow().get(key) {
        return Ok(Some(project.clone()));
    }
    let Some(kind) = reader.registry.kind(&key.kind) else { return Ok(None) };
    let mut found = match kind.api.read {
        Some(_) => find_object(reader, key).await?.and_then(|object| object.project),
        None => None,
    };
    if found.is_none() {
        found = match (kind.child_of(), key.parent.clone()) {
            (Some((of, _)), Some(id)) => {
                let parent = ObjectKey { kind: Name::new_static(of), parent: None, id };
                Box::pin(find_project(reader, &parent)).await?
            }
            _ => shown_in(reader, kind, key).await?,
        };
    }
    if let Some(project) = &found {
        reader.homes.borrow_mut().insert(key.clone(), project.clone());
    }
    Ok(found)
}

/// Returns the only project whose filtered list shows an object.
async fn shown_in<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    kind: &'static Kind,
    key: &ObjectKey,
) -> Result<Option<Name>, ReadError> {
    let Some(projects) = project_kind(reader.registry).filter(|_| kind.scope == KindScope::Project) else {
        return Ok(None);
    };
    let projects =
        list_consistently(reader, &paging::ListScope { kind: projects, parent: None, project: None })
            .await?
            .into_iter()
            .map(|project| project.id);
    let mut shown = BTreeSet::new();
    for project in projects {
        let scope = paging::ListScope { kind, parent: None, project: Some(&project) };
        let listed = list_consistently(reader, &scope).await?;
        if listed.iter().any(|object| object.id == key.id) {
            shown.insert(project);
        }
    }
    // A service without filters shows it in each project, which proves nothing, unless there is only one project.
    Ok(shown.pop_first().filter(|_| shown.is_empty()))
}
