//! `Client`: the entry point to the service. It combines the parts (requests, reads, waits, changes), which all share
//! one rate limit, one redactor and one table of main ids. Requests are retried only where that is safe.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value as Json;

use super::capabilities::ServiceCapabilities;
use super::error::{OneTimeSecret, ReadError};
use super::http::message::{SignedUpload, Transport};
use super::http::rate_limit::SharedRateLimit;
use super::http::requests::{RequestDelay, Requests};
use super::http::send::SendPermit;
use super::probe::{self, Observations};
use super::read::account::{self, AccountInfo};
use super::read::find_object::find_object;
use super::read::object_reader::ObjectReader;
use super::read::{catalog, key_access, object_project, paging, refresh};
use super::wait::list_poll::WatchedObject;
use super::wait::run_records::{self, ServiceRun};
use super::wait::waiter::{WaitError, Waiter};
use super::write::action_request::{self, EndpointRequest};
use super::write::mutation::MutationClient;
use super::write::upload::{self, UploadError};
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::catalog::Catalog;
use crate::model::live::key_access::KeyAccess;
use crate::model::live::snapshot::{Object, ObjectKey, RefreshRequest, RequestCount, Snapshot};
use crate::model::schema::{Kind, Registry, RunSchema};
use crate::model::values::value::Attributes;

/// A client for one account of the service.
pub struct Client<C, K, R> {
    pub(super) reader: ObjectReader<C, K, R>,
    settling: Waiter,
}

impl<C: Transport, K: Clock, R: Random> Client<C, K, R> {
    /// Returns a client with the standard tier's limits until the service reports others.
    pub fn new(cloud: C, clock: K, random: R, registry: Registry) -> Self {
        let reader = ObjectReader::new(Requests::new(cloud, clock, random), registry);
        Self { reader, settling: Waiter::default() }
    }

    /// Sets a callback for every retry, and for every wait of a second or more for the rate limiter.
    pub fn on_wait(&self, listener: impl Fn(&RequestDelay) + 'static) {
        self.reader.requests.on_wait(listener);
    }

    /// Shares the rate limiters with other processes of this user: `keyed` for requests with an API key, `public` for
    /// the catalog's. `None` leaves that limiter private to this process.
    pub fn share_limits(
        &self,
        keyed: Option<Box<dyn SharedRateLimit>>,
        public: Option<Box<dyn SharedRateLimit>>,
    ) {
        for (turnstile, shared) in
            [(&self.reader.requests.keyed, keyed), (&self.reader.requests.public, public)]
        {
            if let Some(shared) = shared {
                turnstile.share_with(shared);
            }
        }
    }

    /// Uses an even share of the key's limit from now on: that of one of `machines` machines, this one included.
    pub fn share_with_machines(&self, machines: u32) {
        self.reader.requests.keyed.share_with_machines(machines);
    }

    /// Sets the time by which a list may lag behind.
    pub fn expect_lag(&self, lag: Duration) {
        self.reader.lag.set(lag);
    }

    /// Registers a secret: from now on it is redacted in errors and responses of the service.
    pub fn learn_secret(&self, secret: &str) {
        self.reader.requests.redactor.borrow_mut().add_secret(secret);
    }

    /// Returns text of the service with `(secret)` in place of every known secret.
    pub fn redact(&self, text: &str) -> String {
        self.reader.requests.redactor.borrow().redact(text).into_owned()
    }

    /// Redacts every string of a JSON document in the same way.
    pub fn redact_json(&self, json: &mut serde_json::Value) {
        self.reader.requests.redactor.borrow().redact_json(json);
    }

    /// Returns the clock that all users of this client share.
    pub fn clock(&self) -> &K {
        &self.reader.requests.clock
    }

    /// Returns the service's time, as its last response showed it; `None` before the first one.
    pub fn service_time(&self) -> Option<Timestamp> {
        self.reader.requests.service_time()
    }

    /// Returns the transport to the service.
    pub fn cloud(&self) -> &C {
        &self.reader.requests.cloud
    }

    /// Returns the source of randomness that all users of this client share.
    pub fn random(&self) -> &R {
        &self.reader.requests.random
    }

    /// Returns the tables of kinds and catalogs.
    pub fn registry(&self) -> Registry {
        self.reader.registry
    }

    /// Returns the number of requests that this client has counted so far.
    pub fn request_count(&self) -> RequestCount {
        self.reader.requests.count.get()
    }

    /// Reads the live state for a plan: the account, lists of kinds and children (concurrently, within the rate limit),
    /// details, and proofs of absence by id.
    ///
    /// # Errors
    /// When a read is refused (401, 403 …) or has no usable answer.
    pub async fn refresh(&self, wanted: &RefreshRequest) -> Result<Snapshot, ReadError> {
        refresh::read_snapshot(&self.reader, wanted).await
    }

    /// Reads catalog tables by name.
    ///
    /// # Errors
    /// The errors of `refresh`.
    pub async fn catalog(&self, tables: &BTreeSet<&str>) -> Result<Catalog, ReadError> {
        catalog::read_catalog(&self.reader, tables).await
    }

    /// Lists all objects of a kind in a project or under a parent, without duplicates, as of one moment. A first page
    /// that claims to be complete is accepted; `list_stable` verifies it.
    ///
    /// # Errors
    /// As `refresh`, or when the list changes during every read.
    pub async fn list(
        &self,
        kind: &'static Kind,
        parent: Option<&Name>,
        project: Option<&Name>,
    ) -> Result<Vec<Object>, ReadError> {
        paging::list_consistently(&self.reader, &paging::ListScope { kind, parent, project }).await
    }

    /// Does the same, and also returns the service's `Date` at the start of the last pass.
    ///
    /// # Errors
    /// As `refresh`, or when the list changes during every read.
    pub async fn list_stable(
        &self,
        kind: &'static Kind,
        parent: Option<&Name>,
        project: Option<&Name>,
    ) -> Result<(Vec<Object>, Option<Name>), ReadError> {
        paging::list_stable(&self.reader, &paging::ListScope { kind, parent, project }).await
    }

    /// Reads one object; `None` is a 404. A kind without a read by id is searched in its list. The result always has
    /// the main id of an object with several ids.
    ///
    /// # Errors
    /// As `refresh`, and when the answer describes another object.
    pub async fn get(&self, key: &ObjectKey) -> Result<Option<Object>, ReadError> {
        find_object(&self.reader, key).await
    }

    /// Reads again the secret that an object's creation showed; `None` when the kind does not support that,
    /// or the response has none.
    ///
    /// # Errors
    /// The errors of `refresh`.
    pub async fn reveal_secret(
        &self,
        kind: &Kind,
        key: &ObjectKey,
    ) -> Result<Option<OneTimeSecret>, ReadError> {
        self.reader.reveal_secret(kind, key).await
    }

    /// Replaces the ids of other objects in sent values by main ids, as lists and by-id reads show them. A name that
    /// cannot be looked up stays as it is.
    pub async fn name_references(&self, kind: &'static Kind, attributes: &mut Attributes) {
        self.reader.name_references(kind, attributes).await;
    }

    /// Makes this id the main id of its object, because a ledger is about to record it.
    pub fn keep_id(&self, key: &ObjectKey) {
        self.reader.ids.prefer_ids([key]);
    }

    /// Returns the project that a change of an object must state: the `known` one, otherwise the one that the service
    /// shows; `None` where changes of the kind state none.
    ///
    /// # Errors
    /// When the project cannot be determined, with the reason: then the change must not be sent.
    pub async fn project_of(&self, key: &ObjectKey, known: Option<&Name>) -> Result<Option<Name>, String> {
        object_project::project_of(&self.reader, key, known).await
    }

    /// Reads the service's information about `key`, which this client uses.
    ///
    /// # Errors
    /// When the service refuses the key or does not answer.
    pub async fn read_account(&self, key: &str) -> Result<AccountInfo, ReadError> {
        account::read_account(&self.reader, key).await
    }

    /// Reads what `key`, which this client uses, may do. What the service does not show is not known, and no error.
    pub async fn read_key_access(&self, key: &str) -> KeyAccess {
        key_access::read_key_access(&self.reader, key).await
    }

    /// Returns the number of seconds by which this machine's clock is ahead of the service's; `None` where the service
    /// does not send its time.
    ///
    /// # Errors
    /// When the service refuses the read or does not answer.
    pub async fn skew(&self) -> Result<Option<i64>, ReadError> {
        account::clock_skew(&self.reader).await
    }

    /// Applies the capabilities of the service, until a response shows otherwise.
    pub fn goes_by(&self, learned: &ServiceCapabilities) {
        self.reader.requests.use_capabilities(learned);
    }

    /// Reads what a service shows of the contract. Nothing but GETs.
    ///
    /// # Errors
    /// When the service refuses the key or does not answer at all.
    pub async fn probe(&self) -> Result<Observations, ReadError> {
        probe::collect_evidence(&self.reader.requests, self.reader.registry).await
    }

    /// Sends a request that changes nothing, whatever its method, and returns its whole response;
    /// retries while that can help.
    ///
    /// # Errors
    /// When it is refused, or has no usable answer.
    pub async fn send_query(&self, ask: &EndpointRequest) -> Result<Json, ReadError> {
        action_request::send_query(&self.reader.requests, ask).await
    }

    /// Returns the records of a list, page by page, as far as `enough` lets it; `None` when
    /// the answer is no list.
    ///
    /// # Errors
    /// When it is refused, or has no usable answer.
    pub async fn ask_rows(
        &self,
        ask: &EndpointRequest,
        enough: impl Fn(&[Json]) -> bool,
    ) -> Result<Option<Vec<Json>>, ReadError> {
        action_request::ask_rows(&self.reader.requests, ask, enough).await
    }

    /// Returns the id of a project by its name or id; with `named` as `None`, of the account's default one. `None` when
    /// no project matches, or the registry has no kind for projects.
    ///
    /// # Errors
    /// When projects cannot be listed.
    pub async fn resolve_named_project(&self, named: Option<&Name>) -> Result<Option<Name>, ReadError> {
        action_request::resolve_named_project(&self.reader, named).await
    }

    /// Reads the status of a record of an object; `None` when its list does not show it.
    ///
    /// # Errors
    /// The errors of `refresh`.
    pub async fn run_status(
        &self,
        kind: &'static Kind,
        object: &ObjectKey,
        run: &RunSchema,
        id: &str,
    ) -> Result<Option<ServiceRun>, ReadError> {
        run_records::read_run_status(&self.reader.requests, kind, object, run, id).await
    }

    /// Reads the newest records of an object, newest first; none when the service has no such list.
    ///
    /// # Errors
    /// The errors of `refresh`.
    pub async fn runs(
        &self,
        kind: &'static Kind,
        object: &ObjectKey,
        run: &RunSchema,
    ) -> Result<Vec<ServiceRun>, ReadError> {
        run_records::read_runs(&self.reader.requests, kind, object, run).await
    }

    /// Reads the last log lines of an object's records, oldest first.
    ///
    /// # Errors
    /// The errors of `refresh`.
    pub async fn run_tail(
        &self,
        kind: &'static Kind,
        object: &ObjectKey,
        run: &RunSchema,
    ) -> Result<Vec<String>, ReadError> {
        run_records::read_run_tail(&self.reader.requests, kind, object, run).await
    }

    /// Sends bytes to an address that the service signed, once: a retry needs another grant.
    ///
    /// # Errors
    /// When the upload does not succeed. The error never contains the query of the address, which is a secret.
    pub async fn upload(&self, upload: &SignedUpload) -> Result<(), UploadError> {
        upload::upload(&self.reader.requests, upload).await
    }

    /// Waits until an object has settled and returns it as its by-id read shows it.
    ///
    /// # Errors
    /// When it fails, is deleted, cannot be read, or has not settled `within` the time.
    pub async fn wait_until_ready(
        &self,
        kind: &'static Kind,
        key: &ObjectKey,
        project: Option<&Name>,
        within: Duration,
        on_status: &dyn Fn(&str),
    ) -> Result<Object, WaitError> {
        let watch = WatchedObject::new(&self.reader.requests.clock, kind, key, project, within);
        self.settling.wait_until_ready(&self.reader, watch, on_status).await
    }

    /// Waits as `wait_until_ready`, after a request that starts a change of an object. `before` is the object as
    /// read before that request.
    ///
    /// # Errors
    /// The errors of `wait_until_ready`.
    pub async fn settled_after_change(
        &self,
        (kind, key): (&'static Kind, &ObjectKey),
        project: Option<&Name>,
        within: Duration,
        before: &Object,
        on_status: &dyn Fn(&str),
    ) -> Result<Object, WaitError> {
        let watch = WatchedObject::new(&self.reader.requests.clock, kind, key, project, within);
        self.settling.settled_after_change(&self.reader, watch, before, on_status).await
    }

    /// Returns an object as soon as any read shows it: its list, which many waits share, or its read by id. `None` when
    /// none does `within` the time.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn wait_until_visible(
        &self,
        kind: &'static Kind,
        key: &ObjectKey,
        project: Option<&Name>,
        within: Duration,
    ) -> Result<Option<Object>, ReadError> {
        let watch = WatchedObject::new(&self.reader.requests.clock, kind, key, project, within);
        self.settling.wait_until_visible(&self.reader, watch).await
    }

    /// Waits until an object has settled and returns it as its list or its by-id read shows it. `known` is the object
    /// as just read, which saves one read; `None` when it has not been read.
    ///
    /// # Errors
    /// The errors of `wait_until_ready`.
    pub async fn settled_as_listed(
        &self,
        (kind, key): (&'static Kind, &ObjectKey),
        project: Option<&Name>,
        within: Duration,
        known: Option<Object>,
        on_status: &dyn Fn(&str),
    ) -> Result<Object, WaitError> {
        let watch = WatchedObject::new(&self.reader.requests.clock, kind, key, project, within);
        self.settling.settled_as_listed(&self.reader, watch, known, on_status).await
    }

    /// Waits until an object is proven gone.
    ///
    /// # Errors
    /// When the deletion fails, the object cannot be read, or it still exists after the time `within`.
    pub async fn wait_until_gone(
        &self,
        kind: &'static Kind,
        key: &ObjectKey,
        project: Option<&Name>,
        within: Duration,
        on_status: &dyn Fn(&str),
    ) -> Result<(), WaitError> {
        let watch = WatchedObject::new(&self.reader.requests.clock, kind, key, project, within);
        self.settling.wait_until_gone(&self.reader, watch, on_status).await
    }

    /// Returns the interface for mutating requests: each passes `gate` first.
    pub fn changes<'c>(&'c self, gate: SendPermit<'c>) -> MutationClient<'c, C, K, R> {
        MutationClient { reader: &self.reader, gate, back: &|| (), seen: &|_| () }
    }
}
