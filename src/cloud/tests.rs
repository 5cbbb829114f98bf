//! The client over a service that is a closure, in virtual time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::error::{MutationOutcome, ReadError};
use super::fake::{self, answer, client, error, kind, raw, run};
use super::http::message::{HttpRequest, HttpResponse, TransportError};
use super::http::send::SendPermit;
use crate::model::clock::Clock;
use crate::model::live::snapshot::ObjectKey;
use crate::model::schema::Method;

fn lost() -> Result<HttpResponse, TransportError> {
    Err(TransportError::Lost { host: "h".into(), reason: "reset".into() })
}

fn not_sent() -> Result<HttpResponse, TransportError> {
    Err(TransportError::NotSent { host: "h".into(), reason: "refused".into() })
}

fn untrusted() -> Result<HttpResponse, TransportError> {
    Err(TransportError::Untrusted { host: "h".into(), reason: "it has expired".into() })
}

fn key(id: &str) -> ObjectKey {
    ObjectKey { kind: "vm".into(), parent: None, id: id.into() }
}

fn one_vm() -> Result<HttpResponse, TransportError> {
    answer(200, &json!({"success": true, "data": {"id": "a", "name": "web"}}))
}

/// A gate that lets everything out.
const OPEN: SendPermit<'static> = &|_| Ok(());

type Scripted = Result<HttpResponse, TransportError>;

/// Answers in turn; the last answer again and again.
fn script(answers: Vec<Scripted>) -> impl FnMut(&HttpRequest) -> Scripted {
    let mut at = 0;
    move |_| {
        at += 1;
        answers[(at - 1).min(answers.len() - 1)].clone()
    }
}

#[test]
fn reads_are_retried_for_transient_failures_only() {
    let broken = || raw(200, r#"{"data": {"id""#);
    let table: Vec<(Vec<Scripted>, bool, usize)> = vec![
        (vec![one_vm()], true, 1),
        (vec![lost(), not_sent(), error(500), raw(502, "<html>"), broken(), one_vm()], true, 6),
        (vec![error(429), error(429), one_vm()], true, 3),
        (vec![raw(429, ""), one_vm()], true, 2),
        (vec![answer(200, &json!({"success": false})), one_vm()], true, 2),
        (vec![raw(408, ""), one_vm()], true, 2),
        (vec![error(503)], false, 6),
        (vec![error(429)], false, 8),
        (vec![lost()], false, 6),
        (vec![broken()], false, 6),
        (vec![untrusted(), one_vm()], false, 1),
        (vec![error(401)], false, 1),
        (vec![raw(403, "<html>")], false, 1),
        (vec![error(400)], false, 1),
        (vec![raw(302, "")], false, 1),
        (vec![raw(404, "<html>")], false, 1),
        (vec![answer(200, &json!({"data": {"id": "another"}}))], false, 1),
        (vec![answer(200, &json!({"data": {"id": "../a"}}))], false, 1),
    ];
    for (answers, succeeds, requests) in table {
        let told = format!("{answers:?}");
        let (client, clock, log) = client(script(answers));
        let found = run(&clock, client.get(&key("a")));
        assert_eq!(found.is_ok(), succeeds, "{told}: {found:?}");
        assert_eq!(log.borrow().len(), requests, "{told}");
        assert!(clock.elapsed() < Duration::from_mins(4), "{told}");
    }
}

#[test]
fn only_a_404_with_the_error_envelope_is_an_absence() {
    let (client, clock, _) = client(|_| error(404));
    assert_eq!(run(&clock, client.get(&key("a"))), Ok(None));
    let (client, clock, _) = fake::client(|_| raw(404, "nginx"));
    assert!(matches!(run(&clock, client.get(&key("a"))), Err(ReadError::Failed { .. })));
}

#[test]
fn a_mutating_request_is_sent_once_unless_rate_limited() {
    let created = || answer(201, &json!({"success": true, "data": {"id": "a"}}));
    let table: Vec<(Vec<Scripted>, &str, usize)> = vec![
        (vec![created()], "Done", 1),
        (vec![error(429), error(429), created()], "Done", 3),
        (vec![error(429)], "Refused", 7),
        (vec![raw(429, "slow down"), created()], "Unknown", 1),
        (vec![error(409), created()], "Refused", 1),
        (vec![lost(), created()], "Unknown", 1),
        (vec![not_sent(), created()], "NotSent", 1),
        (vec![untrusted(), created()], "NotSent", 1),
        (vec![error(500), created()], "Unknown", 1),
        (vec![raw(504, "<html>"), created()], "Unknown", 1),
        (vec![raw(307, ""), created()], "Unknown", 1),
        (vec![answer(201, &json!({"success": true})), created()], "Unknown", 1),
    ];
    for (answers, outcome, requests) in table {
        let told = format!("{answers:?}");
        let (client, clock, log) = client(script(answers));
        let body = json!({"name": "web"});
        let mutation =
            run(&clock, client.changes(OPEN).create(kind("vm"), None, Some(&"p1".into()), body.clone()));
        assert!(format!("{mutation:?}").starts_with(outcome), "{told}: {mutation:?}");
        let log = log.borrow();
        assert_eq!(log.len(), requests, "{told}");
        for (_, request) in log.iter() {
            assert_eq!((request.method, request.path.as_str()), (Method::Post, "/api/v1/vms"));
            assert_eq!((request.project.as_deref(), request.body.as_ref()), (Some("p1"), Some(&body)));
        }
    }
}

#[test]
fn a_send_permit_is_requested_right_before_each_request() {
    let (client, clock, log) = client(script(vec![error(429), answer(200, &json!({"success": true}))]));
    let asked = RefCell::new(Vec::new());
    // It is shut once time has passed: the limiter holds the second try back.
    let gate = |deadline: Duration| {
        asked.borrow_mut().push((clock.elapsed(), deadline));
        if clock.elapsed() < Duration::from_millis(1) {
            Ok(())
        } else {
            Err("the lease ran out".to_owned())
        }
    };
    let mutation = run(&clock, client.changes(&gate).delete(kind("vm"), &key("a"), Some(&"p1".into())));
    assert_eq!(mutation, MutationOutcome::NotSent("the lease ran out".to_owned()));
    assert_eq!(log.borrow().len(), 1, "only the first try left");
    let asked = asked.borrow();
    assert_eq!(asked.len(), 2);
    assert!(asked[1].0 > Duration::ZERO && asked.iter().all(|(_, whole)| *whole == Duration::from_mins(1)));
}

#[test]
fn mutating_requests_contain_what_the_tables_define() {
    let (client, clock, log) = client(|_| answer(200, &json!({"success": true, "message": "ok"})));
    let vm = kind("vm");
    let done = run(&clock, client.changes(OPEN).delete(vm, &key("a"), Some(&"p1".into())));
    assert_eq!(done, MutationOutcome::Done(None, None));
    let resize = vm.call("resize").unwrap();
    let (project, start) = ("p1".into(), vm.call("start").unwrap());
    let body = json!({"pricing_id": 3});
    run(&clock, client.changes(OPEN).send_call(vm, resize, &key("a"), Some(&project), body));
    run(&clock, client.changes(OPEN).send_call(vm, start, &key("a"), Some(&project), json!({})));
    let log = log.borrow();
    let told: Vec<_> =
        log.iter().map(|(_, r)| (r.method.as_str(), r.path.as_str(), r.body.clone())).collect();
    let fates = json!({"volume_action": "detach", "delete_vpc": false});
    assert_eq!(
        told,
        [
            ("DELETE", "/api/v1/vms/a", Some(fates)),
            ("POST", "/api/v1/vms/a/resize", Some(json!({"pricing_id": 3}))),
            ("POST", "/api/v1/vms/a/start", None),
        ]
    );
}

#[test]
fn an_unsafe_id_is_never_sent() {
    let (client, clock, log) = client(|_| one_vm());
    let mutation = run(&clock, client.changes(OPEN).delete(kind("vm"), &key("../api-keys"), None));
    assert!(matches!(mutation, MutationOutcome::NotSent(_)));
    assert!(run(&clock, client.get(&key(".."))).is_err());
    assert!(log.borrow().is_empty());
}

#[test]
fn retry_delays_are_reported_and_counted() {
    let (client, clock, _) = client(script(vec![error(429), error(500), one_vm()]));
    let told = Rc::new(RefCell::new(Vec::new()));
    let heard = Rc::clone(&told);
    client.on_wait(move |wait| heard.borrow_mut().push(format!("{}: {}", wait.request, wait.reason)));
    run(&clock, client.get(&key("a"))).unwrap().unwrap();
    let expected = [
        "GET /api/v1/vms/a: rate limited",
        "GET /api/v1/vms/a: waits for the rate limit",
        "GET /api/v1/vms/a: 500 E: no",
    ];
    assert_eq!(*told.borrow(), expected);
    let count = client.request_count();
    assert_eq!((count.sent, count.limited), (3, 1));
    assert!(count.waited_ms >= 1_000);
}

#[test]
fn concurrent_requests_are_sent_in_order_within_the_rate_limit() {
    let (client, clock, log) = client(|_| one_vm());
    let order = RefCell::new(Vec::new());
    let all = (0..300).map(|n| {
        let (client, order) = (&client, &order);
        async move {
            client.get(&key("a")).await.unwrap();
            order.borrow_mut().push(n);
        }
    });
    run(&clock, futures_util::future::join_all(all));
    assert!(order.borrow().is_sorted(), "first come, first served");
    let log = log.borrow();
    let last = log.last().unwrap().0.as_secs_f64();
    assert!((7.0..9.0).contains(&last), "{last}");
}

#[test]
fn the_catalog_has_its_own_rate_limit_and_needs_no_names() {
    let calls = Cell::new(0);
    let (client, clock, log) = client(|request| {
        calls.set(calls.get() + 1);
        match request.path.as_str() {
            "/api/v1/public/pricing/vm" => answer(
                200,
                &json!({"data": [{"id": "7", "slug": "cpu-2c", "monthly_price": "24.00"}], "total": 1}),
            ),
            "/api/v1/public/pricing/volume" => {
                answer(200, &json!({"success": true, "pricing": {"id": 1, "price_per_gb_month": 0.1}}))
            }
            _ => error(404),
        }
    });
    let catalog = run(&clock, client.catalog(&["vm", "volume", "nonsense"].into())).unwrap();
    assert_eq!(log.borrow().len(), 2);
    let plan = catalog.find("vm", &"cpu-2c".into()).unwrap();
    assert_eq!(
        (plan.id.clone(), plan.number("monthly_price").unwrap().to_string()),
        (7.into(), "24.00".into())
    );
    let volume = catalog.single_record("volume").unwrap();
    assert_eq!(volume.number("price_per_gb_month").unwrap().to_string(), "0.1");
    assert!(catalog.read_at.is_some());
}

#[test]
fn a_child_without_a_read_endpoint_is_found_in_its_list() {
    let users = json!({"data": [{"name": "app"}], "total": 1});
    let (client, clock, _) = client(|request| match request.path.as_str() {
        "/api/v1/databases/db1/users" => answer(200, &users),
        _ => error(404),
    });
    let user = |parent: &str, id: &str| ObjectKey {
        kind: "database_user".into(),
        parent: Some(parent.into()),
        id: id.into(),
    };
    assert!(run(&clock, client.get(&user("db1", "app"))).unwrap().is_some());
    assert_eq!(run(&clock, client.get(&user("db1", "other"))), Ok(None));
    assert_eq!(run(&clock, client.get(&user("db2", "app"))), Ok(None), "its parent is gone");
}

#[test]
fn malformed_projects_and_json_do_not_panic() {
    for body in ["null", "[]", "3", "{}", r#"{"data": 3}"#, r#"{"data": [], "total": {}}"#] {
        let (client, clock, _) = client(|_| raw(200, body));
        let _ = run(&clock, client.get(&key("a")));
        let _ = run(&clock, client.list(kind("vm"), None, None));
        let _ = run(&clock, client.changes(OPEN).create(kind("vm"), None, None, Json::Null));
        let _ = run(&clock, client.catalog(&["vm", "volume"].into()));
    }
}
