//! A directory of sources: what of it counts, its digest, and its archive.

mod archive;
mod contents;
mod digest;
mod error;
mod tree;

pub use archive::{Archive, LARGEST};
pub use digest::of;
pub use error::SourceError;
pub use tree::Tree;

#[cfg(test)]
mod tests;
