//! The service as a pure state machine: `handle(&mut World, &Request, Time) -> Response`.
//!
//! No file, socket, clock or thread: every status follows from a record's timeline and the time that
//! is handed in, every id from a seeded counter. One file for each kind holds its routes and behaviour;
//! `route` finds the one that a request means.

mod api_key;
mod app;
mod app_catalog;
mod app_change;
mod app_domain;
mod app_event;
mod app_input;
mod app_link;
mod app_scale;
mod app_usage;
mod backup;
mod backup_schedule;
mod billing;
mod body;
mod call;
mod catalog;
mod children;
mod claim;
mod cluster;
mod cluster_event;
mod cluster_operation;
mod cluster_upgrade;
mod cron;
mod database;
mod database_access;
mod database_browse;
mod database_console;
mod database_contents;
mod database_operation;
mod database_user;
mod deployment;
mod exchange;
mod function;
mod grant;
mod inspect;
mod invitation;
mod job_run;
mod json;
mod kubeconfig;
mod kubernetes_version;
mod money;
mod month_meter;
mod mutate;
mod node_pool;
mod ordered;
mod permission;
mod preview;
mod project;
mod project_member;
mod public;
mod role;
mod route;
mod saved_query;
mod snapshot;
mod spend;
mod sql;
mod ssh_key;
mod state;
mod table;
mod tables;
mod timeline;
mod upload;
mod vm;
mod vm_operation;
mod volume;
mod vpc;

pub use exchange::{Request, Response};
pub use inspect::Search;
pub use mutate::MutateError;
pub use route::{handle, receive, routes, template};
pub use state::{Bill, Row, Setup, Tier};
pub use tables::World;
pub use upload::{Archive, Arriving, LARGEST as LARGEST_ARCHIVE, PREFIX as UPLOADS};

pub(super) use catalog::{DATABASE_PLANS, NODE_PLANS, TEMPLATES, VM_PLANS};
pub(super) use kubernetes_version::VERSIONS as KUBERNETES_VERSIONS;

/// A moment of the world's own clock.
pub type Time = jiff::Timestamp;

#[cfg(test)]
mod tests;
