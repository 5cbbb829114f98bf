//! Stores of a journal: a directory, memory, an HTTP state server, PostgreSQL or S3. Each store makes a record durable
//! before it acknowledges it, and admits one writer at a time.

pub mod any_store;
pub mod file;
pub mod http;
pub mod https;
pub mod location;
pub mod memory;
pub mod open_options;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "s3")]
pub mod s3;
pub mod shared;
pub mod store_access;
