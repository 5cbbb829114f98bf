//! Names of schemas that several parts of the OpenAPI document refer to.

use super::types;
use crate::model::schema::Kind;

/// Tell how the service is; they need no key either, and no kind is their home.
pub(super) const HEALTH: &[(&str, &str)] =
    &[("/health", "Tells whether the service lives."), ("/ready", "Tells whether it takes requests.")];

/// Returns the name of the schema of a creation's body.
pub(super) fn creation_schema_name(kind: &Kind) -> String {
    format!("{}Create", types::pascal_case(kind.name))
}

/// Returns the name of the schema of what a creation shows once.
pub(super) fn shown_once_schema_name(kind: &Kind) -> String {
    format!("{}Created", types::pascal_case(kind.name))
}
