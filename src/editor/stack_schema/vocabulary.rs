//! Pieces of JSON Schema that every part of the stack schema is built of: references, closed maps and keywords.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::config::keywords::{self, KeywordValue, Keywords};
use crate::model::schema::Registry;

/// The names of each catalog table that are known without a request to the service; a table may be absent. They are
/// suggestions: a service may have more.
pub type CatalogSlugs = BTreeMap<&'static str, Vec<String>>;

/// What the stack's JSON Schema is generated from: the resource kinds and the known catalog names.
#[derive(Clone, Copy)]
pub(super) struct SchemaInputs<'k> {
    pub(super) registry: &'k Registry,
    pub(super) slugs: &'k CatalogSlugs,
}

/// Returns the summary of a keyword; empty if it is unknown.
pub(super) fn word_summary(words: Keywords, name: &str) -> &'static str {
    keywords::find_word(words, name).map_or("", |word| word.summary)
}

/// Returns the fixed values that a keyword takes; empty if it takes others.
pub(super) fn word_choices(words: Keywords, name: &str) -> Vec<&'static str> {
    match keywords::find_word(words, name).map(|word| word.takes) {
        Some(KeywordValue::OneOf(values)) => names_of(values),
        _ => Vec::new(),
    }
}

/// Returns the names of keywords.
pub(super) fn names_of(words: Keywords) -> Vec<&'static str> {
    keywords::word_names(words).collect()
}

/// Returns the names of the keywords that a block must have.
pub(super) fn required_words(words: Keywords) -> Vec<&'static str> {
    words.iter().filter(|word| word.needed).map(|word| word.name).collect()
}

/// Returns a reference to a definition.
pub(super) fn definition_ref(name: &str) -> Value {
    json!({"$ref": format!("#/definitions/{name}")})
}

/// Returns the schema of an object that allows only these keys.
pub(super) fn closed_map(properties: Map<String, Value>, required: &[&str]) -> Value {
    let mut schema = json!({"type": "object", "additionalProperties": false});
    schema["properties"] = Value::Object(properties);
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Builds a map of properties from names and schemas.
pub(super) fn named_schemas<const N: usize>(named: [(&str, Value); N]) -> Map<String, Value> {
    named.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

/// Adds a description to a schema. Draft 7 ignores keys beside `$ref`, so a reference is wrapped in `allOf`.
pub(super) fn with_description(schema: Value, text: &str) -> Value {
    if schema.get("$ref").is_some() {
        return json!({"description": text, "allOf": [schema]});
    }
    let mut schema = schema;
    schema["description"] = json!(text);
    schema
}
