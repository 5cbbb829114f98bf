//! `Kind`: everything that stead knows of one kind of resource.

use serde::{Deserialize, Serialize};

use super::{
    Action, ApiCall, Attribute, Effect, Endpoint, Literal, Method, Price, Revival, Rule, RunSchema, Type,
};
use crate::model::value::{Attributes, Value};

/// To what an object belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindScope {
    /// The account.
    Account,
    /// A project of the account.
    Project,
    /// An object of another kind, in whose block it is written.
    Child {
        /// The parent's kind.
        of: &'static str,
        /// The key of the parent's block under which such children stand: `users`.
        collection: &'static str,
    },
}

/// Which of the two comes first when an object is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplaceOrder {
    /// The new one, then the old one goes.
    CreateFirst,
    /// The old one goes, then the new one comes.
    DeleteFirst,
    /// Refused.
    Never,
}

/// How to see that an object has settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadinessRule {
    /// The attribute that tells.
    pub attribute: &'static str,
    /// Settled and usable.
    pub wanted: &'static [&'static str],
    /// At rest but not in use: stopped, suspended.
    pub resting: &'static [&'static str],
    /// It will not settle by itself.
    pub failed: &'static [&'static str],
    /// On its way out.
    pub leaving: &'static [&'static str],
}

/// Seconds that operations usually take, for the time shown in plans; timeouts derive from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurationEstimate {
    /// Creation until usable.
    pub create: u32,
    /// A change in place.
    pub update: u32,
    /// Deletion until gone.
    pub delete: u32,
}

/// The endpoints of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindApi {
    /// The attribute that `{id}` in paths stands for: `id`, or `name` for a child without ids.
    pub id: &'static str,
    /// Attributes that hold another id of the same object, which paths and answers may have in its place.
    pub other_ids: &'static [&'static str],
    /// Makes one.
    pub create: Endpoint,
    /// Reads one; `None` where only the list shows it.
    pub read: Option<Endpoint>,
    /// Lists them.
    pub list: Endpoint,
    /// Removes one.
    pub delete: Endpoint,
    /// What the delete request says in its body.
    pub delete_body: &'static [(&'static str, Literal)],
    /// How to see that it settled; `None` where it has at once.
    pub ready: Option<ReadinessRule>,
    /// There is one object and no list: `list` answers with it, its id is the kind's name, and while an
    /// attribute has this value it counts as absent.
    pub absent_when: Option<(&'static str, Literal)>,
}

impl KindApi {
    /// Returns the four usual endpoints of a collection of objects, as the specification names them.
    #[must_use]
    pub const fn documented(collection: &'static str, item: &'static str) -> Self {
        Self {
            id: "id",
            other_ids: &[],
            create: Endpoint::documented(Method::Post, collection),
            read: Some(Endpoint::documented(Method::Get, item)),
            list: Endpoint::documented(Method::Get, collection),
            delete: Endpoint::documented(Method::Delete, item),
            delete_body: &[],
            ready: None,
            absent_when: None,
        }
    }

    /// Returns the four usual endpoints of a collection of objects, as the contract assumes them.
    #[must_use]
    pub const fn assumed(collection: &'static str, item: &'static str) -> Self {
        Self {
            id: "id",
            other_ids: &[],
            create: Endpoint::assumed(Method::Post, collection),
            read: Some(Endpoint::assumed(Method::Get, item)),
            list: Endpoint::assumed(Method::Get, collection),
            delete: Endpoint::assumed(Method::Delete, item),
            delete_body: &[],
            ready: None,
            absent_when: None,
        }
    }
}

/// Another place to write a child in: the block of what it refers to, by its parent's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NestedPlacement {
    /// The kind whose block it is.
    pub kind: &'static str,
    /// The key there: `projects`.
    pub key: &'static str,
    /// The child's attribute that refers to that block's resource.
    pub refers: &'static str,
    /// The child's attribute that a plain value gives.
    pub says: &'static str,
}

/// An object of another kind that keeps the data of one that goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinalSnapshot {
    /// Its kind.
    pub kind: &'static str,
    /// Its attribute that says of what it is.
    pub of: &'static str,
    /// Where its size stands before it is there: an attribute of the object, or of the catalog record that
    /// an attribute names.
    pub size: (&'static str, Option<&'static str>),
}

/// One kind of resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The language's name, singular.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// To what an object belongs.
    pub scope: KindScope,
    /// Whether a change is refused that does not say its project in a header: elsewhere the account's
    /// default one is meant.
    pub states_project: bool,
    /// Its endpoints.
    pub api: KindApi,
    /// Its attributes; `id` is not among them.
    pub attributes: &'static [Attribute],
    /// The attribute by which people know an object: a live one with the same value is taken for it.
    pub known_by: &'static str,
    /// What the service demands beyond types.
    pub rules: &'static [Rule],
    /// What it costs.
    pub price: Price,
    /// How long things take.
    pub estimate: DurationEstimate,
    /// Which comes first in a replacement, unless the configuration says.
    pub replace: ReplaceOrder,
    /// What a replacement or a deletion does besides.
    pub on_delete: &'static [Effect],
    /// What a replacement does to those who use it.
    pub on_replace: &'static [Effect],
    /// Whether its objects hold data that cannot be made again.
    pub data_bearing: bool,
    /// Whether something of what runs in its objects stays in them alone: a machine's own disk. Such data is not
    /// what the kind is for, so a change of the block may replace it, but nothing else may end it unasked.
    pub local_data: bool,
    /// Attributes that name the object of whose data it is a copy.
    pub copy_of: &'static [&'static str],
    /// Kinds whose objects go with it when it is deleted (a VM's backup schedules), named by the
    /// attribute that refers to it: `(kind, attribute)`.
    pub takes_along: &'static [(&'static str, &'static str)],
    /// A child that the service removes with its parent, and may not remove by itself before.
    pub goes_with_parent: bool,
    /// Objects that the service itself has in every account, told by an attribute that has one of these
    /// values: no stack makes, imports or deletes them.
    pub given: Option<(&'static str, &'static [Literal])>,
    /// Objects that the service makes by itself for what it runs, told by an attribute and how its value begins
    /// (backups of a schedule): neither unmanaged nor drift.
    pub made_by_service: Option<(&'static str, &'static str)>,
    /// The attribute that tells when an object goes by itself. One that has a time is not there to stay, and
    /// is taken over only by who names it.
    pub goes_at: Option<&'static str>,
    /// Objects of another kind that come into being by what runs in it, `(kind, path of their list)`: they are
    /// its own, and no stack adopts them.
    pub claims: Option<(&'static str, &'static str)>,
    /// The attribute that a plain entry of its collection gives: `domains: [shop.example.com]`.
    pub plain_entry: Option<&'static str>,
    /// Another kind's block in which such children may be written too, named by their parent.
    pub also_in: Option<NestedPlacement>,
    /// Fields that answers may have and that no attribute carries, each with its type.
    pub other_fields: &'static [(&'static str, Type)],
    /// Fields that a creation takes and that no attribute writes.
    pub also_sent: &'static [(&'static str, Type)],
    /// Fields that a deletion takes, with more values than `KindApi::delete_body` sends.
    pub also_deleted: &'static [(&'static str, Type)],
    /// A secret that creation answers with, once: the answer's field. It can be delivered to a sink.
    pub shown_once: Option<&'static str>,
    /// What can keep the data of an object that goes.
    pub final_copy: Option<FinalSnapshot>,
    /// What brings an object back that rests or has failed.
    pub revival: Option<Revival>,
    /// What a change that deploys begins: a record that must end well, while what ran before runs on.
    pub rollout: Option<&'static RunSchema>,
    /// Whether a child changes how its parent runs when it comes or goes: that begins a roll-out of the parent.
    pub rolls_out_parent: bool,
    /// Other operations and reads.
    pub actions: &'static [Action],
}

impl Kind {
    /// A kind without anything of its own, for tables that say only what is special.
    pub const PLAIN: Self = Self {
        name: "",
        summary: "",
        scope: KindScope::Account,
        states_project: false,
        api: KindApi::assumed("", ""),
        attributes: &[],
        known_by: "name",
        rules: &[],
        price: Price::Free,
        estimate: DurationEstimate { create: 1, update: 1, delete: 1 },
        replace: ReplaceOrder::CreateFirst,
        on_delete: &[],
        on_replace: &[],
        data_bearing: false,
        local_data: false,
        copy_of: &[],
        takes_along: &[],
        goes_with_parent: false,
        given: None,
        made_by_service: None,
        goes_at: None,
        claims: None,
        plain_entry: None,
        also_in: None,
        other_fields: &[],
        also_sent: &[],
        also_deleted: &[],
        shown_once: None,
        final_copy: None,
        revival: None,
        rollout: None,
        rolls_out_parent: false,
        actions: &[],
    };

    /// Returns an attribute by the language's name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&'static Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// Returns the parent's kind and the collection's name, for a child.
    #[must_use]
    pub fn child_of(&self) -> Option<(&'static str, &'static str)> {
        match self.scope {
            KindScope::Child { of, collection } => Some((of, collection)),
            KindScope::Account | KindScope::Project => None,
        }
    }

    /// Tells whether an object with these attributes is one that the service itself has.
    #[must_use]
    pub fn is_given(&self, attributes: &Attributes) -> bool {
        self.given.is_some_and(|(name, values)| {
            attributes.get(name).is_some_and(|live| values.iter().any(|value| value.value() == *live))
        })
    }

    /// Tells whether the service made an object with these attributes by itself.
    #[must_use]
    pub fn is_made_by_service(&self, attributes: &Attributes) -> bool {
        self.made_by_service.is_some_and(|(name, start)| {
            let value = attributes.get(name).and_then(Value::as_text);
            value.is_some_and(|value| value.starts_with(start))
        })
    }

    /// Tells whether an object with these attributes goes by itself.
    #[must_use]
    pub fn passes(&self, attributes: &Attributes) -> bool {
        self.goes_at.and_then(|name| attributes.get(name)).is_some_and(|time| *time != Value::Null)
    }

    /// Returns every call that changes an object in place, each once.
    pub fn calls(&self) -> impl Iterator<Item = &'static ApiCall> {
        let mut seen: Vec<&'static ApiCall> = Vec::new();
        let revival = self.revival.map(|revival| revival.call);
        for call in self.attributes.iter().flat_map(Attribute::calls).chain(revival) {
            if !seen.iter().any(|known| known.name == call.name) {
                seen.push(call);
            }
        }
        seen.into_iter()
    }

    /// Returns a call by its name.
    #[must_use]
    pub fn call(&self, name: &str) -> Option<&'static ApiCall> {
        self.calls().find(|call| call.name == name)
    }

    /// Returns an action by its name.
    #[must_use]
    pub fn action(&self, name: &str) -> Option<&'static Action> {
        self.actions.iter().find(|action| action.name == name)
    }

    /// Returns the read that shows again what creation shows once: the action of the same name.
    #[must_use]
    pub fn reveal(&self) -> Option<Endpoint> {
        let endpoint = self.action(self.shown_once?)?.endpoint()?;
        (endpoint.method == Method::Get).then_some(endpoint)
    }

    /// Returns every endpoint of the kind.
    pub fn endpoints(&self) -> impl Iterator<Item = Endpoint> {
        let api = self.api;
        [Some(api.create), api.read, Some(api.list), Some(api.delete)]
            .into_iter()
            .flatten()
            .chain(self.calls().map(|call| call.endpoint))
            .chain(self.attributes.iter().filter_map(Attribute::grant))
            .chain(self.actions.iter().filter_map(Action::endpoint))
    }
}
