//! The catalog: reads the service's public tables of names and prices that the registry lists.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use serde_json::Value as Json;

use super::object_reader::ObjectReader;
use crate::cloud::error::ReadError;
use crate::cloud::http::message::Transport;
use crate::cloud::http::{decode, send};
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::catalog::{Catalog, CatalogRecord};
use crate::model::schema::{CatalogShape, CatalogTable, Envelope};
use crate::model::values::value::{Attributes, Value};

/// Maximum number of pages of one table.
const MAX_CATALOG_PAGES: usize = 100;

/// Reads the requested catalog tables concurrently.
pub(in crate::cloud) async fn read_catalog<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    tables: &BTreeSet<&str>,
) -> Result<Catalog, ReadError> {
    let wanted = reader.registry.catalogs.iter().filter(|table| tables.contains(table.name));
    let read = try_join_all(wanted.map(async |table| {
        let records = match table.shape {
            CatalogShape::List => match list_records(reader, table).await {
                Err(error) if table.advisory && is_missing(&error) => Vec::new(),
                read => read?,
            },
            CatalogShape::Single => read_single_record(reader, table, None).await?,
            CatalogShape::Beside(key) => read_single_record(reader, table, Some(key)).await?,
        };
        Ok::<_, ReadError>((Name::new_static(table.name), records))
    }));
    let tables = read.await?.into_iter().collect();
    Ok(Catalog { read_at: Some(reader.requests.clock.now()), tables })
}

/// Returns whether the service lacks a table, or does not offer it in this form or to this key.
fn is_missing(error: &ReadError) -> bool {
    match error {
        ReadError::Refused { refusal, .. } => matches!(refusal.status, 403 | 404 | 405 | 501),
        ReadError::Untrusted { .. } => false,
        ReadError::ServerError { .. } | ReadError::Failed { .. } | ReadError::ListChanging { .. } => true,
    }
}

/// Reads a table of records. Its pages need no overlap: a catalog changes about once a week.
async fn list_records<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    table: &CatalogTable,
) -> Result<Vec<CatalogRecord>, ReadError> {
    let mut records: Vec<CatalogRecord> = Vec::new();
    for _ in 0..MAX_CATALOG_PAGES {
        let limit = reader.requests.page.get();
        let query = vec![("limit", limit.to_string()), ("offset", records.len().to_string())];
        let (json, _) = send::read(&reader.requests, table.path, query, None).await?;
        let page = decode::parse_page(json).map_err(|reason| unreadable_table(table, reason))?;
        let count = page.rows.len();
        let known = records.len();
        for row in &page.rows {
            let record = record_from_json(row, table.named_by)
                .ok_or_else(|| unreadable_table(table, "a record has no name".to_owned()))?;
            if !records.iter().take(known).any(|known| known.slug == record.slug && known.id == record.id) {
                records.push(record);
            }
        }
        let all = page.total.is_none_or(|total| records.len() as u64 >= total);
        if records.len() == known || (count < limit && all) {
            break;
        }
    }
    Ok(records)
}

/// Reads a table with one record, which has no name; under a key, when it is next to another table.
async fn read_single_record<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    table: &CatalogTable,
    key: Option<&str>,
) -> Result<Vec<CatalogRecord>, ReadError> {
    let (json, _) = send::read(&reader.requests, table.path, Vec::new(), None).await?;
    let found = match key {
        Some(key) => json.get(key),
        None => decode::find_payload(&json, Envelope::Pricing),
    };
    let found = found.filter(|json| json.is_object());
    let found = found.ok_or_else(|| unreadable_table(table, "the answer holds no record".to_owned()))?;
    let id = found.get("id").map_or(Value::Null, decode::catalog_id);
    Ok(vec![CatalogRecord { id, slug: Name::default(), fields: record_fields(found) }])
}

/// Returns a record: configurations use the naming field, otherwise its name, otherwise its id.
fn record_from_json(json: &Json, named_by: &str) -> Option<CatalogRecord> {
    let text = |key: &str| json.get(key)?.as_str().filter(|text| !text.is_empty()).map(Name::new);
    let id = json.get("id").filter(|id| !id.is_null()).map(decode::catalog_id);
    let by_id = || id.as_ref().map(|id| Name::new(id.to_string()));
    let slug = text(named_by).or_else(|| text("name")).or_else(by_id)?;
    let id = id.unwrap_or_else(|| Value::Text(slug.clone()));
    Some(CatalogRecord { id, slug, fields: record_fields(json) })
}

fn record_fields(json: &Json) -> Attributes {
    let map = json.as_object().into_iter().flatten();
    map.filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (Name::new(key), Value::from_json(value)))
        .collect()
}

fn unreadable_table(table: &CatalogTable, reason: String) -> ReadError {
    ReadError::Failed { request: format!("GET {}", table.path), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_known_by_slug_name_or_id() {
        let of =
            |json: Json| record_from_json(&json, "slug").map(|record| (record.id, record.slug.to_string()));
        let cases = [
            (serde_json::json!({"id": "3", "slug": "cpu-2c", "name": "Two"}), Value::Integer(3), "cpu-2c"),
            (serde_json::json!({"id": "u-1", "slug": "", "name": "ubuntu"}), "u-1".into(), "ubuntu"),
            (serde_json::json!({"slug": "us-east", "name": "US East"}), "us-east".into(), "us-east"),
            (serde_json::json!({"id": 12}), Value::Integer(12), "12"),
        ];
        for (json, id, slug) in cases {
            assert_eq!(of(json), Some((id, slug.to_owned())));
        }
        assert_eq!(of(serde_json::json!({"cpu": 2})), None);
        assert_eq!(of(serde_json::json!("x")), None);
    }
}
