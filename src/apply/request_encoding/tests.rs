//! Values on their way out, by table.

use serde_json::json;

use super::*;
use crate::kinds::REGISTRY;

const KEY: FingerprintKey = FingerprintKey([7; 32]);

fn kind(name: &str) -> &'static Kind {
    REGISTRY.kind(name).unwrap()
}

fn values(pairs: &[(&str, Value)]) -> Attributes {
    pairs.iter().map(|(name, value)| ((*name).into(), value.clone())).collect()
}

fn texts(items: &[&str]) -> Value {
    Value::List(items.iter().map(Value::text).collect())
}

#[test]
fn a_create_body_contains_its_attributes_in_the_format_of_the_service() {
    let sent = values(&[
        ("name", "web".into()),
        ("template", "t-1".into()),
        ("plan", Value::Integer(2)),
        ("ssh_keys", texts(&["k1", "k2"])),
        ("user_data", Value::Secret(Secret::new("#!/bin/sh"))),
        ("power", "off".into()),
        ("vpc", Value::Null),
    ]);
    let body = create_body(kind("vm"), &sent).unwrap();
    let wanted = json!({"name": "web", "template_id": "t-1", "pricing_id": 2,
        "ssh_key_ids": ["k1", "k2"], "user_data": "#!/bin/sh"});
    assert_eq!(body.json, wanted);
    assert!(body.secrets.are_repeated_in(b"#!/bin/sh: not found"));
    let schedule =
        values(&[("vm", "v".into()), ("frequency", "weekly".into()), ("day_of_week", "monday".into())]);
    let body = create_body(kind("backup_schedule"), &schedule).unwrap();
    assert_eq!(body.json, json!({"vm_id": "v", "frequency": "weekly", "day_of_week": 1}));
}

#[test]
fn a_body_registers_the_texts_to_redact_in_responses() {
    let map = [("MODE".into(), Value::text("of-somebody-else"))].into();
    let app = values(&[("name", "web-of-the-shop".into()), ("env_vars", Value::Map(map))]);
    let body = create_body(kind("app"), &app).unwrap();
    assert!(body.secrets.are_repeated_in(b"of-somebody-else"));
    assert!(!body.secrets.are_repeated_in(b"web-of-the-shop"), "its name is no secret");
    let script = values(&[("user_data", "#!/bin/sh written as it is".into())]);
    assert!(create_body(kind("vm"), &script).unwrap().secrets.are_repeated_in(b"written as it is"));
}

#[test]
fn a_secret_without_its_text_is_not_sent() {
    let sealed = values(&[("name", "web".into()), ("user_data", Value::Secret(Secret::Fingerprint(None)))]);
    assert_eq!(create_body(kind("vm"), &sealed), Err(UnsendableValue("user_data".into())));
}

#[test]
fn a_call_sends_changed_and_required_fields_and_defaults_for_null() {
    let database = kind("database");
    let standing = |name: &str| (name == "public_allowlist").then(|| texts(&["10.0.0.0/8"]));
    for (call, targets, wanted) in [
        ("scale", values(&[("plan", Value::Integer(3))]), json!({"plan_id": 3})),
        ("scale", values(&[("ha_enabled", Value::Null)]), json!({"ha_enabled": false})),
        (
            "public-access",
            values(&[("public_access", Value::Bool(true))]),
            json!({"enabled": true, "allowlist": ["10.0.0.0/8"]}),
        ),
        ("connect-vpc", values(&[("vpc", "v1".into())]), json!({"vpc_id": "v1"})),
        ("disconnect-vpc", values(&[("vpc", Value::Null)]), json!({})),
    ] {
        let body = call_body(database, database.call(call).unwrap(), &targets, standing).unwrap();
        assert_eq!(body.json, wanted, "{call}");
    }
    let query = kind("saved_query");
    let named = |name: &str| (name == "name").then(|| "top".into());
    let body =
        call_body(query, query.call("put").unwrap(), &values(&[("query", "SELECT 2".into())]), named);
    assert_eq!(body.unwrap().json, json!({"name": "top", "query": "SELECT 2"}));
    let vm = kind("vm");
    let body = call_body(vm, vm.call("stop").unwrap(), &values(&[("power", "off".into())]), |_| None);
    assert_eq!(body.unwrap().json, json!({}));
}

#[test]
fn expected_attributes_are_those_in_lists_without_secrets() {
    let sent = values(&[
        ("name", "web".into()),
        ("plan", "2".into()),
        ("ssh_keys", texts(&["b", "a", "b"])),
        ("console_require_mfa", Value::Bool(true)),
        ("user_data", Value::Secret(Secret::new("canary"))),
        ("power", "off".into()),
        ("vpc", Value::Null),
    ]);
    let wanted =
        values(&[("name", "web".into()), ("plan", Value::Integer(2)), ("ssh_keys", texts(&["a", "b"]))]);
    assert_eq!(expected_attributes(kind("vm"), &sent), wanted);
    let names = ["vm", "volume", "database", "vpc", "ssh_key", "project", "database_user"];
    for name in names {
        assert_eq!(distinguishing_attribute(kind(name)).unwrap().name, "name", "{name}");
    }
    assert_eq!(distinguishing_attribute(kind("backup_schedule")).unwrap().name, "vm");
}

#[test]
fn equivalent_values_are_equal() {
    let table: &[(&str, &str, Value, Value, bool)] = &[
        ("vm", "ssh_keys", texts(&["b", "a"]), texts(&["a", "b"]), true),
        ("vm", "ssh_keys", texts(&["a"]), texts(&["a", "b"]), false),
        ("vm", "plan", Value::Integer(2), "2".into(), true),
        ("vm", "vpc", Value::Null, "".into(), true),
        ("vm", "power", Value::Null, "on".into(), true),
        ("vm", "power", Value::Null, "off".into(), false),
        ("vm", "name", "1.0".into(), "1".into(), false),
        ("project", "description", Value::Null, "".into(), true),
        ("backup_schedule", "day_of_week", "monday".into(), Value::Integer(1), true),
        ("backup_schedule", "hour", Value::Null, Value::Integer(3), true),
    ];
    for (name, attribute, one, other, wanted) in table {
        let attribute = kind(name).attribute(attribute).unwrap();
        assert_eq!(
            is_equivalent(attribute, one, other),
            *wanted,
            "{name}.{}: {one} and {other}",
            attribute.name
        );
    }
}

#[test]
fn secrets_are_compared_by_text_or_fingerprint_and_never_stored() {
    let attribute = kind("vm").attribute("user_data").unwrap();
    let (plain, other) = (Value::Secret(Secret::new("canary")), Value::Secret(Secret::new("other")));
    let sealed = fingerprint_value(attribute, &plain, &KEY);
    assert!(same_sealed(attribute, &plain, &sealed, &KEY));
    assert!(!same_sealed(attribute, &other, &sealed, &KEY));
    // A text in a secret attribute is a secret, too.
    assert!(same_sealed(attribute, &"canary".into(), &sealed, &KEY));
    let kept =
        fingerprint_secrets(kind("vm"), &values(&[("user_data", plain), ("name", Value::Null)]), &KEY);
    assert_eq!(kept, values(&[("user_data", sealed)]));
    assert!(!serde_json::to_string(&kept).unwrap().contains("canary"));
}

#[test]
fn the_calls_between_two_values_are_determined() {
    let names = |name: &str, attribute: &str, live: Value, wanted: Value| -> Vec<&'static str> {
        let attribute = kind(name).attribute(attribute).unwrap();
        calls_between(attribute, &live, &wanted).into_iter().map(|(call, _, _)| call.name).collect()
    };
    assert_eq!(names("vm", "power", "on".into(), "off".into()), ["stop"]);
    assert_eq!(names("vm", "power", "off".into(), Value::Null), ["start"]);
    assert_eq!(names("volume", "vm", "a".into(), "b".into()), ["detach", "attach"]);
    assert_eq!(names("volume", "vm", Value::Null, "b".into()), ["attach"]);
    assert_eq!(names("volume", "vm", "a".into(), Value::Null), ["detach"]);
    assert_eq!(names("volume", "size", Value::Integer(1), Value::Integer(2)), ["resize"]);
    assert_eq!(names("vm", "template", "a".into(), "b".into()), [] as [&str; 0]);
}

#[test]
fn an_object_differs_only_in_attributes_that_it_shows() {
    let volume = kind("volume");
    let sent = values(&[("name", "data".into()), ("size", Value::Integer(5))]);
    let object = |attributes: &[(&str, Value)]| Object {
        kind: "volume".into(),
        id: "v".into(),
        parent: None,
        project: None,
        created_at: None,
        attributes: values(attributes),
        detailed: false,
    };
    assert_eq!(first_mismatch(volume, &sent, &object(&[("name", "data".into())])), None);
    let other = object(&[("name", "data".into()), ("size", Value::Integer(6))]);
    assert_eq!(first_mismatch(volume, &sent, &other).map(Name::as_str), Some("size"));
}

#[test]
fn a_live_value_is_a_secret_if_it_was_or_will_be_one() {
    let never = |_: &Secret, _: &str| false;
    let map =
        |key: Value, mode: &str| Value::Map([("KEY".into(), key), ("MODE".into(), mode.into())].into());
    let model = map(Value::Secret(Secret::Fingerprint(None)), "live");
    let live = map("canary".into(), "test").with_secrets_like(&[&model], &never);
    assert_eq!(live, map(Value::Secret(Secret::new("canary")), "test"));
    assert!(!seal_parts(&live, &KEY).to_string().contains("canary"));
    assert_eq!(Value::text("y").with_secrets_like(&[&"x".into()], &never), "y".into());
    let list = Value::List(vec![Value::Secret(Secret::new("a")), "b".into()]);
    assert_eq!(
        texts(&["b", "canary", "c"]).with_secrets_like(&[&list], &never).to_string(),
        "[b, (secret), (secret)]"
    );
    assert_eq!(texts(&["canary", "b"]).with_secrets_like(&[&list], &never).to_string(), "[(secret), b]");
}

#[test]
fn a_foreign_value_is_hidden_and_compared_by_its_fingerprint() {
    let attribute = kind("app").attribute("env_vars").unwrap();
    let map = |hand: Value| Value::Map([("A".into(), "one".into()), ("HAND".into(), hand)].into());
    let seal = |text: &str| Value::Secret(Secret::new(text).to_planned(&KEY));
    let live = attribute.hidden([Some(&map(seal("canary"))), None], map("canary".into()));
    assert_eq!(live, map(Value::Secret(Secret::new("canary"))));
    let written = Value::Map([("A".into(), "one".into())].into());
    let live = attribute.hidden([Some(&written), Some(&written)], map("canary".into()));
    assert!(!live.to_string().contains("canary") && live.to_string().contains("one"), "{live}");
    for (planned, same) in [
        (map(seal("canary")), true),
        (map(seal("other")), false),
        (written, false),
        // A plan without a ledger has no key: that something is there is all that it knows.
        (map(Value::Secret(Secret::Fingerprint(None))), true),
    ] {
        assert_eq!(same_sealed(attribute, &planned, &live, &KEY), same, "{planned}");
    }
    let labels = kind("node_pool").attribute("labels").unwrap();
    assert_eq!(labels.hidden([None, None], map("x".into())), map("x".into()));
}

#[test]
fn a_foreign_value_carried_by_a_call_is_not_recorded_as_applied() {
    let map = |pairs: &[(&str, &str)]| {
        Value::Map(pairs.iter().map(|(key, value)| ((*key).into(), Value::text(value))).collect())
    };
    let env = |pairs: &[(&str, &str)]| values(&[("env_vars", map(pairs))]);
    let before = env(&[("A", "one"), ("B", "b"), ("HAND", "hers")]);
    let mut changed = env(&[("A", "two"), ("B", "b"), ("C", "new"), ("HAND", "hers")]);
    keep_own(kind("app"), &mut changed, &before, &env(&[("A", "one"), ("B", "b")]));
    assert_eq!(changed, env(&[("A", "two"), ("B", "b"), ("C", "new")]));
}
