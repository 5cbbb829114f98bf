//! Refresh: reads the live state for a plan, in as few requests and round trips as its lists have pages.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::FutureExt as _;
use futures_util::future::{LocalBoxFuture, try_join_all, try_join3};

use super::confirm_differences;
use super::find_object::find_object;
use super::lists::{read_list, record_lists, record_object};
use super::object_project::{
    DEFAULT_PROJECT_ATTRIBUTE, find_projects, is_default_project, project_kind, show_default,
};
use super::object_reader::ObjectReader;
use crate::cloud::error::ReadError;
use crate::cloud::http::message::Transport;
use crate::cloud::http::url_path::fill_path;
use crate::cloud::http::{decode, send};
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::{ObjectKey, RefreshRequest, RequestCount, Snapshot};
use crate::model::schema::{Kind, KindScope, Registry};
use crate::model::values::value::{Attributes, Value};

/// Maximum number of child lists that are read under objects outside the stack.
const MAX_UNOWNED_LISTS: usize = 100;

/// Reads everything in `wanted`: lists and details concurrently, then every owned object that no list shows, by its id.
/// The future is boxed, so that its code is built once for all callers.
pub(in crate::cloud) fn read_snapshot<'a, C: Transport, K: Clock, R: Random>(
    reader: &'a ObjectReader<C, K, R>,
    wanted: &'a RefreshRequest,
) -> LocalBoxFuture<'a, Result<Snapshot, ReadError>> {
    read_wanted(reader, wanted).boxed_local()
}

async fn read_wanted<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    wanted: &RefreshRequest,
) -> Result<Snapshot, ReadError> {
    let before = reader.requests.count.get();
    reader.ids.prefer_ids(wanted.owned.iter().filter(|key| !wanted.adopted.contains(*key)));
    let mut collections = top_level(reader, wanted);
    collections.extend(child_lists(reader, wanted));
    let lists = try_join_all(
        collections
            .iter()
            .map(|(kind, parent, project)| read_list(reader, kind, parent.as_ref(), project.as_ref())),
    );
    let details = try_join_all(detail_keys(reader, wanted).map(async |key| {
        let object = find_object(reader, key).await?;
        Ok::<_, ReadError>((key.clone(), object))
    }));
    let choices = try_join_all(wanted.choices.iter().map(async |(key, attribute)| {
        let ids = read_choices(reader, key, attribute).await?;
        Ok::<_, ReadError>(((key.clone(), attribute.clone()), ids))
    }));
    let (lists, details, choices) = try_join3(lists, details, choices).await?;

    let choices = choices.into_iter().filter_map(|(of, ids)| Some((of, ids?))).collect();
    let mut snapshot = Snapshot { choices, ..Snapshot::default() };
    let parents = record_lists(&mut snapshot, lists);
    for (key, object) in details {
        snapshot.count_one_by_one(&key.kind, unlisted_attributes(reader.registry, wanted, &key));
        record_object(&mut snapshot, key, object);
    }
    let others = unowned_child_lists(reader, wanted, &parents, &snapshot);
    let others = others.iter().map(|(kind, parent)| read_list(reader, kind, Some(parent), None));
    // An object outside the stack that is deleted meanwhile does not matter.
    record_lists(&mut snapshot, try_join_all(others).await?);
    confirm_absences(reader, wanted, &parents, &mut snapshot).await?;
    confirm_twice(reader, wanted, &mut snapshot).await?;
    confirm_differences::read_unlisted(reader, wanted, &mut snapshot).await?;
    confirm_differences::confirm_differences(reader, wanted, &collections, &mut snapshot).await?;
    confirm_differences::fill_empty(reader.registry, &mut snapshot);
    reader.ids.merge_aliases(reader.registry, &mut snapshot);
    find_projects(reader, wanted, &mut snapshot).await?;
    snapshot.account = default_project(reader, &mut snapshot).await?;
    snapshot.default_project.clone_from(&snapshot.account);
    snapshot.read_at = Some(reader.requests.clock.now());
    snapshot.requests = requests_between(before, reader.requests.count.get());
    Ok(snapshot)
}

/// Returns the lists of kinds, with the project to filter by; the kind of projects is always included.
fn top_level<C, K, R>(
    reader: &ObjectReader<C, K, R>,
    wanted: &RefreshRequest,
) -> Vec<(&'static Kind, Option<Name>, Option<Name>)> {
    let is_wanted = |kind: &&'static Kind| {
        wanted.kinds.contains(kind.name) || kind.attribute(DEFAULT_PROJECT_ATTRIBUTE).is_some()
    };
    let mut lists = Vec::new();
    for kind in reader.registry.top_level().filter(is_wanted) {
        match &wanted.projects {
            Some(projects)
                if kind.scope == KindScope::Project && !wanted.everywhere.contains(kind.name) =>
            {
                let each: BTreeSet<_> = projects.iter().cloned().collect();
                lists.extend(each.into_iter().map(|project| (kind, None, Some(project))));
            }
            _ => lists.push((kind, None, None)),
        }
    }
    lists
}

/// Returns the lists of children: under the requested parents, and under those of owned objects that
/// only their list can show.
fn child_lists<C, K, R>(
    reader: &ObjectReader<C, K, R>,
    wanted: &RefreshRequest,
) -> Vec<(&'static Kind, Option<Name>, Option<Name>)> {
    let mut under: BTreeSet<(Name, Name)> = wanted.parents.clone();
    for key in &wanted.owned {
        let unreadable = reader.registry.kind(&key.kind).is_some_and(|kind| kind.api.read.is_none());
        if let Some(parent) = key.parent.clone().filter(|_| unreadable) {
            under.insert((key.kind.clone(), parent));
        }
    }
    let known = under.into_iter().filter_map(|(kind, parent)| Some((reader.registry.kind(&kind)?, parent)));
    known.map(|(kind, parent)| (kind, Some(parent), None)).collect()
}

/// Returns the lists of children under objects outside the stack, where their content matters: limited to the first
/// ones, because each costs a request.
fn unowned_child_lists<C, K, R>(
    reader: &ObjectReader<C, K, R>,
    wanted: &RefreshRequest,
    read: &BTreeSet<(Name, Name)>,
    snapshot: &Snapshot,
) -> Vec<(&'static Kind, Name)> {
    let kinds = wanted.everywhere.iter().filter_map(|name| reader.registry.kind(name));
    let under = kinds.filter_map(|kind| Some((kind, kind.child_of()?.0)));
    let all =
        under.flat_map(|(kind, of)| snapshot.of_kind(of).map(move |object| (kind, object.id.clone())));
    all.filter(|(kind, id)| !read.contains(&(Name::new_static(kind.name), id.clone())))
        .take(MAX_UNOWNED_LISTS)
        .collect()
}

/// Reads the values to which an attribute of an object can be changed; `None` for a missing object, and for a service
/// that does not list them.
async fn read_choices<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    key: &ObjectKey,
    attribute: &str,
) -> Result<Option<Vec<Value>>, ReadError> {
    let kind = reader.registry.kind(&key.kind);
    let endpoint = kind.and_then(|kind| kind.attribute(attribute)?.choices);
    let Some(endpoint) = endpoint else { return Ok(None) };
    let fail = |reason| ReadError::Failed { request: format!("GET {}", endpoint.path), reason };
    let path = fill_path(endpoint.path, Some(&key.id), key.parent.as_deref());
    let path = path.map_err(|error| fail(error.to_string()))?;
    let json = match send::read(&reader.requests, &path, Vec::new(), None).await {
        Ok((json, _)) => json,
        Err(ReadError::Refused { refusal, .. }) if matches!(refusal.status, 404 | 409 | 501) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let page = decode::parse_page(json).map_err(fail)?;
    let id = |row: &serde_json::Value| row.get("id").map(decode::catalog_id);
    Ok(Some(page.rows.iter().filter_map(id).collect()))
}

/// Returns the objects to read by id.
fn detail_keys<'a, C, K, R>(
    reader: &'a ObjectReader<C, K, R>,
    wanted: &'a RefreshRequest,
) -> impl Iterator<Item = &'a ObjectKey> {
    let readable =
        |key: &&ObjectKey| reader.registry.kind(&key.kind).is_some_and(|kind| kind.api.read.is_some());
    wanted.details.iter().filter(readable)
}

/// Returns the attributes that require a read of the object by its id.
fn unlisted_attributes(registry: Registry, wanted: &RefreshRequest, key: &ObjectKey) -> Vec<Name> {
    let Some(kind) = registry.kind(&key.kind) else { return Vec::new() };
    let names = wanted.applied.get(key).into_iter().flat_map(Attributes::keys);
    names.filter(|name| kind.attribute(name).is_some_and(|a| !a.listed)).cloned().collect()
}

/// Checks by id every owned object that no list shows. A child that only its list can show is absent when that
/// list was read without it.
async fn confirm_absences<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    wanted: &RefreshRequest,
    parents: &BTreeSet<(Name, Name)>,
    snapshot: &mut Snapshot,
) -> Result<(), ReadError> {
    let missing: BTreeMap<&ObjectKey, &'static Kind> = wanted
        .owned
        .iter()
        .filter(|key| !snapshot.objects.contains_key(*key) && !snapshot.absent.contains(*key))
        .filter_map(|key| Some((key, reader.registry.kind(&key.kind)?)))
        .collect();
    let (by_id, by_list): (Vec<_>, Vec<_>) =
        missing.into_iter().partition(|(_, kind)| kind.api.read.is_some());
    for (key, _) in by_list {
        let under = key.parent.clone().map(|parent| (key.kind.clone(), parent));
        let read = match under {
            Some(under) => parents.contains(&under),
            None => snapshot.listed.contains(&key.kind),
        };
        if read {
            snapshot.absent.insert(key.clone());
        }
    }
    let found = try_join_all(by_id.into_iter().map(async |(key, _)| {
        let object = find_object(reader, key).await?;
        Ok::<_, ReadError>((key.clone(), object))
    }));
    for (key, object) in found.await? {
        record_object(snapshot, key, object);
    }
    Ok(())
}

/// Checks again the objects that seem to be gone, after the time by which lists may lag: a single 404 may be transient.
async fn confirm_twice<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    wanted: &RefreshRequest,
    snapshot: &mut Snapshot,
) -> Result<(), ReadError> {
    let kinds = |key: &ObjectKey| reader.registry.kind(&key.kind);
    let gone = wanted.owned.iter().filter(|key| snapshot.absent.contains(*key));
    let gone: BTreeMap<&ObjectKey, &'static Kind> =
        gone.filter_map(|key| Some((key, kinds(key)?))).collect();
    if gone.is_empty() {
        return Ok(());
    }
    reader.requests.clock.sleep(reader.lag.get()).await;
    let (by_id, by_list): (Vec<_>, Vec<_>) =
        gone.into_iter().partition(|(_, kind)| kind.api.read.is_some());
    let found =
        try_join_all(by_id.into_iter().map(async |(key, _)| find_object(reader, key).await)).await?;
    let under: BTreeMap<(&str, Option<&Name>), &'static Kind> =
        by_list.into_iter().map(|(key, kind)| ((kind.name, key.parent.as_ref()), kind)).collect();
    let lists = under.into_iter().map(|((_, parent), kind)| read_list(reader, kind, parent, None));
    let listed = try_join_all(lists).await?;
    let listed = listed.into_iter().filter_map(|(_, _, objects)| objects).flatten();
    for object in found.into_iter().flatten().chain(listed) {
        let key = object.key();
        if snapshot.absent.remove(&key) {
            snapshot.objects.insert(key, object);
        }
    }
    Ok(())
}

/// Returns the id of the project that is marked as the account's default.
async fn default_project<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    snapshot: &mut Snapshot,
) -> Result<Option<Name>, ReadError> {
    let Some(kind) = project_kind(reader.registry) else { return Ok(None) };
    let default = |snapshot: &Snapshot| {
        let mut projects = snapshot.of_kind(kind.name);
        projects.find(|project| is_default_project(project)).map(|project| project.id.clone())
    };
    if let Some(id) = default(snapshot) {
        return Ok(Some(id));
    }
    for project in show_default(reader, snapshot.of_kind(kind.name).cloned().collect()).await? {
        record_object(snapshot, project.key(), Some(project));
    }
    Ok(default(snapshot))
}

fn requests_between(before: RequestCount, after: RequestCount) -> RequestCount {
    RequestCount {
        sent: after.sent - before.sent,
        pages: after.pages - before.pages,
        limited: after.limited - before.limited,
        waited_ms: after.waited_ms - before.waited_ms,
    }
}

#[cfg(test)]
mod tests;
