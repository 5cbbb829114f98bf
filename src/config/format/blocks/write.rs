//! Blocks in the syntax that is asked for.

use super::tree::{Block, Page};
use super::{kdl, yaml};
use crate::config::syntax::document::Syntax;

/// Writes blocks, grouped by kind, as the text of one file.
#[must_use]
pub fn blocks(syntax: Syntax, blocks: &[Block]) -> Page {
    match syntax {
        Syntax::Yaml => yaml::blocks(blocks),
        Syntax::Kdl => kdl::blocks(blocks),
    }
}
