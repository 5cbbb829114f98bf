//! Which objects could be what an open creation made.

use super::*;
use crate::kinds::REGISTRY;
use crate::ledger::fixture::*;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::replay::apply_record;
use crate::model::values::secret::Secret;
use crate::model::values::value::Attributes;

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
    creation_candidates(REGISTRY, intent, ledger, objects)
        .into_iter()
        .map(|object| object.id.to_string())
        .collect()
}

#[test]
fn candidates_are_new_unowned_and_matching_objects() {
    let mut ledger = Ledger::new(identity());
    apply_record(&mut ledger, &adopted(2, "owned")).unwrap();
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
    assert!(creation_candidates(REGISTRY, &update, &ledger, &objects).is_empty());
}

#[test]
fn attributes_are_compared_by_their_type() {
    let list = |items: &[&str]| Value::List(items.iter().map(Value::text).collect());
    let map = |pairs: &[(&str, i64)]| {
        Value::Map(pairs.iter().map(|(key, n)| ((*key).into(), Value::Integer(*n))).collect())
    };
    let secret = || Value::Secret(Secret::Fingerprint(None));
    let table = [
        ("app", "description", Value::Null, Some("".into()), true),
        ("app", "description", Value::Null, Some("x".into()), false),
        ("app", "description", "x".into(), Some(Value::Null), false),
        ("app", "description", "x".into(), None, true),
        ("vm", "ssh_keys", Value::Null, Some(list(&[])), true),
        ("vm", "ssh_keys", list(&["a", "b"]), Some(list(&["b", "a"])), true),
        ("vm", "ssh_keys", list(&["a", "b"]), Some(list(&["a"])), false),
        ("volume", "size", Value::Integer(4), Some("4".into()), true),
        ("volume", "size", Value::Integer(4), Some(Value::Integer(5)), false),
        ("app", "start_command", secret(), Some("x".into()), true),
        ("app", "previews_enabled", Value::Bool(true), Some(Value::Bool(false)), false),
        (
            "app",
            "autoscaling",
            map(&[("target", 5)]),
            Some(map(&[("target", 5), ("min_replicas", 0)])),
            true,
        ),
        ("app", "autoscaling", map(&[("target", 5)]), Some(map(&[("target", 6)])), false),
        ("app", "autoscaling", map(&[("target", 5)]), Some(map(&[("min_replicas", 0)])), true),
        (
            "api_key",
            "expires_at",
            "2027-01-01T00:00:00Z".into(),
            Some("2027-01-01T01:00:00.000+01:00".into()),
            true,
        ),
        (
            "api_key",
            "expires_at",
            "2027-01-01T00:00:00Z".into(),
            Some("2027-01-01T00:00:00+01:00".into()),
            false,
        ),
        ("vpc", "cidr", "10.1.0.0/16".into(), Some("10.1.7.0/16".into()), true),
        ("vpc", "cidr", "10.1.0.0/16".into(), Some("10.1.0.0/17".into()), false),
        ("invitation", "email", "ann@example.com".into(), Some("Ann@Example.com".into()), true),
        ("ssh_key", "public_key", "ssh-ed25519 AAAA ann".into(), Some("ssh-ed25519 AAAA".into()), true),
        ("app_domain", "domain", "shop.example.com".into(), Some("Shop.Example.Com.".into()), true),
        ("app_domain", "domain", "shop.example.com".into(), Some("www.example.com".into()), false),
        ("cluster", "maintenance_start", "03:30".into(), Some("03:30:00".into()), true),
    ];
    let ledger = Ledger::new(identity());
    for (kind, name, sent, live, fits) in table {
        let attributes: Vec<_> = live.iter().map(|live| (name, live.clone())).collect();
        let intent = Intent { kind: kind.into(), ..intent([(name.into(), sent.clone())].into()) };
        let object = Object { kind: kind.into(), ..object("new", &attributes) };
        let is_found = !found(&intent, &ledger, &[object]).is_empty();
        assert_eq!(is_found, fits, "{kind}.{name} {sent:?} {live:?}");
    }
}

#[test]
fn a_hidden_attribute_does_not_exclude_a_candidate() {
    let intent = intent([("vpc".into(), "v1".into())].into());
    let listed = Object { detailed: false, ..object("new", &[]) };
    assert_eq!(found(&intent, &Ledger::new(identity()), std::slice::from_ref(&listed)), ["new"]);
    let empty = Object { attributes: [("vpc".into(), Value::Null)].into(), ..listed };
    assert_eq!(found(&intent, &Ledger::new(identity()), std::slice::from_ref(&empty)), ["new"]);
    assert_eq!(found(&intent, &Ledger::new(identity()), &[object("new", &[])]), ["new"]);
    let whole = Object { detailed: true, ..empty };
    assert!(found(&intent, &Ledger::new(identity()), &[whole]).is_empty());
}
