//! Formatting: a file in its canonical form, or the same stack in the other syntax.
//!
//! An `Outline` is a file with its comments, blank lines and quotes, independent of the syntax. The `read_*`
//! modules build it and `comments` assigns the comments; `write_*` write it; `expand_anchors` replaces aliases,
//! which only YAML has; `rewrite` verifies that the result has the same content.

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
