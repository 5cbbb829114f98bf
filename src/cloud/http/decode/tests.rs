//! Decoding over tables, and with arbitrary JSON and bytes.

use proptest::prelude::*;
use serde_json::json as j;

use super::*;
use crate::cloud::http::url_path::{fill_path, is_segment};
use crate::kinds::REGISTRY;

fn kind(name: &str) -> &'static Kind {
    REGISTRY.kind(name).unwrap()
}

fn attribute(kind_name: &str, record: &Json, name: &str) -> Option<Value> {
    parse_object(kind(kind_name), record, None, false).unwrap().attributes.get(name).cloned()
}

#[test]
fn an_api_record_is_decoded_to_attribute_names() {
    let record = j!({
        "id": "a-1", "name": "web", "status": "active", "pricing_id": "7", "template_id": "t-uuid",
        "price_per_hour": "0.0360", "cpu": "2", "storage": 40.0, "vpc_id": "", "ssh_key_ids": ["b", "a", "b"],
        "console_require_mfa": null, "user_data": "canary", "project_id": "p1",
        "created_at": "2026-01-01T00:00:00Z", "surprise": {"deep": [1]},
    });
    let vm = parse_object(kind("vm"), &record, None, true).unwrap();
    let at = |name: &str| vm.attributes.get(name);
    assert_eq!(at("plan"), Some(&Value::Integer(7)));
    assert_eq!(at("template"), Some(&Value::text("t-uuid")));
    assert_eq!(at("power"), Some(&Value::text("on")));
    assert_eq!(at("status"), Some(&Value::text("active")));
    assert_eq!(at("cpu"), Some(&Value::Integer(2)));
    assert_eq!(at("storage"), Some(&Value::Integer(40)));
    assert_eq!(at("price_per_hour").and_then(Value::as_decimal), parse_decimal("0.036"));
    assert_eq!(at("vpc"), Some(&Value::Null), "an empty reference is none");
    assert_eq!(at("console_require_mfa"), None, "null is absent");
    assert_eq!(at("user_data"), None, "what is written only is never read");
    assert_eq!(at("ssh_keys"), Some(&Value::List(vec!["a".into(), "b".into()])));
    assert_eq!(
        (vm.project.as_deref(), vm.created_at.as_deref()),
        (Some("p1"), Some("2026-01-01T00:00:00Z"))
    );
    assert_eq!(
        attribute("vm", &j!({"id": "a", "status": "rebooting"}), "power"),
        None,
        "a passing state is neither on nor off"
    );
}

#[test]
fn numeric_labels_are_decoded_to_names() {
    for (wire, wanted) in [(j!(0), "sunday"), (j!("5"), "friday"), (j!("monday"), "monday")] {
        let record = j!({"id": "s", "day_of_week": wire});
        assert_eq!(attribute("backup_schedule", &record, "day_of_week"), Some(Value::text(wanted)));
    }
    let odd = attribute("backup_schedule", &j!({"id": "s", "day_of_week": 9}), "day_of_week");
    assert_eq!(odd, Some(Value::Integer(9)));
}

#[test]
fn times_of_day_have_no_seconds() {
    let start =
        |text: &str| attribute("cluster", &j!({"id": "c", "maintenance_start": text}), "maintenance_start");
    assert_eq!(start("02:00:00"), Some(Value::text("02:00")));
    assert_eq!(start("2:05"), Some(Value::text("02:05")));
    assert_eq!(start("at night"), Some(Value::text("at night")));
}

#[test]
fn networks_are_normalized_to_their_first_address() {
    let cidr = |text: &str| attribute("vpc", &j!({"id": "v", "cidr": text}), "cidr");
    assert_eq!(cidr("10.1.0.7/16"), Some(Value::text("10.1.0.0/16")));
    assert_eq!(cidr("10.1.0.0/16"), Some(Value::text("10.1.0.0/16")));
    assert_eq!(cidr("ours"), Some(Value::text("ours")));
}

#[test]
fn malformed_ids_are_errors() {
    for id in [j!("../api-keys"), j!(""), j!(null), j!({}), j!("a b"), j!("x".repeat(65)), j!(-1), j!(true)]
    {
        assert!(parse_object(kind("vm"), &j!({"id": id, "name": "x"}), None, false).is_err(), "{id}");
    }
    assert!(parse_object(kind("vm"), &j!([]), None, false).is_err());
    assert_eq!(parse_object(kind("vm"), &j!({"id": 42}), None, false).unwrap().id, "42");
    let user = parse_object(kind("database_user"), &j!({"name": "read_only"}), Some(&"db1".into()), false)
        .unwrap();
    assert_eq!((user.id.as_str(), user.parent.as_deref()), ("read_only", Some("db1")));
    // A name that no path can hold is listed all the same, and no request is made of it.
    let odd = parse_object(kind("saved_query"), &j!({"name": "../x"}), Some(&"db1".into()), false).unwrap();
    assert!(fill_path("/x/{id}", Some(&odd.id), None).is_err());
    assert!(parse_object(kind("database_user"), &j!({"name": "a\nb"}), None, false).is_err());
}

#[test]
fn the_object_is_found_in_each_envelope() {
    let record = j!({"id": "a"});
    for (body, envelope) in [
        (j!({"success": true, "data": {"id": "a"}, "message": "", "other": 1}), Envelope::Database),
        (j!({"success": true, "database": {"id": "a"}, "extra": 1}), Envelope::Database),
        (j!({"success": true, "whatever": {"id": "a"}}), Envelope::Data),
    ] {
        assert_eq!(find_payload(&body, envelope), Some(&record));
    }
    let bare = j!({"id": "a", "name": "web", "database": null});
    assert_eq!(find_payload(&bare, Envelope::Data), Some(&bare));
    for body in [
        j!({"error": "x", "message": "y", "id": "a"}),
        j!({"success": true, "a": {}, "b": {}}),
        j!([1]),
        j!({"data": null}),
        j!(null),
    ] {
        assert_eq!(find_payload(&body, Envelope::Data), None, "{body}");
    }
}

#[test]
fn the_list_and_its_total_are_found_in_each_envelope() {
    let rows = vec![j!({"id": "a"})];
    for (body, total) in [
        (j!({"data": [{"id": "a"}], "total": 7}), Some(7)),
        (j!({"items": [{"id": "a"}], "total": "7", "page": 1}), Some(7)),
        (j!({"data": [{"id": "a"}], "total": -3}), None),
        (j!([{"id": "a"}]), None),
    ] {
        assert_eq!(parse_page(body).unwrap(), ListPage { rows: rows.clone(), total });
    }
    assert_eq!(parse_page(j!({"data": null, "total": 0})).unwrap().rows, Vec::<Json>::new());
    for body in [j!({"data": {}}), j!({"a": [], "b": []}), j!("x"), j!({})] {
        assert!(parse_page(body.clone()).is_err(), "{body}");
    }
}

#[test]
fn nesting_depth_and_size_are_limited() {
    let nest = |n: usize| [vec![b'['; n], vec![b']'; n]].concat();
    assert!(parse_json(&nest(64)).is_ok());
    assert!(parse_json(&nest(65)).unwrap_err().contains("deeper"));
    assert!(parse_json(&nest(1_000_000)).unwrap_err().contains("deeper"));
    assert!(parse_json(br#""[[[[\"[[""#).is_ok(), "brackets in texts do not nest");
    assert!(parse_json(&vec![b' '; MAX_BODY_BYTES + 1]).unwrap_err().contains("larger"));
    assert_eq!(parse_json(br#"{"a": [1"#).unwrap_err(), "the answer is truncated");
}

#[test]
fn only_a_complete_error_envelope_is_parsed_as_an_api_error() {
    let whole = br#"{"error": "Conflict", "message": "taken", "reason": "banned"}"#;
    assert_eq!(error_text(whole).unwrap().reason.as_deref(), Some("banned"));
    for body in [&br#"{"error": "Conflict"}"#[..], b"<html>", b"", br#"{"error": {}, "message": "x"}"#] {
        assert_eq!(error_text(body), None);
    }
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        any::<String>().prop_map(Json::from),
        "[0-9.eE+-]{0,40}".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        let key = prop_oneof![
            Just("id".to_owned()),
            Just("name".to_owned()),
            Just("data".to_owned()),
            Just("total".to_owned()),
            Just("status".to_owned()),
            any::<String>(),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::hash_map(key, inner, 0..6)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

/// A record of a kind with any JSON in any of its fields.
fn any_record() -> impl Strategy<Value = (&'static Kind, Json)> {
    (0..REGISTRY.kinds.len(), prop::collection::vec(any_json(), 48)).prop_map(|(at, values)| {
        let kind = REGISTRY.kinds[at];
        let fields = kind.attributes.iter().map(|attribute| attribute.returned.to_owned()).zip(values);
        let mut map: serde_json::Map<_, _> = fields.collect();
        map.insert(kind.api.id.to_owned(), "abc".into());
        (kind, Json::Object(map))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        if let Ok(json) = parse_json(&bytes) {
            let _ = parse_page(json);
        }
        let _ = error_text(&bytes);
    }

    #[test]
    fn any_json_is_decoded_or_refused(body in any_json()) {
        for kind in REGISTRY.kinds {
            for part in find_payload(&body, kind.api.create.envelope).into_iter().chain([&body]) {
                if let Ok(object) = parse_object(kind, part, None, true) {
                    prop_assert!(is_name(&object.id));
                    let filled = fill_path("/x/{id}", Some(&object.id), None);
                    prop_assert!(filled.is_err() || is_segment(&object.id));
                }
            }
        }
        let _ = parse_page(body);
    }

    #[test]
    fn arbitrary_fields_are_decoded_without_a_panic((kind, record) in any_record()) {
        let object = parse_object(kind, &record, None, true).unwrap();
        // It can be kept, and sets are canonical.
        let text = serde_json::to_string(&object).unwrap();
        prop_assert!(!text.is_empty());
        for attribute in kind.attributes {
            if let (Type::Set { .. }, Some(Value::List(items))) = (attribute.ty, object.attributes.get(attribute.name)) {
                let texts: Vec<_> = items.iter().map(ToString::to_string).collect();
                if record[attribute.returned].is_array() {
                    prop_assert!(texts.is_sorted());
                }
            }
        }
    }

    #[test]
    fn decimals_stay_exact(units in 0i64..10_000_000, scale in 0u32..6) {
        let exact = rust_decimal::Decimal::new(units, scale);
        for body in [format!("{exact}"), format!("\"{exact}\"")] {
            let json: Json = serde_json::from_str(&body).unwrap();
            prop_assert_eq!(parse_value(&Type::Decimal, &json), Some(Value::Decimal(exact)));
        }
    }
}
