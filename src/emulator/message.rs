//! One request to the emulator and its response, apart from the connection that carries them: `serve` makes the
//! first from a socket and sends the second.

use std::time::Duration;

use jiff::Timestamp;

use super::faults::Fault;
use super::world::{ApiResponse, ReceivedArchive};

/// One request as the socket delivered it, before routing and authentication.
pub(super) struct IncomingRequest {
    pub(super) method: String,
    /// Path without the query, still percent-encoded.
    pub(super) path: String,
    /// Query parameters in order, decoded.
    pub(super) query: Vec<(String, String)>,
    /// Value of `X-API-Key`, a secret; `None` without the header, or if it is not visible ASCII.
    pub(super) api_key: Option<String>,
    /// Value of `X-Project-ID`; `None` without the header.
    pub(super) project: Option<String>,
    /// Value of `Host`, by which the client addressed this server; `None` without the header.
    pub(super) host: Option<String>,
    /// IP address of the client, without the port.
    pub(super) peer: String,
    /// Whether this request may use the emulator's own endpoints.
    pub(super) trusted: bool,
    pub(super) body: Vec<u8>,
    /// Digest and size of the body if the request uploads an archive, whose `body` is then empty; `None` otherwise.
    pub(super) archive: Option<ReceivedArchive>,
}

/// When a request was read to its end, on two clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestTimes {
    /// Wall clock time, which can be set back.
    pub(super) real: Timestamp,
    /// Time since the server started, which never decreases: the limiter and the log count with it.
    pub(super) elapsed: Duration,
}

/// The response of a request, and how to send it.
pub(super) struct OutgoingResponse {
    pub(super) response: ApiResponse,
    /// The world's time, for the `Date` header.
    pub(super) date: Timestamp,
    /// The fault to apply while sending; `None` sends the response as it is.
    pub(super) fault: Option<Fault>,
    /// Number of the write batch that must be on disk before the response is sent; 0 if there is none.
    pub(super) sequence: u64,
}

/// Prefix of the emulator's own paths.
pub(super) const CONTROL_PREFIX: &str = "/_emulator/";
