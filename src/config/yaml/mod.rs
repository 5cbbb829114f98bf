//! YAML text → `Document`, from the parser's events in one pass.
//!
//! `read` builds the tree with a stack of its own (no recursion), `anchors` keeps what aliases
//! repeat, within a budget, `slips` turns the parser's errors into what to write instead, `again` reads what
//! changed.

mod again;
mod anchors;
mod lines;
mod messages;
mod read;
mod slips;
pub(super) mod tree;

pub(super) use again::again;
pub use read::parse;
