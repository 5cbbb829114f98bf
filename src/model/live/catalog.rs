//! `Catalog`: the service's price and name tables, as read from the API or pinned in `stead.lock`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::model::address::Name;
use crate::model::values::value::{Attributes, Value};

/// One record of a catalog table: a plan, a template, a price.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CatalogRecord {
    /// The id that requests carry: a whole number or a string.
    pub id: Value,
    /// The name that configurations use; empty for a record whose name is pinned to another record.
    pub slug: Name,
    /// All fields of the record, under the API's names.
    pub fields: Attributes,
}

impl CatalogRecord {
    /// Returns a numeric field; `None` where the record lacks it or it is no number. The service may write prices as
    /// numbers or as strings.
    #[must_use]
    pub fn number(&self, field: &str) -> Option<Decimal> {
        self.fields.get(field).and_then(Value::as_decimal)
    }
}

/// Tables by name (`vm`, `template`, `database`, `volume` …), each with its records.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Catalog {
    /// The time of the read from the API; `None` where it is not known.
    pub read_at: Option<Timestamp>,
    /// Records by the name of their table. A table that was not read is missing.
    pub tables: BTreeMap<Name, Vec<CatalogRecord>>,
}

impl Catalog {
    /// Returns the record that a configuration names: by slug, otherwise by id. `None` where the table has no such
    /// record, or was not read.
    #[must_use]
    pub fn find(&self, table: &str, named: &Value) -> Option<&CatalogRecord> {
        let records = self.tables.get(table)?;
        let text = named.to_string();
        records
            .iter()
            .find(|record| record.slug == text)
            .or_else(|| records.iter().find(|record| record.id.to_string() == text))
    }

    /// Returns the record of a table that has exactly one, such as the volume price; `None` where the
    /// table was not read.
    #[must_use]
    pub fn single_record(&self, table: &str) -> Option<&CatalogRecord> {
        self.tables.get(table)?.first()
    }

    /// Restores the pinned ids of names, where the service still has records with those ids: a name that the
    /// service has moved to another record keeps its meaning in this stack. The other record loses the name; only
    /// its id finds it.
    pub fn pin_ids(&mut self, pinned: &Self) {
        for (table, records) in &mut self.tables {
            for held in pinned.tables.get(table).into_iter().flatten() {
                let is_other = |record: &CatalogRecord| record.slug == held.slug && record.id != held.id;
                if !records.iter().any(|record| record.id == held.id) {
                    continue;
                }
                for record in records.iter_mut().filter(|record| is_other(record)) {
                    record.slug = Name::default();
                }
                for record in records.iter_mut().filter(|record| record.id == held.id) {
                    record.slug = held.slug.clone();
                }
            }
        }
    }

    /// Adds the records of `other` whose names this catalog lacks, and sorts the tables by name. A name that both have
    /// keeps its record in this catalog.
    pub fn extend_with(&mut self, other: Self) {
        self.read_at = self.read_at.or(other.read_at);
        for (table, records) in other.tables {
            let known = self.tables.entry(table).or_default();
            for record in records {
                if !known.iter().any(|have| have.slug == record.slug) {
                    known.push(record);
                }
            }
            known.sort_by(|a, b| a.slug.cmp(&b.slug));
        }
    }

    /// Returns the names of a table's records, in their order; none for a table that was not read.
    pub fn slugs<'a>(&'a self, table: &str) -> impl Iterator<Item = &'a str> {
        self.tables.get(table).into_iter().flatten().map(|record| record.slug.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(records: &[(i64, &str)]) -> Catalog {
        let record = |(id, slug): &(i64, &str)| CatalogRecord {
            id: Value::Integer(*id),
            slug: Name::new(slug),
            fields: Attributes::new(),
        };
        Catalog { tables: [(Name::new("vm"), records.iter().map(record).collect())].into(), read_at: None }
    }

    #[test]
    fn a_pinned_name_keeps_its_id_while_the_record_exists() {
        let mut live = catalog(&[(1, "small-old"), (2, "small")]);
        live.pin_ids(&catalog(&[(1, "small")]));
        assert_eq!(live.find("vm", &"small".into()).unwrap().id, Value::Integer(1));
        let mut live = catalog(&[(2, "small")]);
        live.pin_ids(&catalog(&[(1, "small")]));
        assert_eq!(live.find("vm", &"small".into()).unwrap().id, Value::Integer(2));
    }

    #[test]
    fn pins_are_added_and_never_moved() {
        let mut pins = catalog(&[(1, "small")]);
        pins.extend_with(catalog(&[(2, "small"), (3, "large")]));
        assert_eq!(pins, catalog(&[(3, "large"), (1, "small")]));
    }
}
