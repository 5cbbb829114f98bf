//! The only client of the service: exchange, limiter, retries, paging, refresh, catalog.

pub mod client;
pub mod exchange;
