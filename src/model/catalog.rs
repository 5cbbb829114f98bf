//! `Catalog`: the service's price and name tables, as read on one day or pinned in `stead.lock`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::address::Name;
use super::value::{Attributes, Value};

/// One record of a catalog table: a plan, a template, a price.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CatalogRecord {
    /// The id that requests carry: a whole number or a text.
    pub id: Value,
    /// The name that configurations use.
    pub slug: Name,
    /// All fields, in the API's names.
    pub fields: Attributes,
}

impl CatalogRecord {
    /// Returns a numeric field; prices may come as numbers or as text.
    #[must_use]
    pub fn number(&self, field: &str) -> Option<Decimal> {
        self.fields.get(field).and_then(Value::as_decimal)
    }
}

/// Tables by name (`vm`, `template`, `database`, `volume` …), each with its records.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Catalog {
    /// When it was read.
    pub read_at: Option<Timestamp>,
    /// Records by table.
    pub tables: BTreeMap<Name, Vec<CatalogRecord>>,
}

impl Catalog {
    /// Returns the record that a configuration means: by slug, else by id.
    #[must_use]
    pub fn find(&self, table: &str, named: &Value) -> Option<&CatalogRecord> {
        let records = self.tables.get(table)?;
        let text = named.to_string();
        records
            .iter()
            .find(|record| record.slug == text)
            .or_else(|| records.iter().find(|record| record.id.to_string() == text))
    }

    /// Returns the only record of a table that has one, such as the volume price.
    #[must_use]
    pub fn single(&self, table: &str) -> Option<&CatalogRecord> {
        self.tables.get(table)?.first()
    }

    /// Returns the names that a table knows.
    pub fn slugs<'a>(&'a self, table: &str) -> impl Iterator<Item = &'a str> {
        self.tables.get(table).into_iter().flatten().map(|record| record.slug.as_str())
    }
}
