//! What must hold when the ledger fails, the key is revoked, someone says stop, or someone else is at
//! work in the same account.

use std::rc::Rc;
use std::time::Duration;

use serde_json::json;
use stead::apply::context::TimingBounds;
use stead::apply::event::{ApplyEvent, StepError};
use stead::emulator::world::RateTier;
use stead::ledger::journal::replay::load_ledger;
use stead::model::address::Address;
use stead::model::schema::Method;

use super::cloud::{KEY, meddle};
use super::disaster::{Outside, Remains};
use super::process::{Aim, Run, beginning, live, process};
use super::stack::{Builder, edited, id, number, shop, text};
use super::{converge, recorded, standing};

pub fn failed<'a>(run: &'a Run, address: &str) -> &'a StepError {
    let found = run.outcome.failed.iter().find(|(failed, _)| failed.as_str() == address);
    &found.unwrap_or_else(|| panic!("{address} did not fail: {:?}", run.outcome)).1
}

pub fn names(addresses: &[Address]) -> Vec<&str> {
    addresses.iter().map(Address::as_str).collect()
}

#[test]
fn after_a_failed_append_nothing_more_is_sent_and_the_next_run_completes() {
    let aim = Aim::build(shop());
    let undisturbed = Rc::new(beginning(&shop()));
    process(&undisturbed, &aim, 1).unwrap();
    for append in 0..undisturbed.appends() {
        let mut outside = beginning(&shop());
        outside.fail_append = Some(append);
        let outside = Rc::new(outside);
        let run = process(&outside, &aim, 1).unwrap();
        let left = outside.left_before_failure.get().unwrap();
        assert_eq!(outside.changes.get(), left, "append {append}: something was sent after it failed");
        let last = append + 1 == undisturbed.appends();
        let told = run.outcome.failed.iter().any(|(_, error)| matches!(error, StepError::Ledger(_)));
        assert!(told || (last && !run.outcome.notes.is_empty()), "append {append}: {:?}", run.outcome);
        let remains = outside.left_behind(0, "the disk is full");
        let again = Rc::new(Outside::after(&remains, Duration::from_secs(5)));
        converge(&again, &aim, 100, &format!("append {append} failed"));
    }
}

#[test]
fn a_stop_signal_finishes_running_steps_and_starts_no_other() {
    let mut aim = Aim::build(shop());
    aim.stop_after = Some(6);
    let outside = Rc::new(beginning(&shop()));
    let run = process(&outside, &aim, 1).unwrap();
    assert!(run.outcome.interrupted && run.outcome.failed.is_empty(), "{:?}", run.outcome);
    assert!(!run.outcome.skipped.is_empty() && !run.outcome.done.is_empty());
    let started = run.events.iter().filter(|event| matches!(event, ApplyEvent::Started { .. })).count();
    assert_eq!(started, run.outcome.done.len(), "what was started was finished");
    aim.stop_after = None;
    converge(&outside, &aim, 100, "stopped");
}

#[test]
fn nothing_starts_after_the_key_was_refused() {
    let mut aim = Aim::build(shop());
    aim.parallel = 1;
    let mut outside = beginning(&shop());
    outside.before_change =
        Some((0, |outside| outside.world.borrow_mut().set_key("another", RateTier::Standard)));
    let run = process(&Rc::new(outside), &aim, 1).unwrap();
    assert_eq!((run.outcome.failed.len(), run.outcome.done.len()), (1, 0), "{:?}", run.outcome);
    assert_eq!(run.outcome.skipped.len(), shop().resources.len() - 1);
}

#[test]
fn a_revoked_key_ends_the_scheduling_and_loses_nothing() {
    let aim = Aim::build(shop());
    let undisturbed = Rc::new(beginning(&shop()));
    process(&undisturbed, &aim, 1).unwrap();
    for change in 0..undisturbed.changes.get() {
        let mut outside = beginning(&shop());
        outside.before_change =
            Some((change, |outside| outside.world.borrow_mut().set_key("another", RateTier::Standard)));
        let outside = Rc::new(outside);
        let run = process(&outside, &aim, 1).unwrap();
        let refused =
            |error: &StepError| matches!(error, StepError::Refused(refusal) if refusal.status == 401);
        assert!(run.outcome.failed.iter().any(|(_, error)| refused(error)), "{change}: {:?}", run.outcome);
        let told = |event: &ApplyEvent| matches!(event, ApplyEvent::Failed { error, .. } if refused(error));
        let after = run.events.iter().skip_while(|event| !told(event));
        assert_eq!(
            after.filter(|event| matches!(event, ApplyEvent::Started { .. })).count(),
            0,
            "{change}"
        );
        outside.world.borrow_mut().set_key(KEY, RateTier::Standard);
        converge(&outside, &aim, 100, &format!("the key was revoked before change {change}"));
    }
}

/// The number of the change that creates `volume.spare` in a stack of two.
pub const SPARE: usize = 1;

pub fn two() -> Aim {
    Aim::build(
        Builder::new().with("project", "shop", &[]).with("volume", "spare", &[("size", number(5))]).build(),
    )
}

pub fn twin(outside: &Outside) {
    let projects = super::process::listed(outside, "/api/v1/projects");
    let project = projects.iter().find(|project| project["name"] == "shop").unwrap();
    let body = json!({"name": "spare", "size": 5});
    meddle(outside, Method::Post, "/api/v1/volumes", project["id"].as_str(), body);
}

#[test]
fn two_candidates_make_an_ambiguous_intent_and_freeze_the_address() {
    let aim = two();
    let mut outside = beginning(&aim.stack);
    outside.before_change = Some((SPARE, twin));
    outside.lose = vec![SPARE];
    let outside = Rc::new(outside);
    let run = process(&outside, &aim, 1).unwrap();
    assert!(matches!(failed(&run, "volume.spare"), StepError::Ambiguous(_)), "{:?}", run.outcome);
    assert_eq!(run.outcome.questions.len(), 1);
    assert_eq!(live(&outside)["volume"].len(), 2);
    let again = process(&outside, &aim, 2).unwrap();
    assert_eq!(live(&outside)["volume"].len(), 2, "{:?}", again.outcome);
    let ledger = load_ledger(outside.records.borrow().iter().cloned()).unwrap();
    assert_eq!(ledger.questions.len(), 1);
    assert_eq!(ledger.questions.values().next().unwrap().candidates.len(), 2);
}

#[test]
fn a_single_matching_object_is_bound_as_unconfirmed() {
    let aim = two();
    let mut outside = beginning(&aim.stack);
    outside.lose = vec![SPARE];
    let outside = Rc::new(outside);
    let run = process(&outside, &aim, 1).unwrap();
    assert_eq!(names(&run.outcome.done), ["project.shop", "volume.spare"]);
    let ledger = load_ledger(outside.records.borrow().iter().cloned()).unwrap();
    assert!(ledger.entries["volume.spare"].current.as_ref().unwrap().provisional);
    assert!(!ledger.entries["project.shop"].current.as_ref().unwrap().provisional);
}

#[test]
fn a_preexisting_object_is_not_bound_to_a_creation() {
    let aim = two();
    let project = Aim::build(Builder::new().with("project", "shop", &[]).build());
    let outside = Rc::new(beginning(&aim.stack));
    process(&outside, &project, 1).unwrap();
    twin(&outside);
    let mut outside = Outside::after(&outside.left_behind(0, "twin"), Duration::from_secs(5));
    outside.lose = vec![0];
    let outside = Rc::new(outside);
    let run = process(&outside, &aim, 2).unwrap();
    assert_eq!(names(&run.outcome.done), ["volume.spare"], "{:?}", run.outcome);
    assert_eq!(live(&outside)["volume"].len(), 2);
}

#[test]
fn indistinguishable_creations_run_one_after_another() {
    let twins = ["one", "two", "three"]
        .into_iter()
        .fold(Builder::new().with("project", "shop", &[]), |stack, name| {
            stack.with("volume", name, &[("name", text("same")), ("size", number(5))])
        });
    let aim = Aim::build(twins.build());
    let mut outside = beginning(&aim.stack);
    outside.lose = vec![1, 2, 3];
    converge(&Rc::new(outside), &aim, 1, "three of the same name, all answers lost");
}

#[test]
fn an_effect_seen_right_after_the_bounds_stops_the_retry() {
    let aim = two();
    let mut outside = beginning(&aim.stack);
    // The list that shows nothing is answered 20 ms after the bounds, the next one 40 ms later.
    let TimingBounds { effect, listing, .. } = TimingBounds::default();
    outside.delay = Some((SPARE, effect + listing + Duration::from_millis(40)));
    let outside = Rc::new(outside);
    let run = process(&outside, &aim, 1).unwrap();
    assert!(matches!(failed(&run, "volume.spare"), StepError::Ambiguous(_)), "{:?}", run.outcome);
    assert_eq!(live(&outside)["volume"].len(), 1);
}

#[test]
fn a_deposed_object_and_an_update_of_its_successor_are_sequential() {
    let (_, remains) = recorded(standing(), &Aim::build(edited()), "editing");
    let is_between = |left: &&Remains| {
        let ledger = load_ledger(left.records.iter().cloned()).unwrap();
        let entry = &ledger.entries["vm.b"];
        let quiet = ledger.intents.values().all(|intent| intent.address.as_str() != "vm.b");
        quiet && !entry.deposed.is_empty()
    };
    let left = remains.iter().find(is_between).unwrap();
    let mut stack = edited();
    let attributes = &mut stack.resources["vm.b"].attributes;
    attributes.get_mut("plan").unwrap().expression = text("std-4c-8g");
    let outside = Rc::new(Outside::after(left, Duration::from_secs(5)));
    converge(&outside, &Aim::build(stack), 3, "an old object is left, and the new one changes");
}

#[test]
fn an_effect_beyond_the_bounds_is_reported_and_not_duplicated_silently() {
    let aim = two();
    let mut outside = beginning(&aim.stack);
    // Given up after 70 s, made anew, and then the first request arrives after all.
    outside.delay = Some((SPARE, Duration::from_secs(200)));
    let outside = Rc::new(outside);
    let run = process(&outside, &aim, 1).unwrap();
    assert_eq!(names(&run.outcome.done), ["project.shop", "volume.spare"]);
    let remains = outside.left_behind(0, "later");
    let later = Outside::after(&remains, Duration::from_mins(10));
    later.late.replace(outside.late.take());
    let later = Rc::new(later);
    let run = process(&later, &aim, 2).unwrap();
    assert_eq!(live(&later)["volume"].len(), 2);
    assert_eq!(run.outcome.questions.len(), 1, "{:?}", run.outcome);
    assert!(run.outcome.questions[0].contains("late effect"), "{:?}", run.outcome);
}

#[test]
fn an_object_changed_since_the_plan_is_not_modified() {
    let mut aim = Aim::build(edited());
    aim.meanwhile = Some(|outside| {
        let project = super::process::listed(outside, "/api/v1/projects");
        let shop = project.iter().find(|project| project["name"] == "shop").unwrap();
        let path = format!("/api/v1/projects/{}", shop["id"].as_str().unwrap());
        meddle(outside, Method::Patch, &path, None, json!({"description": "someone else's"}));
    });
    let outside = Rc::new(standing());
    let run = process(&outside, &aim, 1).unwrap();
    let StepError::ObjectChanged(text) = failed(&run, "project.shop") else { panic!("{:?}", run.outcome) };
    assert!(text.contains("description") && text.contains("someone else's"), "{text}");
    aim.meanwhile = None;
    converge(&outside, &aim, 2, "moved");
}

#[test]
fn a_change_that_is_already_live_is_not_sent_again() {
    let mut aim = Aim::build(edited());
    aim.meanwhile = Some(|outside| {
        let project = super::process::listed(outside, "/api/v1/projects");
        let shop = project.iter().find(|project| project["name"] == "shop").unwrap();
        let path = format!("/api/v1/projects/{}", shop["id"].as_str().unwrap());
        meddle(outside, Method::Patch, &path, None, json!({"description": "the new shop"}));
    });
    let outside = Rc::new(standing());
    let run = process(&outside, &aim, 1).unwrap();
    assert!(run.outcome.failed.is_empty(), "{:?}", run.outcome);
    let undisturbed = Rc::new(standing());
    process(&undisturbed, &Aim::build(edited()), 1).unwrap();
    assert_eq!(outside.changes.get() + 1, undisturbed.changes.get());
}

#[test]
fn an_undeliverable_secret_fails_its_step_and_the_object_stays_owned() {
    let mut aim = Aim::build(shop());
    aim.sink_is_full = true;
    let outside = Rc::new(beginning(&shop()));
    let run = process(&outside, &aim, 1).unwrap();
    let user = "database.main.users.app";
    assert_eq!(names(&run.delivered), [user]);
    let StepError::Failed(text) = failed(&run, user) else { panic!("{:?}", run.outcome) };
    assert!(text.contains("the disk is full"), "{text}");
    let ledger = load_ledger(outside.records.borrow().iter().cloned()).unwrap();
    let entry = &ledger.entries[user];
    assert!(entry.current.is_some() && entry.unfinished);
}

/// Applies a stack to an empty cloud, and holds the time against the limiter and the longest chain.
fn assert_swift(what: &str, stack: Builder, slack: f64) {
    let aim = Aim::build(stack.build());
    let outside = Rc::new(beginning(&aim.stack));
    let run = process(&outside, &aim, 1).unwrap();
    assert_eq!(run.outcome.done.len(), aim.stack.resources.len(), "{what}: {:?}", run.outcome);
    let chain = f64::from(run.plan.critical_path.seconds);
    let changes = u32::try_from(outside.changes.get()).unwrap();
    let bound = chain.max(f64::from(run.sent) / 30.0);
    let (took, sent) = (run.took.as_secs_f64(), run.sent);
    assert!(took <= slack * bound, "{what}: {took} s for a bound of {bound} s, {sent} requests");
    assert!(sent * 50 <= changes * 63, "{what}: {sent} requests for {changes} changes");
}

#[test]
fn three_hundred_objects_take_about_the_time_of_the_longest_chain() {
    let mut disks = Builder::new().with("project", "shop", &[]);
    for n in 0..299 {
        disks = disks.with("volume", &format!("d{n}"), &[("size", number(5))]);
    }
    assert_swift("disks", disks, 1.15);
    let mut pairs = Builder::new().with("project", "shop", &[]);
    for n in 0..150 {
        let (vm, volume) = (format!("w{n}"), format!("d{n}"));
        pairs = pairs
            .with("vm", &vm, &[("template", text("debian-13")), ("plan", text("std-1c-1g"))])
            .with("volume", &volume, &[("size", number(5)), ("vm", id(&format!("vm.{vm}")))]);
    }
    // All chains are the longest, so the last to pass the limiter ends that much later.
    assert_swift("pairs", pairs, 1.3);
    let mut mixed = Builder::new()
        .with("project", "shop", &[])
        .with("database", "main", &[("plan", text("pg-1c-2g"))])
        .child("database_user", "database.main", "users", "app");
    for n in 0..297 {
        mixed = mixed.with("volume", &format!("d{n}"), &[("size", number(5))]);
    }
    assert_swift("mixed", mixed, 1.15);
}
