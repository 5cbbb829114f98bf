//! What other tools read of the registry.

pub mod openapi;
