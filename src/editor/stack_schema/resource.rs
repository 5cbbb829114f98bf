//! Blocks of resources: attributes, children and the words of the language.

use serde_json::{Map, Value, json};

use super::blocks::{NAME, NAMES};
use super::{Known, chosen, closed, definition, described, entries, needed, says, values};
use crate::config::keywords::{BODY, IGNORED, LIFECYCLE};
use crate::model::schema::{AlsoIn, Attribute, Kind, Presence, Scope, Type};

/// Returns the schema of a map of names, each with a block of this schema.
pub(super) fn named(block: &Value, text: &str) -> Value {
    json!({
        "description": text,
        "type": ["object", "null"],
        "propertyNames": {"pattern": NAME},
        "additionalProperties": block,
    })
}

/// Returns the schema of one block of a kind.
pub(super) fn body(known: Known<'_>, kind: &Kind) -> Value {
    let mut properties = attributes(known, kind, None);
    for child in known.registry.children(kind.name) {
        let Some((_, collection)) = child.child_of() else { continue };
        properties.insert(collection.to_owned(), children(known, child));
    }
    for child in known.registry.kinds {
        if let Some(also) = child.also_in.filter(|also| also.kind == kind.name) {
            properties.insert(also.key.to_owned(), also_in(known, child, also));
        }
    }
    properties.extend(words(kind));
    finish(properties, kind, None)
}

fn attributes(known: Known<'_>, kind: &Kind, except: Option<&str>) -> Map<String, Value> {
    let written = kind.attributes.iter().filter(|attribute| attribute.is_writable());
    written
        .filter(|attribute| except != Some(attribute.name))
        .map(|attribute| (attribute.name.to_owned(), values::attribute(known, attribute)))
        .collect()
}

/// Closes a block. One that must say nothing may be nothing.
fn finish(properties: Map<String, Value>, kind: &Kind, except: Option<&str>) -> Value {
    let must = |attribute: &&Attribute| {
        // A name defaults to the block's own.
        attribute.presence == Presence::Required
            && attribute.name != "name"
            && except != Some(attribute.name)
    };
    let required: Vec<&str> = kind.attributes.iter().filter(must).map(|attribute| attribute.name).collect();
    let mut schema = closed(properties, &required);
    if required.is_empty() {
        schema["type"] = json!(["object", "null"]);
    }
    described(schema, kind.summary)
}

/// Children under their collection's key: by name or, where the kind has such, as plain values.
fn children(known: Known<'_>, child: &Kind) -> Value {
    let by_name = named(&definition(child.name), child.summary);
    let plain = child.plain_entry.and_then(|name| child.attribute(name));
    match plain {
        Some(attribute) => {
            let items = values::value(known, &attribute.ty);
            let list = json!({"type": "array", "items": items});
            described(json!({"anyOf": [list, by_name]}), child.summary)
        }
        None => by_name,
    }
}

/// Children in the block of what they refer to: a plain value, or their block without that reference.
fn also_in(known: Known<'_>, child: &Kind, also: AlsoIn) -> Value {
    let mut properties = attributes(known, child, Some(also.refers));
    properties.extend(words(child));
    let block = finish(properties, child, Some(also.refers));
    let said = child.attribute(also.says).map(|attribute| values::value(known, &attribute.ty));
    named(&json!({"anyOf": said.into_iter().chain([block]).collect::<Vec<_>>()}), child.summary)
}

/// The words that every block of a kind takes.
fn words(kind: &Kind) -> Map<String, Value> {
    let mut words = entries([
        ("for_each", described(definition("for_each"), says(BODY, "for_each"))),
        ("when", described(definition("condition"), says(BODY, "when"))),
        ("depends_on", described(definition("addresses"), says(BODY, "depends_on"))),
        ("lifecycle", lifecycle(kind)),
    ]);
    if kind.scope == Scope::Project {
        let text = says(BODY, "project");
        words.insert("project".to_owned(), json!({"type": "string", "minLength": 1, "description": text}));
    }
    if kind.shown_once.is_some() {
        let text = says(BODY, "deliver_secret");
        words.insert("deliver_secret".to_owned(), described(definition("deliver_secret"), text));
    }
    words
}

fn lifecycle(kind: &Kind) -> Value {
    let fields: Vec<&str> =
        kind.attributes.iter().filter(|attribute| attribute.is_writable()).map(|a| a.name).collect();
    let field = json!({"enum": fields});
    let entry = closed(
        entries([
            ("field", field.clone()),
            (
                "reason",
                json!({"type": ["string", "number", "boolean"], "description": says(IGNORED, "reason")}),
            ),
            (
                "until",
                json!({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "description": says(IGNORED, "until")}),
            ),
        ]),
        &needed(IGNORED),
    );
    let one = json!({"anyOf": [field, entry]});
    let ignored = json!({
        "description": says(LIFECYCLE, "ignore_drift"),
        "type": "array", "items": one, "uniqueItems": true,
    });
    let mut schema = closed(
        entries([
            ("protect", described(definition("condition"), says(LIFECYCLE, "protect"))),
            (
                "on_remove",
                json!({"enum": chosen(LIFECYCLE, "on_remove"), "default": "delete", "description": says(LIFECYCLE, "on_remove")}),
            ),
            (
                "replace",
                json!({"enum": chosen(LIFECYCLE, "replace"), "description": says(LIFECYCLE, "replace")}),
            ),
            ("ignore_drift", ignored),
            ("timeouts", definition("timeouts")),
        ]),
        &[],
    );
    if kind.final_copy.is_some() {
        let text = "A snapshot is made before the object goes, and stays.";
        schema["properties"]["final_snapshot"] = described(definition("condition"), text);
    }
    schema["type"] = json!(["object", "null"]);
    described(schema, says(BODY, "lifecycle"))
}

/// Returns the schema of what an object is looked up by.
pub(super) fn lookup(known: Known<'_>, kind: &Kind) -> Value {
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
                ty => values::value(known, &ty),
            };
            (attribute.name.to_owned(), described(schema, attribute.summary))
        })
        .collect();
    for name in ["id", "project"] {
        fields.insert(name.to_owned(), anything.clone());
    }
    let mut schema = closed(fields, &[]);
    schema["minProperties"] = json!(1);
    described(schema, NAMES)
}
