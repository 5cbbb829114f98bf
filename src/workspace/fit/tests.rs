//! Whether later plans fit reviewed ones, of units that were begun and of others.
#![allow(clippy::needless_pass_by_value, reason = "`json!(…)` is written in place, as in a file")]

use serde_json::{Value as Json, json};

use super::*;
use crate::kinds::REGISTRY;

#[test]
fn a_value_fits_where_the_review_knew_it() {
    let unknown = || Value::unknown(vec![Address::new("stacks", "net")]);
    let text = |text: &str| Value::text(text);
    let list = |items: Vec<Value>| Value::List(items);
    let map = |value: Value| Value::Map([("a".into(), value)].into());
    for (reviewed, fresh, fits) in [
        (text("a"), text("a"), true),
        (text("a"), text("b"), false),
        (unknown(), text("b"), true),
        (text("a"), unknown(), false),
        (list(vec![text("a"), unknown()]), list(vec![text("a"), text("b")]), true),
        (list(vec![text("a")]), list(vec![text("a"), text("b")]), false),
        (map(unknown()), map(text("x")), true),
        (map(text("x")), map(text("y")), false),
        (Value::Null, text("x"), false),
    ] {
        assert_eq!(is_fitting_value(&reviewed, &fresh), fits, "{reviewed} {fresh}");
    }
}

#[test]
fn only_a_milder_action_fits() {
    let all = [
        Action::Replace,
        Action::Delete,
        Action::Update,
        Action::Create,
        Action::Adopt,
        Action::Move,
        Action::Forget,
        Action::Read,
    ];
    for reviewed in all {
        for fresh in all {
            let milder = (reviewed, fresh) == (Action::Replace, Action::Update);
            assert_eq!(is_milder(reviewed, fresh), reviewed == fresh || milder, "{reviewed:?} {fresh:?}");
        }
    }
}

/// Returns a plan with these changes, before-images and steps.
fn plan(changes: Json, objects: Json, steps: Json) -> Plan {
    let base = json!({
        "stack": "net", "environment": "prod", "account": "a", "project": "p", "serial": 1, "config": "c",
        "lineage": "00000000-0000-0000-0000-000000000001", "nonce": "00000000-0000-0000-0000-000000000002",
        "objects": objects, "made_at": "2026-07-01T12:00:00Z", "destroy": false,
    });
    let plan = json!({
        "base": base, "changes": changes, "steps": steps, "drift": [], "unchanged": 0, "blocks": [],
        "cost": { "monthly_before": "0", "monthly_after": "0", "unpriced": 0, "priced_at": null, "moved": [] },
        "critical_path": { "steps": [], "seconds": 0 }, "outputs": {}, "bookkeeping": [],
        "requests": serde_json::to_value(crate::model::live::snapshot::RequestCount::default()).unwrap(),
    });
    serde_json::from_value(plan).unwrap()
}

/// Returns a change of `vm.web` with attributes `(path, before, after, cause)`.
fn change(action: &str, id: Option<&str>, attributes: &[(&str, Json, Json, &str)]) -> Json {
    let attribute = |(path, before, after, cause): &(&str, Json, Json, &str)| {
        json!({ "path": path, "before": before, "after": after, "forces_replacement": false,
            "source": null, "set_by": null, "cause": cause, "last_applied": null })
    };
    json!({
        "address": "vm.web", "kind": "vm", "id": id, "action": action, "create_first": null,
        "cause": "config", "reason": null, "effects": [], "hits": [], "steps": [], "source": null,
        "attributes": attributes.iter().map(attribute).collect::<Vec<_>>(), "seconds": 0,
        "cost": { "monthly_before": null, "monthly_after": "5" },
    })
}

/// Returns the before-image of an object of `vm.web`.
fn image(id: &str, digests: Json) -> Json {
    json!({ "address": "vm.web", "key": { "kind": "vm", "id": id }, "attributes": digests })
}

fn deletion(id: &str) -> Json {
    json!({ "address": "vm.web", "kind": "vm", "after": [], "seconds": 1, "timeout_seconds": 9,
        "operation": { "do": "delete", "object": { "id": id }, "deposed": false } })
}

/// Checks a later plan against a reviewed one, of a unit that was begun and of one that was not.
fn fits(reviewed: &Plan, fresh: &Plan) -> (Result<(), Misfit>, Result<(), Misfit>) {
    let check = |is_begun| check_fit(&REGISTRY, reviewed, fresh, (UnitPhase::Changes, is_begun));
    (check(true), check(false))
}

fn of_object() -> Result<(), Misfit> {
    Err(Misfit::Object(Address::new("vm", "web")))
}

fn of_action() -> Result<(), Misfit> {
    Err(Misfit::Action(Address::new("vm", "web")))
}

fn of_attribute(path: &str) -> Result<(), Misfit> {
    Err(Misfit::Attribute(Address::new("vm", "web"), path.into()))
}

/// The review of a replacement: the template changes, the labels stay.
fn replacement() -> Plan {
    let mut one = change("replace", Some("old"), &[("template", json!("a"), json!("b"), "config")]);
    one["rest"] = json!([{ "path": "labels", "value": { "k": "v" }, "source": null }]);
    plan(
        json!([one]),
        json!([image("old", json!({ "created_at": "1", "template": "ta" }))]),
        json!([deletion("old")]),
    )
}

#[test]
fn a_begun_replacement_creates_or_deletes_or_has_a_call_left() {
    let reviewed = replacement();
    let nothing = plan(json!([]), json!([]), json!([]));
    assert_eq!(fits(&reviewed, &nothing), (Ok(()), Ok(())));
    let all = [
        ("template", json!(null), json!("b"), "config"),
        ("labels", json!(null), json!({ "k": "v" }), "config"),
    ];
    let created = plan(json!([change("create", None, &all)]), json!([]), json!([]));
    assert_eq!(fits(&reviewed, &created), (Ok(()), of_action()));
    let new = || json!([image("new", json!({ "created_at": "2", "template": "tb" }))]);
    let deleted = plan(json!([change("delete", Some("old"), &[])]), new(), json!([deletion("old")]));
    assert_eq!(fits(&reviewed, &deleted), (Ok(()), of_action()));
    let label = [("labels.k", json!(null), json!("v"), "unfinished")];
    let updated = plan(json!([change("update", Some("new"), &label)]), new(), json!([]));
    assert_eq!(fits(&reviewed, &updated), (Ok(()), of_attribute("labels.k")));
    // The new object has the id of the old one where the service knows it by a name.
    let again = json!([image("old", json!({ "created_at": "2", "template": "tb" }))]);
    let updated = plan(json!([change("update", Some("old"), &label)]), again, json!([]));
    assert_eq!(fits(&reviewed, &updated).0, Ok(()));
}

#[test]
fn a_begun_unit_does_nothing_that_the_review_does_not_show() {
    let reviewed = replacement();
    let new = || json!([image("new", json!({ "created_at": "2", "template": "tb" }))]);
    // A second replacement would delete the object that the first one created.
    let template = [("template", json!("x"), json!("b"), "drift")];
    let again = plan(json!([change("replace", Some("new"), &template)]), new(), json!([deletion("new")]));
    assert_eq!(fits(&reviewed, &again).0, of_action());
    // The new object was changed outside.
    let drifted = plan(json!([change("update", Some("new"), &template)]), new(), json!([]));
    assert_eq!(fits(&reviewed, &drifted).0, of_object());
    for (path, after, misfit) in [
        ("labels", json!({ "k": "w" }), of_attribute("labels")),
        ("template", json!("c"), of_attribute("template")),
        ("size", json!(3), of_attribute("size")),
    ] {
        let other = change("create", None, &[(path, json!(null), after, "config")]);
        assert_eq!(fits(&reviewed, &plan(json!([other]), json!([]), json!([]))).0, misfit);
    }
    let mut dear = change("create", None, &[]);
    dear["cost"]["monthly_after"] = json!("6");
    let dear = plan(json!([dear]), json!([]), json!([]));
    assert_eq!(fits(&reviewed, &dear).0, Err(Misfit::Price(Address::new("vm", "web"))));
    let mut elsewhere = change("create", None, &[]);
    elsewhere["address"] = json!("vm.other");
    let elsewhere = plan(json!([elsewhere]), json!([]), json!([]));
    assert_eq!(fits(&reviewed, &elsewhere).0, Err(Misfit::Action(Address::new("vm", "other"))));
    let forgotten = plan(json!([change("forget", Some("old"), &[])]), json!([]), json!([]));
    assert_eq!(fits(&reviewed, &forgotten).0, of_action());
}

#[test]
fn a_begun_update_lacks_what_is_done_and_nothing_else_moved() {
    let attributes =
        [("name", json!("a"), json!("b"), "config"), ("labels.k", json!("1"), json!("2"), "config")];
    let digests = json!({ "created_at": "1", "name": "na", "labels": "l1", "size": "s1" });
    let reviewed =
        plan(json!([change("update", Some("x"), &attributes)]), json!([image("x", digests)]), json!([]));
    let left = |attributes: &[(&str, Json, Json, &str)], digests: Json| {
        plan(json!([change("update", Some("x"), attributes)]), json!([image("x", digests)]), json!([]))
    };
    let named = json!({ "created_at": "1", "name": "nb", "labels": "l1", "size": "s1" });
    let rest = left(&attributes[1..], named.clone());
    assert_eq!(fits(&reviewed, &rest), (Ok(()), of_object()));
    // It was cleared before it is set.
    let cleared = [("name", json!(null), json!("b"), "unfinished")];
    assert_eq!(fits(&reviewed, &left(&cleared, named.clone())).0, Ok(()));
    // The name has a third value.
    let drifted = [("name", json!("c"), json!("b"), "both")];
    assert_eq!(fits(&reviewed, &left(&drifted, named)).0, of_object());
    // The size moved, which the review does not change.
    let sized = json!({ "created_at": "1", "name": "nb", "labels": "l1", "size": "s2" });
    assert_eq!(fits(&reviewed, &left(&attributes[1..], sized)).0, of_object());
    // The object is another one under the same id, which an update does not make.
    let other = json!({ "created_at": "2", "name": "na", "labels": "l1", "size": "s1" });
    assert_eq!(fits(&reviewed, &left(&attributes, other)).0, of_object());
}

#[test]
fn a_begun_creation_may_lack_a_call_and_its_object_is_no_misfit() {
    let all = [
        ("name", json!(null), json!("a"), "config"),
        ("labels", json!(null), json!({ "k": "v" }), "config"),
    ];
    let reviewed = plan(json!([change("create", None, &all)]), json!([]), json!([]));
    let new = || json!([image("new", json!({ "created_at": "2", "name": "na" }))]);
    let label = [("labels.k", json!(null), json!("v"), "unfinished")];
    let mut updated = change("update", Some("new"), &label);
    updated["effects"] = json!([{ "code": "restart", "text": "restarts" }]);
    let updated = plan(json!([updated]), new(), json!([]));
    assert_eq!(fits(&reviewed, &updated), (Ok(()), of_action()));
    let other = [("labels.k", json!(null), json!("w"), "unfinished")];
    let updated = plan(json!([change("update", Some("new"), &other)]), new(), json!([]));
    assert_eq!(fits(&reviewed, &updated).0, of_attribute("labels.k"));
    let replaced = plan(json!([change("replace", Some("new"), &[])]), new(), json!([deletion("new")]));
    assert_eq!(fits(&reviewed, &replaced).0, of_action());
}

#[test]
fn a_reviewed_effect_is_needed_for_an_object_of_the_review() {
    let reviewed =
        plan(json!([change("update", Some("x"), &[])]), json!([image("x", json!({}))]), json!([]));
    let mut effect = change("update", Some("x"), &[]);
    effect["effects"] = json!([{ "code": "restart", "text": "restarts" }]);
    let restarted = plan(json!([effect]), json!([image("x", json!({}))]), json!([]));
    let misfit = || Err(Misfit::Effect(Address::new("vm", "web")));
    assert_eq!(fits(&reviewed, &restarted), (misfit(), misfit()));
    // A replacement that turns out to be an update disturbs less.
    let replaced =
        plan(json!([change("replace", Some("x"), &[])]), json!([image("x", json!({}))]), json!([]));
    assert_eq!(fits(&replaced, &restarted), (Ok(()), Ok(())));
}

#[test]
fn an_object_that_somebody_changed_is_not_deleted_in_the_second_phase() {
    let removal = |attributes: Json| {
        plan(
            json!([change("delete", Some("old"), &[])]),
            json!([image("old", attributes)]),
            json!([deletion("old")]),
        )
    };
    let reviewed = removal(json!({ "created_at": "1", "template": "ta" }));
    let check =
        |fresh: Json| check_fit(&REGISTRY, &reviewed, &removal(fresh), (UnitPhase::Deletions, false));
    assert_eq!(check(json!({ "created_at": "1", "template": "ta" })), Ok(()));
    assert_eq!(check(json!({ "created_at": "1" })), Ok(()), "what is not shown is not known to differ");
    assert_eq!(check(json!({ "created_at": "1", "template": "tb" })), of_object());
    assert_eq!(check(json!({ "created_at": "2", "template": "ta" })), of_object());
}

#[test]
fn values_stand_for_the_digests_of_a_review_without_a_ledger() {
    let update = |before: i64, digest: &str| {
        let one = change("update", Some("old"), &[("size", json!(before), json!(9), "config")]);
        plan(json!([one]), json!([image("old", json!({ "size": digest }))]), json!([]))
    };
    let mut reviewed = update(1, "by the file's key");
    assert_eq!(fits(&reviewed, &update(1, "by the ledger's key")).1, of_object());
    reviewed.base.lineage = uuid::Uuid::nil();
    assert_eq!(fits(&reviewed, &update(1, "by the ledger's key")).1, Ok(()));
    assert_eq!(fits(&reviewed, &update(2, "by the ledger's key")).1, of_object());
}
