//! YAML text → `Document`, from the parser's events in one pass.
//!
//! `read` builds the tree with a stack of its own (no recursion), `anchors` keeps what aliases
//! repeat, within a budget, `slips` turns the parser's errors into what to write instead, `again` reads what
//! changed.

mod anchors;
mod hints;
mod incremental;
pub(in crate::config) mod layout_tree;
mod lines;
mod messages;
mod read;

pub(super) use incremental::reparse_yaml;
pub use read::parse;
