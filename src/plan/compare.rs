//! `same`: tells whether two values of a type mean the same, however files, ledger and service wrote
//! them; and the sealing that lets secrets be compared.

use crate::model::address::Name;
use crate::model::schema::{Attribute, Type};
use crate::model::secret::{FingerprintKey, Secret};
use crate::model::value::Value;

/// Tells whether two values of a type mean the same. Nothing at all, an empty text and an empty
/// collection are the same: services write an unset field in any of these ways.
pub(super) fn same(ty: &Type, a: &Value, b: &Value) -> bool {
    a == b || (is_unset(a) && is_unset(b)) || canonical(ty, a) == canonical(ty, b)
}

/// Tells whether a value stands for "not set".
pub(super) fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Text(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(map) => map.is_empty(),
        _ => false,
    }
}

/// Returns a value in the one form in which values of its type are compared: numbers as numbers, ids
/// as text, labels as words, sets sorted and without repetition.
pub(super) fn canonical(ty: &Type, value: &Value) -> Value {
    match (ty, value) {
        (Type::Boolean, Value::Text(text)) => {
            text.parse::<bool>().map_or_else(|_| value.clone(), Value::Bool)
        }
        (Type::Integer { .. }, _) => whole(value),
        (Type::Decimal, _) => {
            value.as_decimal().map_or_else(|| value.clone(), |n| Value::Decimal(n.normalize()))
        }
        (Type::Labelled(words), _) => label(words, value),
        (
            Type::Text { .. } | Type::Enum(_) | Type::Reference(_) | Type::Catalog(_),
            Value::Integer(_) | Value::Decimal(_) | Value::Bool(_),
        ) => Value::text(value.to_string()),
        (Type::List(of), Value::List(items)) => {
            Value::List(items.iter().map(|item| canonical(of, item)).collect())
        }
        (Type::Set { of, .. }, Value::List(items)) => {
            let mut items: Vec<_> = items.iter().map(|item| canonical(of, item)).collect();
            items.sort_by_cached_key(ToString::to_string);
            items.dedup();
            Value::List(items)
        }
        (Type::Map(_) | Type::Record(_), Value::Map(map)) => {
            Value::Map(map.iter().map(|(key, part)| (key.clone(), canonical_part(ty, key, part))).collect())
        }
        _ => value.clone(),
    }
}

/// Returns the type of one key of a map or record.
pub(super) fn part_type(ty: &Type, key: &str) -> Option<&'static Type> {
    match ty {
        Type::Map(of) => Some(of),
        Type::Record(fields) => fields.iter().find(|(name, _)| *name == key).map(|(_, ty)| ty),
        _ => None,
    }
}

fn canonical_part(ty: &Type, key: &str, part: &Value) -> Value {
    part_type(ty, key).map_or_else(|| part.clone(), |ty| canonical(ty, part))
}

fn whole(value: &Value) -> Value {
    let number = value.as_decimal().filter(|n| n.fract().is_zero());
    number.and_then(|n| i64::try_from(n).ok()).map_or_else(|| value.clone(), Value::Integer)
}

fn label(words: &[(&'static str, i64)], value: &Value) -> Value {
    let number = match value {
        Value::Integer(n) => Some(*n),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    };
    let word = words.iter().find(|(_, n)| Some(*n) == number);
    word.map_or_else(|| value.clone(), |(word, _)| Value::text(word))
}

/// Returns a value without the text of its secrets.
pub(super) fn sealed(value: &Value, key: &FingerprintKey) -> Value {
    match value {
        Value::Secret(secret) => Value::Secret(secret.seal(key)),
        Value::List(items) => Value::List(items.iter().map(|item| sealed(item, key)).collect()),
        Value::Map(map) => {
            Value::Map(map.iter().map(|(name, part)| (name.clone(), sealed(part, key))).collect())
        }
        _ => value.clone(),
    }
}

/// Returns a live value with a seal wherever `model` has a secret, so that the two can be compared
/// and none is shown.
#[must_use]
pub fn sealed_like(model: &Value, live: &Value, key: &FingerprintKey) -> Value {
    match (model, live) {
        (_, Value::Secret(secret)) => Value::Secret(secret.seal(key)),
        (Value::Secret(_), Value::Text(text)) => Value::Secret(Secret::new(text.as_str()).seal(key)),
        (Value::Map(models), Value::Map(map)) => {
            let part = |name, part| {
                models.get(name).map_or_else(|| sealed(part, key), |m| sealed_like(m, part, key))
            };
            Value::Map(map.iter().map(|(name, value)| (name.clone(), part(name, value))).collect())
        }
        (Value::List(models), Value::List(items)) if models.len() == items.len() => Value::List(
            models.iter().zip(items).map(|(model, item)| sealed_like(model, item, key)).collect(),
        ),
        _ => live.clone(),
    }
}

/// Returns a live value as far as it may be shown and kept: sealed wherever something that is `known` of it, what
/// is written or what was applied, has a secret, and wherever a private attribute has what none of that knows.
#[must_use]
pub fn shielded(
    attribute: &Attribute,
    known: [Option<&Value>; 2],
    live: &Value,
    key: &FingerprintKey,
) -> Value {
    let all = known.into_iter().flatten();
    let live = all.clone().fold(sealed(live, key), |live, model| sealed_like(model, &live, key));
    let (Value::Map(map), true) = (&live, attribute.private) else { return live };
    let has = |value: &Value, name: &Name| matches!(value, Value::Map(map) if map.contains_key(name));
    let knows = |name: &Name| all.clone().any(|value| has(value, name));
    let part = |(name, part): (&Name, &Value)| {
        (name.clone(), if knows(name) { part.clone() } else { unwritten(attribute, part, key) })
    };
    Value::Map(map.iter().map(part).collect())
}

/// Returns a live value that no block writes, as far as it may be shown.
pub(super) fn unwritten(attribute: &Attribute, live: &Value, key: &FingerprintKey) -> Value {
    match live {
        Value::Text(text) if attribute.private => Value::Secret(Secret::new(text.as_str()).seal(key)),
        _ => sealed(live, key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::Format;

    const TEXT: Type = Type::Text { min: 0, max: 99, format: Format::Any };
    const WHOLE: Type = Type::Integer { min: 0, max: 99, unit: "" };

    fn list(items: &[&str]) -> Value {
        Value::List(items.iter().map(Value::text).collect())
    }

    #[test]
    fn the_same_thing_in_other_words() {
        let set = Type::Set { of: &TEXT, max: 9 };
        let days = Type::Labelled(&[("sunday", 0), ("monday", 1)]);
        for (ty, a, b, equal) in [
            (TEXT, Value::text("16"), Value::Integer(16), true),
            (TEXT, Value::text("16"), Value::Integer(17), false),
            (TEXT, Value::Null, Value::text(""), true),
            (WHOLE, Value::text("40"), Value::Integer(40), true),
            (WHOLE, Value::Null, Value::Integer(0), false),
            (Type::Boolean, Value::text("true"), Value::Bool(true), true),
            (Type::Decimal, Value::text("1.50"), Value::Decimal("1.5".parse().unwrap()), true),
            (days, Value::text("monday"), Value::Integer(1), true),
            (days, Value::text("monday"), Value::text("0"), false),
            (set, list(&["b", "a", "a"]), list(&["a", "b"]), true),
            (Type::List(&TEXT), list(&["b", "a"]), list(&["a", "b"]), false),
            (set, Value::Null, list(&[]), true),
        ] {
            assert_eq!(same(&ty, &a, &b), equal, "{a} {b}");
        }
    }

    #[test]
    fn a_live_text_is_sealed_where_a_secret_is_wanted() {
        let key = FingerprintKey([1; 32]);
        let want = sealed(&Value::Secret(Secret::new("s3cret")), &key);
        assert_eq!(sealed_like(&want, &Value::text("s3cret"), &key), want);
        assert_ne!(sealed_like(&want, &Value::text("other"), &key), want);
    }
}
