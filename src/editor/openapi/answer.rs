//! Answers: the records of kinds, the envelopes around them, and errors.

use serde_json::{Map, Value, json};

use super::types;
use crate::model::schema::{Action, Answer, Endpoint, Kind, Presence};

/// Returns the schema of a kind's record.
pub(super) fn record(kind: &Kind) -> Value {
    let mut fields = Map::new();
    let mut required = Vec::new();
    if kind.api.id == "id" && kind.api.absent_when.is_none() {
        fields.insert("id".to_owned(), json!({"type": "string", "format": "uuid"}));
        required.push("id");
    }
    for attribute in kind.attributes.iter().filter(|attribute| attribute.is_readable()) {
        // Another attribute tells it in other words.
        if !attribute.read_as.is_empty() {
            continue;
        }
        if attribute.presence == Presence::Required && attribute.listed {
            required.push(attribute.returned);
        }
        for (field, schema) in types::answered(attribute) {
            fields.entry(field).or_insert(schema);
        }
    }
    json!({"type": "object", "description": kind.summary, "properties": fields, "required": required})
}

/// Returns a reference to a kind's record.
pub(super) fn reference(kind: &Kind) -> Value {
    json!({"$ref": format!("#/components/schemas/{}", types::title(kind.name))})
}

/// Returns the envelope of one record.
pub(super) fn keyed(key: &str, record: &Value, required: bool) -> Value {
    let mut schema = json!({
        "type": "object",
        "properties": {"success": {"type": "boolean"}, "message": {"type": "string"}},
    });
    schema["properties"][key] = record.clone();
    if required {
        schema["required"] = json!([key]);
    }
    schema
}

/// Returns the envelope of a list.
pub(super) fn list(record: &Value) -> Value {
    json!({
        "type": "object",
        "properties": {
            "data": {"type": "array", "items": record},
            "total": {"type": "integer", "minimum": 0},
        },
        "required": ["data", "total"],
    })
}

/// Returns what an endpoint answers that shows an object as it is now.
pub(super) fn object(kind: &Kind, endpoint: &Endpoint, required: bool) -> Value {
    match endpoint.envelope.key() {
        Some(key) => keyed(key, &reference(kind), required),
        None => reference_to("Done"),
    }
}

/// Returns what a creation answers: once with the secret, where there is one.
pub(super) fn creation(kind: &Kind) -> Value {
    let create = &kind.api.create;
    match (kind.shown_once, create.envelope.key()) {
        (Some(secret), Some(key)) => {
            let fields = json!({"type": "object", "properties": {secret: {"type": "string"}}});
            keyed(key, &json!({"allOf": [reference(kind), fields]}), true)
        }
        _ => object(kind, create, true),
    }
}

/// Returns what an action answers.
pub(super) fn of_action(kind: &Kind, action: &Action, endpoint: &Endpoint) -> Value {
    let key = endpoint.envelope.key().unwrap_or("data");
    let of = |schema: &Value| keyed(key, schema, true);
    match action.answer {
        Answer::Nothing => reference_to("Done"),
        Answer::Object => object(kind, endpoint, true),
        // A grant stands beside `success`, without an envelope of its own.
        Answer::Record(_) => keyed(key, &json!({"type": "object"}), false),
        // A list, or a record that holds one.
        Answer::Rows(_) => of(&json!({"type": ["array", "object"]})),
        Answer::Feed { id, .. } => list(&json!({"type": "object", "required": [id]})),
        Answer::Grid => of(&json!({
            "type": "object",
            "properties": {
                "columns": {"type": "array", "items": {"type": "string"}},
                "rows": {"type": "array", "items": {"type": "array"}},
                "truncated": {"type": "boolean"},
            },
            "required": ["columns", "rows"],
        })),
        Answer::Document { field, .. } => of(&json!({
            "type": "object",
            "properties": {field: {"type": "string"}},
            "required": [field],
        })),
    }
}

/// Returns a reference to a schema that is not a kind's.
pub(super) fn reference_to(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Returns the schema of an answer that only says that it was done.
pub(super) fn done() -> Value {
    json!({
        "type": "object",
        "properties": {"success": {"type": "boolean"}, "message": {"type": "string"}},
        "required": ["success"],
    })
}

/// Returns the schema of errors.
pub(super) fn error() -> Value {
    json!({
        "type": "object",
        "properties": {
            "error": {"type": "string"},
            "message": {"type": "string"},
            "reason": {"type": "string", "description": "Why the bill stands in the way."},
        },
        "required": ["error", "message"],
    })
}

/// Returns the answers that all operations share.
pub(super) fn responses() -> Value {
    let content = json!({"application/json": {"schema": reference_to("Error")}});
    let number = json!({"schema": {"type": "integer", "minimum": 0}});
    json!({
        "Error": {
            "description": "400 wrong parameters, 401 no key, 402 the balance does not do, 403 not allowed, \
                            404 not there, 409 taken, in use or in the wrong state, 412 paused by the spend \
                            cap, 500 failed, 501 not for this engine, 503 no resources now.",
            "content": content.clone(),
        },
        "Limited": {
            "description": "Too many requests: try again after the time that is said.",
            "headers": {
                "Retry-After": number.clone(),
                "X-RateLimit-Limit": number.clone(),
                "X-RateLimit-Remaining": number,
            },
            "content": content,
        },
    })
}
