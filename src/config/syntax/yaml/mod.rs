//! YAML parser. In: decoded source files; out: a `Document` with the span of every key and value, or
//! diagnostics. It reads the events of a library parser in one pass.
//!
//! `read` builds the tree with an explicit stack (no recursion). `anchors` stores the nodes that aliases
//! repeat, within a budget. `hints` turns parser errors into diagnostics with a correction, `incremental`
//! parses only the block that changed, and `parts` parses a large file in parts, which can be at the same time.

mod anchors;
mod hints;
mod incremental;
pub(in crate::config) mod layout_tree;
mod lines;
mod messages;
mod parts;
mod read;

pub(super) use incremental::reparse_yaml;
pub use parts::parse;
pub(in crate::config) use parts::parse_with;
