//! `stead.lock`: the catalog records that a stack uses, pinned, so that names mean the same and price changes
//! show. In: a stack and the catalog; out: the file's content, which the caller reads and writes.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::model::Stack;
use crate::config::codes;
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::live::catalog::Catalog;
use crate::model::schema::{Price, Registry, Type};
use crate::model::source::{SourceId, Span};
use crate::model::values::value::Value;

/// Version of the file format.
const VERSION: u32 = 1;

/// The pinned part of a catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogLock {
    /// Version of the file format.
    pub lock: u32,
    /// Pinned records of the catalog.
    pub catalog: Catalog,
}

/// Returns the lock of a stack: the records of the names that it uses, and the prices that depend on no name,
/// in a stable order. A name that the catalog does not have is left out.
#[must_use]
pub fn build_lock(registry: Registry, stack: &Stack, catalog: &Catalog) -> CatalogLock {
    let mut used: BTreeSet<(&str, Name)> = BTreeSet::new();
    let mut unnamed: BTreeSet<&str> = BTreeSet::new();
    for resource in stack.resources.values() {
        for attribute in resource.kind.attributes {
            let Type::Catalog(table) = attribute.ty else { continue };
            // A record that is an object of the account has a different id in another account.
            if registry.catalog(table).is_some_and(|table| table.of_kind.is_some()) {
                continue;
            }
            if let Some(Value::Text(name)) =
                resource.attributes.get(attribute.name).and_then(|setting| setting.expression.known_value())
            {
                used.insert((table, name.clone()));
            }
        }
        if let Price::Sum(terms) = resource.kind.price {
            unnamed.extend(terms.iter().filter(|term| term.chosen_by.is_none()).map(|term| term.table));
        }
    }
    let mut pinned = Catalog { read_at: catalog.read_at, ..Catalog::default() };
    for (table, name) in used {
        if let Some(record) = catalog.find(table, &Value::Text(name)) {
            let records = pinned.tables.entry(Name::new(table)).or_default();
            if !records.iter().any(|known| known.id == record.id) {
                records.push(record.clone());
            }
        }
    }
    for table in unnamed {
        if let Some(record) = catalog.single_record(table) {
            pinned.tables.entry(Name::new(table)).or_insert_with(|| vec![record.clone()]);
        }
    }
    for records in pinned.tables.values_mut() {
        records.sort_by(|a, b| a.slug.cmp(&b.slug));
    }
    CatalogLock { lock: VERSION, catalog: pinned }
}

/// Parses the content of a lock file.
///
/// # Errors
/// One diagnostic, at its line where that is known: for malformed YAML, an unknown key or another version.
pub fn parse(id: SourceId, text: &str) -> Result<CatalogLock, Box<Diagnostic>> {
    let problem = |detail: String, span| {
        Box::new(
            Diagnostic::error(codes::LOCK, "`stead.lock` cannot be read").with_label(span, "").detail(detail).help(
                "restore the file from version control, or remove it: the next apply pins the current names",
            ),
        )
    };
    let whole = Span { source: id, start: 0, end: 0 };
    let lock: CatalogLock = serde_yaml::from_str(text).map_err(|error| {
        let start = error.location().map_or(0, |place| u32::try_from(place.index()).unwrap_or(0));
        problem(format!("{error}."), Span { source: id, start, end: start })
    })?;
    if lock.lock != VERSION {
        return Err(problem(
            format!("It has version {}; this program reads version {VERSION}.", lock.lock),
            whole,
        ));
    }
    Ok(lock)
}

/// Returns the content of a lock file, with a comment that explains it.
///
/// # Errors
/// One diagnostic, when a value has no YAML form.
pub fn render_lock(lock: &CatalogLock) -> Result<String, Box<Diagnostic>> {
    serde_yaml::to_string(lock)
        .map(|text| {
            format!("# Catalog names and prices of this stack. Written by stead; commit it.\n{text}")
        })
        .map_err(|error| {
            Box::new(
                Diagnostic::error(codes::LOCK, "`stead.lock` cannot be written")
                    .detail(format!("{error}.")),
            )
        })
}
