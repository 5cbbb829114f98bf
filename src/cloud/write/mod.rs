//! Changes: one mutating request, and the knowledge of its effect afterwards. It is never sent twice without proof that
//! the first one had no effect.

pub mod action_request;
pub mod mutation;
pub mod upload;
