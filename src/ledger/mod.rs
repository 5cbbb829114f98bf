//! Which live object each address owns: the journal, its replay, and the stores that keep it.

pub mod age_file;
pub mod any;
pub mod check;
pub mod document;
pub mod entry;
pub mod file;
pub mod guarded;
pub mod history;
pub mod http;
pub mod https;
pub mod journal;
pub mod kept_secrets;
pub mod lease;
pub mod lock;
pub mod memory;
pub mod memory_shelf;
pub mod origins;
pub mod place;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod process;
pub mod question;
pub mod record;
pub mod repair;
pub mod replay;
pub mod resolve;
#[cfg(feature = "s3")]
pub mod s3;
pub mod salvage;
pub mod seal;
pub mod shared;
pub mod shelf;
pub mod soundness;
pub mod store;
pub mod trail;
pub mod verification;
pub mod verify;

mod chain;
pub mod error;
mod line;
mod pieces;
pub mod state;
mod summary;

#[cfg(test)]
#[path = "tests/fixture.rs"]
mod fixture;
