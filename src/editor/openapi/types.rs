//! Converts a `Type` to JSON Schema, for requests and for responses.

use serde_json::{Map, Value, json};

use crate::model::schema::{Attribute, Literal, Presence, TextFormat, Type};

/// Returns a name in upper camel case: `AppDomain` for `app_domain`.
pub(super) fn pascal_case(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map_or_else(String::new, |first| format!("{}{}", first.to_ascii_uppercase(), letters.as_str()))
    };
    name.split('_').map(word).collect()
}

/// Returns the schema of a value in a request.
pub(super) fn request_schema(ty: &Type) -> Value {
    match ty {
        Type::Boolean => json!({"type": "boolean"}),
        Type::Integer { min, max, unit } => integer_schema(*min, *max, unit),
        Type::Decimal => json!({"type": "number"}),
        Type::Text { min, max, format } => text_schema(*min, *max, *format),
        Type::Enum(words) => json!({"type": "string", "enum": words}),
        Type::Labelled(words) => {
            let numbers: Vec<_> = words.iter().map(|(_, number)| number).collect();
            json!({"type": "integer", "enum": numbers, "description": describe_labels(words)})
        }
        Type::Reference(kind) => {
            json!({"type": "string", "format": "uuid", "description": format!("The id of a `{kind}`.")})
        }
        Type::Catalog(table) => {
            let said = format!("The id of a record of the catalog's table `{table}`.");
            json!({"type": ["integer", "string"], "description": said})
        }
        Type::List(of) => json!({"type": "array", "items": request_schema(of)}),
        Type::Set { of, max } => {
            json!({"type": "array", "items": request_schema(of), "maxItems": max, "uniqueItems": true})
        }
        Type::Map(of) => json!({"type": "object", "additionalProperties": request_schema(of)}),
        Type::Record(parts) => {
            let parts: Map<_, _> =
                parts.iter().map(|(name, ty)| ((*name).to_owned(), request_schema(ty))).collect();
            json!({"type": "object", "properties": parts})
        }
    }
}

/// Returns the schema of a value in a response: its type and keywords, but not its limits, which the service checks;
/// `null` or an empty string is allowed for an absent value.
pub(super) fn answer_schema(ty: &Type) -> Value {
    match ty {
        Type::Boolean => json!({"type": ["boolean", "null"]}),
        Type::Integer { .. } | Type::Labelled(_) => json!({"type": ["integer", "null"]}),
        Type::Decimal => json!({"type": ["number", "string", "null"]}),
        Type::Catalog(_) => json!({"type": ["integer", "string", "null"]}),
        Type::Text { .. } | Type::Reference(_) => json!({"type": ["string", "null"]}),
        Type::Enum(words) => {
            let words = words.iter().map(|word| json!(word)).chain([json!(""), Value::Null]);
            json!({"type": ["string", "null"], "enum": words.collect::<Vec<_>>()})
        }
        Type::List(of) | Type::Set { of, .. } => {
            json!({"type": ["array", "null"], "items": answer_schema(of)})
        }
        Type::Map(_) => json!({"type": ["object", "null"]}),
        Type::Record(parts) => {
            let parts: Map<_, _> =
                parts.iter().map(|(name, ty)| ((*name).to_owned(), answer_schema(ty))).collect();
            json!({"type": ["object", "null"], "properties": parts})
        }
    }
}

/// Returns the request fields of an attribute with their schemas. `field` is the name in the API, unless the
/// attribute is a record that is spread over several fields.
pub(super) fn request_fields(attribute: &Attribute, field: &str) -> Vec<(String, Value)> {
    if let Type::Record(parts) = attribute.ty
        && !attribute.spread.is_empty()
    {
        return spread_parts(attribute, parts, request_schema);
    }
    let mut schema = request_schema(&attribute.ty);
    let also = schema["description"].as_str().map(str::to_owned);
    let said = [Some(attribute.summary.to_owned()), also].into_iter().flatten().collect::<Vec<_>>();
    schema["description"] = json!(said.join(" "));
    if let Presence::Default(literal) = attribute.presence
        && literal != Literal::Null
        && !matches!(attribute.ty, Type::Labelled(_))
    {
        schema["default"] = literal_json(literal);
    }
    if matches!(attribute.presence, Presence::WriteOnly) {
        schema["writeOnly"] = json!(true);
    }
    vec![(field.to_owned(), schema)]
}

/// Returns the response fields of an attribute with their schemas.
pub(super) fn answer_fields(attribute: &Attribute) -> Vec<(String, Value)> {
    match attribute.ty {
        Type::Record(parts) if !attribute.spread.is_empty() => {
            spread_parts(attribute, parts, answer_schema)
        }
        ty => {
            let mut schema = answer_schema(&ty);
            schema["description"] = json!(attribute.summary);
            vec![(attribute.returned.to_owned(), schema)]
        }
    }
}

fn spread_parts(
    attribute: &Attribute,
    parts: &[(&'static str, Type)],
    shown: fn(&Type) -> Value,
) -> Vec<(String, Value)> {
    let field = |part: &str| attribute.spread.iter().find(|(name, _)| *name == part).map(|(_, to)| *to);
    parts.iter().filter_map(|(name, ty)| Some((field(name)?.to_owned(), shown(ty)))).collect()
}

/// Allows `null` in a schema; one without a `type` already does.
pub(super) fn or_null(mut schema: Value) -> Value {
    if let Some(types) = schema["type"].as_array_mut() {
        types.push(json!("null"));
    } else if schema["type"].is_string() {
        schema["type"] = json!([schema["type"], "null"]);
    }
    if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        words.push(Value::Null);
    }
    schema
}

/// Returns the schema for the type of a literal, with the literal as the default; any value for null.
pub(super) fn of_literal(literal: Literal) -> Value {
    let ty = match literal {
        Literal::Null => return json!({}),
        Literal::Bool(_) => "boolean",
        Literal::Integer(_) => "integer",
        Literal::Text(_) => "string",
        Literal::Empty => "array",
    };
    json!({"type": ty, "default": literal_json(literal)})
}

fn literal_json(literal: Literal) -> Value {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(value) => json!(value),
        Literal::Integer(value) => json!(value),
        Literal::Text(value) => json!(value),
        Literal::Empty => json!([]),
    }
}

fn integer_schema(min: i64, max: i64, unit: &str) -> Value {
    let mut schema = json!({"type": "integer", "minimum": min});
    if max != i64::MAX {
        schema["maximum"] = json!(max);
    }
    if !unit.is_empty() {
        schema["description"] = json!(format!("In {unit}."));
    }
    schema
}

fn text_schema(min: u16, max: u16, format: TextFormat) -> Value {
    let mut schema = json!({"type": "string", "maxLength": max});
    if min > 0 {
        schema["minLength"] = json!(min);
    }
    let (key, value) = match format {
        TextFormat::Any
        | TextFormat::PathName
        | TextFormat::SshPublicKey
        | TextFormat::Cron
        | TextFormat::TimeZone
        | TextFormat::Directory => {
            return schema;
        }
        TextFormat::Cidr4 | TextFormat::AllowedCidr4 => {
            ("pattern", r"^[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}$")
        }
        TextFormat::DatabaseUser => ("pattern", "^[a-z_][a-z0-9_]*$"),
        TextFormat::HttpPath => ("pattern", "^/"),
        TextFormat::ClockTime => ("pattern", "^([01][0-9]|2[0-3]):[0-5][0-9]$"),
        TextFormat::Domain => ("pattern", r"^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$"),
        TextFormat::Taint => ("pattern", ":(NoSchedule|PreferNoSchedule|NoExecute)$"),
        TextFormat::Timestamp => ("format", "date-time"),
        TextFormat::Email => ("format", "email"),
    };
    schema[key] = json!(value);
    schema
}

fn describe_labels(words: &[(&str, i64)]) -> String {
    let words: Vec<_> = words.iter().map(|(word, number)| format!("{number} is {word}")).collect();
    format!("{}.", words.join(", "))
}
