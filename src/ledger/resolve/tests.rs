//! Which objects could be what an open creation made.

use rust_decimal::Decimal;

use super::*;
use crate::ledger::fixture::*;
use crate::ledger::record::Record;
use crate::model::value::Attributes;

fn intent(expected: Attributes) -> Intent {
    let Record::Intent(mut intent) = create(1, 1, false) else { panic!() };
    let IntentAction::Create { expected: slot, .. } = &mut intent.action else { panic!() };
    *slot = expected;
    intent.project = Some("p".into());
    intent
}

fn object(id: &str, attributes: &[(&'static str, Value)]) -> Object {
    Object {
        kind: "vm".into(),
        id: id.into(),
        parent: None,
        project: Some("p".into()),
        created_at: None,
        attributes: attributes.iter().map(|(name, value)| (Name::new(name), value.clone())).collect(),
        detailed: true,
    }
}

fn found(intent: &Intent, ledger: &Ledger, objects: &[Object]) -> Vec<String> {
    candidates(intent, ledger, objects).into_iter().map(|object| object.id.to_string()).collect()
}

#[test]
fn only_what_is_new_unowned_and_alike() {
    let mut ledger = Ledger::new(identity());
    ledger.record(&adopted(2, "owned")).unwrap();
    let alike = |id: &str| object(id, &[("name", "web".into())]);
    let objects = [
        alike("old"),
        alike("owned"),
        alike("new"),
        object("other-name", &[("name", "db".into())]),
        Object { kind: "vpc".into(), ..alike("other-kind") },
        Object { parent: Some("x".into()), ..alike("other-parent") },
        Object { project: Some("q".into()), ..alike("other-project") },
        Object { project: None, ..alike("no-project") },
    ];
    let intent = intent([("name".into(), "web".into())].into());
    assert_eq!(found(&intent, &ledger, &objects), ["new", "no-project"]);
    let Record::Intent(update) = update(3, 1, "x") else { panic!() };
    assert!(candidates(&update, &ledger, &objects).is_empty());
}

#[test]
fn attributes_are_compared_tolerantly() {
    let list = |items: &[&str]| Value::List(items.iter().map(Value::text).collect());
    let table = [
        (Value::Null, None, true),
        (Value::Null, Some(Value::text("")), true),
        (Value::Null, Some(list(&[])), true),
        (Value::Null, Some(Value::text("x")), false),
        (Value::text("x"), None, false),
        (Value::Integer(4), Some(Value::text("4")), true),
        (Value::Integer(4), Some(Value::Decimal(Decimal::new(400, 2))), true),
        (Value::Integer(4), Some(Value::Integer(5)), false),
        (list(&["a", "b"]), Some(list(&["b", "a"])), true),
        (list(&["a", "b"]), Some(list(&["a"])), false),
        (Value::Secret(crate::model::secret::Secret::Sealed(None)), Some(Value::text("x")), true),
        (Value::Bool(true), Some(Value::Bool(false)), false),
    ];
    let ledger = Ledger::new(identity());
    for (sent, live, fits) in table {
        let attributes: Vec<_> = live.iter().map(|live| ("size", live.clone())).collect();
        let intent = intent([("size".into(), sent.clone())].into());
        let is_found = !found(&intent, &ledger, &[object("new", &attributes)]).is_empty();
        assert_eq!(is_found, fits, "{sent:?} {live:?}");
    }
}

#[test]
fn what_a_list_leaves_out_speaks_against_nobody() {
    let intent = intent([("console_require_mfa".into(), true.into())].into());
    let listed = Object { detailed: false, ..object("new", &[]) };
    assert_eq!(found(&intent, &Ledger::new(identity()), std::slice::from_ref(&listed)), ["new"]);
    let empty = Object { attributes: [("console_require_mfa".into(), Value::Null)].into(), ..listed };
    assert_eq!(found(&intent, &Ledger::new(identity()), &[empty]), ["new"]);
    assert!(found(&intent, &Ledger::new(identity()), &[object("new", &[])]).is_empty());
}
