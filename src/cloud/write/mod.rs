//! Changes: sends one mutating request and reports its outcome (done, refused, not sent, unknown). A mutating request
//! is never sent twice without proof that the first one had no effect, because a repeated creation makes two objects.

pub mod action_request;
pub mod mutation;
pub mod upload;
