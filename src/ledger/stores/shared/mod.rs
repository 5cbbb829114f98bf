//! Stores that many machines share: a lease with a fencing token decides who may write. The rules are pure; PostgreSQL
//! and S3 implement the backend.

mod access;
pub mod backend;
mod contents;
mod guarantees;
pub mod lease;
pub mod lease_access;
pub mod lease_rules;
pub mod memory_backend;
pub mod store;
