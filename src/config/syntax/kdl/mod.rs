//! KDL v2 parser. In: decoded source files; out: a `Document` with the span of every key and value, or diagnostics.
//!
//! `tokens` yields every word with its span and corrects common mistakes. `read` follows the grammar with an
//! explicit stack (no recursion), `document` converts nodes to the tree, and `hints` builds the diagnostics.
//! `incremental` parses only the block in which a known file has changed.

mod document;
mod hints;
mod incremental;
pub(in crate::config) mod layout_tree;
mod read;
mod strings;
mod tokens;

pub(super) use incremental::reparse_kdl;
pub use read::parse;
