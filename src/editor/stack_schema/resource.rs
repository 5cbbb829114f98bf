//! Schemas of resource blocks: attributes, children, and keywords of the language.

use serde_json::{Map, Value, json};

use super::fields::named_blocks;
use super::values;
use super::vocabulary::{
    SchemaInputs, closed_map, definition_ref, named_schemas, required_words, with_description,
    word_choices, word_summary,
};
use crate::config::keywords::{ALLOWED, BODY, IGNORED, LIFECYCLE};
use crate::model::schema::{Attribute, Kind, KindScope, NestedPlacement, Presence};

/// Form of a date.
const DATE_PATTERN: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$";

/// Returns the schema of one block of a kind.
pub(super) fn resource_body(known: SchemaInputs<'_>, kind: &Kind) -> Value {
    let mut properties = attribute_properties(known, kind, None);
    for child in known.registry.children(kind.name) {
        let Some((_, collection)) = child.child_of() else { continue };
        properties.insert(collection.to_owned(), children_schema(known, child));
    }
    for child in known.registry.kinds {
        if let Some(also) = child.also_in.filter(|also| also.kind == kind.name) {
            properties.insert(also.key.to_owned(), also_in(known, child, also));
        }
    }
    properties.extend(block_words(kind));
    finish_block(properties, kind, None)
}

fn attribute_properties(known: SchemaInputs<'_>, kind: &Kind, except: Option<&str>) -> Map<String, Value> {
    let written = kind.attributes.iter().filter(|attribute| attribute.is_writable());
    written
        .filter(|attribute| except != Some(attribute.name))
        .map(|attribute| (attribute.name.to_owned(), values::attribute_schema(known, attribute)))
        .collect()
}

/// Returns the schema of a block that allows only these properties. A block without
/// required attributes may be empty.
fn finish_block(properties: Map<String, Value>, kind: &Kind, except: Option<&str>) -> Value {
    let must = |attribute: &&Attribute| {
        // The block's own name is the default for `name`.
        attribute.presence == Presence::Required
            && attribute.name != "name"
            && except != Some(attribute.name)
    };
    let required: Vec<&str> = kind.attributes.iter().filter(must).map(|attribute| attribute.name).collect();
    let mut schema = closed_map(properties, &required);
    if required.is_empty() {
        schema["type"] = json!(["object", "null"]);
    }
    with_description(schema, kind.summary)
}

/// Returns the schema of a child collection: blocks by name or, if the kind allows it, a list of plain values.
fn children_schema(known: SchemaInputs<'_>, child: &Kind) -> Value {
    let by_name = named_blocks(&definition_ref(child.name), child.summary);
    let plain = child.plain_entry.and_then(|name| child.attribute(name));
    match plain {
        Some(attribute) => {
            let items = values::value_schema(known, &attribute.ty);
            let list = json!({"type": "array", "items": items});
            with_description(json!({"anyOf": [list, by_name]}), child.summary)
        }
        None => by_name,
    }
}

/// Returns the schema of child blocks inside the block that they refer to: a plain value, or
/// a block without the reference.
fn also_in(known: SchemaInputs<'_>, child: &Kind, also: NestedPlacement) -> Value {
    let mut properties = attribute_properties(known, child, Some(also.refers));
    properties.extend(block_words(child));
    let block = finish_block(properties, child, Some(also.refers));
    let said = child.attribute(also.says).map(|attribute| values::value_schema(known, &attribute.ty));
    named_blocks(&json!({"anyOf": said.into_iter().chain([block]).collect::<Vec<_>>()}), child.summary)
}

/// Returns the schemas of the keywords that each block of a kind allows.
fn block_words(kind: &Kind) -> Map<String, Value> {
    let mut words = named_schemas([
        ("for_each", with_description(definition_ref("for_each"), word_summary(BODY, "for_each"))),
        ("when", with_description(definition_ref("condition"), word_summary(BODY, "when"))),
        ("depends_on", with_description(definition_ref("addresses"), word_summary(BODY, "depends_on"))),
        ("lifecycle", lifecycle_block(kind)),
    ]);
    if !kind.exposures.is_empty() {
        words.insert("allow_exposure".to_owned(), allowed_exposures(kind));
    }
    if kind.scope == KindScope::Project {
        let text = word_summary(BODY, "project");
        words.insert("project".to_owned(), json!({"type": "string", "minLength": 1, "description": text}));
    }
    if kind.shown_once.is_some() {
        let text = word_summary(BODY, "deliver_secret");
        words.insert("deliver_secret".to_owned(), with_description(definition_ref("deliver_secret"), text));
    }
    words
}

fn allowed_exposures(kind: &Kind) -> Value {
    let codes: Vec<&str> = kind.exposures.iter().map(|exposure| exposure.code).collect();
    let entry = closed_map(
        named_schemas([
            ("code", json!({"enum": codes, "description": word_summary(ALLOWED, "code")})),
            (
                "reason",
                json!({"type": ["string", "number", "boolean"], "description": word_summary(ALLOWED, "reason")}),
            ),
            (
                "until",
                json!({"type": "string", "pattern": DATE_PATTERN, "description": word_summary(ALLOWED, "until")}),
            ),
        ]),
        &required_words(ALLOWED),
    );
    json!({
        "description": word_summary(BODY, "allow_exposure"),
        "type": "array", "items": entry, "uniqueItems": true,
    })
}

fn lifecycle_block(kind: &Kind) -> Value {
    let fields: Vec<&str> =
        kind.attributes.iter().filter(|attribute| attribute.is_writable()).map(|a| a.name).collect();
    let field = json!({"enum": fields});
    let entry = closed_map(
        named_schemas([
            ("field", field.clone()),
            (
                "reason",
                json!({"type": ["string", "number", "boolean"], "description": word_summary(IGNORED, "reason")}),
            ),
            (
                "until",
                json!({"type": "string", "pattern": DATE_PATTERN, "description": word_summary(IGNORED, "until")}),
            ),
        ]),
        &required_words(IGNORED),
    );
    let one = json!({"anyOf": [field, entry]});
    let ignored = json!({
        "description": word_summary(LIFECYCLE, "ignore_drift"),
        "type": "array", "items": one, "uniqueItems": true,
    });
    let mut schema = closed_map(
        named_schemas([
            ("protect", with_description(definition_ref("condition"), word_summary(LIFECYCLE, "protect"))),
            (
                "on_remove",
                json!({"enum": word_choices(LIFECYCLE, "on_remove"), "default": "delete", "description": word_summary(LIFECYCLE, "on_remove")}),
            ),
            (
                "replace",
                json!({"enum": word_choices(LIFECYCLE, "replace"), "description": word_summary(LIFECYCLE, "replace")}),
            ),
            ("ignore_drift", ignored),
            ("timeouts", definition_ref("timeouts")),
        ]),
        &[],
    );
    if kind.final_copy.is_some() {
        let text = "A final snapshot is created before the object is deleted, and is kept.";
        schema["properties"]["final_snapshot"] = with_description(definition_ref("condition"), text);
    }
    schema["type"] = json!(["object", "null"]);
    with_description(schema, word_summary(BODY, "lifecycle"))
}
