//! What other tools read of the registry.

pub mod lsp;
pub mod openapi;
