//! Catalog names that are known without a service: those of the built-in cloud. The schema for editors contains them.

use serde_json::Value;

use crate::editor::stack_schema::CatalogSlugs;
use crate::emulator::world::{ApiRequest, RateTier, Time, World, WorldSetup, handle_request};
use crate::model::schema::{CatalogShape, CatalogTable, Method, Registry};

/// API key of a temporary cloud that exists only during one call; its value does not matter.
const KEY: &str = "sk_slugs";

/// Returns the names in each catalog table that is a list, in the catalog's order; the first 100 of a table.
pub(in crate::cli) fn of_the_built_in_cloud(registry: &Registry) -> CatalogSlugs {
    let setup = WorldSetup { seed: 0, api_key: KEY.to_owned(), tier: RateTier::Standard };
    let mut world = World::new(&setup, Time::UNIX_EPOCH);
    let mut slugs = CatalogSlugs::new();
    let lists = registry.catalogs.iter().filter(|table| table.shape == CatalogShape::List);
    for table in lists {
        slugs.insert(table.name, table_names(&mut world, table));
    }
    slugs
}

/// Returns the names in one table of the temporary cloud; empty if the table cannot be read.
fn table_names(world: &mut World, table: &CatalogTable) -> Vec<String> {
    let request = ApiRequest {
        method: Method::Get,
        path: table.path.to_owned(),
        query: vec![("limit".to_owned(), "100".to_owned())],
        api_key: Some(KEY.to_owned()),
        project: None,
        body: Vec::new(),
    };
    let answer = handle_request(world, &request, Time::UNIX_EPOCH);
    let document: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let records = document["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    records.iter().filter_map(|record| Some(record[table.named_by].as_str()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::REGISTRY;

    #[test]
    fn every_builtin_catalog_list_has_names() {
        let slugs = of_the_built_in_cloud(&REGISTRY);
        for (table, names) in &slugs {
            assert!(!names.is_empty(), "{table}");
        }
        assert!(slugs["database"].iter().any(|name| name == "pg-1c-2g"));
        assert!(slugs["vm"].iter().any(|name| name == "std-1c-2g"));
    }
}
