//! `Client`: the service in the language's terms: limited, retried where that is safe, decoded.

use std::collections::BTreeSet;

use thiserror::Error;

use super::exchange::Cloud;
use crate::model::address::Name;
use crate::model::catalog::Catalog;
use crate::model::clock::{Clock, Random};
use crate::model::schema::{Call, Kind, Registry};
use crate::model::snapshot::{Object, ObjectKey, RequestCount, Snapshot, Wanted};

/// A client of one account.
pub struct Client<C, K, R> {
    pub(super) cloud: C,
    pub(super) clock: K,
    pub(super) random: R,
    pub(super) registry: Registry,
}

/// How a request that changes something ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Mutation {
    /// 2xx in a legal envelope. The object, where the answer has one with a legal id.
    Done(Option<Box<Object>>, Option<ShownOnce>),
    /// A complete 4xx answer in the documented envelope: it had no effect.
    Refused(Refusal),
    /// Not a byte left.
    NotSent(String),
    /// Anything else. `settled`: a complete 5xx envelope, so nothing is still under way.
    Unknown {
        /// Why.
        reason: String,
        /// The service answered, if only with an error: the request is not under way any more.
        settled: bool,
    },
}

/// A secret that an answer showed once.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownOnce(pub crate::model::secret::Secret);

/// A complete error answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{status} {error}: {message}")]
pub struct Refusal {
    /// The status.
    pub status: u16,
    /// The envelope's `error`.
    pub error: String,
    /// The envelope's `message`.
    pub message: String,
    /// The envelope's `reason`, on billing validation failures.
    pub reason: Option<String>,
}

/// Why a read has no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    /// The service said no, and will say so again.
    #[error("{request}: {refusal}")]
    Refused {
        /// `GET /api/v1/vms`.
        request: String,
        /// What it said.
        refusal: Refusal,
    },
    /// No usable answer within the bound of retries.
    #[error("{request}: {reason}")]
    Failed {
        /// `GET /api/v1/vms`.
        request: String,
        /// Why.
        reason: String,
    },
}

impl<C: Cloud, K: Clock, R: Random> Client<C, K, R> {
    /// Returns a client that keeps to the standard tier's limits until the service says otherwise.
    pub fn new(cloud: C, clock: K, random: R, registry: Registry) -> Self {
        Self { cloud, clock, random, registry }
    }

    /// Returns the clock that everything above shares.
    pub fn clock(&self) -> &K {
        &self.clock
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
    pub fn count(&self) -> RequestCount {
        unimplemented!("CLOUD")
    }

    /// Reads what a plan needs: the account, lists of kinds and children (at the same time, within
    /// the limiter), details, and by-id proofs of absence.
    ///
    /// # Errors
    /// When a read is refused (401, 403 …) or has no usable answer.
    pub async fn refresh(&self, _wanted: &Wanted) -> Result<Snapshot, ReadError> {
        unimplemented!("CLOUD")
    }

    /// Reads catalog tables by name.
    ///
    /// # Errors
    /// As `refresh`.
    pub async fn catalog(&self, _tables: &BTreeSet<&str>) -> Result<Catalog, ReadError> {
        unimplemented!("CLOUD")
    }

    /// Lists all objects of a kind in a project or under a parent, each once.
    ///
    /// # Errors
    /// As `refresh`.
    pub async fn list(
        &self,
        _kind: &'static Kind,
        _parent: Option<&Name>,
        _project: Option<&Name>,
    ) -> Result<Vec<Object>, ReadError> {
        unimplemented!("CLOUD")
    }

    /// Lists until two passes agree: the set existed at one instant. Also returns the service's
    /// `Date` of the last pass.
    ///
    /// # Errors
    /// As `refresh`, or when the list never holds still.
    pub async fn list_stable(
        &self,
        _kind: &'static Kind,
        _parent: Option<&Name>,
        _project: Option<&Name>,
    ) -> Result<(Vec<Object>, Option<Name>), ReadError> {
        unimplemented!("CLOUD")
    }

    /// Reads one object; `None` is a 404. A kind without a by-id read is looked up in its list.
    ///
    /// # Errors
    /// As `refresh`.
    pub async fn get(&self, _key: &ObjectKey) -> Result<Option<Object>, ReadError> {
        unimplemented!("CLOUD")
    }

    /// Sends one creation.
    pub async fn create(
        &self,
        _kind: &'static Kind,
        _parent: Option<&Name>,
        _project: Option<&Name>,
        _body: serde_json::Value,
    ) -> Mutation {
        unimplemented!("CLOUD")
    }

    /// Sends one call that changes an object. An empty `body` is sent as no body.
    pub async fn call(
        &self,
        _kind: &'static Kind,
        _call: &'static Call,
        _object: &ObjectKey,
        _project: Option<&Name>,
        _body: serde_json::Value,
    ) -> Mutation {
        unimplemented!("CLOUD")
    }

    /// Sends one deletion, with the kind's delete body.
    pub async fn delete(
        &self,
        _kind: &'static Kind,
        _object: &ObjectKey,
        _project: Option<&Name>,
    ) -> Mutation {
        unimplemented!("CLOUD")
    }
}
