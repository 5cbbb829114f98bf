//! `ApiRequest` and `ApiResponse`: one HTTP exchange with the world; and `ErrorResponse`, the error type of handlers,
//! which becomes a response with the service's error envelope ("Conventions").

use super::json_writer::JsonObjectWriter;
use crate::model::schema::Method;

/// The parts of an HTTP request that the world uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiRequest {
    /// HTTP method of the request.
    pub method: Method,
    /// Path without the query, percent-encoded, such as `/api/v1/vms`.
    pub path: String,
    /// Query parameters in order, decoded.
    pub query: Vec<(String, String)>,
    /// Value of the `X-API-Key` header, a secret; `None` without the header.
    pub api_key: Option<String>,
    /// Value of the `X-Project-ID` header; `None` without the header. An empty value counts as none.
    pub project: Option<String>,
    /// Request body; empty if there is none.
    pub body: Vec<u8>,
}

/// An HTTP response. Its body is JSON unless the headers have a `content-type`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiResponse {
    /// HTTP status code of the response.
    pub status: u16,
    /// Headers in lower case, without `date`, and without `content-type` if that is JSON.
    pub headers: Vec<(&'static str, String)>,
    /// Response body, complete.
    pub body: Vec<u8>,
}

impl ApiResponse {
    /// Returns a response with this JSON as its body, and no headers.
    #[must_use]
    pub fn from_json(status: u16, body: Vec<u8>) -> Self {
        Self { status, headers: Vec::new(), body }
    }

    /// Returns a response with the API's error envelope, `{error, message}`.
    #[must_use]
    pub fn error(status: u16, error: &str, message: &str) -> Self {
        ErrorResponse::new(status, error, message).into()
    }
}

/// An error response to a request. `reason` is sent for a billing validation failure only ("Errors", 403).
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

    /// 400: the request itself is invalid; the message explains what to change.
    pub(in crate::emulator::world) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "Bad Request", message)
    }

    /// Prefixes the message with the field of the request that it is about.
    pub(in crate::emulator::world) fn with_field(mut self, field: &str) -> Self {
        self.message = format!("{field}: {}", self.message);
        self
    }

    /// 402: the account cannot pay for the request.
    pub(in crate::emulator::world) fn payment_required(message: impl Into<String>) -> Self {
        Self::new(402, "Payment Required", message)
    }

    /// 404: the object does not exist or is not visible to the caller.
    pub(in crate::emulator::world) fn not_found(what: &str) -> Self {
        Self::new(404, "Not Found", format!("{what} not found"))
    }

    /// 409: the name is in use, the object is in use, or its status does not allow the request.
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
