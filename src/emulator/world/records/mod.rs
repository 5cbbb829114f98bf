//! The records of all kinds: their fields, indexes and prices. Nothing in this folder names `World` or a request, so
//! `state` can hold the records and the handlers can use both.

pub(super) mod account;
pub(super) mod app;
pub(super) mod app_parts;
pub(super) mod cluster;
pub(super) mod compute;
pub(super) mod database;
pub(super) mod database_contents;
pub(super) mod maintenance;
