//! Derives the JSON Schema of a document from its type. Only tests do: `stead schema` prints the files in `schemas/`,
//! and a test compares each one with what its type derives, so that the program does not carry the derivation.
//!
//! What a type alone does not say is the same for all documents, and added here: an object has no other keys than the
//! declared ones, and a key that may be absent is never `null`.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// Returns the schema of the document `name`, as its committed file has it.
pub(crate) fn render_schema<T: JsonSchema>(name: &str, title: &str) -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(DocumentRules);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("$id".to_owned(), json!(format!("urn:stead:schema:{name}:1")));
    schema.insert("title".to_owned(), json!(title));
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

/// Adds the rules that hold for every document.
#[derive(Clone)]
struct DocumentRules;

impl Transform for DocumentRules {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(object) = schema.as_object_mut() {
            move_properties_into_variants(object);
            if object.contains_key("properties") {
                object.entry("additionalProperties").or_insert(json!(false));
            }
            forbid_null_for_optional_keys(object);
            remove_widths(object);
            join_lines(object);
        }
        transform_subschemas(self, schema);
    }
}

/// Moves the keys that stand beside the variants of a flattened enum into each variant, so that each is a closed object.
fn move_properties_into_variants(object: &mut Map<String, Value>) {
    if !object.contains_key("oneOf") {
        return;
    }
    let Some(Value::Object(shared)) = object.remove("properties") else { return };
    let required = object.remove("required").unwrap_or_else(|| json!([]));
    object.remove("type");
    for variant in object.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(variant) = variant.as_object_mut() else { continue };
        if let Some(own) = variant.entry("properties").or_insert(json!({})).as_object_mut() {
            own.extend(shared.clone());
        }
        if let Some(own) = variant.entry("required").or_insert(json!([])).as_array_mut() {
            let first = required.as_array().cloned().unwrap_or_default();
            own.splice(0..0, first);
        }
    }
}

/// Removes `null` from keys that are not required: serde omits such a key instead of writing `null`.
fn forbid_null_for_optional_keys(object: &mut Map<String, Value>) {
    let required = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (_, property) in properties.iter_mut().filter(|(key, _)| !required.contains(&json!(key))) {
        let Some(property) = property.as_object_mut() else { continue };
        for list in ["type", "enum"] {
            if let Some(values) = property.get_mut(list).and_then(Value::as_array_mut) {
                values.retain(|value| !value.is_null() && value != "null");
                if list == "type" && values.len() == 1 {
                    let only = values.remove(0);
                    property.insert(list.to_owned(), only);
                }
            }
        }
        if let Some(Value::Array(mut variants)) = property.remove("anyOf") {
            variants.retain(|variant| variant.get("type") != Some(&json!("null")));
            match (variants.pop(), variants.is_empty()) {
                (Some(Value::Object(only)), true) => {
                    for (key, value) in only {
                        property.entry(key).or_insert(value);
                    }
                }
                (last, _) => {
                    variants.extend(last);
                    property.insert("anyOf".to_owned(), Value::Array(variants));
                }
            }
        }
    }
}

/// Removes the width of a number: it is a fact of the program, not of the document.
fn remove_widths(object: &mut Map<String, Value>) {
    let format = object.get("format").and_then(Value::as_str).unwrap_or_default();
    if format.starts_with("int") || format.starts_with("uint") || format == "double" {
        object.remove("format");
        object.remove("maximum");
    }
    if object.contains_key("const") {
        object.remove("minimum");
    }
}

/// Joins the lines and paragraphs of a doc comment.
fn join_lines(object: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}
