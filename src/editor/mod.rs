//! Output for editors and other tools, generated from the registry and from stacks: help pages, schemas, graphs, and
//! the language server. Nothing here sends a request or reads a file; `lsp` gets files through a trait.

pub mod explain;
pub mod facts;
pub mod graph;
pub mod lsp;
pub mod openapi;
pub mod stack_schema;
