//! Values in a group: their text for comparison, and their form with `{key}` for display. The two agree: a key is replaced
//! in strings, names and addresses only, so a number that happens to be a key stays a difference.

use std::borrow::Cow;

use smol_str::SmolStrBuilder;

use super::key_groups::{mark_literal_key, replace_some};
use crate::model::address::{Address, Name};
use crate::model::crypto::hex::encode_hex;
use crate::model::values::value::Value;

/// Bounds of a string in the text of a value. No word is before or after a string, so a key is found in it as in the string.
const BOUNDS: [char; 2] = ['\u{1}', '\u{2}'];

/// Returns a value as text, for comparison: equal values have equal texts, and no others have.
pub(super) fn value_text(value: &Value) -> Name {
    let mut text = SmolStrBuilder::new();
    push_value(value, &mut text);
    text.finish()
}

/// Returns the same for a value in which `{key}` is no key that was replaced.
pub(super) fn literal_value_text(value: &Value) -> Name {
    let text = value_text(value);
    match mark_literal_key(&text) {
        Cow::Owned(marked) => marked.into(),
        Cow::Borrowed(_) => text,
    }
}

fn push_value(value: &Value, into: &mut SmolStrBuilder) {
    match value {
        Value::Text(text) => push_string(text, into),
        Value::List(items) => {
            into.push('[');
            for item in items {
                push_value(item, into);
            }
            into.push(']');
        }
        Value::Map(map) => {
            into.push('{');
            for (name, item) in map {
                push_string(name, into);
                push_value(item, into);
            }
            into.push('}');
        }
        Value::Unknown(unknown) => {
            into.push_str(if unknown.is_secret { "??" } else { "?" });
            for address in &unknown.waits_for {
                push_string(address.as_str(), into);
            }
        }
        // In hexadecimal digits after a letter, it contains no word that could be a key.
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Decimal(_) | Value::Secret(_) => {
            into.push_str(" v");
            into.push_str(&encode_hex(&serde_json::to_vec(value).unwrap_or_default()));
        }
    }
}

fn push_string(text: &str, into: &mut SmolStrBuilder) {
    into.push(BOUNDS[0]);
    for part in text.split_inclusive(BOUNDS) {
        into.push_str(part);
        if let Some(last) = part.chars().next_back().filter(|last| BOUNDS.contains(last)) {
            into.push(last);
        }
    }
    into.push(BOUNDS[1]);
}

/// Returns a value with `{key}` for the occurrences of a key in it that the mask takes, in the order of `value_text`.
pub(super) fn replace_in_value(value: &Value, key: &str, mask: &mut dyn Iterator<Item = bool>) -> Value {
    match value {
        Value::Text(text) => Value::text(replace_some(text, key, mask)),
        Value::List(items) => {
            Value::List(items.iter().map(|item| replace_in_value(item, key, mask)).collect())
        }
        Value::Map(map) => Value::Map(
            map.iter()
                .map(|(name, item)| {
                    (replace_some(name, key, mask).as_ref().into(), replace_in_value(item, key, mask))
                })
                .collect(),
        ),
        Value::Unknown(unknown) => {
            let replaced = unknown.waits_for.iter();
            let replaced =
                replaced.map(|address| unchecked_address(&replace_some(address.as_str(), key, mask)));
            Value::unknown(replaced.collect()).mark_secret(unknown.is_secret)
        }
        other => other.clone(),
    }
}

/// Returns an address for display only, in which `{key}` is a segment.
pub(super) fn unchecked_address(text: &str) -> Address {
    let (first, rest) = text.split_once('.').unwrap_or((text, ""));
    Address::new(first, rest)
}

#[cfg(test)]
mod tests {
    use super::super::key_groups::replace_key;
    use super::*;

    #[test]
    fn a_number_that_is_a_key_stays_a_difference() {
        let text = |value: &Value, key: &str| replace_key(&value_text(value), key).into_owned();
        for (one, other) in [
            (Value::Integer(9000), Value::Integer(3000)),
            (Value::List(vec![Value::Integer(9000)]), Value::List(vec![Value::Integer(3000)])),
            (Value::Decimal("0.9000".parse().unwrap()), Value::Decimal("0.3000".parse().unwrap())),
        ] {
            assert_ne!(text(&one, "9000"), text(&other, "3000"));
            assert_eq!(replace_in_value(&one, "9000", &mut std::iter::repeat(true)), one);
        }
        assert_eq!(text(&Value::text("w-9000"), "9000"), text(&Value::text("w-3000"), "3000"));
        assert_ne!(text(&Value::Bool(true), "true"), text(&Value::Bool(false), "false"));
        assert_ne!(value_text(&Value::text("\u{1}")), value_text(&Value::List(vec![])));
    }
}
