//! `AttributeReading`: what a live object shows for one attribute. In: an attribute and a decoded object, in which an
//! empty field is `Null` and a field that the service does not show is missing. Out: one of four readings.
//!
//! Invariant: only a value and an empty one may be compared. A missing field proves nothing: a list response or a
//! restricted key may leave it out.

use super::snapshot::Object;
use crate::model::schema::{Attribute, Type};
use crate::model::values::value::Value;

/// What a live object shows for one attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeReading {
    /// The object shows this value.
    Value(Value),
    /// The object shows that the attribute is empty.
    Empty,
    /// The service does not show it: to this credential, in this response, or at all.
    NotReturned,
    /// The service is changing it from one value to another.
    InTransition,
}

impl AttributeReading {
    /// Reads an attribute of an object and translates it to the language's values.
    #[must_use]
    pub fn new(attribute: &Attribute, object: &Object) -> Self {
        if !attribute.is_readable() {
            return Self::NotReturned;
        }
        let Some(live) = object.attributes.get(attribute.name) else {
            // The object has a status, but not one that `read_as` maps to a value.
            let is_moving = !attribute.read_as.is_empty() && object.status(attribute.returned).is_some();
            return if is_moving { Self::InTransition } else { Self::NotReturned };
        };
        match live {
            Value::Null => Self::Empty,
            value if is_masked(value) => Self::NotReturned,
            value if attribute.read_as.is_empty() => Self::Value(value.clone()),
            value => {
                let word = value.as_text().unwrap_or_default();
                let read = attribute.read_as.iter().find(|(from, to)| *from == word || *to == word);
                read.map_or(Self::InTransition, |(_, to)| Self::Value(Value::text(to)))
            }
        }
    }

    /// Returns the value to compare: `Null` for an empty one, and `None` where the service shows nothing.
    #[must_use]
    pub fn comparable_value(self) -> Option<Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Empty => Some(Value::Null),
            Self::NotReturned | Self::InTransition => None,
        }
    }
}

/// Returns whether a value only shows that a secret is set, because the service masks it: a secret
/// without text and fingerprint.
#[must_use]
pub fn is_masked(value: &Value) -> bool {
    matches!(value, Value::Secret(crate::model::values::secret::Secret::Fingerprint(None)))
}

/// Returns the value of one key of a map or record. `Some(Null)`: the key is not set, because a map or an empty record
/// lacks it. `None`: the service does not show it, because a non-empty record lacks it or the value is masked.
#[must_use]
pub fn told_part<'v>(ty: &Type, whole: &'v Value, key: &str) -> Option<&'v Value> {
    const NONE: &Value = &Value::Null;
    match whole {
        Value::Map(map) => match (map.get(key), ty) {
            (Some(part), _) => Some(part).filter(|part| !is_masked(part)),
            (None, Type::Record(_)) if !map.is_empty() => None,
            (None, _) => Some(NONE),
        },
        _ => Some(NONE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::REGISTRY;
    use crate::model::values::secret::Secret;

    fn object(kind: &str, pairs: &[(&str, Value)]) -> Object {
        Object {
            kind: kind.into(),
            id: "x".into(),
            parent: None,
            project: None,
            created_at: None,
            attributes: pairs.iter().map(|(name, value)| ((*name).into(), value.clone())).collect(),
            detailed: true,
        }
    }

    #[test]
    fn an_attribute_reading_is_one_of_four_cases() {
        let masked = Value::Secret(Secret::Fingerprint(None));
        for (kind, name, pairs, wanted) in [
            ("volume", "vm", vec![("vm", Value::text("v1"))], AttributeReading::Value(Value::text("v1"))),
            ("volume", "vm", vec![("vm", Value::Null)], AttributeReading::Empty),
            ("volume", "vm", vec![], AttributeReading::NotReturned),
            (
                "vm",
                "power",
                vec![("power", Value::text("off"))],
                AttributeReading::Value(Value::text("off")),
            ),
            (
                "vm",
                "power",
                vec![("power", Value::text("stopped"))],
                AttributeReading::Value(Value::text("off")),
            ),
            ("vm", "power", vec![("power", Value::text("stopping"))], AttributeReading::InTransition),
            ("vm", "power", vec![("status", Value::text("stopping"))], AttributeReading::InTransition),
            ("vm", "power", vec![], AttributeReading::NotReturned),
            ("vm", "user_data", vec![("user_data", Value::text("x"))], AttributeReading::NotReturned),
            ("app", "start_command", vec![("start_command", masked)], AttributeReading::NotReturned),
        ] {
            let attribute = REGISTRY.kind(kind).and_then(|kind| kind.attribute(name)).unwrap();
            assert_eq!(
                AttributeReading::new(attribute, &object(kind, &pairs)),
                wanted,
                "{kind}.{name} {pairs:?}"
            );
        }
    }

    #[test]
    fn a_missing_map_key_is_unset_and_a_missing_record_field_is_hidden() {
        let (map, record) = (Type::Map(&Type::Boolean), Type::Record(&[("a", Type::Boolean)]));
        let has = |key: &str, value| Value::Map([(key.into(), value)].into());
        let masked = has("a", Value::Secret(Secret::Fingerprint(None)));
        assert_eq!(told_part(&map, &has("a", Value::Bool(true)), "a"), Some(&Value::Bool(true)));
        assert_eq!(told_part(&map, &has("b", Value::Bool(true)), "a"), Some(&Value::Null));
        assert_eq!(told_part(&map, &Value::Null, "a"), Some(&Value::Null));
        assert_eq!(told_part(&map, &masked, "a"), None);
        assert_eq!(told_part(&record, &has("b", Value::Bool(true)), "a"), None);
        assert_eq!(told_part(&record, &Value::Map([].into()), "a"), Some(&Value::Null));
    }
}
