//! Tests of values: their JSON in requests, and the values of the service's JSON.

use super::*;
use proptest::prelude::*;

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Integer),
        (any::<i32>(), 0u32..6).prop_map(|(n, s)| Value::Decimal(Decimal::new(n.into(), s))),
        "[ -~]{0,12}".prop_map(Value::text),
        Just(Value::unknown(vec![Address::new("vm", "web")])),
        Just(Value::unknown(vec![Address::new("vm", "web")]).mark_secret(true)),
        Just(Value::Secret(Secret::Fingerprint(Some("9a41".into())))),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::btree_map("[a-z]{1,3}".prop_map(Name::new), inner, 0..4)
                .prop_map(|map| Value::Map(map.into())),
        ]
    })
}

proptest! {
    #[test]
    fn a_value_round_trips_through_json(value in values()) {
        let text = serde_json::to_string(&value).unwrap();
        prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}

#[test]
fn an_unknown_or_fingerprinted_value_is_never_sent() {
    let unknown = Value::List(vec![Value::unknown(vec![Address::new("vm", "web")])]);
    assert_eq!(unknown.to_wire(), None);
    assert_eq!(Value::Secret(Secret::Fingerprint(None)).to_wire(), None);
    let (secret, mut sent) =
        (Value::List(vec![Value::Secret(Secret::new("canary"))]), SentSecrets::default());
    assert_eq!(secret.to_body(&mut sent), Some(serde_json::json!(["canary"])));
    assert!(sent.are_repeated_in(b"canary"));
    assert_eq!(secret.to_wire(), None, "no secret is sent that is not noted");
}

#[test]
fn live_json_cannot_imitate_an_unknown_value() {
    let json = serde_json::json!({"unknown": ["vm.web"]});
    assert!(matches!(Value::from_json(&json), Value::Map(_)));
}
