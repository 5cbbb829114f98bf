//! Which live object each address owns: the journal, its replay, and the stores that keep it.

pub mod any;
pub mod check;
pub mod entry;
pub mod file;
pub mod guarded;
pub mod history;
pub mod journal;
pub mod lease;
pub mod memory;
pub mod memory_shelf;
pub mod place;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod process;
pub mod question;
pub mod record;
pub mod replay;
pub mod resolve;
#[cfg(feature = "s3")]
pub mod s3;
pub mod salvage;
pub mod shared;
pub mod shelf;
pub mod store;

mod https;
mod line;
mod summary;

#[cfg(test)]
#[path = "tests/fixture.rs"]
mod fixture;
