//! One request to the emulator and its answer, apart from the connection that carries them.

use std::time::Duration;

use jiff::Timestamp;

use super::faults::Fault;
use super::world::{ApiResponse, ReceivedArchive};

/// One request as the socket delivered it.
pub(super) struct IncomingRequest {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
    pub(super) api_key: Option<String>,
    pub(super) project: Option<String>,
    /// The `ServerHost` that the client addressed this server by.
    pub(super) host: Option<String>,
    pub(super) peer: String,
    /// Whether this request may use the emulator's own endpoints.
    pub(super) trusted: bool,
    pub(super) body: Vec<u8>,
    /// Digest and size of the body, if the body is an archive.
    pub(super) archive: Option<ReceivedArchive>,
}

/// The arrival time of a request on both clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestTimes {
    /// Wall clock time of the arrival.
    pub(super) real: Timestamp,
    /// Time since the server started.
    pub(super) elapsed: Duration,
}

/// The response of a request, and how to send it.
pub(super) struct OutgoingResponse {
    pub(super) response: ApiResponse,
    /// The world's time, for the `Date` header.
    pub(super) date: Timestamp,
    /// The fault to apply while sending.
    pub(super) fault: Option<Fault>,
    /// Number of the journal batch that must be on disk before the response is sent.
    pub(super) sequence: u64,
}

/// Prefix of the emulator's own paths.
pub(super) const CONTROL_PREFIX: &str = "/_emulator/";
