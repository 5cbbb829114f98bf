//! KDL v2 text → `Document`: tokens → nodes → the tree.
//!
//! `tokens` gives every word its place and mends the likeliest slips, `read` follows the grammar with
//! a stack of its own (no recursion), `shape` says what a node means, `slips` words the messages. `again` reads the one
//! block in which a known text has changed.

mod again;
mod read;
mod shape;
mod slips;
mod text;
mod tokens;
pub(super) mod tree;

pub(super) use again::again;
pub use read::parse;
