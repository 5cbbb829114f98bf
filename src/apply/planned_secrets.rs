//! Comparison of a planned attribute that contains secrets with what the configuration gives for it now. In:
//! the planned expression, with fingerprints in place of secrets, and the configured one with their values.
//! Out: whether they are the same.
//!
//! Invariant: everything is compared, not only the secrets: a string, key, reference or expression beside a
//! secret that is not the planned one stops the step.

use crate::model::expression::{CelExpression, Expression};
use crate::model::values::secret::{FingerprintKey, Secret, is_same_fingerprint};
use crate::model::values::value::Value;

/// Returns whether a configured attribute, and its present value, are what was planned.
pub(super) fn is_planned(
    planned: &Expression,
    configured: &Expression,
    value: &Value,
    key: &FingerprintKey,
) -> bool {
    match planned {
        // The value was known when the plan was made: it must be the same now.
        Expression::Value(planned) => is_same_value(planned, value, key),
        planned => is_same_expression(planned, configured, key),
    }
}

/// Returns a configured map with the keys of the planned one that are as they were live; without those that neither the plan
/// nor the object has. Anything but a map is returned as it is.
pub(super) fn with_live_keys(configured: Expression, planned: &Expression, live: &Value) -> Expression {
    let Value::Map(live) = live else { return configured };
    let configured = match configured.into_entries() {
        Ok(entries) => entries,
        Err(other) => return other,
    };
    let planned = planned.clone().into_entries().unwrap_or_default();
    let parts =
        configured.into_iter().filter_map(|(key, part)| match (planned.get(&key), live.get(&key)) {
            (None, None) => None,
            (Some(Expression::Value(planned)), Some(live)) if planned == live => {
                Some((key, Expression::Value(planned.clone())))
            }
            _ => Some((key, part)),
        });
    Expression::Map(parts.collect())
}

/// Compares expressions part by part; a part that was known when the plan was made may be an expression or a value now.
fn is_same_expression(planned: &Expression, configured: &Expression, key: &FingerprintKey) -> bool {
    let all = |planned: &[Expression], configured: &[Expression]| {
        planned.len() == configured.len()
            && planned.iter().zip(configured).all(|(one, other)| is_same_expression(one, other, key))
    };
    match (planned, configured) {
        (Expression::Value(planned), Expression::Value(configured)) => {
            is_same_value(planned, configured, key)
        }
        (Expression::Reference(planned), Expression::Reference(configured)) => planned == configured,
        (Expression::Text(planned), Expression::Text(configured))
        | (Expression::List(planned), Expression::List(configured)) => all(planned, configured),
        (Expression::Map(planned), Expression::Map(configured)) => {
            // The plan also has the live keys of a map that no block writes and that stay.
            configured.iter().all(|(name, configured)| {
                planned.get(name).is_some_and(|planned| is_same_expression(planned, configured, key))
            }) && planned.iter().all(|(name, planned)| {
                configured.contains_key(name) || matches!(planned, Expression::Value(_))
            })
        }
        (Expression::Cel(planned), Expression::Cel(configured)) => is_same_cel(planned, configured, key),
        _ => false,
    }
}

fn is_same_cel(planned: &CelExpression, configured: &CelExpression, key: &FingerprintKey) -> bool {
    planned.source == configured.source
        && planned.objects == configured.objects
        && planned.module == configured.module
        && planned.bindings.keys().eq(configured.bindings.keys())
        && planned
            .bindings
            .values()
            .zip(configured.bindings.values())
            .all(|(one, other)| is_same_value(one, other, key))
        && planned.waiting.keys().eq(configured.waiting.keys())
        && planned
            .waiting
            .values()
            .zip(configured.waiting.values())
            .all(|(one, other)| is_same_expression(one, other, key))
}

fn is_same_value(planned: &Value, value: &Value, key: &FingerprintKey) -> bool {
    match (planned, value) {
        (Value::Secret(planned), Value::Secret(secret)) => is_same_secret(planned, secret, key),
        (Value::Map(planned), Value::Map(map)) => map.iter().all(|(name, value)| {
            planned.get(name).is_some_and(|planned| is_same_value(planned, value, key))
        }),
        // A plan sorts the entries of a set in its own order.
        (Value::List(planned), Value::List(items)) => {
            planned.len() <= items.len()
                && items.iter().all(|item| planned.iter().any(|planned| is_same_value(planned, item, key)))
                && planned.iter().all(|planned| items.iter().any(|item| is_same_value(planned, item, key)))
        }
        (Value::Secret(_), _) | (_, Value::Secret(_)) => false,
        // A plan has values converted to their type: `16` for a string is "16".
        (planned, value) => planned == value || planned.to_string() == value.to_string(),
    }
}

fn is_same_secret(planned: &Secret, secret: &Secret, key: &FingerprintKey) -> bool {
    match (planned, secret) {
        (Secret::Derived(planned), Secret::Derived(derived)) => {
            // Before there is a ledger, the plan knows the expression and the names of its inputs.
            planned.is_seal_of(derived, key) || planned.is_seal_of(derived, &FingerprintKey::NONE)
        }
        (Secret::Derived(_), _) | (_, Secret::Derived(_)) => false,
        // Without a fingerprint the plan was made before the secret, or the ledger, was there: the digest of the
        // configuration binds the variable's name.
        (planned, secret) => planned.fingerprint(key).is_none_or(|planned| {
            secret.fingerprint(key).is_some_and(|print| is_same_fingerprint(&planned, &print))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::address::{Address, Name};
    use crate::model::evaluate::evaluate_expression;
    use crate::model::expression::{AttributeLookup, EvaluationError, Reference};
    use crate::model::values::value::Attributes;

    const KEY: FingerprintKey = FingerprintKey([3; 32]);

    /// Shows one object, `vpc.main`.
    struct World;

    impl AttributeLookup for World {
        fn attribute(&self, _: &Address, _: Option<&str>) -> Value {
            Value::text("vpc-1")
        }

        fn object(&self, _: &Address) -> (Attributes, bool) {
            ([("id".into(), Value::text("vpc-1"))].into(), true)
        }
    }

    fn secret(text: &str) -> Expression {
        Expression::Value(Value::Secret(Secret::new(text).named_after("vars.s")))
    }

    fn text(parts: &[Expression]) -> Expression {
        Expression::Text(parts.to_vec())
    }

    fn plain(text: &str) -> Expression {
        Expression::Value(Value::text(text))
    }

    fn reference(name: &str) -> Expression {
        Expression::Reference(Reference { address: Address::new("vpc", name), attribute: None })
    }

    fn evaluated(expression: &Expression) -> Result<Value, EvaluationError> {
        evaluate_expression(expression, &World)
    }

    fn sealed(value: &Value) -> Value {
        match value {
            Value::Secret(secret) => Value::Secret(secret.to_planned(&KEY)),
            Value::Map(map) => {
                Value::Map(map.iter().map(|(key, part)| (key.clone(), sealed(part))).collect())
            }
            Value::List(items) => Value::List(items.iter().map(sealed).collect()),
            other => other.clone(),
        }
    }

    /// Returns an expression as a plan holds it.
    fn without_texts(expression: &Expression) -> Expression {
        let all = |parts: &[Expression]| parts.iter().map(without_texts).collect();
        match expression {
            Expression::Value(value) => Expression::Value(sealed(value)),
            Expression::Reference(_) => expression.clone(),
            Expression::Text(parts) => Expression::Text(all(parts)),
            Expression::List(parts) => Expression::List(all(parts)),
            Expression::Map(map) => {
                Expression::Map(map.iter().map(|(key, part)| (key.clone(), without_texts(part))).collect())
            }
            Expression::Cel(cel) => {
                let mut cel = cel.as_ref().clone();
                cel.bindings.values_mut().for_each(|value| *value = sealed(value));
                Expression::Cel(cel.into())
            }
        }
    }

    /// Tells whether what was planned as one expression may run as another.
    fn passes(planned: &Expression, configured: &Expression, known: bool) -> bool {
        let value = evaluated(configured).unwrap();
        let planned = if known {
            Expression::Value(sealed(&evaluated(planned).unwrap()))
        } else {
            without_texts(planned)
        };
        is_planned(&planned, configured, &value, &KEY)
    }

    fn map(parts: &[(&str, Expression)]) -> Expression {
        Expression::Map(parts.iter().map(|(key, part)| (Name::new(key), part.clone())).collect())
    }

    fn cel(source: &str, s: &str) -> Expression {
        let vars = Value::Map([("s".into(), Value::Secret(Secret::new(s).named_after("vars.s")))].into());
        Expression::Cel(
            CelExpression {
                source: source.to_owned(),
                bindings: [("vars".into(), vars)].into(),
                objects: vec![Address::new("vpc", "main")],
                waiting: [].into(),
                module: Name::default(),
            }
            .into(),
        )
    }

    #[test]
    fn only_the_planned_expression_is_executed() {
        let hook = |host: &str, s: &str| text(&[plain(host), secret(s)]);
        let env = |host: &str| map(&[("PLAIN", plain("a")), ("HOOK", hook(host, "x"))]);
        let data = |before: &str, vpc: &str| text(&[hook(before, "x"), reference(vpc)]);
        let all = [
            hook("https://good/", "x"),
            hook("https://evil/", "x"),
            hook("https://good/", "y"),
            env("https://good/"),
            env("https://evil/"),
            map(&[("PLAIN", plain("b")), ("HOOK", hook("https://good/", "x"))]),
            map(&[("PLAIN", plain("a")), ("HOOK", hook("https://good/", "x")), ("MORE", plain("c"))]),
            data("echo ", "main"),
            data("curl ", "main"),
            data("echo ", "other"),
            cel("vars.s + vpc.main.id", "x"),
            cel("'evil' + vars.s + vpc.main.id", "x"),
            cel("vars.s + vpc.main.id", "y"),
            secret("x"),
            secret("y"),
            Expression::List(vec![hook("https://good/", "x"), plain("a")]),
            Expression::List(vec![hook("https://good/", "x"), plain("b")]),
        ];
        for (n, planned) in all.iter().enumerate() {
            for (m, configured) in all.iter().enumerate() {
                // A key that a plan has besides is one that nothing of this stack writes, and that stays.
                if (n, m) == (6, 3) {
                    continue;
                }
                assert_eq!(passes(planned, configured, false), n == m, "{n} {m}");
                // Another network of the same id cannot be told from the planned one, once it is known.
                if ![n, m].contains(&9) {
                    assert_eq!(passes(planned, configured, true), n == m, "known: {n} {m}");
                }
            }
        }
    }

    #[test]
    fn foreign_map_keys_and_value_forms_do_not_change_a_planned_secret() {
        let planned = map(&[
            ("A", secret("x")),
            ("THEIRS", plain("kept")),
            ("N", Expression::Value(Value::text("16"))),
        ]);
        let planned = Expression::Value(sealed(&evaluated(&planned).unwrap()));
        let configured = map(&[("A", secret("x")), ("N", Expression::Value(Value::Integer(16)))]);
        assert!(is_planned(&planned, &configured, &evaluated(&configured).unwrap(), &KEY));
    }
}
