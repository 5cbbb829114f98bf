//! The only client of the service: transport, rate limit, retries, paging, refresh, catalog.
//!
//! `Client` is the entry point: it takes keys of objects and kinds and returns decoded objects or typed errors. No
//! other module sends a request to the service.

pub mod client;
pub mod probe;

pub mod capabilities;
pub mod error;
#[cfg(test)]
#[path = "tests/fake.rs"]
mod fake;
pub mod http;
pub mod read;
pub mod system_clock;
#[cfg(test)]
mod tests;
pub mod wait;
pub mod write;
