//! The documents, against their schemas.
#![allow(clippy::disallowed_methods, reason = "the committed schemas are files")]

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::plans;
use crate::apply::event::{ApplyEvent, Outcome, StepError};
use crate::cloud::error::ApiError;
use crate::kinds::REGISTRY;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, SourceId, Sources, Span};
use crate::model::values::value::Value;
use crate::plan::artifact::drift_history::DriftHistoryDiff;
use crate::plan::import::rebuild_ledger::{AmbiguousMatch, MatchCandidate, RebuiltLedger};
use crate::plan::model::change::Plan;
use crate::plan::model::due::DueTotal;
use crate::plan::model::note::{NoteCode, PlanNote};
use crate::report::json::plan::apply_events;
use crate::report::json::{self, PlanDocumentOptions};
use crate::report::run_report::{RunReport, StepResults};
use crate::report::text::escape;
use crate::report::views::drift::{DriftReport, OtherProjectCounts};
use crate::report::views::history::{
    ApplyStatus, BegunRecord, IncidentRecord, LockHolder, LockStatus, OutputRecord, OutputValue,
    RequestOutcome, RequestRecord, ResourceRecord, RunRecord,
};
use crate::report::views::list::{self, ObjectSummary};

const PLAN: &str = include_str!("../../../schemas/plan.schema.json");
const PLAN_EVENT: &str = include_str!("../../../schemas/plan-event.schema.json");
const VALIDATE: &str = include_str!("../../../schemas/validate.schema.json");
const APPLY_EVENT: &str = include_str!("../../../schemas/apply-event.schema.json");
const LS: &str = include_str!("../../../schemas/ls.schema.json");
const DRIFT: &str = include_str!("../../../schemas/drift.schema.json");

const HISTORY: &str = include_str!("../../../schemas/history.schema.json");
const LOCK: &str = include_str!("../../../schemas/lock.schema.json");
const RECOVER: &str = include_str!("../../../schemas/recover.schema.json");

/// Parses a document and holds it against a schema; returns it.
#[track_caller]
fn check(schema: &str, document: &str) -> Json {
    let schema: Json = serde_json::from_str(schema).unwrap();
    let document: Json = serde_json::from_str(document).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{document:#}");
    document
}

fn plan_document(plan: &Plan, details: bool) -> String {
    json::render_plan_document(plan, REGISTRY, PlanDocumentOptions { details, ran: None })
}

#[test]
fn plans_fit_their_schema() {
    for plan in [plans::empty(), plans::full(), plans::hostile(), plans::many(20)] {
        for details in [false, true] {
            let text = plan_document(&plan, details);
            assert!(!text.chars().any(|c| c != '\n' && escape::acts_or_hides(c)));
            let document = check(PLAN, &text);
            assert_eq!(document.get("details").is_some(), details);
        }
    }
}

#[test]
fn a_plan_is_rendered_as_one_line_per_event() {
    for plan in [plans::empty(), plans::full(), plans::hostile(), plans::many(20)] {
        for details in [false, true] {
            let options = PlanDocumentOptions { details, ran: None };
            let mut written = Vec::new();
            json::plan_events(&mut written, &plan, REGISTRY, options, (None, plans::time(0), 4)).unwrap();
            let text = String::from_utf8(written).unwrap();
            assert!(!text.chars().any(|c| c != '\n' && escape::acts_or_hides(c)));
            let events: Vec<Json> = text.lines().map(|line| check(PLAN_EVENT, line)).collect();
            let of = |name: &str| events.iter().filter(|event| event["event"] == name).count();
            assert_eq!((of("change"), of("drift")), (plan.changes.len(), plan.drift.len()));
            assert_eq!((of("step"), of("block")), (plan.steps.len(), plan.blocks.len()));
            let (first, last) = (events.first().unwrap(), events.last().unwrap());
            assert_eq!((&first["event"], &last["event"]), (&json!("plan"), &json!("outcome")));
            assert_eq!(last["exit"], json!(4));
            // Each has the shape that it has in the document.
            let document: Json = serde_json::from_str(&plan_document(&plan, details)).unwrap();
            assert_eq!(last["summary"], document["summary"]);
            for (event, change) in events
                .iter()
                .filter(|event| event["event"] == "change")
                .zip(document["changes"].as_array().unwrap())
            {
                let mut event = event.as_object().unwrap().clone();
                event.remove("time");
                event.remove("event");
                assert_eq!(&Json::Object(event), change);
            }
        }
    }
}

#[test]
fn apply_results_match_their_schema() {
    let plan = plans::full();
    let (mut steps, address) = (StepResults::default(), plans::address("vm.web"));
    let failed = StepError::Failed("x".into());
    let at = |step| (step, address.clone());
    for event in [at(0), at(1), at(2), at(3)].into_iter().map(|(step, address)| match step {
        0 => ApplyEvent::Succeeded { step, address, done: "created", id: None, took: Duration::ZERO },
        1 => ApplyEvent::Failed { step, address, error: failed.clone() },
        2 => ApplyEvent::Skipped { step, because: address.clone(), address },
        _ => ApplyEvent::Started { step, address, doing: "create" },
    }) {
        steps.record_event(plans::time(0), &event);
    }
    let outcome = Outcome { failed: vec![(address, failed)], ..steps.interrupted_outcome(&plan) };
    let ran = RunReport::new(&outcome, &steps, (plans::time(0), Duration::ZERO), 6);
    let options = PlanDocumentOptions { details: true, ran: Some(&ran) };
    let document = check(PLAN, &json::render_plan_document(&plan, REGISTRY, options));
    assert_eq!(document["outcome"]["steps"][3]["status"], json!("open"));
}

#[test]
fn a_plan_document_has_the_content_of_the_plan() {
    let document = check(PLAN, &plan_document(&plans::full(), false));
    assert_eq!(
        document["summary"],
        json!({
            "create": 1, "update": 2, "replace": 1, "delete": 1, "adopt": 1, "move": 1, "forget": 1, "outputs": 0, "unchanged": 41, "left_out": 0
        })
    );
    assert_eq!(document["cost"]["delta"], json!(73.0));
    let replaced = &document["changes"][0];
    assert_eq!(replaced["attributes"][1]["unknown"], json!(["vm.web.a"]));
    assert_eq!(replaced["attributes"][1]["after"], json!({"unknown": ["vm.web.a"]}));
    assert_eq!(replaced["effects"][0]["code"], json!("address_change"));
    let password = &document["changes"][2]["attributes"][2];
    assert_eq!(password["secret"], json!(true));
    assert_eq!(password["after"], json!({"secret": true, "fingerprint": "c07dbbbbbbbbbbbb"}));
    assert_eq!(document["order"][0]["request"], json!("POST /api/v1/vms"));
    assert_eq!(document["order"][3]["request"], json!("DELETE /api/v1/vms/{id}"));
    assert_eq!(document["order"][2]["request"], json!("POST /api/v1/volumes/{id}/attach"));
    assert_eq!(document["blocks"][0]["code"], json!("protected"));
}

#[test]
fn repeated_runs_and_both_syntaxes_give_identical_bytes() {
    let one = plans::full();
    let mut other = plans::full();
    other.base.made_at = plans::time(500);
    other.base.nonce = uuid::Uuid::from_u128(7);
    other.base.lineage = uuid::Uuid::from_u128(8);
    other.requests.waited_ms = 99;
    other.requests.limited = 1;
    other.cost.priced_at = Some(plans::time(500));
    for change in &mut other.changes {
        for place in
            change.source.iter_mut().chain(change.attributes.iter_mut().filter_map(|a| a.source.as_mut()))
        {
            place.file = "shop.stead.kdl".into();
            place.line += 3;
        }
    }
    for place in other.drift.iter_mut().filter_map(|drift| drift.source.as_mut()) {
        place.file = "shop.stead.kdl".into();
    }
    for place in other.blocks.iter_mut().filter_map(|block| block.source.as_mut()) {
        place.file = "shop.stead.kdl".into();
    }
    assert_eq!(plan_document(&one, false), plan_document(&other, false));
    assert_ne!(plan_document(&one, true), plan_document(&other, true));
    let mut written = Vec::new();
    json::plan_to(&mut written, &one, REGISTRY, PlanDocumentOptions::default()).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), plan_document(&one, false));
}

#[test]
fn the_size_of_a_plan_document_grows_linearly() {
    let size = |count| plan_document(&plans::many(count), false).len();
    let (small, large) = (size(500), size(5000));
    assert!(large < small * 11, "{small} {large}");
}

#[test]
fn diagnostics_fit_their_schema() {
    let mut sources = Sources::default();
    sources.add(Source::new("shop.yaml", "vm:\n  web: $x\n"));
    let at = Span { source: SourceId(0), start: 11, end: 13 };
    let problems = [
        Diagnostic::error("S0201", "There is no x")
            .with_label(at, "here")
            .detail("why")
            .help("how")
            .fix(at, "$y"),
        Diagnostic::warning("S0900", "Nowhere"),
        Diagnostic::error("S0001", "A file that is not there")
            .with_label(Span { source: SourceId(9), ..at }, ""),
    ];
    let document = check(VALIDATE, &json::diagnostics_document(&problems, &sources));
    let first = &document["diagnostics"][2];
    assert_eq!(first["span"], json!({"start": 11, "end": 13, "line": 2, "column": 8}));
    assert_eq!(first["fix"]["replacement"], json!("$y"));
    check(VALIDATE, &json::diagnostics_document(&[], &sources));
}

#[test]
fn every_event_fits_its_schema() {
    let address = || plans::address("vm.web");
    let refusal =
        ApiError { status: 403, error: "no".into(), message: "m".into(), reason: Some("banned".into()) };
    let errors = [
        StepError::Refused(refusal.clone()),
        StepError::ServerError(ApiError { status: 503, ..refusal }),
        StepError::LeaseLost("x".into()),
        StepError::ObjectChanged("x".into()),
        StepError::NotReady("x".into()),
        StepError::Ambiguous("x".into()),
        StepError::Ledger("x".into()),
        StepError::Failed("x".into()),
        StepError::Unreachable("x".into()),
    ];
    let mut events = vec![
        ApplyEvent::Recovering { address: address(), text: "x".into() },
        ApplyEvent::Started { step: 0, address: address(), doing: "create" },
        ApplyEvent::Progress { step: 0, address: address(), text: "x".into() },
        ApplyEvent::Retrying { step: None, text: "x".into() },
        ApplyEvent::Retrying { step: Some(1), text: "x".into() },
        ApplyEvent::Succeeded {
            step: 0,
            address: address(),
            done: "created",
            id: None,
            took: Duration::ZERO,
        },
        ApplyEvent::Skipped { step: 0, address: address(), because: address() },
    ];
    events.extend(errors.iter().map(|error| ApplyEvent::Failed {
        step: 0,
        address: address(),
        error: error.clone(),
    }));
    for event in &events {
        check(APPLY_EVENT, &apply_events::event_line(plans::time(0), None, event));
    }
    let outcome = Outcome {
        done: vec![address()],
        failed: errors.iter().map(|error| (address(), error.clone())).collect(),
        outputs: [("ip".into(), Value::unknown(vec![address()])), ("key".into(), plans::sealed("9a41"))]
            .into(),
        ..Outcome::default()
    };
    let last =
        check(APPLY_EVENT, &apply_events::outcome_line(plans::time(0), &outcome, &DueTotal::default(), 6));
    assert_eq!(last["exit"], json!(6));
}

#[test]
fn lists_fit_their_schema() {
    let objects = [
        ObjectSummary {
            address: Some(plans::address("vm.web")),
            kind: "vm".into(),
            id: "1".into(),
            ..ObjectSummary::default()
        },
        ObjectSummary {
            kind: "vm".into(),
            id: "2".into(),
            monthly: Some(12.into()),
            ..ObjectSummary::default()
        },
    ];
    check(LS, &json::list_document("resources", &list::managed_table(&objects, true)));
    check(LS, &json::list_document("unmanaged", &list::unmanaged_table(&objects)));
    let full = plans::full();
    let found = DriftReport {
        stack: &full.base.stack,
        environment: &full.base.environment,
        drift: &full.drift,
        unmanaged: &objects,
        managed: 40,
        elsewhere: OtherProjectCounts { projects: 3, account: 0, unread: false, by_account: false },
        memory: &DriftHistoryDiff::default(),
        notes: &[],
        exposures: &[],
        verbose: false,
    };
    check(DRIFT, &json::drift_document(&found));
    let note = |code| PlanNote {
        code,
        text: "what".to_owned(),
        help: "what to do".to_owned(),
        source: None,
        address: Some(plans::address("vm.web")),
    };
    let notes = [note(NoteCode::NotKept), note(NoteCode::Unverified)];
    let document = check(DRIFT, &json::drift_document(&DriftReport { notes: &notes, ..found }));
    assert_eq!(document["notes"][1]["code"], json!("unverified"));
    let (_, before) = DriftHistoryDiff::new_with_history(
        None,
        [("gone".to_owned(), "vpc.old".to_owned())],
        plans::time(0),
    );
    let (memory, _) =
        DriftHistoryDiff::new_with_history(Some(before), found.observed_items(), plans::time(100));
    let document = check(DRIFT, &json::drift_document(&DriftReport { memory: &memory, ..found }));
    assert_eq!(document["resolved"][0]["name"], json!("vpc.old"));
    assert_eq!(document["unmanaged"][0]["first_seen"], json!(plans::time(100).to_string()));
}

#[test]
fn documents_about_a_ledger_match_their_schemas() {
    let past = RunRecord { number: 1, at: plans::time(0), who: "ada@x".into(), ..RunRecord::default() };
    let ended = RunRecord { ended: Some(plans::time(9)), outcome: ApplyStatus::Done, ..past.clone() };
    let what = "the lock was broken".to_owned();
    let broken =
        IncidentRecord { at: plans::time(1), who: "ada@x".into(), what, reason: Some("why".into()) };
    let resource = ResourceRecord {
        address: "vm.web".into(),
        action: "create".into(),
        result: "done",
        requests: vec![RequestRecord {
            method: "POST".into(),
            path: "/api/v1/vms".into(),
            ..RequestRecord::default()
        }],
        ..ResourceRecord::default()
    };
    let output = |before, after| OutputRecord { name: "address".into(), before, after };
    let kept = || OutputValue::Kept(Value::text("10.0.0.4"));
    let outputs = vec![
        output(OutputValue::Absent, kept()),
        output(kept(), OutputValue::TooLong),
        output(OutputValue::TooLong, OutputValue::Absent),
    ];
    let full = RunRecord { resources: vec![resource], outputs, dirty: Some(true), ..ended.clone() };
    let request = BegunRecord {
        address: "vm.web".into(),
        action: "update".into(),
        call: Some("resize".into()),
        outcome: RequestOutcome::Ambiguous,
    };
    let killed = RunRecord { begun: vec![request], ..past.clone() };
    for (runs, is_full) in [(vec![past, ended], false), (vec![full, killed], true)] {
        let broken = std::slice::from_ref(&broken);
        check(HISTORY, &json::history_document(&"shop".into(), &"prod".into(), (&runs, is_full), broken));
    }
    let holder = LockHolder {
        who: "ada@x".into(),
        since: plans::time(0),
        process: Some(7),
        standing: LockStatus::Held,
        renewed: Some(1),
        left: None,
    };
    check(LOCK, &json::lock_document(Some(&holder), "s3://bucket"));
    check(LOCK, &json::lock_document(None, "file:x"));
    let candidate =
        MatchCandidate { kind: "vm".into(), id: "1".into(), created_at: None, differs: vec!["plan"] };
    let tie = AmbiguousMatch {
        address: plans::address("vm.web"),
        candidates: vec![candidate],
        rivals: vec![plans::address("vm.also")],
    };
    let missing = vec![plans::address("vm.gone")];
    check(
        RECOVER,
        &json::recovery_document(&RebuiltLedger { found: Vec::new(), ties: vec![tie], missing }),
    );
}

#[test]
fn schemas_describe_every_key() {
    fn walk(schema: &Json, path: &str) {
        if let Some(properties) = schema.get("properties").and_then(Json::as_object) {
            for (name, property) in properties {
                let described = property.get("description").is_some()
                    || property.get("const").is_some()
                    || property.get("$ref").is_some();
                assert!(described, "{path}/{name}");
            }
        }
        match schema {
            Json::Object(map) => map.iter().for_each(|(key, value)| walk(value, &format!("{path}/{key}"))),
            Json::Array(items) => items.iter().for_each(|item| walk(item, path)),
            _ => {}
        }
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".schema.json") && name != "stack.schema.json" {
            walk(&serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap(), name);
        }
    }
}
