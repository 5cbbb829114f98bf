//! What reading and changing can come to: errors, refusals, and secrets that an answer shows once.

use thiserror::Error;

use crate::model::secret::Secret;
use crate::model::snapshot::Object;

/// How a request that changes something ended.
#[derive(Debug, Clone, PartialEq)]
pub enum MutationOutcome {
    /// 2xx in a legal envelope. The object, where the answer has one with a legal id.
    Done(Option<Box<Object>>, Option<OneTimeSecret>),
    /// A complete 4xx answer in the documented envelope: it had no effect.
    Refused(ApiError),
    /// Not a byte left.
    NotSent(String),
    /// Anything else. `settled`: a complete 5xx envelope, so nothing is still under way.
    Unknown {
        /// Why.
        reason: String,
        /// The service answered, if only with an error: the request is not under way any more.
        settled: bool,
        /// What it answered: a complete 5xx envelope.
        answer: Option<ApiError>,
    },
}

/// A secret that an answer showed once.
#[derive(Debug, Clone, PartialEq)]
pub struct OneTimeSecret(pub Secret);

/// A complete error answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{status} {error}: {message}")]
pub struct ApiError {
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
        refusal: ApiError,
    },
    /// The service answered with an error of its own, 5xx, as often as it was asked.
    #[error("{request}: {refusal}")]
    ServerError {
        /// `GET /api/v1/vms`.
        request: String,
        /// What it said.
        refusal: ApiError,
    },
    /// The server's certificate is not accepted.
    #[error("{request}: the certificate of {host} is not accepted: {reason}")]
    Untrusted {
        /// `GET /api/v1/vms`.
        request: String,
        /// The host.
        host: String,
        /// Why.
        reason: String,
    },
    /// No usable answer within the bound of retries.
    #[error("{request}: {reason}")]
    Failed {
        /// `GET /api/v1/vms`.
        request: String,
        /// Why.
        reason: String,
    },
    /// A list was another one on each page: others make and delete objects meanwhile.
    #[error("{request}: the list changed under each of {reads} reads")]
    ListChanging {
        /// `GET /api/v1/vms`.
        request: String,
        /// How often it was read.
        reads: u32,
    },
}

impl ReadError {
    /// Tells whether the service said, in a complete answer, that there is no such object.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { refusal, .. } if refusal.status == 404)
    }
}
