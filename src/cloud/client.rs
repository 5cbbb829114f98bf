//! `Client`: the service in the language's terms: limited, retried where that is safe, decoded.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use super::error::{ReadError, ShownOnce};
use super::http::decode;
use super::http::message::Cloud;
use super::http::rate_limit::SharedSlots;
use super::http::rate_limiter::Turnstile;
use super::http::requests::{Listener, Wait};
use super::http::send::Gate;
use super::http::url_path::fill_path;
use super::probe::{Learned, USUAL_PAGE};
use super::read::object_ids::KnownIds;
use super::read::{catalog, paging, refresh};
use super::wait::waiter::Settling;
use super::write::mutation::Changes;
use crate::model::address::Name;
use crate::model::catalog::Catalog;
use crate::model::clock::{Clock, Random};
use crate::model::redact::Redactor;
use crate::model::schema::{Kind, Registry};
use crate::model::snapshot::{Object, ObjectKey, RequestCount, Snapshot, Wanted};

/// How long a list lags behind, unless someone knows better.
const LAG: Duration = Duration::from_secs(10);

/// A client of one account.
pub struct Client<C, K, R> {
    pub(super) cloud: C,
    pub(super) clock: K,
    pub(super) random: R,
    pub(super) registry: Registry,
    /// The account's limiter.
    pub(super) keyed: Turnstile,
    /// The catalog's limiter: the service counts those requests by peer address.
    pub(super) public: Turnstile,
    pub(super) count: Cell<RequestCount>,
    pub(super) listener: RefCell<Option<Listener>>,
    pub(super) settling: Settling,
    /// The secrets that this run knows: they are replaced in what the service says.
    pub(super) redactor: RefCell<Redactor>,
    /// What the service showed of itself before.
    pub(super) learned: RefCell<Learned>,
    /// Rows of a page that are asked for.
    pub(super) page: Cell<usize>,
    /// How long a list may lag behind: what looks gone is looked for again after it.
    pub(super) lag: Cell<Duration>,
    /// The ids of objects that have several.
    pub(super) ids: KnownIds,
    /// Projects of objects whose records say none.
    pub(super) homes: RefCell<BTreeMap<ObjectKey, Name>>,
}

impl<C: Cloud, K: Clock, R: Random> Client<C, K, R> {
    /// Returns a client that keeps to the standard tier's limits until the service says otherwise.
    pub fn new(cloud: C, clock: K, random: R, registry: Registry) -> Self {
        Self {
            cloud,
            clock,
            random,
            registry,
            keyed: Turnstile::default(),
            public: Turnstile::default(),
            count: Cell::default(),
            listener: RefCell::default(),
            settling: Settling::default(),
            redactor: RefCell::default(),
            learned: RefCell::default(),
            page: Cell::new(USUAL_PAGE),
            lag: Cell::new(LAG),
            ids: KnownIds::default(),
            homes: RefCell::default(),
        }
    }

    /// Calls `listener` whenever a request is to be sent again, or waits a second or more for the
    /// limiter.
    pub fn on_wait(&self, listener: impl Fn(&Wait) + 'static) {
        *self.listener.borrow_mut() = Some(Rc::new(listener));
    }

    /// Shares the limiters with other processes of this user: the account's, and the catalog's.
    pub fn share_limits(&self, keyed: Option<Box<dyn SharedSlots>>, public: Option<Box<dyn SharedSlots>>) {
        for (turnstile, shared) in [(&self.keyed, keyed), (&self.public, public)] {
            if let Some(shared) = shared {
                turnstile.share_with(shared);
            }
        }
    }

    /// Says how long a list may lag behind.
    pub fn expect_lag(&self, lag: Duration) {
        self.lag.set(lag);
    }

    /// Makes a secret known: from now on it is replaced in what the service says.
    pub fn learn_secret(&self, secret: &str) {
        self.redactor.borrow_mut().add_secret(secret);
    }

    /// Returns text of the service with `(secret)` in place of every secret that this run knows.
    pub fn redact(&self, text: &str) -> String {
        self.redactor.borrow().redact(text).into_owned()
    }

    /// Does the same with every text of a document.
    pub fn redact_json(&self, json: &mut serde_json::Value) {
        self.redactor.borrow().redact_json(json);
    }

    /// Returns the clock that everything above shares.
    pub fn clock(&self) -> &K {
        &self.clock
    }

    /// Returns the way to the service.
    pub fn cloud(&self) -> &C {
        &self.cloud
    }

    /// Returns the source of chance that everything above shares.
    pub fn random(&self) -> &R {
        &self.random
    }

    /// Returns the tables.
    pub fn registry(&self) -> Registry {
        self.registry
    }

    /// Returns what all requests so far cost.
    pub fn request_count(&self) -> RequestCount {
        self.count.get()
    }

    /// Reads what a plan needs: the account, lists of kinds and children (at the same time, within
    /// the limiter), details, and by-id proofs of absence.
    ///
    /// # Errors
    /// When a read is refused (401, 403 …) or has no usable answer.
    pub async fn refresh(&self, wanted: &Wanted) -> Result<Snapshot, ReadError> {
        refresh::read_snapshot(self, wanted).await
    }

    /// Reads catalog tables by name.
    ///
    /// # Errors
    /// As `refresh`.
    pub async fn catalog(&self, tables: &BTreeSet<&str>) -> Result<Catalog, ReadError> {
        catalog::read_catalog(self, tables).await
    }

    /// Lists all objects of a kind in a project or under a parent, each once, as they were at one
    /// instant. That a first page holds all is believed; `list_stable` sees for itself.
    ///
    /// # Errors
    /// As `refresh`, or when the list never holds still.
    pub async fn list(
        &self,
        kind: &'static Kind,
        parent: Option<&Name>,
        project: Option<&Name>,
    ) -> Result<Vec<Object>, ReadError> {
        paging::list_consistently(self, &paging::Scope { kind, parent, project }).await
    }

    /// Does the same, and returns the service's `Date` at the start of the last pass besides.
    ///
    /// # Errors
    /// As `refresh`, or when the list never holds still.
    pub async fn list_stable(
        &self,
        kind: &'static Kind,
        parent: Option<&Name>,
        project: Option<&Name>,
    ) -> Result<(Vec<Object>, Option<Name>), ReadError> {
        paging::list_stable(self, &paging::Scope { kind, parent, project }).await
    }

    /// Reads one object; `None` is a 404. A kind without a by-id read is looked up in its list. An object with
    /// several ids is known by one of them, whichever it is asked for by.
    ///
    /// # Errors
    /// As `refresh`, and when the answer describes another object.
    pub async fn get(&self, key: &ObjectKey) -> Result<Option<Object>, ReadError> {
        let fail = |reason: String| ReadError::Failed { request: format!("GET {}", key.kind), reason };
        let kind = self.registry.kind(&key.kind).ok_or_else(|| fail("there is no such kind".to_owned()))?;
        let Some(endpoint) = kind.api.read else {
            return self.find_object(kind, key).await;
        };
        let path = fill_path(endpoint.path, Some(&key.id), key.parent.as_deref());
        let path = path.map_err(|error| fail(error.to_string()))?;
        let json = match self.read(&path, Vec::new(), None).await {
            Ok((json, _)) => json,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        let fail = |reason: String| ReadError::Failed { request: format!("GET {path}"), reason };
        let record = decode::find_payload(&json, endpoint.envelope);
        let record = record.ok_or_else(|| fail("the answer holds no object".to_owned()))?;
        let mut object = decode::parse_object(kind, record, key.parent.as_ref(), true).map_err(&fail)?;
        let ids: Vec<Name> = decode::all_ids(kind, record).collect();
        self.ids.record_ids(kind, &object, &ids);
        self.ids.use_known_id(&mut object);
        let is_asked_for = object.id == key.id
            || ids.contains(&key.id)
            || self.ids.main_id(kind.name, &key.id).as_ref() == Some(&object.id);
        if !is_asked_for {
            return Err(fail("the answer describes another object".to_owned()));
        }
        self.resolve_references(kind, &mut object.attributes).await?;
        Ok(Some(object))
    }

    /// Reads the secret that an object's creation showed once, of a kind that shows it again; `None`
    /// when the kind does not, or the answer holds none.
    ///
    /// # Errors
    /// As `refresh`.
    pub async fn reveal_secret(
        &self,
        kind: &Kind,
        key: &ObjectKey,
    ) -> Result<Option<ShownOnce>, ReadError> {
        let Some(endpoint) = kind.reveal() else { return Ok(None) };
        let path = fill_path(endpoint.path, Some(&key.id), key.parent.as_deref());
        let path = path.map_err(|error| ReadError::Failed {
            request: format!("GET {}", key.kind),
            reason: error.to_string(),
        })?;
        let (json, _) = self.read(&path, Vec::new(), None).await?;
        let record = decode::find_payload(&json, endpoint.envelope).unwrap_or(&json);
        Ok(decode::shown_once(kind, record).map(ShownOnce))
    }

    /// Looks an object up in its list. A parent that is gone has taken its children along.
    async fn find_object(&self, kind: &'static Kind, key: &ObjectKey) -> Result<Option<Object>, ReadError> {
        match self.list(kind, key.parent.as_ref(), None).await {
            Ok(objects) => Ok(objects.into_iter().find(|object| object.id == key.id)),
            Err(error) if error.is_not_found() && self.parent_is_gone(kind, key).await? => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Tells whether a child's parent answers 404 itself.
    pub(super) async fn parent_is_gone(
        &self,
        kind: &'static Kind,
        key: &ObjectKey,
    ) -> Result<bool, ReadError> {
        let Some(((of, _), id)) = kind.child_of().zip(key.parent.clone()) else { return Ok(false) };
        let parent = ObjectKey { kind: Name::new_static(of), parent: None, id };
        // A parent that is itself looked up in a list would come back here without end.
        if self.registry.kind(of).is_none_or(|kind| kind.api.read.is_none()) {
            return Ok(false);
        }
        Ok(Box::pin(self.get(&parent)).await?.is_none())
    }

    /// Returns the way to send requests that change something: each passes `gate` first.
    pub fn changes<'c>(&'c self, gate: Gate<'c>) -> Changes<'c, C, K, R> {
        Changes { client: self, gate, back: &|| () }
    }
}
