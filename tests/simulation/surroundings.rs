//! What others do meanwhile: an account that cannot pay, a human who renames, edits and deletes.

use std::rc::Rc;
use std::time::Duration;

use serde_json::json;
use stead::apply::event::StepError;
use stead::ledger::journal::replay::load_ledger;
use stead::model::schema::Method;
use stead::plan::model::change::Action;

use super::cloud::meddle;
use super::disaster::Outside;
use super::process::{Aim, assert_still, beginning, listed, process};
use super::protocol::{failed, two};
use super::stack::{number, setting, shop};
use super::{converge, standing};

#[test]
fn a_402_response_fails_only_its_dependents_and_the_next_run_continues() {
    let aim = Aim::build(shop());
    let undisturbed = Rc::new(beginning(&aim.stack));
    process(&undisturbed, &aim, 1).unwrap();
    let changes = undisturbed.changes.get();
    for change in 1..changes {
        let status = [402, 412][change % 2];
        let mut outside = beginning(&aim.stack);
        outside.refuse = Some((change, status));
        let outside = Rc::new(outside);
        let run = process(&outside, &aim, 1).unwrap();
        let story = format!("change {change} is refused with {status}");
        let [(_, StepError::Refused(refusal))] = &run.outcome.failed[..] else {
            panic!("{story}: {:?}", run.outcome)
        };
        assert_eq!(refusal.status, status);
        assert!(!run.outcome.done.is_empty(), "{story}: the rest goes on");
        converge(&outside, &aim, 2, &story);
    }
}

#[test]
fn an_object_that_does_not_become_ready_stays_owned_and_is_not_duplicated() {
    for (status, told) in [("moving", "it is still moving"), ("failed", "its final status is failed")] {
        let aim = two();
        let mut outside = beginning(&aim.stack);
        outside.shows = Some(("status", json!(status)));
        let outside = Rc::new(outside);
        let run = process(&outside, &aim, 1).unwrap();
        let StepError::NotReady(text) = failed(&run, "volume.spare") else { panic!("{:?}", run.outcome) };
        assert!(text.contains(told), "{text}");
        let entry =
            load_ledger(outside.records.borrow().iter().cloned()).unwrap().entries["volume.spare"].clone();
        assert!(entry.unfinished && entry.current.is_some_and(|owned| !owned.provisional));
        assert_eq!(listed(&outside, "/api/v1/volumes").len(), 1, "{status}");
        let after = Outside::after(&outside.left_behind(0, "it comes to rest"), Duration::from_mins(5));
        let after = Rc::new(after);
        converge(&after, &aim, 2, status);
    }
}

/// The run that sees an object fail keeps it; another one is made only by the next plan, which says so.
#[test]
fn a_failed_object_is_replaced_only_by_a_new_plan() {
    let aim = two();
    let mut outside = beginning(&aim.stack);
    outside.shows = Some(("status", json!("failed")));
    let outside = Rc::new(outside);
    process(&outside, &aim, 1).unwrap();
    let volumes = || listed(&outside, "/api/v1/volumes");
    let first = volumes();
    assert_eq!(first.len(), 1, "the run that saw it fail makes no other one");
    assert_eq!(outside.changes.get(), 2, "a project and a volume were asked for, once each");
    let run = process(&outside, &aim, 2).unwrap();
    let [change] = &run.plan.changes[..] else { panic!("{:?}", run.plan.changes) };
    assert_eq!((change.address.as_str(), change.action), ("volume.spare", Action::Replace));
    assert!(change.reason.as_deref().is_some_and(|why| why.contains("its status is failed")), "{change:?}");
    let id = |volume: &serde_json::Value| volume["id"].as_str().unwrap().to_owned();
    assert!(volumes().iter().any(|volume| id(volume) != id(&first[0])), "the new plan makes another one");
    let after = Outside::after(&outside.left_behind(0, "it comes to rest"), Duration::from_mins(5));
    converge(&Rc::new(after), &aim, 3, "replaced");
}

/// A deletion that the service accepts and never does: the id stays known, in this run and the next,
/// and the deletion is asked for again.
#[test]
fn a_deletion_that_is_accepted_and_never_done_forgets_nothing() {
    let (built, gone) = (two(), Aim::destroy(two().stack));
    let outside = Rc::new(beginning(&built.stack));
    converge(&outside, &built, 900, "it is built");
    let id = listed(&outside, "/api/v1/volumes")[0]["id"].as_str().unwrap().to_owned();
    let mut again = Outside::after(&outside.left_behind(0, "standing"), Duration::from_mins(5));
    again.swallow = Some(0);
    let again = Rc::new(again);
    let run = process(&again, &gone, 1).unwrap();
    assert_eq!(run.outcome.failed.len(), 1, "{:?}", run.outcome);
    assert_eq!(listed(&again, "/api/v1/volumes").len(), 1);
    let ledger = load_ledger(again.records.borrow().iter().cloned()).unwrap();
    let owned = ledger.entries["volume.spare"].current.as_ref().map(|owned| owned.id.to_string());
    assert_eq!(owned, Some(id), "what is not proven gone is remembered");
    assert!(ledger.tombstones.is_empty(), "{:?}", ledger.tombstones);
    let after = Outside::after(&again.left_behind(0, "later"), Duration::from_mins(5));
    converge(&Rc::new(after), &gone, 2, "it is asked for again");
}

#[test]
fn a_value_that_the_service_does_not_keep_fails_each_apply_without_a_loop() {
    let mut aim = two();
    let outside = Rc::new(beginning(&aim.stack));
    converge(&outside, &aim, 900, "it is built");
    aim.stack.resources["volume.spare"].attributes.insert("size".into(), setting(number(9)));
    let mut outside = Outside::after(&outside.left_behind(0, "standing"), Duration::from_mins(5));
    outside.shows = Some(("size", json!(5)));
    let outside = Rc::new(outside);
    // It is sent, and once more; a later apply names it and sends nothing.
    for (seed, most) in [(1, 2), (2, 0)] {
        let before = outside.changes.get();
        let run = process(&outside, &aim, seed).unwrap();
        assert_eq!(run.outcome.failed.len(), 1, "{:?}", run.outcome);
        let sent = outside.changes.get() - before;
        assert!(sent <= most, "{sent} requests in run {seed}: {:?} {:?}", run.outcome, run.plan.changes);
    }
}

#[test]
fn an_object_renamed_by_hand_keeps_its_address() {
    let outside = Rc::new(standing());
    let aim = Aim::build(shop());
    let vms = listed(&outside, "/api/v1/vms");
    let projects = listed(&outside, "/api/v1/projects");
    let project =
        projects.iter().find(|project| project["name"] == "shop").unwrap()["id"].as_str().unwrap();
    meddle(
        &outside,
        Method::Patch,
        &format!("/api/v1/projects/{project}"),
        None,
        json!({"name": "theirs"}),
    );
    let run = process(&outside, &aim, 1).unwrap();
    let changes = run.plan.changes.iter().map(|change| (change.address.as_str(), change.action));
    let changes: Vec<_> = changes.collect();
    assert_eq!(changes, [("project.shop", Action::Update)], "its id is its identity, not its name");
    assert_eq!(listed(&outside, "/api/v1/vms").len(), vms.len());
    assert_still(&outside, &aim, 2, "renamed");
}

#[test]
fn an_object_deleted_by_hand_is_recreated_once() {
    let outside = Rc::new(standing());
    let aim = Aim::build(shop());
    let keys = listed(&outside, "/api/v1/ssh-keys");
    let spare = listed(&outside, "/api/v1/volumes").into_iter().find(|v| v["name"] == "spare").unwrap();
    let (path, project) =
        (format!("/api/v1/volumes/{}", spare["id"].as_str().unwrap()), &spare["project_id"]);
    meddle(&outside, Method::Delete, &path, project.as_str(), json!({}));
    let run = process(&outside, &aim, 1).unwrap();
    let made: Vec<_> =
        run.plan.changes.iter().map(|change| (change.address.as_str(), change.action)).collect();
    assert_eq!(made, [("volume.spare", Action::Create)]);
    assert_eq!(listed(&outside, "/api/v1/ssh-keys").len(), keys.len());
    converge(&outside, &aim, 2, "made again");
}
