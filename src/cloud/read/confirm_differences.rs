//! Confirmation of differences: a list alone does not prove one. In: the listed objects, and their last applied values.
//! Out: the snapshot, in which every object that a list showed differently or incompletely was read by its id, or again
//! in its list where there are many. Lists lag behind, and some omit values that a read by id shows.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::try_join_all;

use super::find_object::find_object;
use super::lists::{ListRequest, read_list, record_object};
use super::object_reader::ObjectReader;
use crate::cloud::error::ReadError;
use crate::cloud::http::message::Transport;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::reading::AttributeReading;
use crate::model::live::snapshot::{Object, ObjectKey, RefreshRequest, Snapshot};
use crate::model::schema::meaning::{is_unset, same_of};
use crate::model::schema::{Kind, Registry};
use crate::model::values::value::{Attributes, Value};

/// Maximum number of objects of a kind that are read by id; for more, their list is read again.
const MAX_INDIVIDUAL_READS: usize = 20;

/// Objects of one kind that only a list showed, each with the attributes that its record omits.
type IncompleteObjects = BTreeMap<ObjectKey, BTreeSet<&'static str>>;

/// Reads by id the attributes that lists omit: each object whose record lacks an attribute that others of its kind
/// show. Where no record shows one, a single object is read first: only if that helps, the others are read, too.
pub(in crate::cloud) async fn read_unlisted<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    wanted: &RefreshRequest,
    snapshot: &mut Snapshot,
) -> Result<(), ReadError> {
    let mut by_kind: BTreeMap<&'static str, IncompleteObjects> = BTreeMap::new();
    for (key, applied) in &wanted.applied {
        let kind = reader.registry.kind(&key.kind).filter(|kind| kind.api.read.is_some());
        let object = snapshot.objects.get(key).filter(|object| !object.detailed);
        let Some((kind, object)) = kind.zip(object) else { continue };
        let lacks = left_out(kind, object, applied);
        if !lacks.is_empty() {
            by_kind.entry(kind.name).or_default().insert(key.clone(), lacks);
        }
    }
    for (kind, lacking) in by_kind {
        let shown = |snapshot: &Snapshot| -> BTreeSet<&'static str> {
            let shown = shown_keys(reader.registry, snapshot).into_iter();
            shown.filter(|(of, _)| *of == kind).map(|(_, name)| name).collect()
        };
        let probes = choose_probes(&lacking, &shown(snapshot));
        read_lacking(reader, &lacking, probes, snapshot).await?;
        let shown = shown(snapshot);
        let shows = |(_, lacks): &(&ObjectKey, &BTreeSet<_>)| !lacks.is_disjoint(&shown);
        let others = lacking.iter().filter(shows).map(|(key, _)| key.clone());
        let unread = |key: &ObjectKey| snapshot.objects.get(key).is_some_and(|object| !object.detailed);
        let others = others.filter(unread).collect();
        read_lacking(reader, &lacking, others, snapshot).await?;
    }
    Ok(())
}

/// Returns a minimal set of objects that together lack every attribute that no record shows.
fn choose_probes(lacking: &IncompleteObjects, shown: &BTreeSet<&'static str>) -> Vec<ObjectKey> {
    let mut open: BTreeSet<&str> =
        lacking.values().flatten().filter(|name| !shown.contains(*name)).copied().collect();
    let mut found = Vec::new();
    while !open.is_empty() {
        let most = lacking.iter().max_by_key(|(_, lacks)| lacks.intersection(&open).count());
        let Some((key, lacks)) = most else { break };
        open.retain(|name| !lacks.contains(name));
        found.push(key.clone());
    }
    found
}

async fn read_lacking<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    lacking: &IncompleteObjects,
    keys: Vec<ObjectKey>,
    snapshot: &mut Snapshot,
) -> Result<(), ReadError> {
    read_each(reader, &keys, snapshot).await?;
    for key in keys {
        let lacks = lacking.get(&key).into_iter().flatten();
        snapshot.count_one_by_one(&key.kind, lacks.copied().map(Name::new_static));
    }
    Ok(())
}

/// Reads again the objects that lists showed with different values than last applied.
pub(in crate::cloud) async fn confirm_differences<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    wanted: &RefreshRequest,
    collections: &[ListRequest],
    snapshot: &mut Snapshot,
) -> Result<(), ReadError> {
    let wanted = &with_main_ids(reader, wanted).await;
    for (kind, keys) in differing_objects(reader.registry, wanted, snapshot) {
        let by_id = kind.api.read.is_some();
        if by_id && keys.len() <= MAX_INDIVIDUAL_READS {
            read_each(reader, &keys, snapshot).await?;
            continue;
        }
        reader.requests.clock.sleep(reader.lag.get()).await;
        read_lists_again(reader, kind, collections, (&keys, &mut *snapshot)).await?;
        let left = differing_objects(reader.registry, wanted, snapshot);
        let left = left.into_iter().find(|(of, _)| of.name == kind.name).map(|(_, keys)| keys);
        let Some(mut left) = left.filter(|_| by_id) else { continue };
        let rest = left.split_off(left.len().min(MAX_INDIVIDUAL_READS));
        let listed: Vec<_> = left.iter().map(|key| snapshot.objects.get(key).cloned()).collect();
        read_each(reader, &left, snapshot).await?;
        let is_wrong = |(key, listed): (&ObjectKey, Option<Object>)| {
            let applied = wanted.applied.get(key);
            let (now, listed) = (snapshot.objects.get(key), listed);
            now.zip(listed).zip(applied).is_some_and(|((now, listed), applied)| {
                differs_from_applied(kind, &listed, applied) && !differs_from_applied(kind, now, applied)
            })
        };
        // If a list is wrong about one object, it is trusted for none.
        if left.iter().zip(listed).any(is_wrong) {
            read_each(reader, &rest, snapshot).await?;
        }
    }
    Ok(())
}

/// Returns the request with main ids, as in the snapshot, in the references of last applied values.
async fn with_main_ids<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    wanted: &RefreshRequest,
) -> RefreshRequest {
    let mut wanted = wanted.clone();
    for (key, applied) in &mut wanted.applied {
        if let Some(kind) = reader.registry.kind(&key.kind) {
            reader.name_references(kind, applied).await;
        }
    }
    wanted
}

async fn read_each<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    keys: &[ObjectKey],
    snapshot: &mut Snapshot,
) -> Result<(), ReadError> {
    let found = try_join_all(keys.iter().map(async |key| find_object(reader, key).await)).await?;
    // An object that is deleted at this moment stays as it was listed: a single 404 proves nothing.
    for (key, object) in keys.iter().zip(found) {
        if let Some(object) = object {
            record_object(snapshot, key.clone(), Some(object));
        }
    }
    Ok(())
}

async fn read_lists_again<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    kind: &'static Kind,
    collections: &[ListRequest],
    (keys, snapshot): (&[ObjectKey], &mut Snapshot),
) -> Result<(), ReadError> {
    let keys: BTreeSet<&ObjectKey> = keys.iter().collect();
    let parents: BTreeSet<Option<&Name>> = keys.iter().map(|key| key.parent.as_ref()).collect();
    let lists = collections
        .iter()
        .filter(|(of, parent, _)| of.name == kind.name && parents.contains(&parent.as_ref()))
        .map(|(kind, parent, project)| read_list(reader, kind, parent.as_ref(), project.as_ref()));
    for object in try_join_all(lists).await?.into_iter().filter_map(|(_, _, objects)| objects).flatten() {
        let key = object.key();
        if keys.contains(&key) {
            snapshot.objects.insert(key, object);
        }
    }
    Ok(())
}

/// Returns, by kind, the objects that only a list showed, with different values than last applied.
fn differing_objects(
    registry: Registry,
    wanted: &RefreshRequest,
    snapshot: &Snapshot,
) -> Vec<(&'static Kind, Vec<ObjectKey>)> {
    let mut found: BTreeMap<&str, (&'static Kind, Vec<ObjectKey>)> = BTreeMap::new();
    for (key, applied) in &wanted.applied {
        let Some(object) = snapshot.objects.get(key).filter(|object| !object.detailed) else { continue };
        let Some(kind) = registry.kind(&key.kind) else { continue };
        if differs_from_applied(kind, object, applied) {
            found.entry(kind.name).or_insert_with(|| (kind, Vec::new())).1.push(key.clone());
        }
    }
    found.into_values().collect()
}

/// Returns whether a record shows a different value than the last applied one.
fn differs_from_applied(kind: &Kind, object: &Object, applied: &Attributes) -> bool {
    applied.iter().any(|(name, applied)| {
        let Some(attribute) = kind.attribute(name).filter(|attribute| attribute.listed) else {
            return false;
        };
        let told = AttributeReading::new(attribute, object).comparable_value();
        told.is_some_and(|told| !same_of(attribute, applied, &told))
    })
}

/// Returns the applied attributes that an object's record omits, where a list could show them.
fn left_out(kind: &'static Kind, object: &Object, applied: &Attributes) -> BTreeSet<&'static str> {
    let set = applied.iter().filter(|(_, value)| !is_unset(value));
    let listed = set.filter_map(|(name, _)| kind.attribute(name)).filter(|attribute| attribute.listed);
    let unreported = listed
        .filter(|attribute| AttributeReading::new(attribute, object) == AttributeReading::NotReturned);
    unreported.filter(|attribute| attribute.is_readable()).map(|attribute| attribute.name).collect()
}

/// Returns the kinds and attributes that any object of this read shows.
fn shown_keys(registry: Registry, snapshot: &Snapshot) -> BTreeSet<(&'static str, &'static str)> {
    let mut shown = BTreeSet::new();
    for object in snapshot.objects.values() {
        let Some(kind) = registry.kind(&object.kind) else { continue };
        let has = |name: &&str| object.attributes.contains_key(*name);
        shown.extend(kind.attributes.iter().map(|a| a.name).filter(has).map(|name| (kind.name, name)));
    }
    shown
}

/// Marks an attribute that a read by id omits as not set, where another object of the kind shows it to this credential:
/// then the service omits it only while it is empty.
pub(in crate::cloud) fn fill_empty(registry: Registry, snapshot: &mut Snapshot) {
    let shown = shown_keys(registry, snapshot);
    for object in snapshot.objects.values_mut().filter(|object| object.detailed) {
        let Some(kind) = registry.kind(&object.kind) else { continue };
        // A missing secret may be masked rather than empty.
        let plain = kind.attributes.iter().filter(|attribute| !attribute.secret && !attribute.private);
        let empty = plain.filter(|attribute| {
            attribute.is_readable()
                && attribute.can_be_empty()
                && shown.contains(&(kind.name, attribute.name))
        });
        for attribute in empty {
            if !object.attributes.contains_key(attribute.name) {
                object.attributes.insert(Name::new_static(attribute.name), Value::Null);
            }
        }
    }
}
