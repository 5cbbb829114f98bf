//! `Names`: the catalog, indexed: a record by its table and its name or id.

use std::collections::HashMap;

use crate::model::address::Name;
use crate::model::catalog::{Catalog, CatalogRecord};
use crate::model::value::Value;

/// An index over a catalog: finding is one look, however many records and resources there are.
pub(super) struct Names<'a> {
    catalog: &'a Catalog,
    tables: HashMap<&'a str, HashMap<Name, &'a CatalogRecord>>,
}

impl<'a> Names<'a> {
    /// Indexes a catalog. A name wins over an id of the same text.
    pub fn new(catalog: &'a Catalog) -> Self {
        let tables = catalog.tables.iter().map(|(table, records)| {
            let mut found: HashMap<Name, &CatalogRecord> = HashMap::with_capacity(records.len() * 2);
            for record in records {
                found.entry(text(&record.id)).or_insert(record);
            }
            let mut slugs: HashMap<&str, &CatalogRecord> = HashMap::with_capacity(records.len());
            for record in records {
                slugs.entry(&record.slug).or_insert(record);
            }
            found.extend(slugs.into_iter().map(|(slug, record)| (slug.into(), record)));
            (table.as_str(), found)
        });
        Self { catalog, tables: tables.collect() }
    }

    /// Returns the record that a name or an id means.
    pub fn find(&self, table: &str, named: &Value) -> Option<&'a CatalogRecord> {
        let table = self.tables.get(table)?;
        match named {
            Value::Text(text) => table.get(text.as_str()).copied(),
            Value::Null | Value::Unknown(_) => None,
            other => table.get(text(other).as_str()).copied(),
        }
    }

    /// Returns the only record of a table that has one.
    pub fn single(&self, table: &str) -> Option<&'a CatalogRecord> {
        self.catalog.single(table)
    }

    /// Returns the names that a table knows.
    pub fn slugs(&self, table: &'a str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.catalog.slugs(table)
    }
}

fn text(value: &Value) -> Name {
    match value {
        Value::Text(text) => text.clone(),
        other => smol_str::format_smolstr!("{other}"),
    }
}
