//! Equality of values by their type: plan, apply, refresh and ledger use the same functions to decide whether two
//! values are the same. In: a type, or an attribute, and two values in the notation of files, ledger or service. Out:
//! whether they are equivalent, or a normalized form.
//!
//! Invariant: `to_canonical` leaves strings as the user writes them, so its result may be sent. `to_comparable`
//! rewrites them and is for comparison only.

use core::net::Ipv4Addr;
use std::borrow::Cow;

use ipnet::Ipv4Net;
use jiff::Timestamp;

use super::{Attribute, Presence, TextFormat, Type};
use crate::model::values::value::Value;

/// Returns whether two values of a type mean the same. Null, an empty string and an empty collection are the same:
/// services write an unset field in any of these ways.
#[must_use]
pub fn are_equivalent(ty: &Type, a: &Value, b: &Value) -> bool {
    if a == b || (is_unset(a) && is_unset(b)) {
        return true;
    }
    match (parse_instant(ty, a), parse_instant(ty, b)) {
        (Some(one), Some(other)) => is_same_instant(one, other),
        _ => to_comparable(ty, a) == to_comparable(ty, b),
    }
}

/// Returns whether two values of an attribute mean the same: null means the default, where there is one.
#[must_use]
pub fn same_of(attribute: &Attribute, a: &Value, b: &Value) -> bool {
    are_equivalent(&attribute.ty, &or_default(attribute, a), &or_default(attribute, b))
}

/// Returns the default where the value is unset and the attribute has one; otherwise the value.
#[must_use]
pub fn or_default(attribute: &Attribute, value: &Value) -> Value {
    match (attribute.presence, value) {
        (Presence::Default(literal), Value::Null) => literal.value(),
        (_, value) => value.clone(),
    }
}

/// Returns whether a value means "not set": null, an empty string, an empty list or an empty map.
#[must_use]
pub fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Text(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(map) => map.is_empty(),
        _ => false,
    }
}

/// Returns a value for use in a sentence: in backticks, or the word for an unset one.
#[must_use]
pub fn in_words(value: &Value) -> String {
    if is_unset(value) { "nothing".to_owned() } else { format!("`{value}`") }
}

/// Returns a value in the form in which its type writes it: numbers as numbers, ids as strings, labels as words, sets
/// sorted and without duplicates. Strings and values that do not fit the type stay as they are: this may be sent.
#[must_use]
pub fn to_canonical(ty: &Type, value: &Value) -> Value {
    rewrite_value(ty, value, &|_, _| None)
}

/// Returns the form in which values of a type are compared: that of `to_canonical`, with strings normalized by their
/// format. Times lose their fraction of a second.
#[must_use]
pub fn to_comparable(ty: &Type, value: &Value) -> Value {
    rewrite_value(ty, value, &|format, text| normalize_text(format, text))
}

/// Returns a value without the keys of an open map that are `null`: such a key has no value, so that it is neither sent nor
/// recorded.
#[must_use]
pub fn without_unset_keys<'v>(ty: &Type, value: &'v Value) -> Cow<'v, Value> {
    match (ty, value) {
        (Type::Map(_), Value::Map(map)) if map.values().any(|part| *part == Value::Null) => {
            let set = map.iter().filter(|(_, part)| **part != Value::Null);
            Cow::Owned(Value::Map(set.map(|(key, part)| (key.clone(), part.clone())).collect()))
        }
        _ => Cow::Borrowed(value),
    }
}

/// Returns the type of the value under one key of a map or record; `None` where the record has no such key, or
/// the type is neither.
#[must_use]
pub fn part_type(ty: &Type, key: &str) -> Option<&'static Type> {
    match ty {
        Type::Map(of) => Some(of),
        Type::Record(fields) => fields.iter().find(|(name, _)| *name == key).map(|(_, ty)| ty),
        _ => None,
    }
}

type TextRewrite<'f> = &'f dyn Fn(TextFormat, &str) -> Option<String>;

fn rewrite_value(ty: &Type, value: &Value, rewrite: TextRewrite<'_>) -> Value {
    match (ty, value) {
        (Type::Boolean, Value::Text(text)) => {
            text.parse::<bool>().map_or_else(|_| value.clone(), Value::Bool)
        }
        (Type::Integer { .. }, _) => to_integer(value),
        (Type::Decimal, _) => {
            value.as_decimal().map_or_else(|| value.clone(), |n| Value::Decimal(n.normalize()))
        }
        (Type::Labelled(words), _) => to_label(words, value),
        (Type::Text { format, .. }, Value::Text(text)) => {
            rewrite(*format, text).map_or_else(|| value.clone(), Value::text)
        }
        (
            Type::Text { .. } | Type::Enum(_) | Type::Reference(_) | Type::Catalog(_),
            Value::Integer(_) | Value::Decimal(_) | Value::Bool(_),
        ) => Value::text(value.to_string()),
        (Type::List(of), Value::List(items)) => {
            Value::List(items.iter().map(|item| rewrite_value(of, item, rewrite)).collect())
        }
        (Type::Set { of, .. }, Value::List(items)) => {
            let mut items: Vec<_> = items.iter().map(|item| rewrite_value(of, item, rewrite)).collect();
            items.sort_by_cached_key(Value::sort_key);
            items.dedup();
            Value::List(items)
        }
        (Type::Map(_) | Type::Record(_), Value::Map(map)) => {
            let part = |key: &str, part: &Value| {
                part_type(ty, key).map_or_else(|| part.clone(), |ty| rewrite_value(ty, part, rewrite))
            };
            Value::Map(map.iter().map(|(key, value)| (key.clone(), part(key, value))).collect())
        }
        _ => value.clone(),
    }
}

fn to_integer(value: &Value) -> Value {
    let number = value.as_decimal().filter(|n| n.fract().is_zero());
    number.and_then(|n| i64::try_from(n).ok()).map_or_else(|| value.clone(), Value::Integer)
}

fn to_label(words: &[(&'static str, i64)], value: &Value) -> Value {
    let number = match value {
        Value::Integer(n) => Some(*n),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    };
    let word = words.iter().find(|(_, n)| Some(*n) == number);
    word.map_or_else(|| value.clone(), |(word, _)| Value::text(word))
}

/// Returns the canonical notation of a string; `None` where its format has only one notation, or it does
/// not match its format.
fn normalize_text(format: TextFormat, text: &str) -> Option<String> {
    match format {
        TextFormat::Timestamp => {
            let time = text.parse::<Timestamp>().ok()?;
            Some(Timestamp::from_second(time.as_second()).ok()?.to_string())
        }
        TextFormat::Cidr4 | TextFormat::AllowedCidr4 => {
            let one = || Ipv4Net::new(text.parse::<Ipv4Addr>().ok()?, 32).ok();
            Some(text.parse::<Ipv4Net>().ok().or_else(one)?.trunc().to_string())
        }
        TextFormat::Domain => Some(text.strip_suffix('.').unwrap_or(text).to_lowercase()),
        TextFormat::Email => Some(text.to_lowercase()),
        TextFormat::SshPublicKey => {
            let mut words = text.split_whitespace();
            Some(format!("{} {}", words.next()?, words.next()?))
        }
        TextFormat::ClockTime => {
            let mut parts = text.split(':').map(|part| part.trim().parse::<u8>());
            let (hour, minute) = (parts.next()?.ok()?, parts.next()?.ok()?);
            Some(format!("{hour:02}:{minute:02}"))
        }
        _ => None,
    }
}

/// Returns a string of the service in the language's notation, where the two may differ: a time of day without seconds,
/// a network by its first address. `None` for other formats, and for a string that does not match its format.
#[must_use]
pub fn as_written(format: TextFormat, text: &str) -> Option<String> {
    match format {
        TextFormat::ClockTime => normalize_text(format, text),
        // An address without a prefix length stays an address.
        TextFormat::Cidr4 | TextFormat::AllowedCidr4 if text.contains('/') => normalize_text(format, text),
        _ => None,
    }
}

/// Returns the point in time, and whether the string has a fraction of a second; `None` for a value that is no time.
fn parse_instant(ty: &Type, value: &Value) -> Option<(Timestamp, bool)> {
    let Type::Text { format: TextFormat::Timestamp, .. } = ty else { return None };
    let text = value.as_text()?;
    Some((text.parse().ok()?, text.contains('.')))
}

fn is_same_instant((one, fine): (Timestamp, bool), (other, also): (Timestamp, bool)) -> bool {
    if fine && also { one == other } else { one.as_second() == other.as_second() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::Literal;

    const WHOLE: Type = Type::Integer { min: 0, max: 99, unit: "" };

    const fn text(format: TextFormat) -> Type {
        Type::Text { min: 0, max: 999, format }
    }

    const TEXT: Type = text(TextFormat::Any);
    const NET: Type = text(TextFormat::AllowedCidr4);

    fn list(items: &[&str]) -> Value {
        Value::List(items.iter().map(Value::text).collect())
    }

    #[test]
    fn equivalent_values_of_a_type_are_equal() {
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
            (
                Type::Set { of: &NET, max: 9 },
                list(&["10.0.0.1/32", "9.0.0.0/8"]),
                list(&["9.0.0.0/8", "10.0.0.1"]),
                true,
            ),
        ] {
            assert_eq!(are_equivalent(&ty, &a, &b), equal, "{a} {b}");
        }
    }

    #[test]
    fn texts_are_compared_by_their_format() {
        for (format, a, b, equal) in [
            (TextFormat::Timestamp, "2027-01-01T00:00:00Z", "2027-01-01T01:00:00+01:00", true),
            (TextFormat::Timestamp, "2027-01-01T00:00:00Z", "2027-01-01T00:00:00.900Z", true),
            (TextFormat::Timestamp, "2027-01-01T00:00:00.1Z", "2027-01-01T00:00:00.900Z", false),
            (TextFormat::Timestamp, "2027-01-01T00:00:00Z", "2027-01-01T00:00:01Z", false),
            (TextFormat::Timestamp, "soon", "soon", true),
            (TextFormat::Cidr4, "10.0.0.0/16", "10.0.7.1/16", true),
            (TextFormat::Cidr4, "10.0.0.0/16", "10.0.0.0/17", false),
            (TextFormat::Domain, "Shop.Example.com", "shop.example.com.", true),
            (TextFormat::Domain, "shop.example.com", "www.example.com", false),
            (TextFormat::Email, "Ann@Example.com", "ann@example.com", true),
            (TextFormat::SshPublicKey, "ssh-ed25519 AAAA ann@home", "ssh-ed25519  AAAA", true),
            (TextFormat::SshPublicKey, "ssh-ed25519 AAAA", "ssh-ed25519 AAAa", false),
            (TextFormat::ClockTime, "03:30", "3:30:00", true),
            (TextFormat::ClockTime, "03:30", "03:31", false),
            (TextFormat::Any, "Shop.", "shop", false),
            (TextFormat::TimeZone, "Europe/Berlin", "europe/berlin", false),
        ] {
            assert_eq!(are_equivalent(&text(format), &a.into(), &b.into()), equal, "{a} {b}");
            assert_eq!(to_canonical(&text(format), &a.into()), a.into(), "what is written is sent");
        }
    }

    #[test]
    fn null_equals_the_default() {
        let zone = Attribute::default("zone", text(TextFormat::TimeZone), Literal::Text("UTC"));
        assert!(same_of(&zone, &Value::Null, &"UTC".into()));
        assert!(!same_of(&zone, &Value::Null, &"Europe/Berlin".into()));
        let plain = Attribute::optional("zone", text(TextFormat::TimeZone));
        assert!(!same_of(&plain, &Value::Null, &"UTC".into()));
    }
}
