//! A journal in PostgreSQL tables.

pub mod address;
pub mod backend;
mod connection;
mod error;
mod password;
pub mod tables;
