//! The handling of one request: its caller, the caller's permissions, and the state that it changes.

pub(super) mod call;
pub(super) mod handlers;
pub(super) mod route;
