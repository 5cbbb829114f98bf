//! Which live object each address owns: the journal, its replay, and the stores that keep it.

pub mod any;
pub mod check;
pub mod document;
pub mod entry;
pub mod file;
pub mod history;
pub mod journal;
pub mod lease;
pub mod lock;
pub mod memory;
pub mod memory_shelf;
pub mod place;
pub mod process;
pub mod record;
pub mod repair;
pub mod replay;
pub mod resolve;
pub mod shared;
pub mod shelf;
pub mod soundness;
pub mod store;

mod guarded;
mod line;
mod pieces;
mod summary;

#[cfg(test)]
#[path = "tests/fixture.rs"]
mod fixture;
