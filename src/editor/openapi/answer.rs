//! Response schemas: the records of kinds, the envelopes around them ("Conventions"), and errors.

use serde_json::{Map, Value, json};

use super::shapes::Payload;
use super::types;
use crate::model::schema::{Action, Endpoint, Kind, Presence, Provenance, ResponseShape, Type};

/// Returns the schema of a kind's record in responses. Only fields that each response has are required.
pub(super) fn record_schema(kind: &Kind) -> Value {
    let mut fields = Map::new();
    let mut required = Vec::new();
    if kind.api.id == "id" && kind.api.absent_when.is_none() {
        fields.insert("id".to_owned(), json!({"type": "string", "format": "uuid"}));
        required.push("id");
    }
    for attribute in kind.attributes.iter().filter(|attribute| attribute.is_readable()) {
        // Another attribute represents the same field.
        if !attribute.read_as.is_empty() {
            continue;
        }
        let said = attribute.provenance == Provenance::Documented && attribute.spread.is_empty();
        if attribute.listed
            && !attribute.omitted_when_empty
            && (attribute.presence == Presence::Required || said)
        {
            required.push(attribute.returned);
        }
        for (field, schema) in types::answer_fields(attribute) {
            fields.entry(field).or_insert(schema);
        }
    }
    for (field, ty) in kind.other_fields {
        fields.entry(*field).or_insert_with(|| types::answer_schema(ty));
    }
    json!({"type": "object", "description": kind.summary, "properties": fields, "required": required})
}

/// Returns the schema of the record in a create response; `None` unless that shows a secret once.
pub(super) fn shown_once_schema(kind: &Kind) -> Option<Value> {
    let mut schema = record_schema(kind);
    schema["properties"][kind.shown_once?] = json!({"type": "string", "description": "Shown once."});
    Some(schema)
}

/// Returns the schema of a response that the kinds' tables do not describe; `object` is a reference to the
/// record of the endpoint's kind.
pub(super) fn payload_schema(payload: Payload, object: &Value) -> Value {
    let of = |fields: &[(&str, Type)]| {
        let names: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
        let properties: Map<_, _> =
            fields.iter().map(|(name, ty)| ((*name).to_owned(), types::answer_schema(ty))).collect();
        json!({"type": "object", "properties": properties, "required": names})
    };
    match payload {
        Payload::Flat(fields) => {
            let mut schema = done_schema();
            for (name, ty) in fields {
                schema["properties"][*name] = types::answer_schema(ty);
            }
            schema
        }
        Payload::Record(key, fields) => keyed_envelope(key, &of(fields), true),
        Payload::Rows(fields) => list_envelope(&of(fields)),
        Payload::Texts => list_envelope(&json!({"type": "string"})),
        Payload::Object => keyed_envelope("data", object, true),
        Payload::RowsBeside(fields, key, beside) => {
            let mut schema = list_envelope(&of(fields));
            schema["properties"][key] = of(beside);
            schema
        }
    }
}

/// Returns a reference to the schema of a kind's record.
pub(super) fn record_reference(kind: &Kind) -> Value {
    json!({"$ref": format!("#/components/schemas/{}", types::pascal_case(kind.name))})
}

/// Returns the schema of the envelope for one record.
pub(super) fn keyed_envelope(key: &str, record: &Value, required: bool) -> Value {
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

/// Returns the schema of the envelope for a list.
pub(super) fn list_envelope(record: &Value) -> Value {
    json!({
        "type": "object",
        "properties": {
            "data": {"type": "array", "items": record},
            "total": {"type": "integer", "minimum": 0},
        },
        "required": ["data", "total"],
    })
}

/// Returns the response schema of an endpoint that returns the current object, or no data.
pub(super) fn object_answer(kind: &Kind, endpoint: &Endpoint, required: bool) -> Value {
    match endpoint.envelope.key() {
        Some(key) => keyed_envelope(key, &record_reference(kind), required),
        None => reference_to("Done"),
    }
}

/// Returns the response schema of a create request, including a secret that it shows once.
pub(super) fn creation_answer(kind: &Kind) -> Value {
    let create = &kind.api.create;
    match (kind.shown_once, create.envelope.key()) {
        (Some(_), Some(key)) => {
            keyed_envelope(key, &reference_to(&super::schema_names::shown_once_schema_name(kind)), true)
        }
        _ => object_answer(kind, create, true),
    }
}

/// Returns the response schema of an action.
pub(super) fn of_action(kind: &Kind, action: &Action, endpoint: &Endpoint) -> Value {
    let key = endpoint.envelope.key().unwrap_or("data");
    let of = |schema: &Value| keyed_envelope(key, schema, true);
    match action.answer {
        ResponseShape::Empty => reference_to("Done"),
        ResponseShape::Object => object_answer(kind, endpoint, true),
        // The fields of an upload grant are beside `success`, without an envelope of their own.
        ResponseShape::Record(_) => keyed_envelope(key, &json!({"type": "object"}), false),
        // The response is a list, or an object that contains one.
        ResponseShape::Rows(_) => of(&json!({"type": ["array", "object"]})),
        ResponseShape::Feed { id, .. } => list_envelope(&json!({"type": "object", "required": [id]})),
        ResponseShape::QueryResult => of(&json!({
            "type": "object",
            "properties": {
                "columns": {"type": "array", "items": {"type": "string"}},
                "rows": {"type": "array", "items": {"type": "array"}},
                "row_count": {"type": "integer"},
                "truncated": {"type": "boolean"},
            },
            "required": ["columns", "rows"],
        })),
        ResponseShape::Document { field, .. } => of(&json!({
            "type": "object",
            "properties": {field: {"type": "string"}},
            "required": [field],
        })),
    }
}

/// Returns a reference to a schema other than that of a kind.
pub(super) fn reference_to(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Returns the schema of a response without data.
pub(super) fn done_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"success": {"type": "boolean"}, "message": {"type": "string"}},
        "required": ["success"],
    })
}

/// Returns the schema of error responses.
pub(super) fn error_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "error": {"type": "string"},
            "message": {"type": "string"},
            "reason": {"type": "string", "description": "The billing reason of the refusal."},
        },
        "required": ["error", "message"],
    })
}

/// Meaning of each error status; the status is also the name of the shared response.
pub(super) const ERROR_STATUSES: &[(&str, &str)] = &[
    ("400", "The parameters are wrong; the message names what to change."),
    ("401", "There is no key, or it is not valid."),
    ("402", "Payment is required: the balance does not suffice, or there is no card to charge."),
    ("403", "Access is denied, or the account failed billing validation; then `reason` says why."),
    ("404", "There is no such object."),
    ("409", "The name or domain is taken, or the object is in use or in the wrong state."),
    ("412", "Apps are paused because of the spend cap."),
    ("500", "The service failed."),
    ("501", "The database's engine does not have this operation."),
    ("503", "There are no resources for it now."),
];

/// Returns the shared responses: errors by status, and `Limited`.
pub(super) fn shared_responses() -> Value {
    let content = json!({"application/json": {"schema": reference_to("Error")}});
    let number = json!({"schema": {"type": "integer", "minimum": 0}});
    let mut responses: Map<_, _> = ERROR_STATUSES
        .iter()
        .map(|(status, says)| {
            (format!("Refused{status}"), json!({"description": says, "content": content.clone()}))
        })
        .collect();
    let limited = json!({
        "description": "Too many requests: try again after the stated time.",
        "headers": {
            "Retry-After": number.clone(),
            "X-RateLimit-Limit": number.clone(),
            "X-RateLimit-Remaining": number,
        },
        "content": content,
    });
    responses.insert("Limited".to_owned(), limited);
    Value::Object(responses)
}
