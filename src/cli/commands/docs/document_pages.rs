//! Reference pages of the JSON documents that commands print, from their schemas.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde_json::Value;

use crate::cli::commands::schema::SchemaDocument;
use crate::guide::document::{Block, Definition, Inline, PageContent, anchor_of, parse_backticks};
use crate::guide::library::Page;
use crate::guide::reference::index_page;

/// Returns a page for each schema, and their index.
pub(super) fn document_pages() -> Vec<Page> {
    let mut pages = Vec::new();
    let mut entries = Vec::new();
    for document in SchemaDocument::value_variants() {
        let Some(value) = document.to_possible_value() else { continue };
        let name = value.get_name().to_owned();
        let about = value.get_help().map(ToString::to_string).unwrap_or_default();
        let about = format!("{}.", about.trim_end_matches('.'));
        let address = format!("reference/documents/{name}");
        entries.push(Definition::linked(&name, &address, &about));
        pages.push(document_page(*document, &name, &about, &address));
    }
    pages.push(index_page(
        "reference/documents/index",
        "JSON documents and schemas",
        "Every JSON document that a command prints, and every schema that `stead schema` prints.",
        entries,
    ));
    pages
}

fn document_page(document: SchemaDocument, name: &str, about: &str, address: &str) -> Page {
    let mut blocks = vec![Block::Paragraph(vec![
        Inline::text("The schema: "),
        Inline::code(format!("stead schema {name}")),
        Inline::text(". Keys may be added; see "),
        Inline::link("explanation/stability", "the stability promise"),
        Inline::text("."),
    ])];
    let related = match document {
        SchemaDocument::Stack => Some(vec![
            Inline::text("The reference of the language: "),
            Inline::link("reference/language/index", "keywords"),
            Inline::text(" and "),
            Inline::link("reference/kinds/index", "kinds"),
            Inline::text("."),
        ]),
        SchemaDocument::Openapi => Some(vec![
            Inline::text("The requests of each kind: "),
            Inline::link("reference/kinds/index", "kinds"),
            Inline::text(". The emulator serves the document at "),
            Inline::code("/openapi.json"),
            Inline::text("."),
        ]),
        _ => None,
    };
    match related {
        Some(line) => blocks.push(Block::Paragraph(line)),
        None => push_types(&mut blocks, document),
    }
    let page = PageContent {
        title: format!("{name} (JSON)"),
        summary: parse_backticks(about),
        keywords: "json schema output document keys".to_owned(),
        blocks,
    };
    Page::derived(address, page)
}

/// Adds the keys of the document and of each type in it.
fn push_types(blocks: &mut Vec<Block>, document: SchemaDocument) {
    // The committed schemas are valid JSON, which a test proves.
    let Ok(schema) = serde_json::from_str::<Value>(document.committed_schema()) else { return };
    push_type(blocks, &schema);
    let types: BTreeMap<&String, &Value> = schema["$defs"].as_object().into_iter().flatten().collect();
    for (name, of) in types {
        blocks.push(Block::Heading {
            level: 2,
            text: vec![Inline::code(name.as_str())],
            anchor: anchor_of(name),
        });
        if let Some(text) = of["description"].as_str() {
            blocks.push(Block::Paragraph(parse_backticks(text)));
        }
        push_type(blocks, of);
    }
}

/// Adds the keys of an object, those of each variant of it, or the values of an enumeration.
fn push_type(blocks: &mut Vec<Block>, schema: &Value) {
    let variants = ["oneOf", "anyOf"].iter().find_map(|key| schema[*key].as_array());
    if let Some(variants) = variants {
        let constants: Vec<Definition> = variants.iter().filter_map(constant_entry).collect();
        if !constants.is_empty() {
            blocks.push(Block::Definitions(constants));
        }
        for variant in variants.iter().filter(|variant| variant["properties"].is_object()) {
            if let Some(text) = variant["description"].as_str() {
                blocks.push(Block::Paragraph(parse_backticks(text)));
            }
            push_keys(blocks, variant);
        }
    }
    push_keys(blocks, schema);
}

fn constant_entry(variant: &Value) -> Option<Definition> {
    let text = variant["description"].as_str().unwrap_or_default();
    variant["const"].as_str().map(|name| Definition::new(name, text))
}

fn push_keys(blocks: &mut Vec<Block>, schema: &Value) {
    let Some(properties) = schema["properties"].as_object().filter(|properties| !properties.is_empty())
    else {
        return;
    };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let entries = properties.iter().map(|(name, of)| {
        let mut entry = Definition::new(name, of["description"].as_str().unwrap_or_default());
        if !entry.text.is_empty() {
            entry.text.push(Inline::text(" "));
        }
        push_type_name(&mut entry.text, of);
        if !required.contains(&name.as_str()) {
            entry.text.push(Inline::Faint(", may be absent".to_owned()));
        }
        entry
    });
    blocks.push(Block::Definitions(entries.collect()));
}

/// Adds the type of a key, readable: `string`, `list of ChangeEntry`, `map of number`, `1`. A type of the document is a
/// link to its keys.
fn push_type_name(text: &mut Vec<Inline>, schema: &Value) {
    let mut faint = |name: &str| text.push(Inline::Faint(name.to_owned()));
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        text.push(Inline::link(&format!("#{}", anchor_of(name)), name));
        return;
    }
    if !schema["const"].is_null() {
        return faint(&schema["const"].to_string());
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        return faint(&values.join(" or "));
    }
    if let Some(variants) = ["oneOf", "anyOf"].iter().find_map(|key| schema[*key].as_array()) {
        for (at, variant) in variants.iter().enumerate() {
            text.extend((at > 0).then(|| Inline::Faint(" or ".to_owned())));
            push_type_name(text, variant);
        }
        return;
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => {
            faint("list of ");
            push_type_name(text, &schema["items"]);
        }
        Value::String(name) if name == "object" && schema["additionalProperties"].is_object() => {
            faint("map of ");
            push_type_name(text, &schema["additionalProperties"]);
        }
        Value::String(name) => faint(name),
        Value::Array(names) => {
            faint(&names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "));
        }
        _ => faint("any value"),
    }
}
