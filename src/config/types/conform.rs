//! Conversion of computed values to the declared type. In: a value of an expression and the schema's type; out:
//! the canonical value, or why it does not fit. A mismatch of a secret says nothing about the secret.

use super::mismatch::TypeMismatch;
use super::scalar::{self, type_name};
use crate::model::schema::Type;
use crate::model::values::secret::Secret;
use crate::model::values::value::Value;

/// Checks a computed value against a type, and converts it to the type's canonical form. An unknown value passes.
///
/// # Errors
/// How the value, or the first part of it, does not fit.
pub(in crate::config) fn conform_to_type(ty: &Type, value: Value) -> Result<Value, TypeMismatch> {
    match (ty, value) {
        (_, Value::Null) => Ok(Value::Null),
        (Type::List(of) | Type::Set { of, .. }, Value::List(items)) => items
            .into_iter()
            .map(|item| conform_to_type(of, item))
            .collect::<Result<_, _>>()
            .map(Value::List),
        (Type::Map(of), Value::Map(map)) => map
            .into_iter()
            .map(|(key, value)| Ok((key, conform_to_type(of, value)?)))
            .collect::<Result<_, _>>()
            .map(Value::Map),
        (Type::Record(fields), Value::Map(map)) => map
            .into_iter()
            .map(|(key, value)| {
                let (_, of) = fields.iter().find(|(name, _)| *name == key).ok_or_else(|| {
                    TypeMismatch::wrong_type(&type_name(ty), &format!("a map with `{key}`"))
                })?;
                let value = conform_to_type(of, value)?;
                Ok((key, value))
            })
            .collect::<Result<_, _>>()
            .map(Value::Map),
        (Type::List(_) | Type::Set { .. } | Type::Map(_) | Type::Record(_), Value::Secret(secret))
            if secret.is_undecided() =>
        {
            Ok(Value::Secret(secret))
        }
        (
            Type::List(_) | Type::Set { .. } | Type::Map(_) | Type::Record(_) | Type::Text { .. },
            Value::Secret(Secret::Derived(derived)),
        ) if derived.is_deferred() => Ok(Value::Secret(Secret::Derived(derived))),
        (
            Type::List(_) | Type::Set { .. } | Type::Map(_) | Type::Record(_) | Type::Text { .. },
            Value::Secret(Secret::Derived(derived)),
        ) => {
            let derived = derived.try_map(|value| {
                scalar::coerce_shape(ty, value).ok_or_else(TypeMismatch::from_sensitive)
            })?;
            Ok(Value::Secret(Secret::Derived(Box::new(derived))))
        }
        (Type::List(_) | Type::Set { .. } | Type::Map(_) | Type::Record(_), value) => {
            Err(TypeMismatch::wrong_type(&type_name(ty), value.type_name()))
        }
        (ty, value) => {
            let was_text = matches!(value, Value::Text(_));
            scalar::check_value(value, ty).map_err(|mistake| match ty {
                Type::Integer { .. } if was_text => mistake.help("write `${int(…)}` around the expression"),
                _ => mistake,
            })
        }
    }
}
