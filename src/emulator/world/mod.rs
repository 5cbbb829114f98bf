//! The service as a pure state machine: `handle(&mut World, &Request, Time) -> Response`.
//!
//! No file, socket, clock or thread: every status follows from a record's timeline and the time that
//! is handed in, every id from a seeded counter. One file for each kind holds its routes and behaviour;
//! `route` finds the one that a request means.

mod backup_schedule;
mod billing;
mod body;
mod call;
mod catalog;
mod claim;
mod cluster;
mod cluster_event;
mod cluster_operation;
mod cluster_upgrade;
mod database;
mod database_access;
mod database_operation;
mod database_user;
mod exchange;
mod inspect;
mod json;
mod kubeconfig;
mod kubernetes_version;
mod money;
mod mutate;
mod node_pool;
mod ordered;
mod project;
mod public;
mod route;
mod ssh_key;
mod state;
mod table;
mod tables;
mod timeline;
mod vm;
mod vm_operation;
mod volume;
mod vpc;

pub use exchange::{Request, Response};
pub use inspect::Search;
pub use mutate::MutateError;
pub use route::{handle, template};
pub use state::{Bill, Row, Setup, Tier};
pub use tables::World;

pub(super) use catalog::{DATABASE_PLANS, TEMPLATES, VM_PLANS};

/// A moment of the world's own clock.
pub type Time = jiff::Timestamp;

#[cfg(test)]
mod tests;
