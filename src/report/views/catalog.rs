//! `CatalogListing`: a catalog table for choosing from: filtered, sorted, with hourly and monthly prices.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use rust_decimal::Decimal;

use crate::model::address::Name;
use crate::model::live::catalog::CatalogRecord;
use crate::model::values::value::{Attributes, Value, ValueMap};
use crate::report::text::phrases;
use crate::report::text::table::{ReportTable, TableCell, TableColumn};

/// Fields for the first columns, in this order; others follow by name.
const LEADING_FIELDS: &[&str] = &[
    "engine",
    "os_family",
    "version",
    "node_class",
    "cpu",
    "ram",
    "storage",
    "included_storage_gb",
    HOURLY_PRICE_FIELD,
    MONTHLY_PRICE_FIELD,
];

const HOURLY_PRICE_FIELD: &str = "price_per_hour";
const MONTHLY_PRICE_FIELD: &str = "monthly_price";

/// Hours per month in the service's billing.
const HOURS_PER_MONTH: u32 = 730;

/// Filters and sort order for a catalog table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CatalogQuery {
    /// Fields with a lower bound, inclusive.
    pub least: Vec<(&'static str, Decimal)>,
    /// Fields with an upper bound, inclusive.
    pub most: Vec<(&'static str, Decimal)>,
    /// Fields that must have exactly this value.
    pub equal: Vec<(String, String)>,
    /// Text that the name must contain; `None` for all.
    pub search: Option<String>,
    /// Field to sort by, and whether the order is descending.
    pub sort: Option<(String, bool)>,
}

/// The records of a catalog table that match the filters.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogListing {
    rows: Vec<Attributes>,
}

/// The filters or the sort order name a field that no record of the table has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the table has no {field}")]
pub struct UnknownField {
    /// The unknown field as the user wrote it.
    pub field: String,
    /// The fields that the table has.
    pub known: Vec<String>,
}

impl CatalogListing {
    /// Returns the records that match the filters, sorted.
    ///
    /// # Errors
    /// When the wish names a field that no record has.
    pub fn new(records: &[CatalogRecord], wish: &CatalogQuery) -> Result<Self, UnknownField> {
        let mut rows: Vec<Attributes> =
            records.iter().flat_map(expand_record).map(add_missing_price).collect();
        check_fields(&rows, wish)?;
        rows.retain(|row| matches_query(row, wish));
        let (field, down) = wish.sort.clone().unwrap_or_else(|| (MONTHLY_PRICE_FIELD.to_owned(), false));
        rows.sort_by(|a, b| {
            let order = compare_values(a.get(field.as_str()), b.get(field.as_str()));
            let order = if down { order.reverse() } else { order };
            order.then_with(|| compare_values(a.get("name"), b.get("name")))
        });
        Ok(Self { rows })
    }

    /// Returns the records as a table.
    #[must_use]
    pub fn to_table(&self) -> ReportTable {
        let found: BTreeSet<&Name> = self.rows.iter().flat_map(Attributes::keys).collect();
        let has = |name: &&str| found.iter().any(|known| known == name);
        let front = ["name", "id"].iter().chain(LEADING_FIELDS).copied().filter(has).map(Name::new_static);
        let rest = found.iter().map(|name| (*name).clone());
        let rest = rest.filter(|name| {
            !["name", "id"].contains(&name.as_str()) && !LEADING_FIELDS.contains(&name.as_str())
        });
        let keys: Vec<Name> = front.chain(rest).collect();
        let cell = |row: &Attributes, key: &Name| match row.get(key) {
            None | Some(Value::Null) => TableCell::Empty,
            Some(value) => match value.as_decimal().filter(|_| is_price(key)) {
                Some(amount) if key == MONTHLY_PRICE_FIELD => TableCell::Money(amount),
                Some(amount) => TableCell::Value(Value::Decimal(amount)),
                None => TableCell::Value(value.clone()),
            },
        };
        let right = |key: &Name| {
            key != "id" && self.rows.iter().any(|row| row.get(key).and_then(Value::as_decimal).is_some())
        };
        ReportTable {
            rows: self.rows.iter().map(|row| keys.iter().map(|key| cell(row, key)).collect()).collect(),
            columns: keys.iter().map(|key| TableColumn { key: key.clone(), right: right(key) }).collect(),
        }
    }
}

fn is_price(key: &str) -> bool {
    key.contains("price")
}

/// Returns the rows of a record: one, or one per nested record.
fn expand_record(record: &CatalogRecord) -> Vec<Attributes> {
    let parts: Vec<(&Name, &ValueMap)> = record
        .fields
        .iter()
        .filter_map(|(name, value)| match value {
            Value::Map(map) => Some((name, map)),
            _ => None,
        })
        .collect();
    if !parts.is_empty() && parts.len() == record.fields.len() {
        return parts.into_iter().map(|(name, part)| record_row(name, None, part)).collect();
    }
    vec![record_row(&record.slug, Some(&record.id), &record.fields)]
}

fn record_row<'r>(
    name: &Name,
    id: Option<&Value>,
    fields: impl IntoIterator<Item = (&'r Name, &'r Value)>,
) -> Attributes {
    let mut row: Attributes = fields
        .into_iter()
        .filter(|(key, value)| {
            !["id", "slug", "name"].contains(&key.as_str()) && value.as_text() != Some(name.as_str())
        })
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if !name.is_empty() {
        row.insert(Name::new_static("name"), Value::Text(name.clone()));
    }
    if let Some(id) = id.filter(|id| **id != Value::Null && id.as_text() != Some(name.as_str())) {
        row.insert(Name::new_static("id"), id.clone());
    }
    row
}

/// Adds the hourly or the monthly price if only the other one is known.
fn add_missing_price(mut row: Attributes) -> Attributes {
    let number = |row: &Attributes, key: &str| row.get(key).and_then(Value::as_decimal);
    let hours = Decimal::from(HOURS_PER_MONTH);
    let (hour, month) = (number(&row, HOURLY_PRICE_FIELD), number(&row, MONTHLY_PRICE_FIELD));
    if let (None, Some(month)) = (hour, month) {
        row.insert(Name::new_static(HOURLY_PRICE_FIELD), Value::Decimal((month / hours).round_dp(4)));
    }
    if let (Some(hour), None) = (hour, month) {
        row.insert(Name::new_static(MONTHLY_PRICE_FIELD), Value::Decimal((hour * hours).round_dp(2)));
    }
    row
}

fn check_fields(rows: &[Attributes], wish: &CatalogQuery) -> Result<(), UnknownField> {
    let asked = wish.least.iter().chain(&wish.most).map(|(field, _)| (*field).to_owned());
    let asked = asked.chain(wish.equal.iter().map(|(field, _)| field.clone()));
    let asked = asked.chain(wish.sort.iter().map(|(field, _)| field.clone()));
    for field in asked {
        if !rows.is_empty() && !rows.iter().any(|row| row.contains_key(field.as_str())) {
            let known: BTreeSet<String> =
                rows.iter().flat_map(Attributes::keys).map(ToString::to_string).collect();
            return Err(UnknownField { field, known: known.into_iter().collect() });
        }
    }
    Ok(())
}

fn matches_query(row: &Attributes, wish: &CatalogQuery) -> bool {
    let number = |field: &str| row.get(field).and_then(Value::as_decimal);
    let text = |field: &str| row.get(field).map(phrases::format_value).unwrap_or_default();
    let search = |part: &String| text("name").to_lowercase().contains(&part.to_lowercase());
    wish.least.iter().all(|(field, least)| number(field).is_some_and(|n| n >= *least))
        && wish.most.iter().all(|(field, most)| number(field).is_some_and(|n| n <= *most))
        && wish.equal.iter().all(|(field, value)| text(field) == *value)
        && wish.search.as_ref().is_none_or(search)
}

/// Compares numbers, else as texts; what is not there comes last.
fn compare_values(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => match (a.as_decimal(), b.as_decimal()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => phrases::format_value(a).cmp(&phrases::format_value(b)),
        },
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// Returns the differences between two versions of a table's pinned records, one line each.
#[must_use]
pub fn catalog_changes(table: &str, old: &[CatalogRecord], new: &[CatalogRecord]) -> Vec<String> {
    let find =
        |records: &'_ [CatalogRecord], slug: &Name| records.iter().position(|record| record.slug == *slug);
    let shown = |slug: &Name| if slug.is_empty() { table.to_owned() } else { format!("{table} {slug}") };
    let mut lines = Vec::new();
    for record in new {
        let Some(before) = find(old, &record.slug).and_then(|at| old.get(at)) else {
            lines.push(format!("+ {}", shown(&record.slug)));
            continue;
        };
        if before.id != record.id {
            let (was, is) = (phrases::format_value(&before.id), phrases::format_value(&record.id));
            lines.push(format!("~ {}: id {was} → {is}", shown(&record.slug)));
        }
        let keys: BTreeSet<&Name> = before.fields.keys().chain(record.fields.keys()).collect();
        for key in keys.into_iter().filter(|key| *key != "id") {
            let (was, is) = (before.fields.get(key), record.fields.get(key));
            let same = was == is
                || was
                    .and_then(Value::as_decimal)
                    .is_some_and(|n| is.and_then(Value::as_decimal) == Some(n));
            if !same {
                let text = |value: Option<&Value>| {
                    value.map_or_else(|| "(not there)".to_owned(), phrases::format_value)
                };
                lines.push(format!("~ {}: {key} {} → {}", shown(&record.slug), text(was), text(is)));
            }
        }
    }
    let gone = old.iter().filter(|record| find(new, &record.slug).is_none());
    lines.extend(gone.map(|record| format!("- {}", shown(&record.slug))));
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::text::style::TextStyle;

    fn record(id: i64, slug: &str, fields: &serde_json::Value) -> CatalogRecord {
        let Value::Map(fields) = Value::from_json(fields) else { panic!("a map") };
        CatalogRecord { id: Value::Integer(id), slug: slug.into(), fields }
    }

    fn plans() -> Vec<CatalogRecord> {
        vec![
            record(3, "big", &json!({"id": 3, "slug": "big", "cpu": 8, "ram": 16384, "monthly_price": 73})),
            record(
                1,
                "small",
                &json!({"id": 1, "slug": "small", "cpu": 1, "ram": 2048, "price_per_hour": "0.01"}),
            ),
            record(
                2,
                "middle",
                &json!({"id": 2, "slug": "middle", "cpu": 2, "ram": 4096, "monthly_price": 20, "price_per_hour": 0.0274}),
            ),
        ]
    }

    fn text(records: &[CatalogRecord], wish: &CatalogQuery) -> String {
        CatalogListing::new(records, wish)
            .unwrap()
            .to_table()
            .to_text("Nothing fits.", TextStyle::plain(100))
    }

    #[test]
    fn the_cheapest_plan_comes_first_with_both_prices() {
        insta::assert_snapshot!(text(&plans(), &CatalogQuery::default()), @r"
        NAME    ID  CPU    RAM  PRICE_PER_HOUR  MONTHLY_PRICE
        small   1     1   2048            0.01          $7.30
        middle  2     2   4096          0.0274         $20.00
        big     3     8  16384             0.1         $73.00
        ");
    }

    #[test]
    fn filters_narrow_the_catalog_listing() {
        let number = |n: i64| Decimal::from(n);
        let names = |wish: CatalogQuery| -> Vec<String> {
            let offers = CatalogListing::new(&plans(), &wish).unwrap();
            offers.rows.iter().map(|row| phrases::format_value(&row["name"])).collect()
        };
        assert_eq!(
            names(CatalogQuery { least: vec![("cpu", number(2))], ..CatalogQuery::default() }),
            ["middle", "big"]
        );
        assert_eq!(
            names(CatalogQuery {
                most: vec![(MONTHLY_PRICE_FIELD, number(20))],
                ..CatalogQuery::default()
            }),
            ["small", "middle"]
        );
        assert_eq!(
            names(CatalogQuery { equal: vec![("cpu".into(), "8".into())], ..CatalogQuery::default() }),
            ["big"]
        );
        assert_eq!(
            names(CatalogQuery { search: Some("MID".into()), ..CatalogQuery::default() }),
            ["middle"]
        );
        assert_eq!(
            names(CatalogQuery { sort: Some(("cpu".into(), true)), ..CatalogQuery::default() }),
            ["big", "middle", "small"]
        );
        let error = CatalogListing::new(
            &plans(),
            &CatalogQuery { equal: vec![("engine".into(), "x".into())], ..CatalogQuery::default() },
        );
        let error = error.unwrap_err();
        assert_eq!(error.to_string(), "the table has no engine");
        assert!(error.known.contains(&"cpu".to_owned()));
    }

    #[test]
    fn a_catalog_record_of_records_is_a_table() {
        let ip = CatalogRecord {
            id: Value::Null,
            slug: Name::default(),
            fields: [("ipv4", 3), ("ipv6", 0)]
                .map(|(name, price)| {
                    (
                        name.into(),
                        Value::Map([(Name::new(MONTHLY_PRICE_FIELD), Value::Integer(price))].into()),
                    )
                })
                .into(),
        };
        insta::assert_snapshot!(text(&[ip], &CatalogQuery::default()), @r"
        NAME  PRICE_PER_HOUR  MONTHLY_PRICE
        ipv6               0          $0.00
        ipv4          0.0041          $3.00
        ");
    }

    #[test]
    fn a_pin_update_lists_added_changed_and_removed_records() {
        let (old, mut new) = (plans(), plans());
        new.remove(0);
        new[0] = record(9, "small", &json!({"id": 9, "cpu": 1, "ram": 2048, "price_per_hour": "0.02"}));
        new.push(record(4, "new", &json!({})));
        new[1].fields.insert("monthly_price".into(), Value::Decimal(Decimal::new(2000, 2)));
        assert_eq!(
            catalog_changes("vm", &old, &new),
            [
                "~ vm small: id 1 → 9",
                "~ vm small: price_per_hour 0.01 → 0.02",
                "~ vm small: slug small → (not there)",
                "+ vm new",
                "- vm big"
            ]
        );
    }
}
