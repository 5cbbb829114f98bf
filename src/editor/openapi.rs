//! `openapi`: the service's API as an OpenAPI 3.1 document, made from the registry.
//!
//! Every endpoint of a kind, its actions and the catalogs is in it once, with what the tables know of
//! its parameters, its body and its answer. Where two uses share an endpoint, it takes what either sends.

mod answer;
mod body;
mod operation;
mod shapes;
mod types;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use self::operation::Operation;
use crate::model::schema::{CatalogShape, CatalogTable, Kind, Registry};

/// Begins the paths that need no key.
const OPEN: &str = "/api/v1/public/";

/// Tell how the service is; they need no key either, and no kind is their home.
const HEALTH: &[(&str, &str)] =
    &[("/health", "Tells whether the service lives."), ("/ready", "Tells whether it takes requests.")];

const OTHER_PLANS: &str = "Plans of databases: another spelling of `/api/v1/databases/plans`.";

/// Paths, and the operations of each by verb.
type Paths = BTreeMap<String, BTreeMap<String, Operation>>;

/// Returns the document as text, as it is committed.
#[must_use]
pub fn text(registry: &Registry) -> String {
    format!("{:#}\n", document(registry))
}

/// Returns the document.
#[must_use]
pub fn document(registry: &Registry) -> Value {
    let tags: Vec<_> = registry
        .kinds
        .iter()
        .map(|kind| json!({"name": kind.name, "description": kind.summary}))
        .chain([json!({"name": CATALOG, "description": "Names and prices."}), json!({"name": SERVICE})])
        .collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Cloud Infrastructure Service API",
            "version": "1.0.0",
            "description": "As stead reads it. What is marked `x-assumed` the service's own document \
                            leaves open.",
        },
        "servers": [{"url": "/"}],
        "security": [{"apiKey": []}],
        "tags": tags,
        "paths": paths(registry),
        "components": components(registry),
    })
}

const CATALOG: &str = "catalog";
const SERVICE: &str = "service";

fn paths(registry: &Registry) -> Value {
    let mut paths = Paths::new();
    for kind in registry.kinds {
        for operation in operation::of_kind(registry, kind) {
            add(&mut paths, operation);
        }
    }
    // Tables beside another one's list share its path, and kinds that are catalogs too have been added.
    let (beside, own): (Vec<_>, Vec<_>) =
        registry.catalogs.iter().partition(|table| matches!(table.shape, CatalogShape::Beside(_)));
    for table in own.into_iter().chain(beside) {
        add(&mut paths, catalog(table));
    }
    for (path, summary) in HEALTH {
        add(&mut paths, Operation::read(path, SERVICE, summary, json!({"type": "object"})).open());
    }
    add(&mut paths, Operation::read(shapes::OTHER_PLANS, CATALOG, OTHER_PLANS, Value::Null).list());
    let shown = paths.into_iter().map(|(path, operations)| {
        let operations: Map<_, _> =
            operations.into_iter().map(|(method, operation)| (method, operation.show())).collect();
        (path, Value::Object(operations))
    });
    Value::Object(shown.collect())
}

fn add(paths: &mut Paths, operation: Operation) {
    let (path, method) = (operation.path.clone(), operation.method());
    let operations = paths.entry(path).or_default();
    match operations.remove(&method) {
        Some(known) => operations.insert(method, known.merge(operation)),
        None => operations.insert(method, operation),
    };
}

fn catalog(table: &CatalogTable) -> Operation {
    let record = json!({"type": "object"});
    let answer = match table.shape {
        CatalogShape::List | CatalogShape::Beside(_) => {
            answer::list(&json!({"type": "object", "required": [table.named_by]}))
        }
        CatalogShape::Single => answer::keyed("pricing", &record, true),
    };
    let summary = format!("The catalog's table `{}`.", table.name);
    let operation = Operation::read(table.path, CATALOG, &summary, answer).paged(table.shape);
    if table.path.starts_with(OPEN) { operation.open() } else { operation }
}

fn components(registry: &Registry) -> Value {
    let mut schemas = Map::new();
    for kind in registry.kinds {
        schemas.insert(types::title(kind.name), answer::record(kind));
        let body = body::of_creation(kind);
        schemas.insert(creation(kind), body.show());
        schemas.extend(answer::created(kind).map(|record| (created(kind), record)));
    }
    schemas.insert("Done".to_owned(), answer::done());
    schemas.insert("Error".to_owned(), answer::error());
    json!({
        "schemas": schemas,
        "securitySchemes": {
            "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        },
        "parameters": operation::parameters(),
        "responses": answer::responses(),
    })
}

/// Returns the name of the schema of a creation's body.
fn creation(kind: &Kind) -> String {
    format!("{}Create", types::title(kind.name))
}

/// Returns the name of the schema of what a creation shows once.
fn created(kind: &Kind) -> String {
    format!("{}Created", types::title(kind.name))
}
