//! Which live object each address owns: the journal, its replay, and the stores that keep it.

pub mod any;
pub mod entry;
pub mod file;
pub mod history;
pub mod http;
pub mod journal;
pub mod lease;
pub mod memory;
pub mod memory_shelf;
pub mod place;
pub mod process;
pub mod record;
pub mod replay;
pub mod resolve;
#[cfg(feature = "s3")]
pub mod s3;
pub mod shared;
pub mod shelf;
pub mod store;

mod guarded;
mod https;
mod line;
mod summary;

#[cfg(test)]
#[path = "tests/fixture.rs"]
mod fixture;
