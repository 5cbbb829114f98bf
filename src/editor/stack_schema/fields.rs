//! The names and blocks of a resource that both the top level and a resource body write.

use serde_json::{Map, Value, json};

use super::values;
use super::vocabulary::{SchemaInputs, closed_map, with_description};
use crate::model::schema::{Attribute, Kind, Type};

/// One part of an address.
pub(super) const NAME: &str = "^[a-z0-9_-]+$";

/// What a lookup is.
pub(super) const NAMES: &str = "What the one object is found by: plain values, locals and variables.";

/// Returns the schema of a map of names, each with a block of this schema.
pub(super) fn named_blocks(block: &Value, text: &str) -> Value {
    json!({
        "description": text,
        "type": ["object", "null"],
        "propertyNames": {"pattern": NAME},
        "additionalProperties": block,
    })
}

/// Returns the schema of what an object is looked up by.
pub(super) fn lookup_block(known: SchemaInputs<'_>, kind: &Kind) -> Value {
    let anything = json!({"type": ["string", "number", "boolean"]});
    let seen = |attribute: &&Attribute| attribute.listed && attribute.is_readable() && !attribute.secret;
    let mut fields: Map<String, Value> = kind
        .attributes
        .iter()
        .filter(seen)
        .map(|attribute| {
            let schema = match attribute.ty {
                // A live object holds ids: what is written is compared with them as it is.
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
