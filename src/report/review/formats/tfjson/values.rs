//! Values in the form of Terraform's JSON: a secret is null and sensitive, an unknown part is left out and marked.

use serde_json::{Map, Value as Json, json};

use crate::model::values::value::{Attributes, Value};
use crate::report::json::JsonValue;

/// A value, or all attributes of an object, with the marks of its unknown and of its sensitive parts.
#[derive(Debug, Clone)]
pub(super) struct TerraformValue {
    pub(super) value: Json,
    /// `true`, or a tree of the unknown parts; `None` if all of it is known.
    unknown: Option<Json>,
    /// `true`, or a tree of the sensitive parts; `None` if none of it is.
    sensitive: Option<Json>,
}

impl TerraformValue {
    /// Returns a single value.
    pub(super) fn new(value: &Value) -> Self {
        Self { value: plain(value), unknown: marks(value, is_unknown), sensitive: marks(value, is_secret) }
    }

    /// Returns an object. An unknown attribute is absent.
    pub(super) fn of_object(attributes: &Attributes) -> Self {
        let known = attributes.iter().filter(|(_, value)| !is_unknown(value));
        let tree = |test: fn(&Value) -> bool| {
            let marked = attributes.iter();
            let marked = marked.filter_map(|(name, value)| Some((name.to_string(), marks(value, test)?)));
            Some(Json::Object(marked.collect()))
        };
        Self {
            value: Json::Object(known.map(|(name, value)| (name.to_string(), plain(value))).collect()),
            unknown: tree(is_unknown),
            sensitive: tree(is_secret),
        }
    }

    /// Returns what is there if there is no object.
    pub(super) fn absent() -> Self {
        Self { value: Json::Null, unknown: None, sensitive: None }
    }

    /// Returns the marks of the unknown parts.
    pub(super) fn unknown(&self) -> Json {
        self.unknown.clone().unwrap_or(Json::Bool(false))
    }

    /// Returns the marks of the sensitive parts.
    pub(super) fn sensitive(&self) -> Json {
        self.sensitive.clone().unwrap_or(Json::Bool(false))
    }

    pub(super) fn is_sensitive(&self) -> bool {
        self.sensitive.is_some()
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.unknown.is_some()
    }
}

fn is_unknown(value: &Value) -> bool {
    matches!(value, Value::Unknown(_))
}

fn is_secret(value: &Value) -> bool {
    match value {
        Value::Secret(_) => true,
        Value::Unknown(unknown) => unknown.is_secret,
        _ => false,
    }
}

/// Returns the JSON of a value; unknown parts of a map are absent, all others and secrets are null.
fn plain(value: &Value) -> Json {
    match value {
        Value::Secret(_) | Value::Unknown(_) => Json::Null,
        Value::List(items) => Json::Array(items.iter().map(plain).collect()),
        Value::Map(map) => {
            let known = map.iter().filter(|(_, part)| !is_unknown(part));
            Json::Object(known.map(|(name, part)| (name.to_string(), plain(part))).collect())
        }
        other => serde_json::to_value(JsonValue(other)).unwrap_or(Json::Null),
    }
}

/// Returns `true` for a value that passes the test, the tree of the parts that do, or `None`.
fn marks(value: &Value, test: fn(&Value) -> bool) -> Option<Json> {
    match value {
        value if test(value) => Some(Json::Bool(true)),
        Value::List(items) => {
            let all: Vec<Option<Json>> = items.iter().map(|item| marks(item, test)).collect();
            let marked = all.iter().any(Option::is_some);
            marked.then(|| all.into_iter().map(|one| one.unwrap_or(Json::Bool(false))).collect())
        }
        Value::Map(map) => {
            let found = map.iter();
            let found: Map<String, Json> =
                found.filter_map(|(name, part)| Some((name.to_string(), marks(part, test)?))).collect();
            (!found.is_empty()).then_some(Json::Object(found))
        }
        _ => None,
    }
}

/// Returns the type of a value in Terraform's JSON form; `None` for null, whose type is not known.
pub(super) fn value_type(value: &Json) -> Option<Json> {
    match value {
        Json::Null => None,
        Json::Bool(_) => Some("bool".into()),
        Json::Number(_) => Some("number".into()),
        Json::String(_) => Some("string".into()),
        Json::Array(items) => {
            let parts: Vec<Json> = items.iter().map(part_type).collect();
            Some(json!(["tuple", parts]))
        }
        Json::Object(map) => {
            let parts: Map<String, Json> =
                map.iter().map(|(name, part)| (name.clone(), part_type(part))).collect();
            Some(json!(["object", parts]))
        }
    }
}

fn part_type(value: &Json) -> Json {
    value_type(value).unwrap_or_else(|| "dynamic".into())
}
