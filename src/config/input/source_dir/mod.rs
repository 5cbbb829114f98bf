//! Directory of sources to upload: which files belong to it, its digest, and its archive.

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
