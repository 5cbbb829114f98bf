//! Parsers for YAML and KDL: text to `Document`, one tree with spans, and bounds on size and depth.

pub(super) mod budget;
pub mod decode;
pub mod document;
pub mod kdl;
pub mod limits;
pub mod parse_cache;
pub mod parse_source;
pub(super) mod quoting;
pub(super) mod scalar_class;
pub(super) mod unique_keys;
pub mod yaml;
