//! `stack_schema`: the configuration language as a JSON Schema (draft 7), generated from the registry.
//!
//! Editors use it to complete and check YAML files. It rejects what is invalid in each environment: unknown
//! keys, wrong types, invalid keywords, missing attributes. It accepts any `$path` and `${…}` where the
//! language allows expressions; only stead itself checks those.

mod blocks;
mod fields;
mod resource;
mod values;
mod vocabulary;

use serde_json::{Value, json};

pub use self::vocabulary::CatalogSlugs;
use self::vocabulary::{SchemaInputs, definition_ref};
use crate::model::schema::Registry;

/// Returns the schema as text, in the form that is committed to the repository.
#[must_use]
pub fn render_schema(registry: &Registry, slugs: &CatalogSlugs) -> String {
    format!("{:#}\n", build_schema(registry, slugs))
}

/// Returns the JSON Schema for one file of a stack.
#[must_use]
pub fn build_schema(registry: &Registry, slugs: &CatalogSlugs) -> Value {
    let known = SchemaInputs { registry, slugs };
    let mut properties = blocks::block_properties(known);
    for kind in registry.top_level() {
        let block = fields::named_blocks(&definition_ref(kind.name), kind.summary);
        properties.insert(kind.name.to_owned(), block);
    }
    let mut definitions = values::value_definitions();
    definitions.extend(blocks::block_definitions());
    for kind in registry.kinds {
        definitions.insert(kind.name.to_owned(), resource::resource_body(known, kind));
    }
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://stead.dev/schemas/stack.schema.json",
        "title": "A file of a stead stack",
        "description": "All stack files of a directory are one stack. One of them contains `stead: 1` and `stack: NAME`.",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "definitions": definitions,
    })
}

#[cfg(test)]
mod tests;
