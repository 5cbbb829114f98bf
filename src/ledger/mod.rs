//! Which live object each address owns: the journal, its replay, and the stores that keep it.

pub mod age_file;
pub mod integrity;
pub mod journal;
pub mod state;
pub mod stores;

#[cfg(test)]
#[path = "tests/fixture.rs"]
mod fixture;
