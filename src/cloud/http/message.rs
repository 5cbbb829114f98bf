//! `Transport`: the transport trait for one HTTP exchange with the service. The layers above it (rate limit, retries,
//! paging, decoding) are the same over TCP and in a simulation.

use std::fmt;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use thiserror::Error;

use crate::model::address::Name;
use crate::model::redact::SentSecrets;
use crate::model::schema::Method;

/// The JSON body of a request, and the secrets in it. Its `Debug` output has neither.
#[derive(Clone, Default, PartialEq)]
pub struct JsonBody {
    /// The body as JSON.
    pub json: serde_json::Value,
    /// The secrets that the body contains.
    pub secrets: SentSecrets,
}

impl fmt::Debug for JsonBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Body(..)")
    }
}

impl From<serde_json::Value> for JsonBody {
    /// Wraps a body without secrets.
    fn from(json: serde_json::Value) -> Self {
        Self { json, secrets: SentSecrets::default() }
    }
}

/// One request. The API key is not part of it: the transport adds it.
#[derive(Clone, PartialEq)]
pub struct HttpRequest {
    /// The HTTP method of the request.
    pub method: Method,
    /// The path from the base address, percent-encoded.
    pub path: String,
    /// The parameters of the query string.
    pub query: Vec<(&'static str, String)>,
    /// The value of `X-Project-ID`.
    pub project: Option<Name>,
    /// The JSON body, if there is one.
    pub body: Option<serde_json::Value>,
    /// The secrets in the body: a response that repeats one is not shown.
    pub secrets: SentSecrets,
    /// Timeout for the whole exchange, connecting included.
    pub deadline: Duration,
}

impl fmt::Debug for HttpRequest {
    /// Writes the request without its body, which may have secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("path", &self.path)
            .field("query", &self.query)
            .field("project", &self.project)
            .finish_non_exhaustive()
    }
}

/// One response, not decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpResponse {
    /// The HTTP status code.
    pub status: u16,
    /// The `Retry-After` header, in seconds.
    pub retry_after: Option<u32>,
    /// The `X-RateLimit-Limit` header: requests per second.
    pub limit: Option<u32>,
    /// The `X-RateLimit-Remaining` header: requests that are left.
    pub remaining: Option<u32>,
    /// The `Date` header, not parsed.
    pub date: Option<Name>,
    /// The `X-Request-Id` header, by which the service's support finds the request; `None` if the service sends none.
    pub request_id: Option<Name>,
    /// The whole body, up to the size limit.
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// Returns a response without any of the headers that stead reads.
    #[must_use]
    pub const fn new(status: u16, body: Vec<u8>) -> Self {
        Self { status, retry_after: None, limit: None, remaining: None, date: None, request_id: None, body }
    }
}

/// A request that left, and what came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentRequest {
    /// The HTTP method.
    pub method: Method,
    /// The path.
    pub path: String,
    /// The status of the response; `None` without one.
    pub status: Option<u16>,
    /// The service's id of the request, if it sends one.
    pub request_id: Option<Name>,
}

impl SentRequest {
    /// Returns the record of an exchange; `None` if no byte of the request was sent.
    #[must_use]
    pub fn from_exchange(
        request: &HttpRequest,
        result: &Result<HttpResponse, TransportError>,
    ) -> Option<Self> {
        let answer = match result {
            Ok(answer) => Some(answer),
            Err(TransportError::Lost { .. }) => None,
            Err(_) => return None,
        };
        Some(Self {
            method: request.method,
            path: request.path.clone(),
            status: answer.map(|answer| answer.status),
            request_id: answer.and_then(|answer| answer.request_id.clone()),
        })
    }
}

/// The reason why there is no response.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TransportError {
    /// No byte of the request was sent: it had no effect.
    #[error("cannot reach {host}: {reason}")]
    NotSent {
        /// The host name of the server.
        host: String,
        /// The reason of the failure.
        reason: String,
    },
    /// The server's certificate is not trusted. No byte of the request was sent, and a retry would
    /// fail in the same way.
    #[error("the certificate of {host} is not accepted: {reason}")]
    Untrusted {
        /// The host name of the server.
        host: String,
        /// The reason of the failure.
        reason: String,
    },
    /// The request was blocked before sending: it had no effect.
    #[error("{reason}")]
    NotPermitted {
        /// The reason why it was blocked.
        reason: String,
    },
    /// The request was sent, wholly or in part; whether it had an effect is unknown.
    #[error("no answer from {host}: {reason}")]
    Lost {
        /// The host name of the server.
        host: String,
        /// The reason of the failure.
        reason: String,
    },
}

/// The transport to the service, one exchange per call. Follows no redirect, repeats nothing.
pub trait Transport {
    /// Sends a request and returns the response.
    fn exchange(&self, request: &HttpRequest)
    -> impl Future<Output = Result<HttpResponse, TransportError>>;

    /// Uploads bytes to a signed address, by PUT and without the key. The default is
    /// for services without signed addresses.
    fn upload(&self, _upload: &SignedUpload) -> impl Future<Output = Result<HttpResponse, TransportError>> {
        ready(Err(TransportError::NotPermitted { reason: "uploads are not possible here".to_owned() }))
    }
}

/// Returns whether a path belongs to the public catalog: requested without a key, and counted separately.
#[must_use]
pub fn is_public(path: &str) -> bool {
    path.starts_with("/api/v1/public/")
}

/// Maximum length of an address from the service.
pub(in crate::cloud) const MAX_URL_BYTES: usize = 16 << 10;

/// Maximum length of an upload key from the service.
pub(in crate::cloud) const MAX_UPLOAD_KEY_BYTES: usize = 1_024;

/// A URL with a signature in its query.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedUrl(String);

impl SignedUrl {
    /// Wraps an address. The transport checks whether it is safe.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// Returns the whole address, signature included.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns whether a string repeats the confidential part of the address.
    pub(in crate::cloud) fn leaks_in(&self, text: &str) -> bool {
        let query = self.0.split_once('?').map_or("", |(_, query)| query);
        let secret = |part: &str| part.len() >= 8 && text.contains(part);
        query.split(['&', '=']).any(secret)
    }
}

impl fmt::Debug for SignedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.find(['?', '#']).unwrap_or(self.0.len());
        let start = self.0[..end].rfind('@').map_or(0, |at| at + 1);
        f.debug_tuple("SignedUrl").field(&&self.0[start..end]).finish()
    }
}

/// Permission for one upload, and the key under which a later call refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadGrant {
    /// The address for the upload.
    pub url: SignedUrl,
    /// The key that a later call sends.
    pub key: Name,
}

/// Time limit of an upload in addition to the time for its bytes.
const MIN_UPLOAD_TIME: Duration = Duration::from_mins(1);

/// Minimum transfer rate of an upload, in bytes per second.
const MIN_UPLOAD_RATE: u64 = 64 << 10;

/// An upload to a signed address.
#[derive(Debug)]
pub struct SignedUpload {
    /// The address for the upload.
    pub url: SignedUrl,
    /// The bytes to upload, in chunks.
    pub pieces: Vec<Bytes>,
    /// Timeout for the whole exchange, connecting included.
    pub deadline: Duration,
    /// The number of bytes that were sent so far.
    pub sent: Arc<AtomicU64>,
}

impl SignedUpload {
    /// Returns an upload that has not started.
    #[must_use]
    pub fn new(url: SignedUrl, pieces: Vec<Bytes>) -> Self {
        let mut upload = Self { url, pieces, deadline: MIN_UPLOAD_TIME, sent: Arc::default() };
        upload.deadline += Duration::from_secs(upload.length() / MIN_UPLOAD_RATE);
        upload
    }

    /// Returns the total number of bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }

    /// Returns the chunks in order, and counts the bytes as they are sent.
    pub fn into_chunks(&self) -> impl Iterator<Item = Bytes> + Send + 'static {
        self.sent.store(0, Ordering::Relaxed);
        let (pieces, sent) = (self.pieces.clone(), Arc::clone(&self.sent));
        pieces.into_iter().inspect(move |piece| {
            sent.fetch_add(piece.len() as u64, Ordering::Relaxed);
        })
    }
}
