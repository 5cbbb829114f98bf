//! What rests or has failed is brought back where a change needs it: by one call, waited for, and told
//! by the plan.

use std::rc::Rc;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use stead::emulator::world::mutate;
use stead::model::schema::Method;

use super::cloud::meddle;
use super::disaster::Outside;
use super::loading::{loaded, seed};
use super::machine::wall;
use super::process::{Aim, Run, assert_still, beginning, listed, process};

const DATABASES: &str = "/api/v1/databases";
const APPS: &str = "/api/v1/apps/services";

fn aim(text: &str) -> Aim {
    Aim::build(loaded(text).unwrap().0)
}

fn apply(outside: &Rc<Outside>, text: &str) -> Run {
    let run = process(outside, &aim(text), seed(outside)).unwrap();
    assert!(run.plan.blocks.is_empty(), "{:?}", run.plan.blocks);
    assert!(run.outcome.failed.is_empty(), "{:?}", run.outcome);
    assert!(outside.refusals.borrow().is_empty(), "{:?}", outside.refusals);
    run
}

fn only(outside: &Outside, path: &str) -> Json {
    let mut all = listed(outside, path);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn calls(run: &Run) -> Vec<String> {
    use stead::plan::model::step::Operation;
    let of = |operation: &Operation| match operation {
        Operation::Update { calls, .. } => calls.iter().map(|call| call.call.to_string()).collect(),
        _ => Vec::new(),
    };
    run.plan.steps.iter().flat_map(|step| of(&step.operation)).collect()
}

#[test]
fn a_name_that_is_not_a_valid_path_does_not_fail_the_plan() {
    let text = "database: { main: { plan: pg-free, saved_queries: { slow: { query: SELECT 1 } } } }\n";
    let outside = Rc::new(beginning(&loaded(text).unwrap().0));
    apply(&outside, text);
    let database = only(&outside, DATABASES);
    let path = format!("{DATABASES}/{}/saved-queries", database["id"].as_str().unwrap());
    meddle(&outside, Method::Put, &path, None, json!({"name": "daily/slow", "query": "SELECT 2"}));
    assert_still(&outside, &aim(text), seed(&outside), "somebody's query has a slash in its name");
}

/// A world with a free database that nobody connected to for a week.
fn suspended() -> Rc<Outside> {
    let before = "database: { main: { plan: pg-free } }\n";
    let outside = Rc::new(beginning(&loaded(before).unwrap().0));
    apply(&outside, before);
    outside.machine.skip(Duration::from_hours(8 * 24));
    assert_eq!(only(&outside, DATABASES)["status"], "suspended");
    assert_still(&outside, &aim(before), seed(&outside), "it sleeps, and nobody minds");
    outside
}

#[test]
fn a_suspended_database_is_resumed_by_the_update_that_needs_it() {
    for (text, wanted) in [
        ("database: { main: { plan: pg-free, storage_gb: 20 } }\n", &["resume", "scale"][..]),
        ("database: { main: { plan: pg-free, users: { report: {} } } }\n", &["resume"]),
        ("database: { main: { plan: pg-free, public_access: true } }\n", &["resume", "public-access"]),
    ] {
        let outside = suspended();
        let run = apply(&outside, text);
        assert_eq!(calls(&run), wanted);
        let change = run.plan.changes.iter().find(|change| change.kind == "database").unwrap();
        let told = |effect: &stead::plan::model::change::ChangeEffect| {
            effect.text.contains("resumed first; in use it costs")
        };
        assert!(change.effects.iter().any(told), "{:?}", change.effects);
        assert_eq!(only(&outside, DATABASES)["status"], "running");
        assert_still(&outside, &aim(text), seed(&outside), "after it");
    }
    let outside = suspended();
    let run = apply(&outside, "database: { main: { name: other, plan: pg-free } }\n");
    assert_eq!(
        (calls(&run), only(&outside, DATABASES)["status"].clone()),
        (vec!["rename".to_owned()], json!("suspended"))
    );
}

#[test]
fn a_suspended_database_is_destroyed_with_its_users() {
    let text = "database: { main: { plan: pg-free, users: { report: {} } } }\n";
    let outside = Rc::new(beginning(&loaded(text).unwrap().0));
    apply(&outside, text);
    outside.machine.skip(Duration::from_hours(8 * 24));
    let run = process(&outside, &Aim::destroy(loaded(text).unwrap().0), seed(&outside)).unwrap();
    assert!(run.outcome.failed.is_empty(), "{:?}", run.outcome);
    assert!(listed(&outside, DATABASES).is_empty());
}

fn fail(outside: &Outside) {
    let id = only(outside, APPS)["id"].as_str().unwrap().to_owned();
    let set = Map::from_iter([("status".to_owned(), json!("failed"))]);
    let now = wall(outside.machine.elapsed());
    mutate(&mut outside.world.borrow_mut(), "app", &id, &set, now).unwrap();
}

#[test]
fn a_failed_app_is_redeployed_and_keeps_its_id() {
    let text = "app: { web: { type: web, image: nginx, port: 8080 } }\n";
    let outside = Rc::new(beginning(&loaded(text).unwrap().0));
    apply(&outside, text);
    let id = only(&outside, APPS)["id"].clone();
    for (text, wanted) in [
        (text, &["deploy"][..]),
        ("app: { web: { type: web, image: nginx, port: 8081 } }\n", &["patch"]),
        ("app: { web: { type: web, image: nginx, port: 8081, instances: 2 } }\n", &["deploy", "scale"]),
        ("app: { web: { type: web, image: httpd, port: 8081, instances: 2 } }\n", &["deploy"]),
    ] {
        fail(&outside);
        let run = apply(&outside, text);
        assert_eq!(calls(&run), wanted, "{text}");
        let app = only(&outside, APPS);
        assert_eq!((&app["id"], &app["status"]), (&id, &json!("live")), "{text}");
        assert_still(&outside, &aim(text), seed(&outside), text);
    }
}
