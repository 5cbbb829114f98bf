//! The service's kinds, one table per file, and the `Registry` that lists them.

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

/// Everything that the program knows about the service.
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
