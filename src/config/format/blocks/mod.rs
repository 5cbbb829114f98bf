//! Configuration written by the tool: blocks as text in either syntax, one entry a line.

mod kdl;
mod tree;
mod write;
mod yaml;

pub use tree::{LineMarker, MarkedText, PrintedBlock, PrintedEntry, PrintedValue};
pub use write::print_blocks;

#[cfg(test)]
mod tests;
