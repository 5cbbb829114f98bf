//! Files written anew: their canonical form, and the same stack in the other syntax.
//!
//! `outline` is a file with its comments, blank lines and quotes, whatever its syntax; `read_*` make it, with
//! the comments that `notes` finds, `write_*` write it, `expand` writes out what only YAML can share,
//! `rewrite` checks that nothing that the file says was lost.

pub mod blocks;
mod comments;
mod expand_anchors;
mod outline;
mod read_kdl;
mod read_yaml;
mod rewrite;
mod write_kdl;
mod write_yaml;

pub use rewrite::{convert_file, format_file, write_new_file};
