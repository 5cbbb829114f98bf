//! KDL v2 text → `Document`: tokens → nodes → the tree.
//!
//! `tokens` gives every word its place and mends the likeliest slips, `read` follows the grammar with
//! a stack of its own (no recursion), `shape` says what a node means, `slips` words the messages. `again` reads the one
//! block in which a known text has changed.

mod document;
mod hints;
mod incremental;
pub(in crate::config) mod layout_tree;
mod read;
mod strings;
mod tokens;

pub(super) use incremental::reparse_kdl;
pub use read::parse;
