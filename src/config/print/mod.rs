//! Configuration written by the tool: blocks as text in either syntax, one entry a line.

mod kdl;
mod tree;
mod yaml;

pub use tree::{Block, Entry, Mark, Page, Printed};

use super::document::Syntax;

/// Writes blocks, grouped by kind, as the text of one file.
#[must_use]
pub fn blocks(syntax: Syntax, blocks: &[Block]) -> Page {
    match syntax {
        Syntax::Yaml => yaml::blocks(blocks),
        Syntax::Kdl => kdl::blocks(blocks),
    }
}

#[cfg(test)]
mod tests;
