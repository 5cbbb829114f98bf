//! Names of schemas that several parts of the OpenAPI document refer to.

use super::types;
use crate::model::schema::Kind;

/// Health endpoints, which need no key and belong to no kind.
pub(super) const HEALTH: &[(&str, &str)] = &[
    ("/health", "Reports whether the service is alive."),
    ("/ready", "Reports whether it accepts requests."),
];

/// Returns the schema name for the body of a create request.
pub(super) fn creation_schema_name(kind: &Kind) -> String {
    format!("{}Create", types::pascal_case(kind.name))
}

/// Returns the schema name for the response that shows a created object's secrets once.
pub(super) fn shown_once_schema_name(kind: &Kind) -> String {
    format!("{}Created", types::pascal_case(kind.name))
}
