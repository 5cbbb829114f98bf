//! Managed databases, their users, contents and consoles. Path parameters take a database's id or short id.

pub(super) mod access;
pub(super) mod actions;
pub(super) mod browse;
pub(super) mod console;
pub(super) mod database;
pub(super) mod saved_query;
pub(super) mod sql;
pub(super) mod user;
