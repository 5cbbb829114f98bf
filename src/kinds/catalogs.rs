//! The service's catalog tables of names and prices (specification, Catalog pricing records).
//!
//! Tables under `/api/v1/public/` need no API key. Only two have a documented shape; the others are assumed.

use crate::model::schema::CatalogTable;

/// All catalog tables, sorted by name.
pub(super) static CATALOGS: &[CatalogTable] = &[
    CatalogTable::list("app_size", "/api/v1/apps/sizes"),
    CatalogTable::single("backup", "/api/v1/public/pricing/backup"),
    CatalogTable::list("control_plane", "/api/v1/public/pricing/kubernetes").beside("control_planes"),
    CatalogTable::list("database", "/api/v1/public/pricing/database"),
    CatalogTable::list("database_engine", "/api/v1/databases/engines").advisory("engine"),
    CatalogTable::single("ip", "/api/v1/public/pricing/ip").documented(),
    CatalogTable::list("kubernetes", "/api/v1/public/pricing/kubernetes"),
    CatalogTable::list("kubernetes_version", "/api/v1/k8s/versions").versions("version"),
    CatalogTable::list("permission", "/api/v1/permissions").advisory("name"),
    CatalogTable::list("region", "/api/v1/public/regions"),
    CatalogTable::list("role", "/api/v1/roles").of_kind("role"),
    CatalogTable::single("snapshot", "/api/v1/public/pricing/snapshot"),
    CatalogTable::list("template", "/api/v1/public/templates"),
    CatalogTable::list("vm", "/api/v1/public/pricing/vm"),
    CatalogTable::single("volume", "/api/v1/public/pricing/volume").documented(),
];
