//! A journal in PostgreSQL tables, and the runs that workers share.

pub mod address;
pub mod backend;
mod connection;
mod error;
mod password;
pub mod run_board;
mod run_tables;
mod sql;
pub mod tables;
