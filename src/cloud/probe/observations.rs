//! `Observations`: the responses of a service to the probe's requests.

use serde_json::Value as Json;

use crate::cloud::capabilities::ServiceCapabilities;
use crate::cloud::http::decode;
use crate::model::address::Name;
use crate::model::schema::{Action, CatalogTable, Kind};

/// The purpose of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ProbePurpose {
    /// A kind's list, with this page size.
    List {
        /// The kind of the objects.
        kind: &'static Kind,
        /// The requested number of rows.
        limit: usize,
    },
    /// The singleton of a kind.
    Singleton(&'static Kind),
    /// An object from a list, by its id.
    Read {
        /// The kind of the objects.
        kind: &'static Kind,
        /// The id in the request.
        id: Name,
    },
    /// The same object by its short id.
    ShortId {
        /// The kind of the objects.
        kind: &'static Kind,
        /// The id in the request.
        id: Name,
    },
    /// An id that does not exist.
    UnknownId(&'static Kind),
    /// A read that is an action.
    Action(&'static Kind, &'static Action),
    /// A table of the catalog.
    Table(&'static CatalogTable),
    /// A list without a limit.
    NoLimit(&'static Kind),
    /// A list with a limit above the maximum.
    OversizedLimit(&'static Kind),
    /// A list with a limit that is not a number.
    BadLimit(&'static Kind),
    /// A list of a project that does not exist.
    UnknownProject(&'static Kind),
}

/// One response of the service.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ProbeResponse {
    pub(super) status: u16,
    /// The body, where it is JSON.
    pub(super) json: Option<Json>,
    /// The service's `Date` header, not parsed.
    pub(super) date: Option<Name>,
    /// The `X-RateLimit-Limit` header: requests per second.
    pub(super) limit: Option<u32>,
    /// The `X-RateLimit-Remaining` header: requests that are left.
    pub(super) remaining: Option<u32>,
}

/// A request and its result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observation {
    pub(super) asked: ProbePurpose,
    /// `GET /api/v1/vms`, without its query.
    pub(super) request: String,
    /// The response, or the reason why there is none.
    pub(super) reply: Result<ProbeResponse, String>,
}

/// The responses of a service to the probe's requests.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observations {
    pub(super) seen: Vec<Observation>,
    /// The capabilities that the service has shown.
    pub learned: ServiceCapabilities,
    /// The page size that the probe uses.
    pub(super) page: usize,
}

impl ProbeResponse {
    pub(super) const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }
}

impl Observation {
    /// Returns the body of a successful response.
    pub(super) fn body(&self) -> Option<&Json> {
        let reply = self.reply.as_ref().ok().filter(|reply| reply.is_success())?;
        reply.json.as_ref()
    }

    /// Returns the rows of a list, and its reported total.
    pub(super) fn rows(&self) -> Option<(Vec<Json>, Option<u64>)> {
        let page = decode::parse_page(self.body()?.clone()).ok()?;
        Some((page.rows, page.total))
    }
}

impl Observations {
    /// Returns all responses to lists of a kind.
    pub(super) fn lists_of(&self, of: &Kind) -> impl Iterator<Item = &Observation> {
        self.seen.iter().filter(
            move |seen| matches!(&seen.asked, ProbePurpose::List { kind, .. } if kind.name == of.name),
        )
    }

    /// Returns all responses to reads of one object of a kind.
    pub(super) fn reads_of(&self, of: &Kind) -> impl Iterator<Item = &Observation> {
        self.seen.iter().filter(move |seen| match &seen.asked {
            ProbePurpose::Read { kind, .. } | ProbePurpose::Singleton(kind) => kind.name == of.name,
            _ => false,
        })
    }

    /// Returns the rows of all lists of a kind.
    pub(super) fn rows(&self, of: &Kind) -> Vec<Json> {
        self.lists_of(of).filter_map(Observation::rows).flat_map(|(rows, _)| rows).collect()
    }
}
