//! Values as documents show them: numbers, secrets as fingerprints, unknowns
//! as what they wait for.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::model::values::value::Value;

/// A decimal that serializes as a JSON number.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline, with = "f64"))]
pub struct JsonDecimal(pub Decimal);

impl Serialize for JsonDecimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_f64() {
            Some(number) => serializer.serialize_f64(number),
            None => serializer.serialize_unit(),
        }
    }
}

/// An attribute's value in its JSON form. A secret becomes `{"secret": true, "fingerprint": …}`, a value known
/// after apply `{"unknown": [address]}`.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(with = "serde_json::Value"))]
pub struct JsonValue<'a>(pub &'a Value);

impl Serialize for JsonValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Decimal(number) => JsonDecimal(*number).serialize(serializer),
            Value::List(items) => serializer.collect_seq(items.iter().map(JsonValue)),
            Value::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, item) in entries {
                    map.serialize_entry(key, &JsonValue(item))?;
                }
                map.end()
            }
            Value::Secret(secret) => secret.to_shown().serialize(serializer),
            other => other.serialize(serializer),
        }
    }
}
