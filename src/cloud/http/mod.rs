//! One HTTP exchange: messages, transport, rate limit and its queue, retries, and the decoding of responses. Invariant:
//! no response is trusted for its size, depth or text.

pub(super) mod certificate_errors;
pub mod decode;
pub mod https_transport;
pub mod message;
pub mod rate_limit;
pub(super) mod rate_limiter;
pub(super) mod redact;
pub mod requests;
pub(super) mod response_class;
pub(super) mod retry;
pub mod send;
pub mod url_path;
