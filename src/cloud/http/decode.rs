//! Tolerant decoding of responses: JSON, envelopes, pages and `Object`s under the language's names.
//!
//! Missing, additional or retyped fields do no harm; a record without a valid id is an error, because
//! omitting it would mean "gone".

use serde_json::Value as Json;

use super::url_path::{is_id, is_name};
use crate::model::address::Name;
use crate::model::live::snapshot::Object;
use crate::model::schema::meaning::as_written;
use crate::model::schema::{Attribute, Envelope, Kind, TextFormat, Type};
use crate::model::values::secret::Secret;
use crate::model::values::value::{Attributes, Value, ValueMap, parse_decimal};

/// Maximum size of a body, after decompression.
pub const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Maximum nesting of JSON.
const MAX_JSON_DEPTH: usize = 64;

/// Maximum length of a message of the service.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// Minimum number of characters of a mask for a secret.
const MIN_MASK_CHARS: usize = 3;

/// The `error` and `message` of a complete error response, and its `reason`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorText {
    /// The envelope's `error`: a short title.
    pub error: String,
    /// The envelope's `message`: the service's description of the error.
    pub message: String,
    /// The envelope's `reason`; `None` where it has none.
    pub reason: Option<String>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListPage {
    /// The records, without decoding.
    pub rows: Vec<Json>,
    /// The total number of records, where the response has it.
    pub total: Option<u64>,
}

/// Parses a body, bounded in size and depth.
///
/// # Errors
/// What is wrong with it, without its content.
pub fn parse_json(body: &[u8]) -> Result<Json, String> {
    if body.len() > MAX_BODY_BYTES {
        return Err(format!("the answer is larger than {} MiB", MAX_BODY_BYTES >> 20));
    }
    if nesting_depth(body) > MAX_JSON_DEPTH {
        return Err(format!("the answer is nested deeper than {MAX_JSON_DEPTH} levels"));
    }
    serde_json::from_slice(body).map_err(|error| match error.classify() {
        serde_json::error::Category::Eof => "the answer is truncated".to_owned(),
        _ => format!("the answer is not JSON (line {}, column {})", error.line(), error.column()),
    })
}

/// Returns the deepest nesting of brackets outside string literals.
fn nesting_depth(body: &[u8]) -> usize {
    let (mut now, mut most, mut in_text, mut escaped) = (0usize, 0, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                now += 1;
                most = most.max(now);
            }
            b']' | b'}' if !in_text => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// Returns the fields of a complete error envelope.
#[must_use]
pub fn error_text(body: &[u8]) -> Option<ErrorText> {
    let json = parse_json(body).ok()?;
    let text =
        |key: &str| Some(json.get(key)?.as_str()?.chars().take(MAX_MESSAGE_CHARS).collect::<String>());
    Some(ErrorText { error: text("error")?, message: text("message")?, reason: text("reason") })
}

/// Returns whether a 2xx body claims a failure.
#[must_use]
pub fn says_failure(json: &Json) -> bool {
    json.get("success") == Some(&Json::Bool(false))
}

/// Returns the payload: under `data`, otherwise under the endpoint's key, otherwise under the only other key.
#[must_use]
pub fn find_payload(json: &Json, envelope: Envelope) -> Option<&Json> {
    let map = json.as_object()?;
    let named = || map.get(envelope.key()?);
    let only = || {
        let mut others =
            map.iter().filter(|(key, _)| !matches!(key.as_str(), "success" | "message" | "total"));
        others.next().filter(|_| others.next().is_none()).map(|(_, value)| value)
    };
    // No envelope: several fields, and none of those that only envelopes have.
    let bare = || {
        let is_envelope = ["success", "error", "data"].iter().any(|key| map.contains_key(*key));
        (!is_envelope && map.len() > 1).then_some(json)
    };
    map.get("data").or_else(named).or_else(only).or_else(bare).filter(|value| !value.is_null())
}

/// Returns a page of a list. An absent list with an explicit `null` is an empty one.
///
/// # Errors
/// When there is no list in the answer.
pub fn parse_page(json: Json) -> Result<ListPage, String> {
    let total = json.get("total").and_then(as_whole_number);
    let rows = match json {
        Json::Array(rows) => rows,
        Json::Object(mut map) => match take_list(&mut map) {
            Some(rows) => rows,
            None => return Err("the answer holds no list".to_owned()),
        },
        _ => return Err("the answer holds no list".to_owned()),
    };
    Ok(ListPage { rows, total })
}

fn take_list(map: &mut serde_json::Map<String, Json>) -> Option<Vec<Json>> {
    let key = if map.contains_key("data") {
        "data".to_owned()
    } else {
        let mut lists = map.iter().filter(|(_, value)| value.is_array()).map(|(key, _)| key);
        lists.next().filter(|_| lists.next().is_none())?.clone()
    };
    match map.remove(&key)? {
        Json::Array(rows) => Some(rows),
        Json::Null => Some(Vec::new()),
        _ => None,
    }
}

fn as_whole_number(json: &Json) -> Option<u64> {
    json.as_u64().or_else(|| json.as_str()?.parse().ok())
}

/// Returns an object of a kind from its record.
///
/// # Errors
/// When the record is no JSON object or has no legal id.
pub fn parse_object(
    kind: &Kind,
    record: &Json,
    parent: Option<&Name>,
    detailed: bool,
) -> Result<Object, String> {
    let map =
        record.as_object().ok_or_else(|| format!("a {} in the answer is not an object", kind.name))?;
    let id = match kind.api.absent_when {
        // A singleton has no id of its own.
        Some(_) => Some(Name::new_static(kind.name)),
        None => main_id(kind, record),
    };
    let id = id.ok_or_else(|| format!("a {} in the answer has no legal `{}`", kind.name, kind.api.id))?;
    let mut attributes = Attributes::new();
    for attribute in kind.attributes.iter().filter(|attribute| attribute.is_readable()) {
        let value = match attribute.spread {
            [] => match map.get(attribute.returned) {
                Some(json) => attribute_value(attribute, json),
                // A field that a read by id omits is not set, where the table declares that the service omits it.
                None => (detailed && attribute.omitted_when_empty).then_some(Value::Null),
            },
            fields => gather_record(&attribute.ty, fields, map),
        };
        if let Some(value) = value {
            attributes.insert(Name::new_static(attribute.name), value);
        }
    }
    let text = |key: &str| map.get(key).and_then(Json::as_str).filter(|text| text.len() <= 64);
    Ok(Object {
        kind: Name::new_static(kind.name),
        id,
        parent: parent.cloned(),
        project: text("project_id").filter(|id| is_id(id)).map(Name::new),
        created_at: text("created_at").filter(|text| !text.is_empty()).map(Name::new),
        attributes,
        detailed,
    })
}

/// Returns a record whose keys are separate fields; `None` when none of them is set.
fn gather_record(
    ty: &Type,
    fields: &[(&'static str, &str)],
    map: &serde_json::Map<String, Json>,
) -> Option<Value> {
    let Type::Record(types) = ty else { return None };
    let part = |(key, field): &(&'static str, &str)| {
        let (_, ty) = types.iter().find(|(name, _)| name == key)?;
        Some((Name::new_static(key), parse_value(ty, map.get(*field)?)?))
    };
    let found: ValueMap = fields.iter().filter_map(part).collect();
    (!found.is_empty()).then_some(Value::Map(found))
}

/// Returns the secret that the response to a creation shows once.
#[must_use]
pub fn shown_once(kind: &Kind, record: &Json) -> Option<Secret> {
    record.get(kind.shown_once?)?.as_str().map(Secret::new)
}

/// Returns all ids of an object in its record.
pub fn all_ids(kind: &Kind, record: &Json) -> impl Iterator<Item = Name> {
    let fields = std::iter::once(&kind.api.id).chain(kind.api.other_ids);
    fields.filter_map(|field| parse_id(kind, record.get(*field)?))
}

/// Returns the main id of an object: the UUID where a record shows it, in whatever field.
fn main_id(kind: &Kind, record: &Json) -> Option<Name> {
    all_ids(kind, record).find(|id| is_uuid(id)).or_else(|| all_ids(kind, record).next())
}

/// Returns a valid id of a kind; `None` for any other value.
#[must_use]
pub fn parse_id(kind: &Kind, json: &Json) -> Option<Name> {
    let text = match json {
        Json::String(text) => Name::new(text),
        Json::Number(number) => Name::new(number.as_u64()?.to_string()),
        _ => return None,
    };
    // An object whose name does not fit into a path still exists: it is listed, but no request uses its name.
    let legal = if kind.api.id == "id" { is_id(&text) } else { is_name(&text) };
    legal.then_some(text)
}

/// Returns an attribute's value; `Null` where it is not set, and `None` where the response does not show it: an empty
/// field that always has a value, and a masked secret.
fn attribute_value(attribute: &Attribute, json: &Json) -> Option<Value> {
    let value = match parse_value(&attribute.ty, json) {
        Some(Value::Text(text)) if text.is_empty() && !attribute.can_be_empty() => None,
        value => value,
    };
    let Some(value) = value else { return attribute.can_be_empty().then_some(Value::Null) };
    let value = if attribute.secret || attribute.private { strip_mask(value)? } else { value };
    if attribute.read_as.is_empty() {
        return Some(if attribute.secret { as_secret(value) } else { value });
    }
    // A transitional status (`rebooting`) corresponds to no value of the language.
    let live = value.as_text()?;
    attribute.read_as.iter().find(|(from, _)| *from == live).map(|(_, to)| Value::text(to))
}

/// Replaces the masks in a list or map with unknown secrets; `None` when the whole value is a mask.
fn strip_mask(value: Value) -> Option<Value> {
    let masks = |value: &Value| value.as_text().is_some_and(is_mask);
    let part = |part: Value| if masks(&part) { Value::Secret(Secret::Fingerprint(None)) } else { part };
    match value {
        value if masks(&value) => None,
        Value::List(items) => Some(Value::List(items.into_iter().map(part).collect())),
        Value::Map(map) => {
            Some(Value::Map(map.into_iter().map(|(key, value)| (key, part(value))).collect()))
        }
        value => Some(value),
    }
}

/// Returns whether a string is a mask of a secret.
fn is_mask(text: &str) -> bool {
    text.len() >= MIN_MASK_CHARS && text.chars().all(|mark| matches!(mark, '*' | '•'))
}

fn as_secret(value: Value) -> Value {
    match value {
        Value::Text(text) => Value::Secret(Secret::new(text.as_str())),
        other => other,
    }
}

/// Returns a value in the form of its type, and `None` for an unset one; a value that does not fit stays as it is.
#[must_use]
pub fn parse_value(ty: &Type, json: &Json) -> Option<Value> {
    let as_it_came = || Some(Value::from_json(json));
    match (ty, json) {
        (_, Json::Null) => None,
        (Type::Boolean, _) => parse_boolean(json).map(Value::Bool).or_else(as_it_came),
        (Type::Integer { .. }, _) => parse_integer(json).map(Value::Integer).or_else(as_it_came),
        (Type::Decimal, _) => read_decimal(json).map(Value::Decimal).or_else(as_it_came),
        (Type::Reference(_) | Type::Catalog(_), Json::String(text)) if text.is_empty() => None,
        (Type::Text { format: TextFormat::Timestamp, .. }, Json::String(text)) if text.is_empty() => None,
        // An import must be valid, and a plan must show the notation that a user would write.
        (Type::Text { format, .. }, Json::String(written)) => {
            Some(as_written(*format, written).map_or_else(|| text_or_json(json), Value::text))
        }
        (Type::Catalog(_), _) => Some(catalog_id(json)),
        (Type::Labelled(labels), _) => Some(decode_label(labels, json)),
        (Type::Text { .. } | Type::Enum(_) | Type::Reference(_), _) => Some(text_or_json(json)),
        (Type::List(of), Json::Array(items)) => Some(Value::List(parse_values(of, items))),
        (Type::Set { of, .. }, Json::Array(items)) => Some(Value::List(sort_set(parse_values(of, items)))),
        (Type::Map(of), Json::Object(map)) => Some(Value::Map(
            map.iter().filter_map(|(key, json)| Some((Name::new(key), parse_value(of, json)?))).collect(),
        )),
        (Type::Record(fields), Json::Object(map)) => Some(Value::Map(
            fields
                .iter()
                .filter_map(|(key, ty)| Some((Name::new_static(key), parse_value(ty, map.get(*key)?)?)))
                .collect(),
        )),
        (Type::List(_) | Type::Set { .. } | Type::Map(_) | Type::Record(_), _) => as_it_came(),
    }
}

fn parse_values(of: &Type, items: &[Json]) -> Vec<Value> {
    items.iter().filter_map(|item| parse_value(of, item)).collect()
}

/// Sorts a set and removes duplicates.
fn sort_set(mut items: Vec<Value>) -> Vec<Value> {
    items.sort_by_cached_key(ToString::to_string);
    items.dedup();
    items
}

/// Returns a catalog id: a whole number where it is one, even if it is written as text.
#[must_use]
pub fn catalog_id(json: &Json) -> Value {
    match parse_integer(json) {
        Some(n) if json.as_str().is_none_or(|text| text == n.to_string()) => Value::Integer(n),
        _ => Value::from_json(json),
    }
}

fn decode_label(labels: &[(&str, i64)], json: &Json) -> Value {
    let by_number = |n| labels.iter().find(|(_, number)| *number == n).map(|(label, _)| Value::text(label));
    parse_integer(json).and_then(by_number).unwrap_or_else(|| Value::from_json(json))
}

fn text_or_json(json: &Json) -> Value {
    match json {
        Json::Number(number) => Value::text(number.to_string()),
        Json::Bool(b) => Value::text(if *b { "true" } else { "false" }),
        other => Value::from_json(other),
    }
}

fn parse_boolean(json: &Json) -> Option<bool> {
    match json {
        Json::Bool(b) => Some(*b),
        Json::String(text) => text.parse().ok(),
        Json::Number(number) => number.as_u64().filter(|n| *n <= 1).map(|n| n == 1),
        _ => None,
    }
}

fn parse_integer(json: &Json) -> Option<i64> {
    let whole = |n: rust_decimal::Decimal| n.is_integer().then(|| n.normalize().to_string().parse().ok());
    match json {
        Json::Number(n) if n.is_i64() => n.as_i64(),
        Json::Number(_) | Json::String(_) => whole(read_decimal(json)?).flatten(),
        _ => None,
    }
}

fn read_decimal(json: &Json) -> Option<rust_decimal::Decimal> {
    match json {
        Json::Number(number) => parse_decimal(&number.to_string()),
        Json::String(text) if text.len() <= 64 => parse_decimal(text.trim()),
        _ => None,
    }
}

/// Returns whether an id is the UUID, which the service has for every object.
pub(in crate::cloud) fn is_uuid(id: &str) -> bool {
    uuid::Uuid::parse_str(id).is_ok()
}

#[cfg(test)]
mod tests;
