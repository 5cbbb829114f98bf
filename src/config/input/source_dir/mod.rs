//! A directory of sources: what of it counts, its digest, and its archive.

mod archive;
mod contents;
mod digest;
mod digester;
mod error;
mod tree;

pub use archive::{MAX_ARCHIVE_BYTES, SourceArchive};
pub use digest::directory_digest;
pub use error::SourceError;
pub use tree::SourceTree;

#[cfg(test)]
mod tests;
