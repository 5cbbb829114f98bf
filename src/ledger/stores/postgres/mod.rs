//! A journal in a PostgreSQL table.

pub mod address;
pub mod backend;
mod connection;
mod error;
mod password;
pub mod tables;
