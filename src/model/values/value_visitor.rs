//! `ValueVisitor`: reads a value of a ledger or a plan, in the forms that the value's `Serialize` writes.
//!
//! A map that has the form of a marker is read as a secret, a decimal or an unknown; any other map stays a map. JSON of
//! the service is not read here but by `Value::from_json`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, MapAccess, SeqAccess, Visitor};

use super::secret::{COMPUTED_FORM, SecretMarker};
use super::value::{Value, ValueMap, parse_decimal};
use crate::model::address::{Address, Name};

pub(super) struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
        Ok(Value::Integer(n))
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Value, E> {
        // `COMPUTED_FORM` is the `form` of a computed value and exceeds an `i64`. `parse_marker` needs only the key.
        if n == COMPUTED_FORM {
            return Ok(Value::Null);
        }
        i64::try_from(n).map(Value::Integer).map_err(|_| E::custom("a whole number out of range"))
    }

    fn visit_f64<E: de::Error>(self, n: f64) -> Result<Value, E> {
        parse_decimal(&n.to_string()).map(Value::Decimal).ok_or_else(|| E::custom("a number out of range"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry::<Name, Value>()? {
            entries.push(entry);
        }
        let map = ValueMap::from(entries);
        Ok(parse_marker(&map).unwrap_or(Value::Map(map)))
    }
}

/// Reads what an unknown value waits for.
fn parse_unknown(map: &ValueMap, is_secret: bool) -> Option<Value> {
    let Some(Value::List(items)) = map.get("unknown") else { return None };
    let addresses: Option<Vec<_>> = items.iter().map(|item| Address::parse(item.as_text()?).ok()).collect();
    Some(Value::unknown(addresses?).mark_secret(is_secret))
}

/// Reads the three marker forms that `Serialize` writes: secret, decimal and unknown. `None` for an ordinary map.
fn parse_marker(map: &ValueMap) -> Option<Value> {
    if let Some(Value::Bool(true)) = map.get("secret") {
        if map.len() == 2 && map.contains_key("unknown") {
            return parse_unknown(map, true);
        }
        let known =
            |key: &Name| ["secret", "fingerprint", "derived", "form", "inputs"].contains(&key.as_str());
        let text = |key: &str| match map.get(key) {
            None => Some(None),
            Some(Value::Text(text)) => Some(Some(text.clone())),
            Some(_) => None,
        };
        let inputs = match map.get("inputs") {
            None => BTreeMap::new(),
            Some(Value::Map(inputs)) => {
                let input =
                    |(name, print): (&Name, &Value)| Some((name.clone(), Name::new(print.as_text()?)));
                inputs.iter().map(input).collect::<Option<_>>()?
            }
            Some(_) => return None,
        };
        let marker = SecretMarker {
            secret: true,
            fingerprint: text("fingerprint")?,
            derived: text("derived")?,
            form: None,
            inputs,
        };
        return map.keys().all(known).then(|| Value::Secret(marker.into()));
    }
    if map.len() != 1 {
        return None;
    }
    if let Some(Value::Text(text)) = map.get("decimal") {
        return parse_decimal(text).map(Value::Decimal);
    }
    parse_unknown(map, false)
}
