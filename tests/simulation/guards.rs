//! The last looks: what is asked right before a request leaves, and before its answer is believed.

use std::rc::Rc;
use std::time::Duration;

use stead::apply::context::TimingBounds;
use stead::apply::event::StepError;
use stead::ledger::journal::record::{ClosedOutcome, Record};

use super::cloud::deliver_late;
use super::converge;
use super::disaster::Outside;
use super::process::{Aim, beginning, listed, live, process};
use super::protocol::{SPARE, failed, two};
use super::stack::{Builder, text};

fn closed_as(outside: &Outside, wanted: ClosedOutcome) -> usize {
    let records = outside.records.borrow();
    let closed = records.iter().filter_map(|record| match record {
        Record::Closed { outcome, .. } => Some(*outcome),
        _ => None,
    });
    closed.filter(|outcome| *outcome == wanted).count()
}

/// Returns the outside of a stack that stands.
fn standing(aim: &Aim) -> Outside {
    let outside = Rc::new(beginning(&aim.stack));
    process(&outside, aim, 1).unwrap();
    Outside::after(&outside.left_behind(0, "standing"), Duration::from_mins(5))
}

#[test]
fn a_request_delayed_beyond_the_sending_bound_is_not_sent() {
    let mut held = 0;
    for append in 0..8 {
        let aim = two();
        let mut outside = beginning(&aim.stack);
        // The machine sleeps while a record is written: an intent, sooner or later.
        let asleep = |outside: &Outside| {
            outside.machine.skip(TimingBounds::default().sending + Duration::from_secs(1));
        };
        outside.before_append = Some((append, asleep));
        let outside = Rc::new(outside);
        process(&outside, &aim, 1).unwrap();
        held += closed_as(&outside, ClosedOutcome::NotSent);
        converge(&outside, &aim, 2, &format!("asleep in append {append}"));
    }
    assert_eq!(held, 2, "one request for each object");
}

#[test]
fn a_conflict_response_may_be_the_late_effect_of_an_earlier_request() {
    let aim = two();
    let mut outside = beginning(&aim.stack);
    // Given up, and sent anew: the first arrives right before the second, which is refused for it.
    outside.delay = Some((SPARE, Duration::from_hours(1)));
    outside.before_change = Some((SPARE + 1, |outside| deliver_late(outside, Duration::MAX)));
    outside.refuse = Some((SPARE + 1, 409));
    let outside = Rc::new(outside);
    let run = process(&outside, &aim, 1).unwrap();
    assert!(matches!(failed(&run, "volume.spare"), StepError::Ambiguous(_)), "{:?}", run.outcome);
    assert_eq!(live(&outside)["volume"].len(), 1);
}

#[test]
fn an_object_with_another_creation_time_is_not_deleted() {
    let build = two();
    let mut aim = Aim::destroy(build.stack.clone());
    aim.meanwhile = Some(|outside| {
        // The id is the same, and yet it is another object.
        let volume = listed(outside, "/api/v1/volumes").remove(0);
        let born = volume["created_at"].as_str().unwrap().to_owned();
        let world = serde_json::to_string(&*outside.world.borrow()).unwrap();
        let another = world.replace(&born, &born.replacen("20", "19", 1));
        outside.world.replace(serde_json::from_str(&another).unwrap());
        outside.thaw();
        assert_ne!(listed(outside, "/api/v1/volumes")[0]["created_at"], volume["created_at"]);
    });
    let outside = Rc::new(standing(&build));
    let run = process(&outside, &aim, 2).unwrap();
    assert!(matches!(failed(&run, "volume.spare"), StepError::ObjectChanged(_)), "{:?}", run.outcome);
    assert_eq!(live(&outside)["volume"].len(), 1);
}

#[test]
fn a_lost_update_is_not_resent_before_its_bounds_have_passed() {
    let named =
        |words| Aim::build(Builder::new().with("project", "shop", &[("description", text(words))]).build());
    let mut outside = standing(&named("old"));
    outside.delay = Some((0, TimingBounds::default().effect));
    let outside = Rc::new(outside);
    process(&outside, &named("new"), 2).unwrap();
    assert_eq!(outside.changes.get(), 1, "it was under way all the time");
    converge(&outside, &named("new"), 3, "a change came late");
}
