//! `Value`: the value of an attribute, in the configuration, the ledger, the plan and the live object.
//!
//! In: JSON of the service, stored values, results of expressions. Out: request bodies, stored values, texts of
//! reports. Invariant: only a request body contains the text of a secret.

use std::fmt;

use rust_decimal::Decimal;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::derived::comparable_text;
use super::secret::Secret;
use super::value_visitor::ValueVisitor;
use crate::model::address::name_map::NameMap;
use crate::model::address::{Address, Name};
use crate::model::redact::SentSecrets;

/// Attributes by name, under the language's names (`plan`, not `pricing_id`).
pub type Attributes = NameMap<Value>;

/// Values by name, however many: the content of a `Value::Map`.
pub type ValueMap = NameMap<Value>;

/// A value. Numbers are exact; clones share a string; a secret is displayed as `(secret)`; an unknown has the
/// addresses that it depends on.
///
/// In JSON a secret is `{"secret": true, …}` and an unknown `{"unknown": ["vm.web"]}`, with `"secret": true` where it will
/// contain one.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// Reset to the API's default (in the configuration); not set (in a live object).
    #[default]
    Null,
    /// A boolean, `true` or `false`.
    Bool(bool),
    /// A whole number, signed, of 64 bits.
    Integer(i64),
    /// An exact decimal, such as a price.
    Decimal(Decimal),
    /// A string, shared between clones.
    Text(Name),
    /// A list, or a set in canonical (sorted) order.
    List(Vec<Value>),
    /// A map with string keys, sorted by key.
    Map(ValueMap),
    /// A secret: no output contains its text.
    Secret(Secret),
    /// Unknown until some resources exist ("known after apply").
    Unknown(Box<UnknownValue>),
}

/// What is known of an unknown value.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnknownValue {
    /// The resources that must exist first. Empty where no resource is the cause.
    pub waits_for: Vec<Address>,
    /// Whether the value will be a secret, or contain one.
    pub is_secret: bool,
}

impl Value {
    /// Returns a value that is unknown until these resources exist.
    #[must_use]
    pub fn unknown(waits_for: Vec<Address>) -> Self {
        Self::Unknown(Box::new(UnknownValue { waits_for, is_secret: false }))
    }

    /// Returns the value; one that is unknown as a secret one, if it `is_secret`.
    #[must_use]
    pub fn mark_secret(mut self, is_secret: bool) -> Self {
        if let Self::Unknown(unknown) = &mut self {
            unknown.is_secret |= is_secret;
        }
        self
    }

    /// Returns whether the value, or a part of it, is a secret, or will be one when it is known.
    #[must_use]
    pub fn hides_secret(&self) -> bool {
        self.is_secret() || self.any(&|value| matches!(value, Self::Unknown(one) if one.is_secret))
    }

    /// Returns a value that is this string.
    #[must_use]
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::Text(Name::new(text))
    }

    /// Returns the string of a `Text`; `None` for any other value, also for a secret.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number of an `Integer`; `None` for any other value, also for a decimal or a string of digits.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(n) => Some(*n),
            _ => None,
        }
    }

    /// Returns any number as a decimal, also the number that a string represents; `None` for any other value.
    #[must_use]
    pub fn as_decimal(&self) -> Option<Decimal> {
        match self {
            Self::Integer(n) => Some(Decimal::from(*n)),
            Self::Decimal(n) => Some(*n),
            Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// Returns the value of a `Bool`; `None` for any other value, also for the string `true`.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// Returns whether the value, or a part of it, is unknown.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.any(&|value| matches!(value, Self::Unknown(_)))
    }

    /// Returns whether the value, or a part of it, is a secret.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.any(&|value| matches!(value, Self::Secret(_)))
    }

    /// Returns the value with each of its secrets replaced.
    #[must_use]
    pub fn map_secrets(&self, replace: &impl Fn(&Secret) -> Secret) -> Self {
        match self {
            Self::Secret(secret) => Self::Secret(replace(secret)),
            Self::List(items) => Self::List(items.iter().map(|item| item.map_secrets(replace)).collect()),
            Self::Map(map) => Self::Map(
                map.iter().map(|(name, part)| (name.clone(), part.map_secrets(replace))).collect(),
            ),
            other => other.clone(),
        }
    }

    /// Makes a secret of every string at a position where one of `models` has a secret: nothing else marks a string of
    /// the service as secret. The service may order and fill lists differently: in a list with a secret, every string
    /// becomes secret that is not among the plain strings of the models, or that `is` one of their secrets.
    #[must_use]
    pub fn with_secrets_like(self, models: &[&Self], is: &impl Fn(&Secret, &str) -> bool) -> Self {
        self.veiled_at(models, false, is)
    }

    fn veiled_at<'m>(self, models: &[&'m Self], listed: bool, is: &impl Fn(&Secret, &str) -> bool) -> Self {
        let is_derived = |model: &&&'m Self| matches!(model, Self::Secret(Secret::Derived(_)));
        let is_text = matches!(self, Self::Text(_) | Self::Secret(_) | Self::Unknown(_));
        // In a value computed from secrets, the keys, the numbers and whether it is set are secret, too.
        if !listed && !is_text && models.iter().any(|model| is_derived(&model)) {
            return Self::Secret(Secret::new(comparable_text(&self)));
        }
        match self {
            Self::Text(text) => {
                let mut secrets = models.iter().filter_map(|model| match model {
                    Self::Secret(secret) => Some(secret),
                    _ => None,
                });
                let plain = listed && models.iter().any(|model| model.as_text() == Some(text.as_str()));
                match secrets.find(|secret| !plain || is(secret, &text)) {
                    Some(Secret::Derived(derived)) => {
                        Self::Secret(Secret::applied_as(text.as_str(), derived))
                    }
                    Some(_) => Self::Secret(Secret::new(text.as_str())),
                    None => Self::Text(text),
                }
            }
            Self::Map(map) => {
                let part = |(name, part): (Name, Self)| {
                    let at = |model: &&'m Self| match model {
                        Self::Map(map) => map.get(&name),
                        _ => None,
                    };
                    let models: Vec<_> = models.iter().filter_map(at).collect();
                    let part = part.veiled_at(&models, listed, is);
                    (name, part)
                };
                Self::Map(map.into_iter().map(part).collect())
            }
            Self::List(items) => {
                let lists = models.iter().filter_map(|model| match model {
                    Self::List(items) => Some(items),
                    _ => None,
                });
                let models: Vec<_> = lists.flatten().collect();
                Self::List(items.into_iter().map(|item| item.veiled_at(&models, true, is)).collect())
            }
            value => value,
        }
    }

    /// Returns whether the value, or a part of it, is a stored secret without a fingerprint: it cannot be compared.
    #[must_use]
    pub fn lacks_fingerprint(&self) -> bool {
        self.any(&|value| matches!(value, Self::Secret(Secret::Fingerprint(None))))
    }

    /// Returns whether the value, or a part of it, is a secret with a fingerprint of 16 digits,
    /// which an earlier version recorded.
    #[must_use]
    pub fn has_legacy_fingerprint(&self) -> bool {
        self.any(&|value| matches!(value, Self::Secret(secret) if secret.has_legacy_fingerprint()))
    }

    /// Returns the resources on which the unknown parts of the value depend; sorted, without duplicates. Empty
    /// for a known value.
    #[must_use]
    pub fn waits_for(&self) -> Vec<Address> {
        fn collect_addresses(value: &Value, into: &mut Vec<Address>) {
            match value {
                Value::Unknown(unknown) => into.extend(unknown.waits_for.iter().cloned()),
                Value::List(items) => items.iter().for_each(|item| collect_addresses(item, into)),
                Value::Map(map) => map.values().for_each(|item| collect_addresses(item, into)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        collect_addresses(self, &mut found);
        found.sort();
        found.dedup();
        found
    }

    /// Returns the plaintext of a computed secret, for the one request that needs it. Any other value stays as it is: a
    /// plain secret, a computed one without a value in this run, and a list or map that contains one.
    #[must_use]
    pub fn expose_secrets(&self) -> std::borrow::Cow<'_, Self> {
        match self {
            Self::Secret(Secret::Derived(derived)) => {
                derived.expose().map_or(std::borrow::Cow::Borrowed(self), std::borrow::Cow::Owned)
            }
            value => std::borrow::Cow::Borrowed(value),
        }
    }

    /// Passes every string of the value to `take`, keys included; secrets are left out.
    fn visit_texts(&self, take: &mut impl FnMut(&str)) {
        match self {
            Self::Text(text) => take(text),
            Self::List(items) => items.iter().for_each(|item| item.visit_texts(take)),
            Self::Map(map) => map.iter().for_each(|(key, part)| {
                take(key);
                part.visit_texts(take);
            }),
            _ => {}
        }
    }

    /// Returns whether the value, or a part of it, was computed from secrets.
    #[must_use]
    pub fn is_derived(&self) -> bool {
        self.any(&|value| matches!(value, Self::Secret(Secret::Derived(_))))
    }

    /// Returns the sort key for the elements of a set: all secrets are displayed alike, so stored ones
    /// sort by their fingerprints.
    #[must_use]
    pub fn sort_key(&self) -> (String, Option<Name>) {
        let fingerprint = match self {
            Self::Secret(Secret::Fingerprint(fingerprint)) => fingerprint.clone(),
            Self::Secret(Secret::Derived(derived)) => derived.sealed_id().cloned(),
            _ => None,
        };
        (self.to_string(), fingerprint)
    }

    /// Returns the name of the type for messages, with its article.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) => "a whole number",
            Self::Decimal(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
            Self::Secret(_) => "a secret",
            Self::Unknown(_) => "a value that is not known yet",
        }
    }

    /// Returns whether the value, or a part of it, passes a test.
    pub fn any(&self, test: &impl Fn(&Value) -> bool) -> bool {
        test(self)
            || match self {
                Self::List(items) => items.iter().any(|item| item.any(test)),
                Self::Map(map) => map.values().any(|item| item.any(test)),
                _ => false,
            }
    }

    /// Returns the value of a JSON document, such as a live object or a catalog record.
    ///
    /// Markers are not recognized: a map that looks like a secret or an unknown stays a map, because the service could
    /// otherwise insert one. A number that no decimal can represent becomes a string.
    #[must_use]
    pub fn from_json(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(b) => Self::Bool(*b),
            serde_json::Value::Number(n) => match n.as_i64() {
                Some(n) => Self::Integer(n),
                None => {
                    parse_decimal(&n.to_string()).map_or_else(|| Self::text(n.to_string()), Self::Decimal)
                }
            },
            serde_json::Value::String(text) => Self::text(text),
            serde_json::Value::Array(items) => Self::List(items.iter().map(Self::from_json).collect()),
            serde_json::Value::Object(map) => {
                Self::Map(map.iter().map(|(k, v)| (Name::new(k), Self::from_json(v))).collect())
            }
        }
    }

    /// Returns the value with its strings redacted, for display only. Keys and secrets stay as they are.
    #[must_use]
    pub fn to_redacted(&self, redact: &dyn Fn(&str) -> String) -> Self {
        match self {
            Self::Text(text) => Self::text(redact(text)),
            Self::List(items) => Self::List(items.iter().map(|item| item.to_redacted(redact)).collect()),
            Self::Map(map) => {
                let parts = map.iter();
                Self::Map(parts.map(|(name, part)| (name.clone(), part.to_redacted(redact))).collect())
            }
            other => other.clone(),
        }
    }

    /// Passes the plaintext of every secret in the value to `see`. A secret without a text in this run is left
    /// out, as is a computed value that is not a string.
    pub fn each_secret(&self, see: &mut dyn FnMut(&str)) {
        match self {
            Self::Secret(secret) => secret.expose().into_iter().for_each(see),
            Self::List(items) => items.iter().for_each(|item| item.each_secret(see)),
            Self::Map(map) => map.values().for_each(|part| part.each_secret(see)),
            _ => {}
        }
    }

    /// Returns the JSON of a value without secrets; `None` when a part of it is a secret or unknown.
    #[must_use]
    pub fn to_wire(&self) -> Option<serde_json::Value> {
        let mut secrets = SentSecrets::default();
        self.to_body(&mut secrets).filter(|_| secrets.is_empty())
    }

    /// Returns the JSON of a request body. Secrets are written as plaintext and added to `secrets`, so that a response
    /// that repeats one is recognized; a decimal becomes the nearest JSON number. `None` when a secret has no text or a
    /// part is unknown, because such a value must never be sent.
    #[must_use]
    pub fn to_body(&self, secrets: &mut SentSecrets) -> Option<serde_json::Value> {
        Some(match self {
            Self::Null => serde_json::Value::Null,
            Self::Bool(b) => (*b).into(),
            Self::Integer(n) => (*n).into(),
            Self::Decimal(n) => serde_json::Number::from_f64(n.to_string().parse().ok()?)?.into(),
            Self::Text(text) => text.as_str().into(),
            Self::List(items) => {
                items.iter().map(|item| item.to_body(secrets)).collect::<Option<Vec<_>>>()?.into()
            }
            Self::Map(map) => serde_json::Value::Object(
                map.iter()
                    .map(|(k, v)| Some((k.to_string(), v.to_body(secrets)?)))
                    .collect::<Option<serde_json::Map<_, _>>>()?,
            ),
            Self::Secret(Secret::Derived(derived)) => {
                let value = derived.expose()?;
                value.visit_texts(&mut |text| secrets.push(text));
                value.to_body(secrets)?
            }
            Self::Secret(secret) => {
                let text = secret.expose()?;
                secrets.push(text);
                text.into()
            }
            Self::Unknown(_) => return None,
        })
    }
}

/// Returns attributes with their strings redacted, for display only. Names and secrets stay as they are.
#[must_use]
pub fn redact_attributes(attributes: &Attributes, redact: &dyn Fn(&str) -> String) -> Attributes {
    attributes.iter().map(|(name, value)| (name.clone(), value.to_redacted(redact))).collect()
}

/// Parses a decimal in plain or scientific notation; `None` for any other string, and for a number out of range.
#[must_use]
pub fn parse_decimal(text: &str) -> Option<Decimal> {
    text.parse().ok().or_else(|| Decimal::from_scientific(text).ok())
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Self {
        Self::Integer(n)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl fmt::Display for Value {
    /// Writes the value in the plan's notation; strings are neither quoted nor escaped. Escaping is the
    /// task of the report.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(b) => write!(f, "{b}"),
            Self::Integer(n) => write!(f, "{n}"),
            Self::Decimal(n) => write!(f, "{n}"),
            Self::Text(text) => f.write_str(text),
            Self::Secret(_) => f.write_str("(secret)"),
            Self::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Self::Map(map) => {
                f.write_str("{")?;
                for (i, (key, item)) in map.iter().enumerate() {
                    write!(f, "{}{key}: {item}", if i == 0 { " " } else { ", " })?;
                }
                f.write_str(" }")
            }
            Self::Unknown(unknown) => {
                let names: Vec<_> = unknown.waits_for.iter().map(Address::as_str).collect();
                write!(f, "(known once {} is applied)", names.join(", "))
            }
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(b) => serializer.serialize_bool(*b),
            Self::Integer(n) => serializer.serialize_i64(*n),
            Self::Decimal(n) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("decimal", &n.to_string())?;
                map.end()
            }
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Self::Map(map) => serializer.collect_map(map),
            Self::Secret(secret) => secret.serialize(serializer),
            Self::Unknown(unknown) => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("unknown", &unknown.waits_for)?;
                if unknown.is_secret {
                    map.serialize_entry("secret", &true)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

#[cfg(test)]
mod tests;
