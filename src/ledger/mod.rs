//! The ledger: the record of the live object that each address owns. Contains the journal, its replay, and the stores.

pub mod age_file;
pub mod integrity;
pub mod journal;
pub mod runs;
pub mod state;
pub mod stores;

#[cfg(test)]
#[path = "tests/fixture.rs"]
mod fixture;
