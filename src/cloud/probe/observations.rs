//! `Observations`: what a service answered to the probe's requests.

use serde_json::Value as Json;

use crate::cloud::capabilities::ServiceCapabilities;
use crate::cloud::http::decode;
use crate::model::address::Name;
use crate::model::schema::{Action, CatalogTable, Kind};

/// What a request was sent for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ProbePurpose {
    /// A kind's list, in a page of so many rows.
    List {
        /// Of what.
        kind: &'static Kind,
        /// How many rows were asked for.
        limit: usize,
    },
    /// The only object of a kind.
    Singleton(&'static Kind),
    /// An object that a list had.
    Read {
        /// Of what.
        kind: &'static Kind,
        /// Its id.
        id: Name,
    },
    /// The same by its short id.
    ShortId {
        /// Of what.
        kind: &'static Kind,
        /// Its id.
        id: Name,
    },
    /// An id that nothing has.
    UnknownId(&'static Kind),
    /// A read that is an action.
    Action(&'static Kind, &'static Action),
    /// A table of the catalog.
    Table(&'static CatalogTable),
    /// A list without a limit.
    NoLimit(&'static Kind),
    /// A list with more rows than a page may have.
    OversizedLimit(&'static Kind),
    /// A list with a limit that is no number.
    BadLimit(&'static Kind),
    /// A list of a project that there is not.
    UnknownProject(&'static Kind),
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ProbeResponse {
    pub(super) status: u16,
    /// The body, where it is JSON.
    pub(super) json: Option<Json>,
    /// The time that the service told, as it stands.
    pub(super) date: Option<Name>,
    /// `X-RateLimit-Limit`.
    pub(super) limit: Option<u32>,
    /// `X-RateLimit-Remaining`.
    pub(super) remaining: Option<u32>,
}

/// A request, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observation {
    pub(super) asked: ProbePurpose,
    /// `GET /api/v1/vms`, without its query.
    pub(super) request: String,
    /// The answer, or why there is none.
    pub(super) reply: Result<ProbeResponse, String>,
}

/// What a service answered to the probe's requests.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observations {
    pub(super) seen: Vec<Observation>,
    /// What makes later requests fit the service.
    pub learned: ServiceCapabilities,
    /// Rows that the probe asked for at once.
    pub(super) page: usize,
}

impl ProbeResponse {
    pub(super) const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }
}

impl Observation {
    /// Returns the body of a success.
    pub(super) fn body(&self) -> Option<&Json> {
        let reply = self.reply.as_ref().ok().filter(|reply| reply.is_success())?;
        reply.json.as_ref()
    }

    /// Returns the rows of a list, and the total that it tells.
    pub(super) fn rows(&self) -> Option<(Vec<Json>, Option<u64>)> {
        let page = decode::parse_page(self.body()?.clone()).ok()?;
        Some((page.rows, page.total))
    }
}

impl Observations {
    /// Returns all answers to lists of a kind.
    pub(super) fn lists_of(&self, of: &Kind) -> impl Iterator<Item = &Observation> {
        self.seen.iter().filter(
            move |seen| matches!(&seen.asked, ProbePurpose::List { kind, .. } if kind.name == of.name),
        )
    }

    /// Returns all answers to reads of one object of a kind.
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
