//! `CatalogIndex`: an index of the catalog: records by their table and their name or id. Configurations use
//! names, live objects and the ledger ids; both must find the same record.

use foldhash::{HashMap, HashMapExt};

use crate::model::address::Name;
use crate::model::live::catalog::{Catalog, CatalogRecord};
use crate::model::schema::{Attribute, Type};
use crate::model::values::value::Value;

/// An index of a catalog: a lookup takes constant time, however many records there are.
pub(in crate::plan) struct CatalogIndex<'a> {
    catalog: &'a Catalog,
    tables: HashMap<&'a str, HashMap<Name, &'a CatalogRecord>>,
}

impl<'a> CatalogIndex<'a> {
    /// Indexes a catalog. A name takes precedence over an id that is the same string, and the first of several
    /// records of one name counts.
    pub fn new(catalog: &'a Catalog) -> Self {
        let tables = catalog.tables.iter().map(|(table, records)| {
            let mut found: HashMap<Name, &CatalogRecord> = HashMap::with_capacity(records.len() * 2);
            for record in records {
                found.entry(value_text(&record.id)).or_insert(record);
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

    /// Returns the record with a name or an id; `None` for an unknown value, or if the table has no such record.
    pub fn find(&self, table: &str, named: &Value) -> Option<&'a CatalogRecord> {
        let table = self.tables.get(table)?;
        match named {
            Value::Text(text) => table.get(text.as_str()).copied(),
            Value::Null | Value::Unknown(_) => None,
            other => table.get(value_text(other).as_str()).copied(),
        }
    }

    /// Returns the record of a version of which only a prefix is given (`1.31` for `1.31.4`): the present
    /// version if it matches, else the newest match. `None` if none matches.
    pub fn find_version(
        &self,
        table: &str,
        start: &Value,
        present: Option<&Value>,
    ) -> Option<&'a CatalogRecord> {
        let start = format!("{}.", value_text(start));
        let fits = |record: &&CatalogRecord| record.slug.starts_with(&start);
        let present = present.and_then(|present| self.find(table, present)).filter(fits);
        let all = self.catalog.tables.get(table).into_iter().flatten().filter(fits);
        present.or_else(|| all.max_by_key(|record| version_numbers(&record.slug)))
    }

    /// Returns the version that a value of an attribute selects; `None` if it is unknown or not in the catalog.
    pub fn version_of<'v>(&self, attribute: &Attribute, value: &'v Value) -> Option<&'v str>
    where
        'a: 'v,
    {
        match attribute.ty {
            Type::Catalog(table) => self.find(table, value).map(|record| record.slug.as_str()),
            _ => value.as_text(),
        }
    }

    /// Returns the record of a table that has only one; `None` if it has none or several.
    pub fn single_record(&self, table: &str) -> Option<&'a CatalogRecord> {
        self.catalog.single_record(table)
    }

    /// Returns the names of a table's records, in the order of the catalog.
    pub fn slugs(&self, table: &'a str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.catalog.slugs(table)
    }
}

/// Returns the numbers of a version, for comparing: as strings, `1.9` would be newer than `1.10`. A part that
/// is not a number counts as 0.
fn version_numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or_default()).collect()
}

fn value_text(value: &Value) -> Name {
    match value {
        Value::Text(text) => text.clone(),
        other => smol_str::format_smolstr!("{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::values::value::Attributes;

    #[test]
    fn a_version_prefix_resolves_to_the_live_version_or_the_newest() {
        let record = |(id, slug): (i64, &str)| CatalogRecord {
            id: Value::Integer(id),
            slug: slug.into(),
            fields: Attributes::new(),
        };
        let records = [(1, "1.30.9"), (2, "1.31.2"), (3, "1.31.10"), (4, "1.310.0")].map(record).to_vec();
        let catalog = Catalog { tables: [(Name::new("k8s"), records)].into(), read_at: None };
        let names = CatalogIndex::new(&catalog);
        let found = |start: &str, present: Option<i64>| {
            let present = present.map(Value::Integer);
            let found = names.find_version("k8s", &Value::text(start), present.as_ref());
            found.map(|record| record.id.to_string())
        };
        assert_eq!(found("1.31", None).as_deref(), Some("3"));
        assert_eq!(found("1.31", Some(2)).as_deref(), Some("2"));
        assert_eq!(found("1.31", Some(1)).as_deref(), Some("3"));
        assert_eq!(found("1", None).as_deref(), Some("4"));
        assert_eq!(found("1.3", None), None);
    }
}
