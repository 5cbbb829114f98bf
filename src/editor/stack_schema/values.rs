//! Schemas of attribute values: literals by type, and references and expressions where the language allows them.
//! They accept all that stead accepts, and reject only what is invalid in each environment.

use serde_json::{Map, Value, json};

use super::vocabulary::{SchemaInputs, closed_map, definition_ref, with_description};
use crate::config::keywords;
use crate::editor::facts;
use crate::model::schema::{Attribute, Literal, Presence, TextFormat, Type};

/// Pattern of a reference at the start of a string, or of an expression anywhere in it.
const COMPUTED: &str = r"^\$[A-Za-z_]|\$\{";
/// Pattern of the accepted notations of an object's id.
const ID: &str = r"^(urn:uuid:|\{)?[0-9A-Fa-f]{8}-?([0-9A-Fa-f]{4}-?){3}[0-9A-Fa-f]{12}\}?$";
/// Limit on the length of a catalog record's name in characters.
const MAX_NAME_CHARS: u16 = 128;

/// Returns the definitions that values share.
pub(super) fn value_definitions() -> Map<String, Value> {
    let computed = json!({
        "type": "string",
        "pattern": COMPUTED,
        "description": "`$path` for a reference, `${…}` for an expression.",
    });
    let reference = json!({
        "type": "string",
        "pattern": ID,
        "description": "The id of an object that this stack does not declare.",
    });
    [("expression".to_owned(), computed), ("id".to_owned(), reference)].into_iter().collect()
}

/// Returns the schema of an attribute, with its description.
pub(super) fn attribute_schema(known: SchemaInputs<'_>, attribute: &Attribute) -> Value {
    let mut forms = literal_forms(known, &attribute.ty);
    if matches!(attribute.presence, Presence::Optional | Presence::Default(_)) {
        forms.push(json!({"type": "null"}));
    }
    forms.push(definition_ref("expression"));
    let mut schema = with_description(json!({"anyOf": forms}), &attribute_description(attribute));
    if let Presence::Default(literal) = attribute.presence
        && literal != Literal::Null
    {
        schema["default"] = default_value(literal);
    }
    schema
}

/// Returns the schema of a value that may be a literal, a reference or an expression.
pub(super) fn value_schema(known: SchemaInputs<'_>, ty: &Type) -> Value {
    let mut forms = literal_forms(known, ty);
    forms.push(definition_ref("expression"));
    json!({"anyOf": forms})
}

fn attribute_description(attribute: &Attribute) -> String {
    let mut words = vec![attribute.summary.to_owned()];
    words.extend(facts::describe_limits(&attribute.ty).map(|limits| format!("Takes {limits}.")));
    words.extend(facts::describe_change(attribute));
    words.join(" ")
}

fn default_value(literal: Literal) -> Value {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(value) => json!(value),
        Literal::Integer(number) => json!(number),
        Literal::Text(text) => json!(text),
        Literal::Empty => json!([]),
    }
}

/// Returns the schemas of the literals of a type.
fn literal_forms(known: SchemaInputs<'_>, ty: &Type) -> Vec<Value> {
    match ty {
        Type::Boolean => vec![json!({"type": "boolean"})],
        Type::Integer { min, max, .. } => vec![integer_form(*min, *max)],
        Type::Decimal => vec![json!({"type": "number"})],
        Type::Text { min, max, format } => vec![text_form(*min, *max, *format)],
        Type::Enum(words) => vec![json!({"enum": words})],
        Type::Labelled(words) => {
            let labels = words.iter().map(|(word, _)| json!(word));
            let numbers = words.iter().map(|(_, number)| json!(number));
            vec![json!({"enum": labels.chain(numbers).collect::<Vec<_>>()})]
        }
        Type::Reference(_) => vec![definition_ref("id")],
        Type::Catalog(table) => catalog_forms(known, table),
        Type::List(of) => vec![json!({"type": "array", "items": value_schema(known, of)})],
        Type::Set { of, max } => {
            vec![json!({"type": "array", "items": value_schema(known, of), "maxItems": max})]
        }
        Type::Map(of) => {
            let of = json!({"anyOf": [value_schema(known, of), {"type": "null"}]});
            let word = &keywords::MAP[0];
            let exclusive =
                with_description(json!({"anyOf": [{"type": "boolean"}, of.clone()]}), word.summary);
            vec![json!({
                "type": "object",
                "properties": {word.name: exclusive},
                "additionalProperties": of,
            })]
        }
        Type::Record(fields) => vec![record_forms(known, fields)],
    }
}

fn record_forms(known: SchemaInputs<'_>, fields: &[(&'static str, Type)]) -> Value {
    let field = |(name, ty): &(&'static str, Type)| {
        let schema = json!({"anyOf": [value_schema(known, ty), {"type": "null"}]});
        let schema = match facts::describe_limits(ty) {
            Some(limits) => with_description(schema, &format!("Takes {limits}.")),
            None => schema,
        };
        ((*name).to_owned(), schema)
    };
    closed_map(fields.iter().map(field).collect(), &[])
}

fn integer_form(min: i64, max: i64) -> Value {
    match max {
        i64::MAX => json!({"type": "integer", "minimum": min}),
        _ => json!({"type": "integer", "minimum": min, "maximum": max}),
    }
}

/// Returns the schema of a string. It may be unquoted, even if YAML reads it as a number: stead converts the source
/// text to the type in the schema tables.
fn text_form(min: u16, max: u16, format: TextFormat) -> Value {
    let mut schema = match format_pattern(format) {
        Some(pattern) => json!({"type": "string", "pattern": pattern}),
        None => json!({"type": ["string", "number", "boolean"]}),
    };
    if min > 0 {
        schema["minLength"] = json!(min);
    }
    schema["maxLength"] = json!(max);
    schema
}

/// Returns a pattern that all strings of a format match, `None` if any string does; stead's own check is stricter.
const fn format_pattern(format: TextFormat) -> Option<&'static str> {
    Some(match format {
        TextFormat::Any
        | TextFormat::PathName
        | TextFormat::Directory
        | TextFormat::Timestamp
        | TextFormat::TimeZone => {
            return None;
        }
        TextFormat::Cidr4 | TextFormat::AllowedCidr4 => r"^[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}$",
        TextFormat::SshPublicKey => r"^\s*(ssh-|ecdsa-sha2-|sk-ssh-|sk-ecdsa-)",
        TextFormat::DatabaseUser => r"^(?!app_|fnb_)[a-z_][a-z0-9_]*$",
        TextFormat::HttpPath => r"^/",
        TextFormat::Cron => r"^\s*\S+(\s+\S+){4}\s*$",
        TextFormat::ClockTime => r"^([01][0-9]|2[0-3]):[0-5][0-9]$",
        TextFormat::Domain => r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$",
        TextFormat::Email => r"^[^@\s]+@[^@\s]*\.[^@\s]*$",
        TextFormat::Taint => r":(NoSchedule|PreferNoSchedule|NoExecute)$",
    })
}

/// Returns the schemas of a catalog name. The known names come first, because editors offer them for
/// completion; any other name or id is valid, too.
fn catalog_forms(known: SchemaInputs<'_>, table: &str) -> Vec<Value> {
    let names = known.slugs.get(table).filter(|names| !names.is_empty());
    let suggested = names.map(|names| json!({"enum": names}));
    let any = json!({
        "type": ["string", "number"],
        "minLength": 1,
        "maxLength": MAX_NAME_CHARS,
        "description": format!("A name or id of the catalog's table {table}."),
    });
    suggested.into_iter().chain([any]).collect()
}
