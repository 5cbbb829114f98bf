//! Writer of blocks in the requested syntax.

use super::tree::{MarkedText, PrintedBlock};
use super::{kdl, yaml};
use crate::config::syntax::document::Syntax;

/// Writes blocks, grouped by kind, as the content of one file. Blocks of one kind must follow each other: YAML
/// writes their keyword once.
#[must_use]
pub fn print_blocks(syntax: Syntax, blocks: &[PrintedBlock]) -> MarkedText {
    match syntax {
        Syntax::Yaml => yaml::print_yaml_blocks(blocks),
        Syntax::Kdl => kdl::print_kdl_blocks(blocks),
    }
}
