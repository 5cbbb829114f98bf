//! What other tools and curious people read of the registry and of a stack.

pub mod explain;
pub mod facts;
pub mod graph;
pub mod lsp;
pub mod openapi;
pub mod stack_schema;
