//! Changes and deletions whose sender may still send them, or is not presumed to have failed.

use std::rc::Rc;
use std::time::Duration;

use stead::apply::event::StepError;
use stead::ledger::journal::record::IntentResolution;
use stead::ledger::state::entry::AmbiguousIntent;

use super::converge;
use super::disaster::Outside;
use super::process::{Aim, beginning, process};
use super::protocol::{failed, two};
use super::questions::{VOLUME, in_ten_minutes, later, ledger, only_question, say, take_over};
use super::stack::number;

/// A volume that stands, and a stack in which it is larger.
fn grown() -> (Outside, Aim) {
    let mut aim = two();
    let outside = Rc::new(beginning(&aim.stack));
    converge(&outside, &aim, 900, "it is built");
    let size = super::stack::setting(number(9));
    aim.stack.resources[VOLUME].attributes.insert("size".into(), size);
    (later(&outside, Duration::from_mins(5)), aim)
}

/// Runs until the address is frozen by a question without candidates, and checks that nothing is done
/// there however often it runs. Returns the question.
fn assert_frozen(outside: &Rc<Outside>, aim: &Aim, told: &str) -> AmbiguousIntent {
    for seed in 20..22 {
        let run = process(outside, aim, seed).unwrap();
        assert!(run.plan.steps.iter().all(|step| step.address.as_str() != VOLUME), "{:?}", run.plan.steps);
    }
    let question = only_question(outside);
    assert!(question.candidates.is_empty() && question.text.contains(told), "{question:?}");
    question
}

#[test]
fn an_update_by_a_holder_that_may_still_send_is_ambiguous() {
    // It has taken effect, or has no effect for a day.
    for lost in [true, false] {
        let (mut outside, aim) = grown();
        if lost {
            outside.lose = vec![0];
        } else {
            outside.delay = Some((0, Duration::from_hours(24)));
        }
        outside.taken_at = Some(outside.machine.elapsed() + Duration::from_secs(30));
        let outside = Rc::new(outside);
        process(&outside, &aim, 1).unwrap();
        assert_eq!(ledger(&outside).intents.len(), 1);
        take_over(&outside);
        let again = in_ten_minutes(&outside);
        let question = assert_frozen(&again, &aim, "may still take effect");
        assert!(question.intent.foreign);
        // Whoever sent it is known to be dead, and the request has come or will not.
        super::cloud::deliver_late(&again, again.machine.elapsed() + Duration::from_hours(48));
        say(
            &again,
            question.intent.op,
            if lost { IntentResolution::Nothing } else { IntentResolution::Dropped },
        );
        converge(&again, &aim, 30, "answered");
    }
}

#[test]
fn a_strict_run_never_presumes_that_an_update_had_no_effect() {
    let (mut outside, mut aim) = grown();
    aim.strict = true;
    outside.delay = Some((0, Duration::from_hours(24)));
    let outside = Rc::new(outside);
    let run = process(&outside, &aim, 1).unwrap();
    assert!(matches!(failed(&run, VOLUME), StepError::Ambiguous(_)), "{:?}", run.outcome);
    let question = assert_frozen(&outside, &aim, "it has had no visible effect");
    say(&outside, question.intent.op, IntentResolution::Nothing);
    converge(&outside, &aim, 30, "answered");
    // What is seen needs no answer.
    let (mut outside, mut aim) = grown();
    aim.strict = true;
    outside.lose = vec![0];
    converge(&Rc::new(outside), &aim, 1, "it took effect");
}

#[test]
fn a_refused_second_deletion_does_not_resolve_the_first() {
    for (foreign, strict) in [(false, false), (true, false), (false, true)] {
        let story = format!("foreign {foreign}, strict {strict}");
        let (mut outside, mut aim) = grown();
        aim.stack.resources.shift_remove(VOLUME);
        aim.strict = strict;
        outside.delay = Some((0, Duration::from_hours(24)));
        outside.refuse = Some((1, 400));
        let outside = Rc::new(outside);
        let run = process(&outside, &aim, 1).unwrap();
        assert!(matches!(failed(&run, VOLUME), StepError::Refused(_)), "{story}: {:?}", run.outcome);
        assert_eq!(ledger(&outside).intents.len(), 1, "{story}: the first one may still come");
        if foreign {
            take_over(&outside);
        }
        let again = in_ten_minutes(&outside);
        if foreign || strict {
            let told = if foreign { "may still take effect" } else { "the object exists" };
            let question = assert_frozen(&again, &aim, told);
            say(&again, question.intent.op, IntentResolution::Nothing);
        }
        converge(&again, &aim, 30, &story);
    }
}

#[test]
fn a_deletion_by_another_holder_is_done_once_the_object_is_gone() {
    let (mut outside, mut aim) = grown();
    aim.stack.resources.shift_remove(VOLUME);
    // The first append says that the run begins, the second is the intent: what it came to is lost.
    outside.fail_append = Some(2);
    let outside = Rc::new(outside);
    process(&outside, &aim, 1).unwrap();
    assert_eq!((ledger(&outside).intents.len(), outside.changes.get()), (1, 1));
    take_over(&outside);
    converge(&in_ten_minutes(&outside), &aim, 2, "it is gone");
}
