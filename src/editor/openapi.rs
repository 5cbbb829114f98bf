//! `openapi`: the service's API as an OpenAPI 3.1 document, generated from the registry.
//!
//! It contains all endpoints of the kinds, actions and catalogs once, with the known parameters, bodies and
//! responses. If two uses share an endpoint, its body allows the fields of both.

mod answer;
mod body;
mod operation;
pub mod schema_names;
mod shapes;
mod types;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use self::operation::ApiOperation;
use self::schema_names::{HEALTH, creation_schema_name, shown_once_schema_name};
use crate::model::schema::{CatalogShape, CatalogTable, Registry};

/// Prefix of the catalog's paths that need no API key ("Authentication").
const OPEN: &str = "/api/v1/public/";

/// Summary of the other path of the database plans.
const OTHER_PLANS: &str = "Plans of databases: another spelling of `/api/v1/databases/plans`.";

/// Paths, each with its operations by HTTP method.
type Paths = BTreeMap<String, BTreeMap<String, ApiOperation>>;

/// Returns the document as text, in the form that is committed to the repository.
#[must_use]
pub fn render_document(registry: &Registry) -> String {
    format!("{:#}\n", build_document(registry))
}

/// Returns the OpenAPI document as JSON.
#[must_use]
pub fn build_document(registry: &Registry) -> Value {
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
            "description": "The API as stead uses it. `x-assumed` marks what the service's own document does not specify.",
        },
        "servers": [{"url": "/"}],
        "security": [{"apiKey": []}],
        "tags": tags,
        "paths": build_paths(registry),
        "components": build_components(registry),
    })
}

const CATALOG: &str = "catalog";
const SERVICE: &str = "service";

fn build_paths(registry: &Registry) -> Value {
    let mut paths = Paths::new();
    for kind in registry.kinds {
        for operation in operation::of_kind(registry, kind) {
            add_operation(&mut paths, operation);
        }
    }
    // Tables that are part of another table's response share its path, so they must come after it. Kinds that are
    // also catalogs are already present.
    let (beside, own): (Vec<_>, Vec<_>) =
        registry.catalogs.iter().partition(|table| matches!(table.shape, CatalogShape::Beside(_)));
    for table in own.into_iter().chain(beside) {
        add_operation(&mut paths, catalog_operation(table));
    }
    for (path, summary) in HEALTH {
        add_operation(
            &mut paths,
            ApiOperation::read(path, SERVICE, summary, json!({"type": "object"})).without_key(),
        );
    }
    add_operation(
        &mut paths,
        ApiOperation::read(shapes::OTHER_PLANS, CATALOG, OTHER_PLANS, Value::Null).with_paging(),
    );
    let shown = paths.into_iter().map(|(path, operations)| {
        let operations: Map<_, _> =
            operations.into_iter().map(|(method, operation)| (method, operation.into_json())).collect();
        (path, Value::Object(operations))
    });
    Value::Object(shown.collect())
}

fn add_operation(paths: &mut Paths, operation: ApiOperation) {
    let (path, method) = (operation.path.clone(), operation.method());
    let operations = paths.entry(path).or_default();
    match operations.remove(&method) {
        Some(known) => operations.insert(method, known.merge(operation)),
        None => operations.insert(method, operation),
    };
}

fn catalog_operation(table: &CatalogTable) -> ApiOperation {
    let record = json!({"type": "object"});
    let answer = match table.shape {
        CatalogShape::List | CatalogShape::Beside(_) => {
            answer::list_envelope(&json!({"type": "object", "required": [table.named_by]}))
        }
        CatalogShape::Single => answer::keyed_envelope("pricing", &record, true),
    };
    let summary = format!("The catalog's table `{}`.", table.name);
    let operation = ApiOperation::read(table.path, CATALOG, &summary, answer).with_pages(table.shape);
    if table.path.starts_with(OPEN) { operation.without_key() } else { operation }
}

fn build_components(registry: &Registry) -> Value {
    let mut schemas = Map::new();
    for kind in registry.kinds {
        schemas.insert(types::pascal_case(kind.name), answer::record_schema(kind));
        let body = body::of_creation(kind);
        schemas.insert(creation_schema_name(kind), body.to_schema());
        schemas
            .extend(answer::shown_once_schema(kind).map(|record| (shown_once_schema_name(kind), record)));
    }
    schemas.insert("Done".to_owned(), answer::done_schema());
    schemas.insert("Error".to_owned(), answer::error_schema());
    json!({
        "schemas": schemas,
        "securitySchemes": {
            "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        },
        "parameters": operation::shared_parameters(),
        "responses": answer::shared_responses(),
    })
}
