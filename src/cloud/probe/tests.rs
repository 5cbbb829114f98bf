//! The probe over a service that is a closure: as the contract has it, and with one difference at a time.

use serde_json::{Value as Json, json};

use super::{ContractCheckResult, Observations, ProbeFinding, ServiceCapabilities, findings};
use crate::cloud::fake::{answer, client, error, page, run};
use crate::cloud::http::message::{HttpRequest, HttpResponse, TransportError};
use crate::kinds::REGISTRY;
use crate::model::schema::Method;

const ID: &str = "00aab28a-5e36-48da-9691-002d6e7c140e";

fn vm(n: usize) -> Json {
    json!({
        "id": format!("00aab28a-5e36-48da-9691-{n:012x}"), "name": "web", "status": "active", "cpu": 2,
        "created_at": "2026-11-21T12:00:00Z", "project_id": ID, "billing_type": "payg", "price_per_hour": "0.01",
    })
}

/// A service of machines and one project, with a largest page.
fn service(request: &HttpRequest, largest: usize) -> Result<HttpResponse, TransportError> {
    let vms: Vec<Json> = (0..150).rev().map(vm).collect();
    let limit =
        request.query.iter().find(|(name, _)| *name == "limit").map(|(_, text)| text.parse::<usize>());
    if matches!(limit, Some(Err(_))) {
        return error(400);
    }
    match request.path.as_str() {
        "/api/v1/vms" if request.project.is_some() => page(request, &[], largest),
        "/api/v1/vms" => page(request, &vms, largest),
        "/api/v1/projects" => page(request, &[json!({"id": ID, "name": "p", "is_default": true})], largest),
        path => match vms.iter().find(|vm| path.ends_with(vm["id"].as_str().unwrap())) {
            Some(vm) => answer(200, &json!({"success": true, "data": vm})),
            None => answer(404, &json!({"error": "Not Found", "message": "no"})),
        },
    }
}

fn probe(
    mut handler: impl FnMut(&HttpRequest) -> Result<HttpResponse, TransportError>,
) -> (Observations, Vec<HttpRequest>) {
    let (client, clock, log) = client(|request| {
        let date = Some("Sat, 21 Nov 2026 12:00:00 GMT".into());
        handler(request).map(|answer| HttpResponse { date, ..answer })
    });
    let evidence = run(&clock, client.probe()).unwrap();
    let requests = log.borrow().iter().map(|(_, request)| request.clone()).collect();
    (evidence, requests)
}

fn finding(evidence: &Observations, subject: &str) -> ProbeFinding {
    let mut all = findings(evidence, REGISTRY).into_iter();
    all.find(|finding| finding.subject == subject).unwrap_or_else(|| panic!("there is no {subject}"))
}

fn how(evidence: &Observations, subject: &str) -> String {
    match finding(evidence, subject).verdict {
        ContractCheckResult::Different(how) => how,
        other => panic!("{subject}: {other:?}"),
    }
}

#[test]
fn the_probe_sends_only_a_bounded_number_of_gets() {
    let (_, requests) = probe(|request| service(request, 100));
    assert!(requests.iter().all(|request| request.method == Method::Get && request.body.is_none()));
    assert!(requests.len() < 150, "{}", requests.len());
}

#[test]
fn a_service_that_conforms_to_the_contract_is_confirmed() {
    let (evidence, _) = probe(|request| service(request, 100));
    for subject in [
        "list envelope",
        "object envelope",
        "page by default",
        "largest page",
        "total",
        "bad limit",
        "list order",
        "error envelope",
        "unknown id",
        "unknown project",
        "ids",
        "date header",
        "vm list",
        "vm read",
        "vm.status",
        "vm.created_at",
        "vm.billing_type",
        "vm.price_per_hour",
    ] {
        assert_eq!(finding(&evidence, subject).verdict, ContractCheckResult::Confirmed, "{subject}");
    }
    assert_eq!(
        evidence.learned,
        ServiceCapabilities { page_limit: Some(100), ..ServiceCapabilities::default() }
    );
    assert!(matches!(finding(&evidence, "created").verdict, ContractCheckResult::NotSeen(_)));
}

/// A difference of the service, the subject that tells it, and how.
type Case = (fn(&mut Json), &'static str, &'static str);

#[test]
fn a_difference_in_a_record_is_reported_with_its_detail() {
    let table: &[Case] = &[
        (|vm| vm["cpu"] = "2".into(), "vm.cpu", "text instead"),
        (|vm| vm["billing_type"] = "weekly".into(), "vm.billing_type", "the unknown keyword `weekly`"),
        (|vm| vm["created_at"] = "yesterday".into(), "vm.created_at", "not an RFC 3339 time"),
        (|vm| vm["id"] = "short1".into(), "ids", "the id of a vm"),
        (|vm| vm["flavour"] = 1.into(), "vm other fields", "the tables do not declare flavour"),
        (|vm| drop(vm.as_object_mut().unwrap().remove("name")), "vm.name", "no record has it"),
        (|vm| vm["console_require_mfa"] = true.into(), "vm.console_require_mfa", "lists have it, too"),
    ];
    for (change, subject, wanted) in table {
        let (evidence, _) = probe(|request| {
            let mut answer = service(request, 100)?;
            let Ok(mut body) = serde_json::from_slice::<Json>(&answer.body) else { return Ok(answer) };
            if request.path.starts_with("/api/v1/vms") && answer.status == 200 {
                match &mut body["data"] {
                    Json::Array(rows) => rows.iter_mut().for_each(change),
                    vm => change(vm),
                }
            }
            answer.body = body.to_string().into_bytes();
            Ok(answer)
        });
        let how = how(&evidence, subject);
        assert!(how.contains(wanted), "{subject}: {how}");
    }
}

#[test]
fn a_secret_in_an_unexpected_field_is_not_repeated() {
    let (evidence, _) = probe(|request| match request.path.as_str() {
        "/api/v1/vms" => page(request, &[json!({"id": ID, "cpu": "canary", "created_at": "canary"})], 100),
        _ => service(request, 100),
    });
    assert!(!format!("{:?}", findings(&evidence, REGISTRY)).contains("canary"));
}

#[test]
fn differences_in_pages_and_envelopes_become_capabilities() {
    let (evidence, _) = probe(|request| service(request, 40));
    assert_eq!(how(&evidence, "largest page"), "40 rows at most");
    assert_eq!(evidence.learned.page_limit, Some(40));
    let (evidence, _) = probe(|request| service(request, 1_000));
    assert_eq!(how(&evidence, "largest page"), "150 rows were returned at once");
    assert_eq!(evidence.learned.page_limit, Some(150));
    let (evidence, _) = probe(|request| {
        let limit = request.query.iter().find(|(name, _)| *name == "limit");
        let too_many =
            limit.and_then(|(_, text)| text.parse::<usize>().ok()).is_some_and(|limit| limit > 50);
        if too_many { error(400) } else { service(request, 50) }
    });
    assert!(how(&evidence, "largest page").contains("a limit of 100 is refused"));
    assert_eq!(evidence.learned.page_limit, Some(50));
    let (evidence, _) = probe(|request| {
        let mut answer = service(request, 100)?;
        answer.body = String::from_utf8(answer.body).unwrap().replace("\"data\"", "\"items\"").into_bytes();
        Ok(answer)
    });
    assert!(how(&evidence, "list envelope").contains("under items"));
    assert!(how(&evidence, "object envelope").contains("under items, not data"));
    assert_eq!(evidence.learned.list_key.as_deref(), Some("items"));
    assert_eq!(evidence.learned.object_key.as_deref(), Some("items"));
    let (evidence, _) = probe(|request| service(&HttpRequest { project: None, ..request.clone() }, 100));
    assert!(how(&evidence, "unknown project").contains("does not filter"));
}

#[test]
fn the_rate_is_learned_and_used() {
    let (evidence, _) = probe(|request| {
        let answer = service(request, 100)?;
        Ok(HttpResponse { limit: Some(50), remaining: Some(7), ..answer })
    });
    assert_eq!(evidence.learned.rate, Some(50));
    assert!(how(&evidence, "rate limit headers").contains("50 requests a second"));
    let (client, _, _) = client(|request| service(request, 100));
    client.goes_by(&evidence.learned);
    assert_eq!((client.reader.requests.keyed.rate(), client.reader.requests.page.get()), (50, 100));
    client.goes_by(&ServiceCapabilities {
        page_limit: Some(0),
        rate: Some(9_999_999),
        ..ServiceCapabilities::default()
    });
    assert_eq!(
        (client.reader.requests.keyed.rate(), client.reader.requests.page.get()),
        (50, 100),
        "what cannot be is not gone by"
    );
}

#[test]
fn a_learned_envelope_is_unwrapped_only_without_a_standard_one() {
    let learned = ServiceCapabilities {
        list_key: Some("rows".into()),
        object_key: Some("item".into()),
        ..ServiceCapabilities::default()
    };
    for (from, to) in [
        (json!({"rows": [1], "errors": []}), json!({"data": [1], "errors": []})),
        (json!({"item": {"id": 1}, "meta": {}}), json!({"data": {"id": 1}, "meta": {}})),
        (json!({"rows": [1], "data": [2]}), json!({"rows": [1], "data": [2]})),
        (json!({"rows": "none"}), json!({"rows": "none"})),
        (json!([1]), json!([1])),
    ] {
        let mut body = from;
        learned.unwrap_envelope(&mut body);
        assert_eq!(body, to);
    }
}
