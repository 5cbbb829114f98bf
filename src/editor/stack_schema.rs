//! `stack_schema`: the configuration language as a JSON Schema (draft 7), made from the registry.
//!
//! Editors complete and check YAML files by it. It refuses what no environment could make right: unknown
//! keys, wrong types, wrong words, missing attributes. Where the language computes, it lets any `$path` and
//! `${…}` through: what those mean is checked by stead alone.

mod blocks;
mod resource;
mod values;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::config::keywords::{self, Takes, Words};
use crate::model::schema::Registry;

/// The names of each catalog table that are known without asking the service. They are suggestions: a
/// service may have more.
pub type Slugs = BTreeMap<&'static str, Vec<String>>;

/// What is known besides the language itself.
#[derive(Clone, Copy)]
struct Known<'k> {
    registry: &'k Registry,
    slugs: &'k Slugs,
}

/// Returns the schema as text, as it is committed.
#[must_use]
pub fn render_schema(registry: &Registry, slugs: &Slugs) -> String {
    format!("{:#}\n", build_schema(registry, slugs))
}

/// Returns the schema of one file of a stack.
#[must_use]
pub fn build_schema(registry: &Registry, slugs: &Slugs) -> Value {
    let known = Known { registry, slugs };
    let mut properties = blocks::block_properties(known);
    for kind in registry.top_level() {
        let block = resource::named_blocks(&definition_ref(kind.name), kind.summary);
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
        "description": "All stack files of a directory are one stack. One of them says `stead: 1` and \
                        `stack: NAME`.",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "definitions": definitions,
    })
}

/// Returns what one of the language's words says.
fn word_summary(words: Words, name: &str) -> &'static str {
    keywords::find_word(words, name).map_or("", |word| word.summary)
}

/// Returns the few values that one of the language's words takes.
fn word_choices(words: Words, name: &str) -> Vec<&'static str> {
    match keywords::find_word(words, name).map(|word| word.takes) {
        Some(Takes::OneOf(values)) => names_of(values),
        _ => Vec::new(),
    }
}

/// Returns the names of words.
fn names_of(words: Words) -> Vec<&'static str> {
    keywords::word_names(words).collect()
}

/// Returns the words that must be written.
fn required_words(words: Words) -> Vec<&'static str> {
    words.iter().filter(|word| word.needed).map(|word| word.name).collect()
}

/// Returns a reference to a definition.
fn definition_ref(name: &str) -> Value {
    json!({"$ref": format!("#/definitions/{name}")})
}

/// Returns the schema of a map with these keys and no others.
fn closed_map(properties: Map<String, Value>, required: &[&str]) -> Value {
    let mut schema = json!({"type": "object", "additionalProperties": false});
    schema["properties"] = Value::Object(properties);
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Returns properties of names and their schemas.
fn named_schemas<const N: usize>(named: [(&str, Value); N]) -> Map<String, Value> {
    named.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

/// Puts words for people into a schema. What stands beside a `$ref` is not read, so that goes inside.
fn with_description(schema: Value, text: &str) -> Value {
    if schema.get("$ref").is_some() {
        return json!({"description": text, "allOf": [schema]});
    }
    let mut schema = schema;
    schema["description"] = json!(text);
    schema
}

#[cfg(test)]
mod tests;
