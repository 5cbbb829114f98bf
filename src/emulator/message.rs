//! One request to the emulator and its answer, apart from the connection that carries them.

use std::time::Duration;

use jiff::Timestamp;

use super::faults::Fault;
use super::world::{ApiResponse, ReceivedArchive};

/// One request as it came from the socket.
pub(super) struct IncomingRequest {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
    pub(super) api_key: Option<String>,
    pub(super) project: Option<String>,
    /// The address that the client reached this server at.
    pub(super) host: Option<String>,
    pub(super) peer: String,
    /// Whether the emulator's own calls are open to this request.
    pub(super) trusted: bool,
    pub(super) body: Vec<u8>,
    /// What the body was, where it is an archive.
    pub(super) archive: Option<ReceivedArchive>,
}

/// The two times of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestTimes {
    /// Wall time.
    pub(super) real: Timestamp,
    /// Time since the server began.
    pub(super) elapsed: Duration,
}

/// What is to be done with the socket.
pub(super) struct OutgoingResponse {
    pub(super) response: ApiResponse,
    /// The world's time, for `Date`.
    pub(super) date: Timestamp,
    /// What goes wrong on the way out.
    pub(super) fault: Option<Fault>,
    /// What must be on the disk before the answer leaves.
    pub(super) sequence: u64,
}

/// Begins the path of the emulator's own calls.
pub(super) const CONTROL_PREFIX: &str = "/_emulator/";
