//! `Object` and `Snapshot`: the live world as it was read, in the language's names.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::address::Name;
use super::value::{Attributes, Value, redact_attributes};

/// The remote thing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Object {
    /// The kind's name.
    pub kind: Name,
    /// The id that paths carry (a child without an id of its own: its name).
    pub id: Name,
    /// The parent object's id, for a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Name>,
    /// The owning project's id, where the record carries one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Name>,
    /// When the service made it, as the service wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Name>,
    /// Attributes in the language's names; catalog and reference attributes hold ids.
    pub attributes: Attributes,
    /// Whether `attributes` came from a by-id GET, and so holds what lists leave out.
    #[serde(default)]
    pub detailed: bool,
}

impl Object {
    /// Returns the status text of a kind whose readiness is read from `attribute`.
    #[must_use]
    pub fn status(&self, attribute: &str) -> Option<&str> {
        self.attributes.get(attribute).and_then(Value::as_text)
    }

    /// Returns the object with the texts of its attributes redacted, for display only.
    #[must_use]
    pub fn to_redacted(&self, redact: &dyn Fn(&str) -> String) -> Self {
        Self { attributes: redact_attributes(&self.attributes, redact), ..self.clone() }
    }

    /// Returns the key that is unique over the whole snapshot.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        ObjectKey { kind: self.kind.clone(), parent: self.parent.clone(), id: self.id.clone() }
    }
}

/// What identifies an object: kind and id, and the parent's id for a child.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    /// The kind's name.
    pub kind: Name,
    /// The parent object's id, for a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Name>,
    /// The id.
    pub id: Name,
}

/// Many objects at one time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// When the read was done.
    pub read_at: Option<Timestamp>,
    /// The account: the id of its default project.
    pub account: Option<Name>,
    /// The default project's id.
    pub default_project: Option<Name>,
    /// Everything that was listed or read.
    pub objects: BTreeMap<ObjectKey, Object>,
    /// Objects that were looked for by id and answered 404: proven gone.
    pub absent: BTreeSet<ObjectKey>,
    /// Kinds whose lists were read whole.
    pub listed: BTreeSet<Name>,
    /// What an object's attribute can be changed to, where the service lists that.
    pub choices: BTreeMap<(ObjectKey, Name), Vec<Value>>,
    /// By kind and any id of an object that has several: the one in `objects`.
    pub ids: BTreeMap<(Name, Name), Name>,
    /// By kind, what was read object by object, and because of which attributes.
    pub one_by_one: BTreeMap<Name, IndividualReads>,
    /// What the read cost.
    pub requests: RequestCount,
}

/// Objects of a kind that were read one by one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndividualReads {
    /// How many.
    pub objects: usize,
    /// Attributes that lists do not show.
    pub attributes: BTreeSet<Name>,
}

/// What a read of the live world is to cover.
#[derive(Debug, Clone, Default)]
pub struct RefreshRequest {
    /// Kinds to list, by name. Children are listed under `parents`.
    pub kinds: BTreeSet<Name>,
    /// Project names or ids are not known yet: list everything and filter here. With ids: lists are
    /// filtered by the service, one pass for each.
    pub projects: Option<Vec<Name>>,
    /// Owned objects: one that no list shows is asked for by id before it is believed absent.
    pub owned: Vec<ObjectKey>,
    /// Of these, objects that are to be taken over, by whichever of their ids: no ledger has them yet.
    pub adopted: BTreeSet<ObjectKey>,
    /// Objects of which no ledger has the project, though a change of them must state it.
    pub homeless: BTreeSet<ObjectKey>,
    /// Objects of which an attribute is wanted that lists leave out: read by id.
    pub details: BTreeSet<ObjectKey>,
    /// Child collections to list: `(child kind, parent object's id)`.
    pub parents: BTreeSet<(Name, Name)>,
    /// Kinds to list whatever projects are named; of children, under every parent that is listed, as far
    /// as there are few.
    pub everywhere: BTreeSet<Name>,
    /// Attributes of which the service lists what they can be changed to.
    pub choices: BTreeSet<(ObjectKey, Name)>,
    /// Of owned objects, what was last applied to the attributes that blocks write: a list that shows it otherwise
    /// proves no difference, and the object is read by id.
    pub applied: BTreeMap<ObjectKey, Attributes>,
}

/// What a read cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCount {
    /// Requests sent, retries included.
    pub sent: u32,
    /// Of these, list pages.
    pub pages: u32,
    /// 429 answers.
    pub limited: u32,
    /// Milliseconds spent waiting for the limiter.
    pub waited_ms: u64,
}

impl Snapshot {
    /// Returns an object by its key, with any of its ids.
    #[must_use]
    pub fn find(&self, key: &ObjectKey) -> Option<&Object> {
        let id = self.main_id(&key.kind, &key.id).clone();
        self.objects.get(&ObjectKey { id, ..key.clone() })
    }

    /// Returns the id by which an object is known here, from any of its ids.
    #[must_use]
    pub fn main_id<'a>(&'a self, kind: &str, id: &'a Name) -> &'a Name {
        self.ids.get(&(Name::new(kind), id.clone())).unwrap_or(id)
    }

    /// Takes note of an object that was read by itself because of attributes that lists do not show.
    pub fn count_one_by_one(&mut self, kind: &str, attributes: impl IntoIterator<Item = Name>) {
        let count = self.one_by_one.entry(Name::new(kind)).or_default();
        count.objects += 1;
        count.attributes.extend(attributes);
    }

    /// Returns the objects of one kind.
    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Object> {
        let first = ObjectKey { kind: kind.into(), parent: None, id: Name::default() };
        self.objects.range(first..).map(|(_, object)| object).take_while(move |o| o.kind == kind)
    }
}
