//! Checks of the catalog tables: whether they have the structure and the prices that the tables of kinds need.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::endpoints::{explain_missing, proves_existence};
use super::finding::{ContractCheckResult, ProbeFinding};
use super::observations::{Observation, Observations, ProbePurpose};
use crate::cloud::http::decode;
use crate::model::schema::{CatalogShape, CatalogTable, Envelope, Price, PriceFactor, Registry, Type};
use crate::model::values::value::parse_decimal;

/// Checks every table: its path, its structure, the ids and names of its records, and each field that a price
/// or a growth rule uses.
pub(super) fn check_catalogs(registry: Registry, evidence: &Observations) -> Vec<ProbeFinding> {
    let mut findings = Vec::new();
    for table in registry.catalogs {
        let is_it = |seen: &&Observation| matches!(seen.asked, ProbePurpose::Table(asked) if asked.name == table.name);
        let seen: Vec<&Observation> = evidence.seen.iter().filter(is_it).collect();
        let nothing = explain_missing(&seen, "it was not requested");
        let finding = |what: &str, says: String, verdict| ProbeFinding {
            subject: format!("catalog {}{what}", table.name),
            says,
            place: "contract, 4".to_owned(),
            provenance: table.provenance,
            verdict,
        };
        let there = ContractCheckResult::from_observations(
            seen.iter().filter_map(|seen| proves_existence(seen)),
            &nothing,
        );
        findings.push(finding("", format!("GET {}", table.path), there));
        let bodies: Vec<&Json> = seen.iter().filter_map(|seen| seen.body()).collect();
        let shape = ContractCheckResult::from_observations(
            bodies.iter().map(|body| check_table_shape(table, body)),
            &nothing,
        );
        findings.push(finding(" shape", shape_in_words(table), shape));
        let records: Vec<Json> = bodies.iter().flat_map(|body| table_records(table, body)).collect();
        let nothing = if records.is_empty() && !bodies.is_empty() { "it has no records" } else { &nothing };
        if table.shape == CatalogShape::List {
            let named = records.iter().map(|record| check_text_field(record, table.named_by));
            let says = format!("every record has its name in {}", table.named_by);
            findings.push(finding(" names", says, ContractCheckResult::from_observations(named, nothing)));
        }
        for field in numeric_fields(registry, table.name) {
            let numbers = records.iter().map(|record| check_number_field(record, field));
            let says = "a number".to_owned();
            findings.push(finding(
                &format!(".{field}"),
                says,
                ContractCheckResult::from_observations(numbers, nothing),
            ));
        }
    }
    findings
}

fn shape_in_words(table: &CatalogTable) -> String {
    match table.shape {
        CatalogShape::List => "a list {data, total}".to_owned(),
        CatalogShape::Single => "one record {pricing}".to_owned(),
        CatalogShape::Beside(key) => format!("one record under {key}, next to a list"),
    }
}

fn check_table_shape(table: &CatalogTable, body: &Json) -> Result<(), String> {
    let has = |key: &str, is: fn(&Json) -> bool, what: &str| match body.get(key) {
        Some(json) if is(json) => Ok(()),
        Some(_) => Err(format!("{key} is not a {what}")),
        None => Err(format!("there is no {key}")),
    };
    match table.shape {
        CatalogShape::List => {
            has("data", Json::is_array, "list").and(has("total", Json::is_u64, "whole number"))
        }
        CatalogShape::Single => has("pricing", Json::is_object, "record"),
        CatalogShape::Beside(key) => has(key, Json::is_object, "record"),
    }
}

fn table_records(table: &CatalogTable, body: &Json) -> Vec<Json> {
    match table.shape {
        CatalogShape::List => {
            decode::parse_page(body.clone()).map_or_else(|_| Vec::new(), |page| page.rows)
        }
        CatalogShape::Single => {
            decode::find_payload(body, Envelope::Pricing).cloned().into_iter().collect()
        }
        CatalogShape::Beside(key) => body.get(key).cloned().into_iter().collect(),
    }
}

/// Returns the fields of a table's records that must be numbers.
fn numeric_fields(registry: Registry, table: &str) -> BTreeSet<&'static str> {
    let mut fields = BTreeSet::new();
    for kind in registry.kinds {
        if let Price::Sum(terms) = kind.price {
            for term in terms.iter().filter(|term| term.table == table) {
                fields.insert(term.field);
                fields.extend(term.factors.iter().filter_map(|factor| match factor {
                    PriceFactor::Over { field, .. } => Some(*field),
                    _ => None,
                }));
            }
        }
        let of_table = kind
            .attributes
            .iter()
            .filter(|attribute| attribute.ty == Type::Catalog(name_of(registry, table)));
        fields.extend(of_table.filter_map(|attribute| attribute.catalog_grow_only));
    }
    fields
}

fn name_of(registry: Registry, table: &str) -> &'static str {
    registry.catalog(table).map_or("", |table| table.name)
}

fn check_text_field(record: &Json, field: &str) -> Result<(), String> {
    match record.get(field) {
        Some(Json::String(text)) if !text.is_empty() => Ok(()),
        Some(_) => Err(format!("{field} is not a text")),
        None => Err(format!("a record has no {field}")),
    }
}

fn check_number_field(record: &Json, field: &str) -> Result<(), String> {
    match record.get(field) {
        Some(Json::Number(_)) => Ok(()),
        Some(Json::String(text)) if parse_decimal(text).is_some() => {
            Err("text that holds a number".to_owned())
        }
        Some(_) => Err("no number".to_owned()),
        None => Err("a record has none".to_owned()),
    }
}
