//! Parsers for YAML and KDL. In: bytes of a file; out: a `Document`, one tree with spans for both
//! syntaxes, or diagnostics. Size, depth and the number of values are limited, because a file may be
//! hostile or no configuration at all.

pub(super) mod budget;
pub mod decode;
pub mod document;
pub mod jobs;
pub mod kdl;
pub mod limits;
pub mod parse_cache;
pub mod parse_source;
pub(super) mod quoting;
pub(super) mod scalar_class;
pub(super) mod unique_keys;
pub mod yaml;
