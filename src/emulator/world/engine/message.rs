//! `ApiRequest` and `ApiResponse`: one exchange with the world, and `ErrorResponse`, its way to say no.

use super::json_writer::JsonObjectWriter;
use crate::model::schema::Method;

/// One request, as far as the world looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiRequest {
    /// The verb.
    pub method: Method,
    /// The path, percent-encoded, from `/api/v1` on.
    pub path: String,
    /// Query parameters, decoded.
    pub query: Vec<(String, String)>,
    /// The value of `X-API-Key`.
    pub api_key: Option<String>,
    /// The value of `X-Project-ID`.
    pub project: Option<String>,
    /// The body; empty for none.
    pub body: Vec<u8>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiResponse {
    /// The status.
    pub status: u16,
    /// Headers beyond `Content-Type` and `Date`.
    pub headers: Vec<(&'static str, String)>,
    /// The JSON body.
    pub body: Vec<u8>,
}

impl ApiResponse {
    /// Returns an answer with this JSON text.
    #[must_use]
    pub fn from_json(status: u16, body: Vec<u8>) -> Self {
        Self { status, headers: Vec::new(), body }
    }

    /// Returns an answer in the error envelope.
    #[must_use]
    pub fn error(status: u16, error: &str, message: &str) -> Self {
        ErrorResponse::new(status, error, message).into()
    }
}

/// A request that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::emulator::world) struct ErrorResponse {
    pub(in crate::emulator::world) status: u16,
    pub(in crate::emulator::world) error: String,
    pub(in crate::emulator::world) message: String,
    pub(in crate::emulator::world) reason: Option<&'static str>,
}

impl ErrorResponse {
    pub(in crate::emulator::world) fn new(status: u16, error: &str, message: impl Into<String>) -> Self {
        Self { status, error: error.to_owned(), message: message.into(), reason: None }
    }

    /// 400: the request itself is wrong; the message says what to change.
    pub(in crate::emulator::world) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "Bad Request", message)
    }

    /// Says inside which field of the request it was.
    pub(in crate::emulator::world) fn with_field(mut self, field: &str) -> Self {
        self.message = format!("{field}: {}", self.message);
        self
    }

    /// 402.
    pub(in crate::emulator::world) fn payment_required(message: impl Into<String>) -> Self {
        Self::new(402, "Payment Required", message)
    }

    /// 404.
    pub(in crate::emulator::world) fn not_found(what: &str) -> Self {
        Self::new(404, "Not Found", format!("{what} not found"))
    }

    /// 409: taken, in use, or in a state that does not allow it.
    pub(in crate::emulator::world) fn conflict(message: impl Into<String>) -> Self {
        Self::new(409, "Conflict", message)
    }
}

impl From<ErrorResponse> for ApiResponse {
    fn from(refusal: ErrorResponse) -> Self {
        let mut body = Vec::with_capacity(128);
        JsonObjectWriter::write(&mut body, |fields| {
            fields.write_field("error", &refusal.error);
            if let Some(reason) = refusal.reason {
                fields.write_field("reason", reason);
            }
            fields.write_field("message", &refusal.message);
        });
        Self::from_json(refusal.status, body)
    }
}
