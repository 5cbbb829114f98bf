//! The service's kinds, one table per file, and the `Registry` that lists them.
//!
//! A table contains what the specification documents; entries with `assumed` rest on the contract alone. No other code
//! names a kind: a new one needs a file here, a row in `REGISTRY`, and no change elsewhere.

use crate::model::schema::Registry;

mod api_key;
mod app;
mod app_database_link;
mod app_domain;
mod backup;
mod backup_schedule;
mod catalogs;
mod cluster;
mod database;
mod database_user;
mod invitation;
mod node_pool;
mod project;
mod project_member;
mod role;
mod saved_query;
mod serverless_function;
mod shared;
mod snapshot;
mod spend_settings;
mod ssh_key;
mod vm;
mod volume;
mod vpc;

/// All kinds and catalog tables of the service, each sorted by name.
pub static REGISTRY: Registry = Registry {
    kinds: &[
        &api_key::API_KEY,
        &app::APP,
        &app_database_link::APP_DATABASE_LINK,
        &app_domain::APP_DOMAIN,
        &backup::BACKUP,
        &backup_schedule::BACKUP_SCHEDULE,
        &cluster::CLUSTER,
        &database::DATABASE,
        &database_user::DATABASE_USER,
        &invitation::INVITATION,
        &node_pool::NODE_POOL,
        &project::PROJECT,
        &project_member::PROJECT_MEMBER,
        &role::ROLE,
        &saved_query::SAVED_QUERY,
        &serverless_function::SERVERLESS_FUNCTION,
        &snapshot::SNAPSHOT,
        &spend_settings::SPEND_SETTINGS,
        &ssh_key::SSH_KEY,
        &vm::VM,
        &volume::VOLUME,
        &vpc::VPC,
    ],
    catalogs: catalogs::CATALOGS,
};

#[cfg(test)]
mod tests;
