//! `Transport`: one HTTP exchange with the service. Everything above it (limiter, retries, paging,
//! decoding) is the same over TCP and in a simulation.

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

/// The JSON body of a request, and the secrets in it. Its `Debug` shows neither.
#[derive(Clone, Default, PartialEq)]
pub struct JsonBody {
    /// The body.
    pub json: serde_json::Value,
    /// The secrets in it.
    pub secrets: SentSecrets,
}

impl fmt::Debug for JsonBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Body(..)")
    }
}

impl From<serde_json::Value> for JsonBody {
    /// A body without secrets.
    fn from(json: serde_json::Value) -> Self {
        Self { json, secrets: SentSecrets::default() }
    }
}

/// One request. The API key is not part of it: the transport adds it.
#[derive(Clone, PartialEq)]
pub struct HttpRequest {
    /// The verb.
    pub method: Method,
    /// The path from the base address, percent-encoded.
    pub path: String,
    /// Query parameters.
    pub query: Vec<(&'static str, String)>,
    /// The value of `X-Project-ID`.
    pub project: Option<Name>,
    /// The JSON body.
    pub body: Option<serde_json::Value>,
    /// The secrets in the body: an answer that repeats one is not shown.
    pub secrets: SentSecrets,
    /// Whole time allowed, connecting included.
    pub deadline: Duration,
}

impl fmt::Debug for HttpRequest {
    /// Leaves the body out: it may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("path", &self.path)
            .field("query", &self.query)
            .field("project", &self.project)
            .finish_non_exhaustive()
    }
}

/// One answer, as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// `Retry-After` in seconds.
    pub retry_after: Option<u32>,
    /// `X-RateLimit-Limit`.
    pub limit: Option<u32>,
    /// `X-RateLimit-Remaining`.
    pub remaining: Option<u32>,
    /// `Date`, as it stands.
    pub date: Option<Name>,
    /// The whole body, bounded.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TransportError {
    /// Not a byte of the request left: it had no effect.
    #[error("cannot reach {host}: {reason}")]
    NotSent {
        /// The host.
        host: String,
        /// Why.
        reason: String,
    },
    /// The server's certificate is not accepted. Not a byte of the request left, and the next try would be the same.
    #[error("the certificate of {host} is not accepted: {reason}")]
    Untrusted {
        /// The host.
        host: String,
        /// Why.
        reason: String,
    },
    /// It was not let out: it had no effect.
    #[error("{reason}")]
    NotPermitted {
        /// Why not.
        reason: String,
    },
    /// The request left, wholly or in part; whether it had an effect is unknown.
    #[error("no answer from {host}: {reason}")]
    Lost {
        /// The host.
        host: String,
        /// Why.
        reason: String,
    },
}

/// The service, one exchange at a time. Follows no redirect, repeats nothing.
pub trait Transport {
    /// Sends a request and returns its answer.
    fn exchange(&self, request: &HttpRequest)
    -> impl Future<Output = Result<HttpResponse, TransportError>>;

    /// Sends bytes to an address that the service signed, by PUT and without the key. A service that
    /// signs none takes none.
    fn upload(&self, _upload: &SignedUpload) -> impl Future<Output = Result<HttpResponse, TransportError>> {
        ready(Err(TransportError::NotPermitted { reason: "there is nowhere to upload to".to_owned() }))
    }
}

/// Tells whether a path is of the public catalog: asked for without a key, and counted apart.
#[must_use]
pub fn is_public(path: &str) -> bool {
    path.starts_with("/api/v1/public/")
}

/// Longest address that is believed.
pub(in crate::cloud) const MAX_URL_BYTES: usize = 16 << 10;

/// Longest key of an upload that is believed.
pub(in crate::cloud) const MAX_UPLOAD_KEY_BYTES: usize = 1_024;

/// An address with a signature in its query.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedUrl(String);

impl SignedUrl {
    /// Returns an address. Whether it is a safe one is for the transport to say.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// Returns the whole address, signature and all.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Tells whether a text repeats what is to be seen nowhere.
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

/// Leave to upload once, and the name that the upload then has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadGrant {
    /// Where to.
    pub url: SignedUrl,
    /// What a later call names.
    pub key: Name,
}

/// Time for an upload besides that for its bytes.
const MIN_UPLOAD_TIME: Duration = Duration::from_mins(1);

/// Bytes in a second below which an upload is given up.
const MIN_UPLOAD_RATE: u64 = 64 << 10;

/// Bytes on their way to a signed address.
#[derive(Debug)]
pub struct SignedUpload {
    /// Where to.
    pub url: SignedUrl,
    /// What.
    pub pieces: Vec<Bytes>,
    /// Whole time allowed, connecting included.
    pub deadline: Duration,
    /// How many bytes have left so far.
    pub sent: Arc<AtomicU64>,
}

impl SignedUpload {
    /// Returns an upload that has not begun.
    #[must_use]
    pub fn new(url: SignedUrl, pieces: Vec<Bytes>) -> Self {
        let mut upload = Self { url, pieces, deadline: MIN_UPLOAD_TIME, sent: Arc::default() };
        upload.deadline += Duration::from_secs(upload.length() / MIN_UPLOAD_RATE);
        upload
    }

    /// Returns how many bytes there are.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }

    /// Returns the bytes in turn, counting them as they leave.
    pub fn into_chunks(&self) -> impl Iterator<Item = Bytes> + Send + 'static {
        self.sent.store(0, Ordering::Relaxed);
        let (pieces, sent) = (self.pieces.clone(), Arc::clone(&self.sent));
        pieces.into_iter().inspect(move |piece| {
            sent.fetch_add(piece.len() as u64, Ordering::Relaxed);
        })
    }
}
