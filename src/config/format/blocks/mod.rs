//! Configuration that stead generates: blocks in either syntax, one entry per line. In: blocks with marks; out: the
//! file's content with the mark of each line, by which a caller finds the block of a line that a diagnostic names.

mod kdl;
mod tree;
mod write;
mod yaml;

pub use tree::{LineMarker, MarkedText, PrintedBlock, PrintedEntry, PrintedValue};
pub use write::print_blocks;

#[cfg(test)]
mod tests;
