//! `Kind`: the table of everything that the program knows about one kind of resource.
//!
//! `crate::kinds` has one such table for each kind, as a difference from `Kind::PLAIN`; no other code names a kind.
//! Requests, validation, plans, help and schemas are derived from these tables.

use serde::{Deserialize, Serialize};

use super::{
    Action, ApiCall, Attribute, Billing, Effect, Endpoint, Exposure, Literal, Method, Price, Revival,
    Rights, Rule, RuleCheck, RunSchema, Type,
};
use crate::model::values::value::{Attributes, Value};

/// Name of the kind to which project-scoped objects belong.
pub const PROJECT: &str = "project";

/// The owner of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindScope {
    /// It belongs to the account.
    Account,
    /// It belongs to a project of the account.
    Project,
    /// It belongs to an object of another kind, whose block contains it.
    Child {
        /// The name of the parent's kind.
        of: &'static str,
        /// The key in the parent's block that contains such children: `users`.
        collection: &'static str,
    },
}

/// The order of creation and deletion when an object is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplaceOrder {
    /// Creates the new object, then deletes the old one.
    CreateFirst,
    /// Deletes the old object, then creates the new one.
    DeleteFirst,
    /// Refuses to replace the object: a change that needs a replacement is a blocker of the plan.
    Never,
}

/// How to see that an object is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadinessRule {
    /// The attribute that shows the status. An object that does not show it counts as ready.
    pub attribute: &'static str,
    /// Statuses of an object that is ready and in use. A status that is in none of these lists means: wait.
    pub wanted: &'static [&'static str],
    /// Statuses of an object that is stable but not in use: stopped, suspended.
    pub resting: &'static [&'static str],
    /// Statuses of an object that will not become ready by itself: a wait for it ends with an error.
    pub failed: &'static [&'static str],
    /// Statuses of an object that is being deleted, or that is deleted and still shown.
    pub leaving: &'static [&'static str],
}

/// Seconds that operations usually take, for the estimate in plans; timeouts derive from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurationEstimate {
    /// Seconds from creation until the object is usable.
    pub create: u32,
    /// Seconds for a change in place.
    pub update: u32,
    /// Seconds from the delete request until the object is gone.
    pub delete: u32,
}

/// The endpoints of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindApi {
    /// The attribute that replaces `{id}` in paths: `id`, or `name` for a child without ids.
    pub id: &'static str,
    /// Attributes with other ids of the same object, which paths and responses may use instead; empty
    /// where there is one.
    pub other_ids: &'static [&'static str],
    /// The endpoint that creates an object.
    pub create: Endpoint,
    /// The endpoint that reads one object; `None` where only the list shows it.
    pub read: Option<Endpoint>,
    /// The endpoint that lists the objects.
    pub list: Endpoint,
    /// The endpoint that deletes an object.
    pub delete: Endpoint,
    /// The constant fields of the delete request's body; empty where it needs none.
    pub delete_body: &'static [(&'static str, Literal)],
    /// How to see that an object is ready; `None` where it is ready at once.
    pub ready: Option<ReadinessRule>,
    /// There is one object and no list: `list` returns it, its id is the kind's name, and it counts as absent while an
    /// attribute has this value. `None` for an ordinary kind, whose objects are created and listed.
    pub absent_when: Option<(&'static str, Literal)>,
}

impl KindApi {
    /// Returns the four usual endpoints of a collection of objects, documented by the specification.
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

    /// Returns the four usual endpoints of a collection of objects, assumed by the contract.
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

/// An alternative block for a child: the block of a resource that it refers to, under its parent's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NestedPlacement {
    /// The kind that has the alternative block.
    pub kind: &'static str,
    /// The key in that block: `projects`.
    pub key: &'static str,
    /// The child's attribute that refers to that block's resource.
    pub refers: &'static str,
    /// The child's attribute that a scalar entry sets.
    pub says: &'static str,
}

/// An object of another kind that keeps the data of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinalSnapshot {
    /// The kind of the copy, such as `snapshot`.
    pub kind: &'static str,
    /// The copy's attribute that refers to the original.
    pub of: &'static str,
    /// The source of its size before it exists: an attribute of the object (`None`), or a field of the catalog record
    /// that the attribute names (`Some`).
    pub size: (&'static str, Option<&'static str>),
}

/// One kind of resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The singular name in the configuration language.
    pub name: &'static str,
    /// One sentence for the help.
    pub summary: &'static str,
    /// The owner of an object.
    pub scope: KindScope,
    /// Whether the service refuses a change that does not state its project in a header; for other kinds
    /// the account's default project applies.
    pub states_project: bool,
    /// The endpoints of its requests.
    pub api: KindApi,
    /// The rights that its requests need; `None` if they are not known.
    pub rights: Option<Rights>,
    /// All attributes, without `id`.
    pub attributes: &'static [Attribute],
    /// The attribute that identifies an object for people: a live object with the same value is an adoption candidate.
    pub known_by: &'static str,
    /// The rules of the service in addition to types.
    pub rules: &'static [Rule],
    /// The built-in policies about what its objects open to others.
    pub exposures: &'static [Exposure],
    /// How the price is computed.
    pub price: Price,
    /// When the price is paid.
    pub billing: Billing,
    /// The usual duration of its operations.
    pub estimate: DurationEstimate,
    /// The order of a replacement, unless the configuration sets one.
    pub replace: ReplaceOrder,
    /// Additional effects of a replacement or a deletion.
    pub on_delete: &'static [Effect],
    /// Effects of a replacement on the users of the object.
    pub on_replace: &'static [Effect],
    /// Whether its objects have data that cannot be recreated.
    pub data_bearing: bool,
    /// Whether its objects have local data that exists only in them, such as a machine's own disk. The kind does not
    /// exist for such data, so a change of the block may replace the object, but any other cause
    /// of its loss needs confirmation.
    pub local_data: bool,
    /// Attributes that refer to the original of a copy.
    pub copy_of: &'static [&'static str],
    /// Kinds whose objects the service deletes with it (a VM's backup schedules): `(kind, attribute
    /// that refers to it)`.
    pub takes_along: &'static [(&'static str, &'static str)],
    /// Whether the service deletes such a child with its parent, so that the plan does not delete it separately before.
    pub goes_with_parent: bool,
    /// Objects that the service provides in every account, recognized by an attribute with one of these values: no
    /// stack creates, imports or deletes them. `None` where the service provides none.
    pub given: Option<(&'static str, &'static [Literal])>,
    /// Objects that the service creates by itself (backups of a schedule), recognized by an attribute and the prefix of
    /// its value: neither unmanaged nor drift. `None` where users create all objects.
    pub made_by_service: Option<(&'static str, &'static str)>,
    /// The attribute with the time at which an object expires. An object with such a time is temporary and is adopted
    /// only when the user names it. `None` where objects do not expire.
    pub goes_at: Option<&'static str>,
    /// Objects of another kind that the workload in it creates, `(kind, path of their list)`: they belong to it,
    /// and no stack adopts them. `None` where it creates none.
    pub claims: Option<(&'static str, &'static str)>,
    /// The attribute that a scalar entry of its collection sets: `domains: [shop.example.com]`. `None` where each
    /// entry must be a map.
    pub plain_entry: Option<&'static str>,
    /// Another kind's block that may also contain such children, under their parent's name; `None` where only
    /// the parent's block may.
    pub also_in: Option<NestedPlacement>,
    /// Fields of responses that no attribute carries, each with its type: the probe of the service
    /// does not report them.
    pub other_fields: &'static [(&'static str, Type)],
    /// Fields that the create body accepts and no attribute writes.
    pub also_sent: &'static [(&'static str, Type)],
    /// Fields that the delete body accepts, with more values than `KindApi::delete_body` sends.
    pub also_deleted: &'static [(&'static str, Type)],
    /// The field with a secret that only the response to the creation shows. It can be delivered to a secret sink.
    /// `None` where the creation returns no secret.
    pub shown_once: Option<&'static str>,
    /// The kind that can keep the data of a deleted object; `None` where there is none.
    pub final_copy: Option<FinalSnapshot>,
    /// How a stopped or failed object is brought back into use; `None` where no call does that.
    pub revival: Option<Revival>,
    /// The run that a deploying change starts: it must end successfully, while the previous version keeps running.
    /// `None` where the object's own status shows the end of every change.
    pub rollout: Option<&'static RunSchema>,
    /// Whether creating or deleting a child starts a roll-out of its parent.
    pub rolls_out_parent: bool,
    /// Additional operations and reads of the kind, in the order of the help.
    pub actions: &'static [Action],
}

impl Kind {
    /// A kind with default values, for tables that list only the differences.
    pub const PLAIN: Self = Self {
        name: "",
        summary: "",
        scope: KindScope::Account,
        states_project: false,
        api: KindApi::assumed("", ""),
        rights: None,
        attributes: &[],
        known_by: "name",
        rules: &[],
        exposures: &[],
        price: Price::Free,
        billing: Billing::Arrears,
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

    /// Returns the attribute with this name of the language; `None` where the kind has none. `id` is not among them.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&'static Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// Returns whether an attribute is a secret, by its name.
    #[must_use]
    pub fn is_secret(&self, name: &str) -> bool {
        self.attribute(name).is_some_and(|attribute| attribute.secret)
    }

    /// Returns whether a rule of the service forbids the deletion of an object of this kind while one of the kind `user` refers to
    /// it in an attribute, or, without an attribute, is in it.
    #[must_use]
    pub fn is_held_by(&self, user: &str, attribute: Option<&str>) -> bool {
        self.rules.iter().any(|rule| match (rule.check, attribute) {
            (RuleCheck::NotUsed { by }, Some(attribute)) => by.contains(&(user, attribute)),
            (RuleCheck::NotFilled, None) => true,
            _ => false,
        })
    }

    /// Returns the parent's kind and the collection's name of a child; `None` for a kind at the top level.
    #[must_use]
    pub fn child_of(&self) -> Option<(&'static str, &'static str)> {
        match self.scope {
            KindScope::Child { of, collection } => Some((of, collection)),
            KindScope::Account | KindScope::Project => None,
        }
    }

    /// Returns whether an object with these attributes is one that the service provides in every account.
    #[must_use]
    pub fn is_given(&self, attributes: &Attributes) -> bool {
        self.given.is_some_and(|(name, values)| {
            attributes.get(name).is_some_and(|live| values.iter().any(|value| value.value() == *live))
        })
    }

    /// Returns whether the service created an object with these attributes by itself.
    #[must_use]
    pub fn is_made_by_service(&self, attributes: &Attributes) -> bool {
        self.made_by_service.is_some_and(|(name, start)| {
            let value = attributes.get(name).and_then(Value::as_text);
            value.is_some_and(|value| value.starts_with(start))
        })
    }

    /// Returns whether an object with these attributes expires by itself: it has a time of expiry, past or future.
    #[must_use]
    pub fn passes(&self, attributes: &Attributes) -> bool {
        self.goes_at.and_then(|name| attributes.get(name)).is_some_and(|time| *time != Value::Null)
    }

    /// Returns every call that changes an object in place or revives it, each name once: attributes share calls.
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

    /// Returns the call with this name; `None` where no attribute and no revival uses it.
    #[must_use]
    pub fn call(&self, name: &str) -> Option<&'static ApiCall> {
        self.calls().find(|call| call.name == name)
    }

    /// Returns the action with this name; `None` where the kind has none.
    #[must_use]
    pub fn action(&self, name: &str) -> Option<&'static Action> {
        self.actions.iter().find(|action| action.name == name)
    }

    /// Returns the read that shows again a secret which the creation shows once: the GET action that has the name
    /// of its field. `None` where the creation shows no secret, or the service does not show it again.
    #[must_use]
    pub fn reveal(&self) -> Option<Endpoint> {
        let endpoint = self.action(self.shown_once?)?.endpoint()?;
        (endpoint.method == Method::Get).then_some(endpoint)
    }

    /// Returns every endpoint of the kind, except the lists of `Attribute::choices` and of `claims`; an endpoint
    /// that two calls share is repeated.
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
