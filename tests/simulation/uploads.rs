//! Uploaded sources: what is live in the end is what was planned, and nothing is uploaded in vain.

use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use stead::apply::event::{ApplyEvent, StepError};
use stead::cloud::http::message::HttpRequest;
use stead::ledger::journal::replay::load_ledger;
use stead::model::redact::SentSecrets;
use stead::model::schema::Method;
use stead::model::values::value::Value;

use super::converge;
use super::disaster::Outside;
use super::process::{Aim, assert_converged, assert_still, beginning, listed, process};
use super::stack::{archive, digest, sources};

fn app(outside: &Outside) -> Json {
    listed(outside, "/api/v1/apps/services").remove(0)
}

fn deployments(outside: &Outside) -> Vec<Json> {
    let id = app(outside)["id"].as_str().unwrap().to_owned();
    listed(outside, &format!("/api/v1/apps/services/{id}/deployments"))
}

/// Checks that an app runs a version, deployed so many times in all.
fn assert_runs(outside: &Outside, version: &str, times: usize) {
    let all = deployments(outside);
    let live: Vec<_> = all.iter().filter(|deployment| deployment["status"] == "live").collect();
    assert_eq!((live.len(), all.len()), (1, times), "{all:?}");
    let hash = Sha256::digest(archive(&digest("app", version)));
    let hash = hash.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    assert_eq!(live[0]["source_sha256"], hash.as_str());
    assert_eq!(app(outside)["status"], "live");
}

/// Returns a world in which the first version runs.
fn running() -> Rc<Outside> {
    let outside = Rc::new(beginning(&sources("one")));
    converge(&outside, &Aim::build(sources("one")), 1, "it is built");
    outside
}

#[test]
fn the_uploaded_source_is_deployed() {
    let outside = running();
    assert_eq!(outside.uploads.get(), 2, "one for the app and one for the function");
    assert_runs(&outside, "one", 1);
    converge(&outside, &Aim::build(sources("two")), 3, "it is edited");
    assert_eq!(outside.uploads.get(), 4);
    assert_runs(&outside, "two", 2);
    let functions = listed(&outside, "/api/v1/functions");
    assert_eq!((&functions[0]["version"], &functions[0]["status"]), (&json!(3), &json!("active")));
    let ledger = load_ledger(outside.records.borrow().iter().cloned()).unwrap();
    let applied = &ledger.entries.values().find(|entry| entry.kind == "app").unwrap().applied;
    assert_eq!(applied["source_dir"], Value::text(digest("app", "two")));
}

#[test]
fn the_plan_shows_both_digests_and_the_deployment() {
    let outside = running();
    let run = process(&outside, &Aim::build(sources("two")), 5).unwrap();
    let change = run.plan.changes.iter().find(|change| change.kind == "app").unwrap();
    let [attribute] = &change.attributes[..] else { panic!("{:?}", change.attributes) };
    let shown = format!("{}: {} -> {}", attribute.path, attribute.before, attribute.after);
    assert_eq!(shown, "source_dir: sha256:app-one -> sha256:app-two");
    let effects: Vec<_> = change.effects.iter().map(|effect| effect.text.as_str()).collect();
    assert!(effects.iter().any(|text| text.contains("a new deployment")), "{effects:?}");
    assert!(!change.attributes[0].forces_replacement);
}

#[test]
fn a_lost_upload_is_sent_again() {
    let outside = running();
    outside.lose_upload.set(true);
    let aim = Aim::build(sources("two"));
    let run = process(&outside, &aim, 5).unwrap();
    assert_converged(&outside, &aim, &run, "an upload is lost");
    assert_eq!(outside.uploads.get(), 2 + 3);
    assert_runs(&outside, "two", 2);
    let said = |event: &ApplyEvent| matches!(event, ApplyEvent::Progress { text, .. } if text.contains("the upload failed"));
    assert!(run.events.iter().any(said), "{:?}", run.events);
    assert_still(&outside, &aim, 7, "an upload is lost");
}

#[test]
fn sources_changed_since_the_plan_are_not_deployed() {
    let outside = running();
    let mut aim = Aim::build(sources("two"));
    aim.sources_move = true;
    let run = process(&outside, &aim, 5).unwrap();
    let errors: Vec<_> = run.outcome.failed.iter().map(|(_, error)| error).collect();
    assert!(matches!(errors[..], [StepError::ObjectChanged(_), StepError::ObjectChanged(_)]), "{errors:?}");
    assert_eq!(outside.uploads.get(), 2, "nothing was uploaded");
    assert_runs(&outside, "one", 1);
    let mut aim = aim;
    aim.sources_move = false;
    converge(&outside, &aim, 7, "the sources hold still");
    assert_runs(&outside, "two", 2);
}

#[test]
fn a_superseded_deployment_is_repeated() {
    let outside = running();
    let service = app(&outside);
    let someone = HttpRequest {
        method: Method::Post,
        path: format!("/api/v1/apps/services/{}/deployments", service["id"].as_str().unwrap()),
        query: Vec::new(),
        project: Some(service["project_id"].as_str().unwrap().into()),
        body: Some(json!({})),
        secrets: SentSecrets::default(),
        deadline: Duration::from_secs(1),
    };
    let soon = outside.machine.elapsed() + Duration::from_secs(12);
    outside.late.borrow_mut().push((soon, someone));
    let run = process(&outside, &Aim::build(sources("two")), 9).unwrap();
    let [(address, StepError::NotReady(text))] = &run.outcome.failed[..] else {
        panic!("{:?}", run.outcome)
    };
    assert!(address.as_str() == "app.web" && text.contains("is superseded"), "{text}");
    let ledger = load_ledger(outside.records.borrow().iter().cloned()).unwrap();
    assert!(ledger.intents.is_empty());
    assert_eq!(ledger.entries[address].applied["source_dir"], Value::text(digest("app", "one")));
    converge(&outside, &Aim::build(sources("two")), 11, "once more");
    assert_runs(&outside, "two", 4);
}
