//! Comparison of values that contain secrets: computed ones by expression and inputs, others by their
//! fingerprints. Whether two plain values are equal, `model::meaning` decides. Invariant: no result contains
//! the plain text of a secret.

use crate::model::expression::Expression;
pub(in crate::plan) use crate::model::schema::meaning::{
    are_equivalent, is_unset, part_type, to_canonical,
};
use crate::model::schema::{Attribute, Type};
use crate::model::values::derived::comparable_text;
use crate::model::values::secret::{FingerprintKey, Secret, is_legacy_fingerprint, is_same_fingerprint};
use crate::model::values::value::Value;

/// Returns a value with fingerprints in place of secrets, as a plan may contain and show it. Of a value that
/// was computed from secrets it keeps the expression and inputs, but not the fingerprint of the result, also
/// where the ledger has one.
pub(in crate::plan) fn fingerprint_secrets(value: &Value, key: &FingerprintKey) -> Value {
    value.map_secrets(&|secret| secret.to_planned(key))
}

/// Returns whether a live value is still the applied one, where a secret was computed. A value without a fingerprint in
/// the ledger counts as unchanged, as it cannot be compared.
pub(in crate::plan) fn is_as_applied(
    ty: &Type,
    applied: &Value,
    live: &Value,
    key: &FingerprintKey,
) -> bool {
    match (applied, live) {
        (Value::Secret(Secret::Derived(applied)), live) => {
            let live = match live {
                Value::Secret(live) => live.clone(),
                live => Secret::new(comparable_text(&to_canonical(ty, live))),
            };
            applied.is_live(&live, key).unwrap_or(true)
        }
        (Value::Map(parts), Value::Map(live)) => parts.iter().all(|(name, part)| {
            let ty = part_type(ty, name).unwrap_or(ty);
            is_as_applied(ty, part, live.get(name).unwrap_or(&Value::Null), key)
        }),
        (Value::List(parts), Value::List(items)) => {
            parts.len() == items.len()
                && parts.iter().all(|part| items.iter().any(|item| is_as_applied(ty, part, item, key)))
        }
        (applied, live) => are_equivalent(ty, applied, live),
    }
}

/// Converts a computed value to the form that earlier versions applied: each part a secret of its own.
fn part_by_part(value: Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.into_iter().map(part_by_part).collect()),
        Value::Map(map) => {
            Value::Map(map.into_iter().map(|(key, part)| (key, part_by_part(part))).collect())
        }
        Value::Null | Value::Secret(_) | Value::Unknown(_) => value,
        scalar => Value::Secret(Secret::new(scalar.to_string())),
    }
}

/// Returns whether a written value is the applied one, where a secret was computed: by expression and inputs. Of a
/// value that an earlier version applied only the fingerprint is known; it is compared by that if
/// the secrets are available here.
pub(in crate::plan) fn is_as_written(
    ty: &Type,
    want: &Value,
    applied: &Value,
    key: &FingerprintKey,
) -> bool {
    match (want, applied) {
        (Value::Secret(Secret::Derived(want)), Value::Secret(applied @ Secret::Fingerprint(_))) => {
            let want = Secret::Derived(want.clone());
            match (want.fingerprint(key), applied.fingerprint(key)) {
                // This version recorded a secret that was not computed: any expression differs
                // from it, whatever its result.
                (_, Some(applied)) if !is_legacy_fingerprint(&applied) => false,
                (Some(want), Some(applied)) => is_same_fingerprint(&want, &applied),
                _ => want.is_withheld(),
            }
        }
        (Value::Secret(Secret::Derived(want)), Value::Map(_) | Value::List(_)) => {
            want.expose().is_some_and(|want| is_as_written(ty, &part_by_part(want), applied, key))
        }
        (Value::Map(want), Value::Map(parts)) => {
            want.len() == parts.len()
                && want.iter().all(|(name, want)| {
                    let ty = part_type(ty, name).unwrap_or(ty);
                    parts.get(name).is_some_and(|applied| is_as_written(ty, want, applied, key))
                })
        }
        (Value::List(want), Value::List(parts)) => {
            want.len() == parts.len()
                && want.iter().all(|want| parts.iter().any(|part| is_as_written(ty, want, part, key)))
        }
        (want, applied) => are_equivalent(ty, &fingerprint_secrets(want, key), applied),
    }
}

/// Returns a live value with a fingerprint wherever one of `models` has a secret, so that the values can be compared
/// and no secret is shown.
pub(in crate::plan) fn sealed_like(models: &[&Value], live: &Value, key: &FingerprintKey) -> Value {
    fingerprint_secrets(&live.clone().with_secrets_like(models, &is_secret(key)), key)
}

/// Returns a live value in the form that may be shown and stored: with fingerprints wherever a `known` value (written
/// or applied) has a secret, and wherever a private attribute has a part that is in no known value.
#[must_use]
pub fn protect_live_value(
    attribute: &Attribute,
    known: [Option<&Value>; 2],
    live: &Value,
    key: &FingerprintKey,
) -> Value {
    fingerprint_secrets(&attribute.hidden_by(known, live.clone(), &is_secret(key)), key)
}

/// Returns a predicate that compares a string with a secret by fingerprint; false where either has none.
fn is_secret(key: &FingerprintKey) -> impl Fn(&Secret, &str) -> bool {
    |secret, text| {
        let prints = secret.fingerprint(key).zip(Secret::new(text).fingerprint(key));
        prints.is_some_and(|(one, other)| is_same_fingerprint(&one, &other))
    }
}

/// Returns a live value that no block writes, in the form that may be shown: a string of a private attribute
/// may be another writer's secret.
pub(in crate::plan) fn protect_unwritten_value(
    attribute: &Attribute,
    live: &Value,
    key: &FingerprintKey,
) -> Value {
    match live {
        Value::Text(text) if attribute.private => Value::Secret(Secret::new(text.as_str()).to_planned(key)),
        _ => fingerprint_secrets(live, key),
    }
}

/// Returns an expression with fingerprints in place of secrets; one without secrets is unchanged.
pub(in crate::plan) fn sealed_expression(expression: &Expression, key: &FingerprintKey) -> Expression {
    if !expression.is_secret() {
        return expression.clone();
    }
    let all = |parts: &[Expression]| parts.iter().map(|part| sealed_expression(part, key)).collect();
    match expression {
        Expression::Value(value) => Expression::Value(fingerprint_secrets(value, key)),
        Expression::Reference(_) => expression.clone(),
        Expression::Text(parts) => Expression::Text(all(parts)),
        Expression::List(parts) => Expression::List(all(parts)),
        Expression::Map(map) => Expression::Map(
            map.iter().map(|(name, part)| (name.clone(), sealed_expression(part, key))).collect(),
        ),
        Expression::Cel(cel) => {
            let mut cel = cel.as_ref().clone();
            cel.bindings.values_mut().for_each(|value| *value = fingerprint_secrets(value, key));
            cel.waiting.values_mut().for_each(|part| *part = sealed_expression(part, key));
            Expression::Cel(cel.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::TextFormat;

    const TEXT: Type = Type::Text { min: 0, max: 99, format: TextFormat::Any };
    fn list(items: &[&str]) -> Value {
        Value::List(items.iter().map(Value::text).collect())
    }

    #[test]
    fn a_live_value_is_fingerprinted_where_a_secret_is_desired() {
        let key = FingerprintKey([1; 32]);
        let want = fingerprint_secrets(&Value::Secret(Secret::new("s3cret")), &key);
        assert_eq!(sealed_like(&[&want], &Value::text("s3cret"), &key), want);
        assert_ne!(sealed_like(&[&want], &Value::text("other"), &key), want);
    }

    #[test]
    fn a_list_with_a_secret_shows_only_its_plaintext_items() {
        let key = FingerprintKey([1; 32]);
        let seal = |text: &str| Value::Secret(Secret::new(text).to_planned(&key));
        let models = Value::List(vec![seal("s3cret"), "10.9.9.9".into()]);
        let before = Value::List(vec![seal("older"), "10.8.8.8".into()]);
        let live = list(&["10.8.8.8", "10.9.9.9", "hand", "s3cret"]);
        let wanted = Value::List(vec!["10.8.8.8".into(), "10.9.9.9".into(), seal("hand"), seal("s3cret")]);
        assert_eq!(sealed_like(&[&models, &before], &live, &key), wanted);
        // What is one of the secrets is no plain text, though it was.
        let plain = list(&["s3cret", "10.9.9.9"]);
        let live = list(&["10.9.9.9", "s3cret"]);
        let sealed = sealed_like(&[&models, &plain], &live, &key);
        assert_eq!(sealed, Value::List(vec!["10.9.9.9".into(), seal("s3cret")]));
        let set = Type::Set { of: &TEXT, max: 9 };
        assert!(are_equivalent(&set, &models, &sealed));
        let pair = |a, b| Value::List(vec![seal(a), seal(b)]);
        assert!(
            are_equivalent(&set, &pair("a", "b"), &pair("b", "a"))
                && !are_equivalent(&set, &pair("a", "b"), &pair("b", "c"))
        );
        let records = |value: Value| Value::List(vec![Value::Map([("key".into(), value)].into())]);
        let live = Value::List(vec![records("x".into()), records("s3cret".into())]);
        let hidden = sealed_like(&[&Value::List(vec![records(seal("s3cret"))])], &live, &key);
        assert_eq!(hidden, Value::List(vec![records(seal("x")), records(seal("s3cret"))]));
    }
}
