//! Results of reads and changes: errors, refusals, and secrets that a response shows once.

use thiserror::Error;

use crate::model::live::snapshot::Object;
use crate::model::values::secret::Secret;

/// The outcome of a mutating request.
#[derive(Debug, Clone, PartialEq)]
pub enum MutationOutcome {
    /// 2xx in a valid envelope. The object is `None` where the response has none with a valid id; the secret is `None`
    /// where the response shows none.
    Done(Option<Box<Object>>, Option<OneTimeSecret>),
    /// A complete refusal in the documented envelope, 4xx other than 408, or 501: it had no effect.
    Refused(ApiError),
    /// No byte of the request was sent.
    NotSent(String),
    /// Any other outcome: the request may have had its effect.
    Unknown {
        /// The reason, as text for a message.
        reason: String,
        /// The service responded, if only with an error: the request is no longer in progress.
        settled: bool,
        /// The complete error envelope; `None` when there was no such response.
        answer: Option<ApiError>,
    },
}

/// A secret that a response showed once.
#[derive(Debug, Clone, PartialEq)]
pub struct OneTimeSecret(pub Secret);

/// A complete error response.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{status} {error}: {message}")]
pub struct ApiError {
    /// The HTTP status code.
    pub status: u16,
    /// The envelope's `error`: a short title.
    pub error: String,
    /// The envelope's `message`: the service's description of the error.
    pub message: String,
    /// The envelope's `reason`, on billing validation failures; `None` on other errors.
    pub reason: Option<String>,
}

/// The reason why a read has no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    /// The service refused the read, and would refuse it again.
    #[error("{request}: {refusal}")]
    Refused {
        /// The method and path, such as `GET /api/v1/vms`.
        request: String,
        /// The service's error response.
        refusal: ApiError,
    },
    /// Every attempt returned an error of the service itself, 5xx.
    #[error("{request}: {refusal}")]
    ServerError {
        /// The method and path, such as `GET /api/v1/vms`.
        request: String,
        /// The service's error response.
        refusal: ApiError,
    },
    /// The server's certificate is not trusted.
    #[error("{request}: the certificate of {host} is not accepted: {reason}")]
    Untrusted {
        /// The method and path, such as `GET /api/v1/vms`.
        request: String,
        /// The host name of the server.
        host: String,
        /// The reason, as text for a message.
        reason: String,
    },
    /// No attempt returned a usable response.
    #[error("{request}: {reason}")]
    Failed {
        /// The method and path, such as `GET /api/v1/vms`.
        request: String,
        /// The reason, as text for a message.
        reason: String,
    },
    /// A list changed during every pass, because others create and delete objects.
    #[error("{request}: the list changed during each of {reads} reads")]
    ListChanging {
        /// The method and path, such as `GET /api/v1/vms`.
        request: String,
        /// The number of passes.
        reads: u32,
    },
}

impl ReadError {
    /// Returns whether the service reported, in a complete response, that there is no such object.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { refusal, .. } if refusal.status == 404)
    }
}
