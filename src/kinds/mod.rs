//! The service's kinds, one table a file, and the `Registry` that lists them.

use crate::model::schema::{CatalogShape, CatalogTable, Provenance, Registry};

mod backup_schedule;
mod database;
mod database_user;
mod project;
mod shared;
mod ssh_key;
mod vm;
mod volume;
mod vpc;

/// Everything that stead knows of the service.
pub static REGISTRY: Registry = Registry {
    kinds: &[
        &backup_schedule::BACKUP_SCHEDULE,
        &database::DATABASE,
        &database_user::DATABASE_USER,
        &project::PROJECT,
        &ssh_key::SSH_KEY,
        &vm::VM,
        &volume::VOLUME,
        &vpc::VPC,
    ],
    catalogs: &[
        CatalogTable {
            name: "backup",
            path: "/api/v1/public/pricing/backup",
            shape: CatalogShape::Single,
            provenance: Provenance::Assumed,
        },
        CatalogTable {
            name: "database",
            path: "/api/v1/public/pricing/database",
            shape: CatalogShape::List,
            provenance: Provenance::Assumed,
        },
        CatalogTable {
            name: "region",
            path: "/api/v1/public/regions",
            shape: CatalogShape::List,
            provenance: Provenance::Assumed,
        },
        CatalogTable {
            name: "template",
            path: "/api/v1/public/templates",
            shape: CatalogShape::List,
            provenance: Provenance::Assumed,
        },
        CatalogTable {
            name: "vm",
            path: "/api/v1/public/pricing/vm",
            shape: CatalogShape::List,
            provenance: Provenance::Assumed,
        },
        CatalogTable {
            name: "volume",
            path: "/api/v1/public/pricing/volume",
            shape: CatalogShape::Single,
            provenance: Provenance::Documented,
        },
    ],
};

#[cfg(test)]
mod tests;
