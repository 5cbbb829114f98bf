//! Schemas that both the top level and a resource body use: maps of named blocks, and lookups.

use serde_json::{Map, Value, json};

use super::values;
use super::vocabulary::{SchemaInputs, closed_map, with_description};
use crate::model::schema::{Attribute, Kind, Type};

/// Pattern of one segment of an address.
pub(super) const NAME: &str = "^[a-z0-9_-]+$";

/// Description of the fields of a lookup.
pub(super) const NAMES: &str =
    "The attributes that identify the one object: plain values, locals and variables.";

/// Returns the schema of a map from names to blocks with the given schema.
pub(super) fn named_blocks(block: &Value, text: &str) -> Value {
    json!({
        "description": text,
        "type": ["object", "null"],
        "propertyNames": {"pattern": NAME},
        "additionalProperties": block,
    })
}

/// Returns the schema of a lookup of a kind.
pub(super) fn lookup_block(known: SchemaInputs<'_>, kind: &Kind) -> Value {
    let anything = json!({"type": ["string", "number", "boolean"]});
    let seen = |attribute: &&Attribute| attribute.listed && attribute.is_readable() && !attribute.secret;
    let mut fields: Map<String, Value> = kind
        .attributes
        .iter()
        .filter(seen)
        .map(|attribute| {
            let schema = match attribute.ty {
                // Live objects have ids, so the value is compared with an id without conversion.
                Type::Catalog(_) | Type::Reference(_) => anything.clone(),
                ty => values::value_schema(known, &ty),
            };
            (attribute.name.to_owned(), with_description(schema, attribute.summary))
        })
        .collect();
    for name in ["id", "project"] {
        fields.insert(name.to_owned(), anything.clone());
    }
    let mut schema = closed_map(fields, &[]);
    schema["minProperties"] = json!(1);
    with_description(schema, NAMES)
}
