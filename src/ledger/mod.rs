//! Which live object each address owns: the journal, its replay, and the stores that keep it.

pub mod entry;
pub mod file;
pub mod journal;
pub mod memory;
pub mod record;
pub mod replay;
pub mod resolve;
pub mod store;

mod guarded;
mod line;

#[cfg(test)]
#[path = "tests/fixture.rs"]
mod fixture;
