//! `Object` and `Snapshot`: live objects at the time of a read, under the language's names.
//!
//! In: a `RefreshRequest`, which names what to read. Out: a `Snapshot`. It distinguishes an object that does not exist
//! (`absent`) from one that was not read: only the first may count as deleted.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::address::Name;
use crate::model::schema::PROJECT;
use crate::model::values::value::{Attributes, Value, redact_attributes};

/// A live object of the service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Object {
    /// The name of the object's kind.
    pub kind: Name,
    /// The id that request paths use (a child without an id of its own: its name).
    pub id: Name,
    /// The parent object's id; `None` for an object that is not a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Name>,
    /// The owning project's id; `None` where the record carries none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Name>,
    /// The creation time, in the service's notation; `None` where the record carries none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Name>,
    /// Attributes under the language's names; catalog and reference attributes hold ids.
    pub attributes: Attributes,
    /// Whether `attributes` are from a GET by id, and so include the fields that lists leave out.
    #[serde(default)]
    pub detailed: bool,
}

impl Object {
    /// Returns the status of a kind whose readiness is read from `attribute`; `None` where the object does not
    /// show it, or it is no string.
    #[must_use]
    pub fn status(&self, attribute: &str) -> Option<&str> {
        self.attributes.get(attribute).and_then(Value::as_text)
    }

    /// Returns the object with the strings of its attributes redacted, for display only. Its ids stay as they are.
    #[must_use]
    pub fn to_redacted(&self, redact: &dyn Fn(&str) -> String) -> Self {
        Self { attributes: redact_attributes(&self.attributes, redact), ..self.clone() }
    }

    /// Returns the key that is unique within the snapshot.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        ObjectKey { kind: self.kind.clone(), parent: self.parent.clone(), id: self.id.clone() }
    }
}

/// The identity of an object: kind and id, and the parent's id for a child. Keys sort by kind first,
/// which `Snapshot::of_kind` relies on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    /// The name of the object's kind.
    pub kind: Name,
    /// The parent object's id; `None` for an object that is not a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Name>,
    /// The object's id within its kind and parent.
    pub id: Name,
}

/// Live objects read at one time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// The time when the read finished; `None` where nothing was read.
    pub read_at: Option<Timestamp>,
    /// The account, identified by the id of its default project; `None` where that was not read.
    pub account: Option<Name>,
    /// The default project's id; `None` where it was not read.
    pub default_project: Option<Name>,
    /// All objects that were listed or read by id.
    pub objects: BTreeMap<ObjectKey, Object>,
    /// Objects for which a GET by id returned 404: they are known not to exist.
    pub absent: BTreeSet<ObjectKey>,
    /// Kinds whose lists were read completely.
    pub listed: BTreeSet<Name>,
    /// The values to which an object's attribute can be changed, where the service lists them.
    pub choices: BTreeMap<(ObjectKey, Name), Vec<Value>>,
    /// For objects with several ids: from kind and any of the ids to the id used in `objects`.
    pub ids: BTreeMap<(Name, Name), Name>,
    /// By kind, the number of objects read by id, and the attributes that required it.
    pub one_by_one: BTreeMap<Name, IndividualReads>,
    /// The requests that the read used.
    pub requests: RequestCount,
}

/// A count of objects of one kind that were read by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndividualReads {
    /// The number of objects read by id.
    pub objects: usize,
    /// Attributes that lists do not show.
    pub attributes: BTreeSet<Name>,
}

/// The scope of a read of live objects.
#[derive(Debug, Clone, Default)]
pub struct RefreshRequest {
    /// Kinds to list, by name. Children are listed under `parents`.
    pub kinds: BTreeSet<Name>,
    /// Project ids to filter by: the service filters the lists, one pass for each. `None` while names or ids are
    /// unknown: the read lists everything and the caller filters.
    pub projects: Option<Vec<Name>>,
    /// Owned objects: a read checks by id each one that no list shows before it counts as absent.
    pub owned: Vec<ObjectKey>,
    /// The subset of `owned` that is to be adopted, by any of their ids: no ledger has them yet.
    pub adopted: BTreeSet<ObjectKey>,
    /// Objects whose project no ledger has, although a change of them must state it.
    pub homeless: BTreeSet<ObjectKey>,
    /// Objects with a requested attribute that lists leave out: they are read by id.
    pub details: BTreeSet<ObjectKey>,
    /// Child collections to list: `(child kind, parent object's id)`.
    pub parents: BTreeSet<(Name, Name)>,
    /// Kinds to list in all projects; children under every listed parent, as long as there are few parents.
    pub everywhere: BTreeSet<Name>,
    /// Attributes whose possible values the service lists.
    pub choices: BTreeSet<(ObjectKey, Name)>,
    /// For owned objects, the last applied values of the attributes that blocks write: a list that shows a different
    /// value does not prove a difference, and the object is read by id.
    pub applied: BTreeMap<ObjectKey, Attributes>,
}

impl RefreshRequest {
    /// Adds what another request names, so that one read serves both.
    pub fn merge(&mut self, other: Self) {
        let Self {
            kinds,
            projects,
            owned,
            adopted,
            homeless,
            details,
            parents,
            everywhere,
            choices,
            applied,
        } = other;
        self.kinds.extend(kinds);
        self.projects = match (self.projects.take(), projects) {
            (Some(mut known), Some(more)) => {
                known.extend(more);
                known.sort_unstable();
                known.dedup();
                Some(known)
            }
            // Without the ids of one request, every project is read.
            _ => None,
        };
        self.owned.extend(owned);
        self.owned.sort();
        self.owned.dedup();
        self.adopted.extend(adopted);
        self.homeless.extend(homeless);
        self.details.extend(details);
        self.parents.extend(parents);
        self.everywhere.extend(everywhere);
        self.choices.extend(choices);
        self.applied.extend(applied);
    }
}

/// The number of requests that a read used, and the delays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCount {
    /// Requests sent, retries included.
    pub sent: u32,
    /// How many of these requests were list pages.
    pub pages: u32,
    /// Responses with status 429 (specification, Rate limiting).
    pub limited: u32,
    /// Time spent waiting for the rate limiter, in milliseconds.
    pub waited_ms: u64,
}

impl Snapshot {
    /// Returns an object by its key, which may have any of its ids; `None` where it does not exist or was not read.
    #[must_use]
    pub fn find(&self, key: &ObjectKey) -> Option<&Object> {
        let id = self.main_id(&key.kind, &key.id).clone();
        self.objects.get(&ObjectKey { id, ..key.clone() })
    }

    /// Returns the id that this snapshot uses for an object, from any of its ids; an id that it does not know
    /// stays as it is.
    #[must_use]
    pub fn main_id<'a>(&'a self, kind: &str, id: &'a Name) -> &'a Name {
        self.ids.get(&(Name::new(kind), id.clone())).unwrap_or(id)
    }

    /// Counts an object that was read by id because of attributes that lists do not show.
    pub fn count_one_by_one(&mut self, kind: &str, attributes: impl IntoIterator<Item = Name>) {
        let count = self.one_by_one.entry(Name::new(kind)).or_default();
        count.objects += 1;
        count.attributes.extend(attributes);
    }

    /// Returns the name of a project; `None` if the project was not read.
    #[must_use]
    pub fn project_name(&self, id: &Name) -> Option<&str> {
        let key = ObjectKey { kind: Name::new_static(PROJECT), parent: None, id: id.clone() };
        self.objects.get(&key)?.attributes.get("name")?.as_text()
    }

    /// Returns the objects of one kind, sorted by parent and id.
    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Object> {
        let first = ObjectKey { kind: kind.into(), parent: None, id: Name::default() };
        self.objects.range(first..).map(|(_, object)| object).take_while(move |o| o.kind == kind)
    }
}
