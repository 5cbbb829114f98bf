//! `PreexistingObjects`: the objects that existed before a creation was sent, which it cannot have made.
//!
//! An object whose creation lost its response is found again by its attributes. An older object with the same
//! attributes must not be mistaken for it, so the intent records the older one's id. Two savings, and why they
//! are sound:
//!
//! - One list serves all creations of a kind in one scope (parent and project) for a minute; ids that this run
//!   binds are added. The list must contain every object that existed before the request left and is not ours.
//!   An object that another writer creates between the list and the request, with all the attributes that we
//!   send, is missing from it. That gap exists however late the list is read, and it ends the same way: only
//!   when the response is lost, too, with one object found, which is bound unconfirmed (deleting or replacing
//!   it needs the user's confirmation), or with two, which makes the intent ambiguous. After any lost response
//!   the list is read again.
//! - An intent contains only the ids of objects with the same distinguishing attribute (the name, where there
//!   is one): no other object is a candidate. All ids in every intent would be quadratic.
//!
//! Two creations of ours with the same distinguishing attribute could each be mistaken for the other: they run
//! one after the other.
//!
//! The stacks that one process applies to one account have one `PreexistingObjects`, with all that is said above:
//! a list that one stack read serves the others, the objects that they create are added to it, and their similar
//! creations run one after the other. What another process creates is missing from it for a minute at the longest,
//! as from the list of a single stack. It must not be shared between accounts.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use futures_util::lock::{Mutex, OwnedMutexGuard};

use crate::apply::event::StepError;
use crate::apply::request_encoding;
use crate::apply::step::{MutationScope, read_failed};
use crate::cloud::client::Client;
use crate::cloud::http::message::Transport;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::Object;
use crate::model::schema::Kind;
use crate::model::values::value::{Attributes, Value};

/// How long a list may be reused.
const LISTING_LIFETIME: Duration = Duration::from_mins(1);

/// The scope of a creation: kind, parent and project.
type CreationScope = (&'static str, MutationScope);

/// The cached list of a scope; `None` until it is read.
type SharedListing = Arc<Mutex<Option<ObjectListing>>>;

/// A mutex that serializes creations with the same distinguishing attribute.
type CreationQueue = Arc<Mutex<()>>;

/// Objects among which ids are unique: those of one kind under one parent.
type IdNamespace = (Name, Option<Name>);

/// The cached lists by scope, and the mutexes of creations that could be mistaken for each other.
#[derive(Default)]
pub struct PreexistingObjects {
    lists: RefCell<BTreeMap<CreationScope, SharedListing>>,
    queues: RefCell<BTreeMap<(CreationScope, String), CreationQueue>>,
    /// Every id that a list showed or the ledger contains, with the time when it was first seen. The service never
    /// reuses an id, so no later creation has one of them.
    known: RefCell<HashMap<IdNamespace, HashMap<Name, Duration>>>,
    /// Names that identified objects which this run deleted: a list that still shows one is older than the deletion.
    released: RefCell<HashMap<IdNamespace, BTreeSet<Name>>>,
}

struct ObjectListing {
    ids: BTreeMap<String, Vec<Name>>,
    date: Option<Name>,
    read_at: Duration,
}

/// The preexisting objects that an intent records, and the `Date` header of the list that showed them; `None`
/// if the service sent none.
pub(in crate::apply) struct PreexistingIds {
    pub(in crate::apply) ids: Vec<Name>,
    pub(in crate::apply) date: Option<Name>,
}

impl PreexistingObjects {
    /// Waits until no other creation with the same distinguishing attribute is running.
    pub(in crate::apply) async fn lock_similar_creations(
        &self,
        kind: &'static Kind,
        scope: &MutationScope,
        expected: &Attributes,
    ) -> OwnedMutexGuard<()> {
        let key = ((kind.name, scope.clone()), distinguishing_value(kind, expected));
        let queue = Arc::clone(self.queues.borrow_mut().entry(key).or_default());
        queue.lock_owned().await
    }

    /// Adds an object that this run created to the cached list, so that it is not mistaken for a later
    /// creation's. Without a cached list, the next one shows it.
    pub(in crate::apply) async fn add_created_object(
        &self,
        kind: &'static Kind,
        scope: &MutationScope,
        expected: &Attributes,
        id: Name,
    ) {
        if let Some(released) =
            self.released.borrow_mut().get_mut(&namespace(kind.name, scope.parent.as_ref()))
        {
            released.remove(&id);
        }
        let list = self.shared_list(kind, scope);
        if let Some(list) = list.lock().await.as_mut() {
            list.ids.entry(distinguishing_value(kind, expected)).or_default().push(id);
        }
    }

    /// Records that an object is proven gone. Where its name is its id, a later creation may use that again: the deleted object
    /// is not one that existed before it.
    pub(in crate::apply) fn release(&self, kind: &Kind, parent: Option<&Name>, id: &Name) {
        if !request_encoding::gives_ids(kind) {
            self.released.borrow_mut().entry(namespace(kind.name, parent)).or_default().insert(id.clone());
        }
    }

    /// Marks the ids in a ledger as claimed: owned objects and deleted ones. A list that lags may miss the former
    /// and still show the latter.
    pub(in crate::apply) fn mark_ledger(&self, ledger: &Ledger) {
        for entry in ledger.entries.values() {
            for owned in entry.current.iter().chain(&entry.deposed) {
                self.mark_claimed(&entry.kind, owned.parent.as_ref(), &owned.id);
            }
        }
        for (id, stone) in &ledger.tombstones {
            self.mark_claimed(&stone.kind, None, id);
        }
    }

    /// Claims an object for a creation that was sent at `sent`. Returns false for an object that was seen before that,
    /// which the request did not make, and for one that another creation has claimed.
    pub(in crate::apply) fn claim(
        &self,
        kind: &Kind,
        parent: Option<&Name>,
        id: &Name,
        sent: Duration,
    ) -> bool {
        if !request_encoding::gives_ids(kind) {
            // The id is not from the service, so it may have been used before.
            return true;
        }
        let is_free = {
            let known = self.known.borrow();
            let family = known.get(&namespace(kind.name, parent));
            family.and_then(|ids| ids.get(id)).is_none_or(|seen| *seen > sent)
        };
        if is_free {
            self.mark_claimed(kind.name, parent, id);
        }
        is_free
    }

    /// Marks an object as claimed: no creation can claim it any more.
    pub(in crate::apply) fn mark_claimed(&self, kind: &str, parent: Option<&Name>, id: &Name) {
        // Time zero is before every request, so `claim` rejects the id for each of them.
        self.record_seen(kind, parent, std::iter::once(id.clone()), Duration::ZERO);
    }

    fn record_seen(
        &self,
        kind: &str,
        parent: Option<&Name>,
        ids: impl Iterator<Item = Name>,
        now: Duration,
    ) {
        let mut known = self.known.borrow_mut();
        let family = known.entry(namespace(kind, parent)).or_default();
        ids.for_each(|id| {
            let seen = family.entry(id).or_insert(now);
            *seen = now.min(*seen);
        });
    }

    /// Drops the cached list of a scope, which a lost response or a conflict has made outdated.
    pub(in crate::apply) async fn discard_list(&self, kind: &'static Kind, scope: &MutationScope) {
        let list = self.shared_list(kind, scope);
        *list.lock().await = None;
    }

    fn shared_list(&self, kind: &'static Kind, scope: &MutationScope) -> SharedListing {
        Arc::clone(self.lists.borrow_mut().entry((kind.name, scope.clone())).or_default())
    }

    /// Returns the preexisting objects for a creation that is about to be sent: those that it could be mistaken for.
    ///
    /// # Errors
    /// When the list cannot be read.
    pub(in crate::apply) async fn preexisting_objects<C: Transport, K: Clock, R: Random>(
        &self,
        client: &Client<C, K, R>,
        kind: &'static Kind,
        scope: &MutationScope,
        expected: &Attributes,
    ) -> Result<PreexistingIds, StepError> {
        let place = self.shared_list(kind, scope);
        let mut list = place.lock().await;
        // Before the list is read: an object that appears while it is read must not count as older than it is.
        let now = client.clock().elapsed();
        if list.as_ref().is_none_or(|list| now.saturating_sub(list.read_at) > LISTING_LIFETIME) {
            let (objects, date) = self.list_stable(client, kind, scope).await?;
            let mut ids: BTreeMap<String, Vec<Name>> = BTreeMap::new();
            for object in objects {
                ids.entry(distinguishing_value(kind, &object.attributes)).or_default().push(object.id);
            }
            *list = Some(ObjectListing { ids, date, read_at: now });
        }
        let key = distinguishing_value(kind, expected);
        let released = self.released.borrow();
        let released = released.get(&namespace(kind.name, scope.parent.as_ref()));
        Ok(list.as_ref().map_or(PreexistingIds { ids: Vec::new(), date: None }, |list| PreexistingIds {
            // An object that does not show the attribute is always a candidate.
            ids: [key.as_str(), HIDDEN_VALUE]
                .into_iter()
                .filter_map(|key| list.ids.get(key))
                .flatten()
                .filter(|id| !released.is_some_and(|gone| gone.contains(*id)))
                .cloned()
                .collect(),
            date: list.date.clone(),
        }))
    }

    /// Lists the objects of a scope until two passes agree; a missing parent has none. A creation that is sent
    /// after this did not make any of them. With the `Date` header of the response, if there is one.
    ///
    /// # Errors
    /// When the list cannot be read.
    pub(in crate::apply) async fn list_stable<C: Transport, K: Clock, R: Random>(
        &self,
        client: &Client<C, K, R>,
        kind: &'static Kind,
        scope: &MutationScope,
    ) -> Result<(Vec<Object>, Option<Name>), StepError> {
        match client.list_stable(kind, scope.parent.as_ref(), scope.project.as_ref()).await {
            Err(error) if scope.parent.is_some() && error.is_not_found() => Ok((Vec::new(), None)),
            Err(error) => Err(read_failed(error)),
            Ok((objects, date)) => {
                let ids = objects.iter().map(|object| object.id.clone());
                self.record_seen(kind.name, scope.parent.as_ref(), ids, client.clock().elapsed());
                Ok((objects, date))
            }
        }
    }
}

fn namespace(kind: &str, parent: Option<&Name>) -> IdNamespace {
    (kind.into(), parent.cloned())
}

/// The key of objects that do not show the distinguishing attribute.
const HIDDEN_VALUE: &str = "\0";

fn distinguishing_value(kind: &Kind, attributes: &Attributes) -> String {
    let value = request_encoding::distinguishing_attribute(kind)
        .and_then(|attribute| attributes.get(attribute.name));
    match value {
        None | Some(Value::Null) => HIDDEN_VALUE.to_owned(),
        Some(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::REGISTRY;
    use crate::ledger::state::entry::{Entry, LedgerIdentity, OwnedObject, Tombstone};
    use crate::model::address::Address;

    #[test]
    fn an_object_is_claimed_once_and_only_by_a_creation_sent_before_it() {
        let (baselines, kind) = (PreexistingObjects::default(), REGISTRY.kind("volume").unwrap());
        let second = Duration::from_secs(1);
        let claim = |id: &str, sent| baselines.claim(kind, None, &id.into(), sent);
        baselines.record_seen("volume", None, std::iter::once("seen".into()), 2 * second);
        assert!(!claim("seen", 2 * second), "it was there before");
        assert!(claim("seen", second), "it came after the request had left");
        assert!(!claim("seen", second), "another took it");
        assert!(claim("new", second));
        assert!(!claim("new", Duration::ZERO), "another took it, whenever it was sent");
    }

    #[test]
    fn objects_owned_or_deleted_by_the_ledger_are_already_claimed() {
        let mut ledger = deposing();
        let stone = Tombstone { kind: "vpc".into(), at: jiff::Timestamp::UNIX_EPOCH };
        ledger.tombstones.insert("gone".into(), stone);
        let baselines = PreexistingObjects::default();
        baselines.mark_ledger(&ledger);
        let kind = REGISTRY.kind("vpc").unwrap();
        for (id, is_free) in [("now", false), ("before", false), ("gone", false), ("new", true)] {
            assert_eq!(baselines.claim(kind, None, &id.into(), Duration::ZERO), is_free, "{id}");
        }
        let volume = REGISTRY.kind("volume").unwrap();
        assert!(baselines.claim(volume, None, &"now".into(), Duration::ZERO), "another kind's id");
    }

    #[test]
    fn an_object_whose_id_is_its_name_can_be_claimed_again() {
        let (baselines, kind) = (PreexistingObjects::default(), REGISTRY.kind("database_user").unwrap());
        let parent: Name = "d1".into();
        for _ in 0..2 {
            assert!(baselines.claim(kind, Some(&parent), &"app".into(), Duration::ZERO));
        }
    }

    /// A ledger in the middle of a replacement.
    fn deposing() -> Ledger {
        let owned = |id: &str| OwnedObject {
            id: id.into(),
            parent: None,
            project: None,
            created_at: None,
            provisional: false,
        };
        let entry = Entry {
            kind: "vpc".into(),
            current: Some(owned("now")),
            deposed: vec![owned("before")],
            parent: None,
            applied: Attributes::new(),
            depends_on: Vec::new(),
            protect: false,
            keep_on_remove: false,
            delete_on_remove: false,
            final_snapshot: false,
            verified: None,
            unfinished: false,
            secret_lost: false,
            secret_origin: None,
        };
        let mut ledger = Ledger::new(LedgerIdentity::new_placeholder("s", "e"));
        ledger.entries.insert(Address::new("vpc", "net"), entry);
        ledger
    }
}
