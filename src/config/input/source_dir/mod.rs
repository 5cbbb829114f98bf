//! Directory of sources to upload (Request source upload URL): which files belong to it, its digest, and its
//! archive. In: a directory below the stack's; out: the same digest and the same archive bytes for the same
//! files on every machine.

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
