//! The only client of the service: exchange, limiter, retries, paging, refresh, catalog.

pub mod account;
pub mod ask;
pub mod change;
pub mod client;
pub mod decode;
mod doubt;
pub mod exchange;
pub mod home;
mod ids;
pub mod limiter;
pub mod path;
pub mod probe;
pub mod settle;
pub mod system;
pub mod transport;
pub mod upload;

mod catalog;
mod certificate;
mod outcome;
mod paging;
mod redact;
mod refresh;
mod retry;
pub mod run;
pub mod send;
mod turnstile;

pub mod error;
#[cfg(test)]
#[path = "tests/fake.rs"]
mod fake;
#[cfg(test)]
mod tests;
