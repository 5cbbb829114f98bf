//! What only a human can say: strict runs, holders that lost the ledger, late effects, and the answers.

use std::rc::Rc;
use std::time::Duration;

use serde_json::json;
use stead::apply::event::StepError;
use stead::config::stack::model::SecretSink;
use stead::ledger::journal::record::{IntentResolution, Record};
use stead::ledger::journal::recovered_facts::records_to_replay;
use stead::ledger::journal::replay::load_ledger;
use stead::ledger::state::entry::{AmbiguousIntent, OwnedObject};
use stead::ledger::state::holder::LeaseHolder;
use stead::ledger::state::ledger::Ledger;
use stead::model::address::Name;
use stead::model::schema::Method;
use uuid::Uuid;

use super::cloud::meddle;
use super::converge;
use super::disaster::Outside;
use super::machine::wall;
use super::process::{Aim, assert_converged, beginning, live, process};
use super::protocol::{SPARE, failed, names, twin, two};
use super::stack::{Builder, id, number, shop};

pub(super) const VOLUME: &str = "volume.spare";

pub(super) fn ledger(outside: &Outside) -> Ledger {
    load_ledger(outside.records.borrow().iter().cloned()).unwrap()
}

pub(super) fn only_question(outside: &Outside) -> AmbiguousIntent {
    let ledger = ledger(outside);
    assert_eq!(ledger.questions.len(), 1, "{:?}", ledger.questions);
    ledger.questions.into_values().next().unwrap()
}

pub(super) fn say(outside: &Outside, op: Uuid, answer: IntentResolution) {
    outside.records.borrow_mut().push(Record::Answered { op, answer });
    ledger(outside);
}

/// The object that a human takes for what a request made.
fn object(question: &AmbiguousIntent, id: &str) -> OwnedObject {
    let project = question.intent.project.clone();
    OwnedObject { id: id.into(), parent: None, project, created_at: None, provisional: false }
}

/// Someone else takes the ledger over from a holder that nobody has proven dead.
pub(super) fn take_over(outside: &Outside) {
    let who = "eve@sim".to_owned();
    let since = wall(outside.machine.elapsed());
    let holder = LeaseHolder { session: Uuid::from_u128(2), who, process: None, since };
    let epoch = ledger(outside).epoch + 1;
    outside.records.borrow_mut().push(Record::Took { epoch, holder, proven: false, reason: None });
}

/// The outside after a run, some time later.
pub(super) fn later(outside: &Outside, pause: Duration) -> Outside {
    let after = Outside::after(&outside.left_behind(0, "later"), pause);
    after.late.replace(outside.late.take());
    after
}

pub(super) fn in_ten_minutes(outside: &Outside) -> Rc<Outside> {
    Rc::new(later(outside, Duration::from_mins(10)))
}

#[test]
fn no_request_is_sent_that_could_outlive_the_lease() {
    let aim = Aim::build(shop());
    let mut outside = beginning(&aim.stack);
    // A request may take a minute.
    outside.lease_until = Some(Duration::from_mins(1));
    let outside = Rc::new(outside);
    let run = process(&outside, &aim, 1).unwrap();
    assert_eq!(outside.changes.get(), 0);
    assert!(run.outcome.failed.iter().all(|(_, error)| matches!(error, StepError::LeaseLost(_))));
    let ledger = ledger(&outside);
    assert!(ledger.intents.is_empty() && ledger.watched.is_empty(), "what did not leave is closed as such");
    converge(&in_ten_minutes(&outside), &aim, 2, "the lease was too short");
}

#[test]
fn a_paused_holder_sends_nothing_after_it_resumes() {
    let aim = two();
    let mut outside = beginning(&aim.stack);
    outside.lease_until = Some(Duration::from_mins(3));
    // The machine sleeps while the first change is on its way: too little is left for a second.
    outside.before_change = Some((0, |outside| outside.machine.skip(Duration::from_secs(130))));
    let outside = Rc::new(outside);
    let run = process(&outside, &aim, 1).unwrap();
    assert_eq!(outside.changes.get(), 1, "{:?}", run.outcome);
    assert!(matches!(failed(&run, VOLUME), StepError::LeaseLost(_)), "{:?}", run.outcome);
    assert!(ledger(&outside).entries.contains_key("project.shop"), "the lease still holds for a record");
}

#[test]
fn after_a_takeover_the_old_holder_sends_and_records_nothing() {
    let aim = Aim::build(shop());
    for second in [1, 3, 7, 20, 45, 90, 200] {
        let story = format!("taken over after {second} s");
        let mut outside = beginning(&aim.stack);
        outside.taken_at = Some(Duration::from_secs(second));
        let outside = Rc::new(outside);
        // The service and the store check that nothing comes after it.
        let run = process(&outside, &aim, 1).unwrap();
        if run.outcome.failed.is_empty() {
            continue;
        }
        let displaced = |error: &StepError| matches!(error, StepError::LeaseLost(_));
        assert!(run.outcome.failed.iter().any(|(_, error)| displaced(error)), "{story}: {:?}", run.outcome);
        let grace = Duration::from_secs(second + 1);
        assert!(outside.machine.elapsed() < grace, "{story}: it ended {:?}", outside.machine.elapsed());
        take_over(&outside);
        let again = in_ten_minutes(&outside);
        process(&again, &aim, 2).unwrap();
        for op in ledger(&again).questions.into_keys() {
            say(&again, op, IntentResolution::Nothing);
        }
        converge(&again, &aim, 3, &story);
    }
}

#[test]
fn a_foreign_request_without_an_effect_is_ambiguous_and_other_steps_run() {
    let stack = Builder::new()
        .with("project", "shop", &[])
        .with("volume", "spare", &[("size", number(5))])
        .with("volume", "other", &[("size", number(7))]);
    let aim = Aim::build(stack.build());
    let mut outside = beginning(&aim.stack);
    // Killed while the request for the first volume is on its way, and that takes very long.
    outside.delay = Some((SPARE, Duration::from_hours(1)));
    outside.taken_at = Some(Duration::from_secs(30));
    let outside = Rc::new(outside);
    process(&outside, &aim, 1).unwrap();
    take_over(&outside);
    let again = in_ten_minutes(&outside);
    let run = process(&again, &aim, 2).unwrap();
    let question = only_question(&again);
    assert!(question.candidates.is_empty() && question.intent.foreign, "{question:?}");
    let asked = question.intent.address.as_str();
    let blocked: Vec<_> = run.plan.blocks.iter().map(|block| block.code.as_str()).collect();
    assert_eq!(blocked, ["question"]);
    assert!(run.plan.blocks.iter().all(stead::plan::model::block::Blocker::only_freezes));
    assert_eq!(live(&again)["volume"].len(), 1, "the other one was made, {asked} was not");
    assert!(run.outcome.questions[0].contains("stead resolve"), "{:?}", run.outcome.questions);
    // Nothing is presumed, however often it runs.
    process(&again, &aim, 3).unwrap();
    assert_eq!(live(&again)["volume"].len(), 1);
    // Then it arrives after all: the human finds it.
    let found = Rc::new(later(&again, Duration::from_hours(2)));
    let others = ledger(&found).entries.into_values().filter_map(|entry| entry.current);
    let others: Vec<String> = others.map(|owned| owned.id.to_string()).collect();
    super::cloud::deliver_late(&found, found.machine.elapsed());
    let id = live(&found)["volume"].iter().find(|id| !others.contains(id)).unwrap().clone();
    say(&found, question.intent.op, IntentResolution::Made { object: object(&question, &id) });
    converge(&found, &aim, 4, "answered");
}

#[test]
fn the_object_of_a_foreign_request_is_bound_as_unconfirmed() {
    let aim = two();
    let mut outside = beginning(&aim.stack);
    outside.lose = vec![SPARE];
    outside.taken_at = Some(Duration::from_secs(30));
    let outside = Rc::new(outside);
    process(&outside, &aim, 1).unwrap();
    take_over(&outside);
    let again = in_ten_minutes(&outside);
    converge(&again, &aim, 2, "one candidate");
    assert!(ledger(&again).entries[VOLUME].current.as_ref().unwrap().provisional);
}

#[test]
fn a_strict_run_treats_a_single_candidate_as_ambiguous() {
    let mut aim = two();
    aim.strict = true;
    let mut outside = beginning(&aim.stack);
    outside.lose = vec![SPARE];
    let outside = Rc::new(outside);
    let run = process(&outside, &aim, 1).unwrap();
    assert!(matches!(failed(&run, VOLUME), StepError::Ambiguous(_)), "{:?}", run.outcome);
    let question = only_question(&outside);
    assert_eq!(question.candidates.len(), 1);
    say(
        &outside,
        question.intent.op,
        IntentResolution::Made { object: object(&question, &question.candidates[0]) },
    );
    converge(&outside, &aim, 2, "the human said that it is ours");
    assert!(!ledger(&outside).entries[VOLUME].current.as_ref().unwrap().provisional);
}

#[test]
fn a_strict_run_creates_no_second_object_however_late_the_effect() {
    let mut aim = two();
    aim.strict = true;
    let mut outside = beginning(&aim.stack);
    outside.delay = Some((SPARE, Duration::from_hours(24)));
    let outside = Rc::new(outside);
    process(&outside, &aim, 1).unwrap();
    let question = only_question(&outside);
    assert!(question.candidates.is_empty());
    for seed in 2..5 {
        let run = process(&outside, &aim, seed).unwrap();
        assert_eq!((run.outcome.questions.len(), live(&outside)["volume"].len()), (1, 0));
    }
    // A human knows better, and the first one comes after all: it is told, and deleted on demand.
    say(&outside, question.intent.op, IntentResolution::Nothing);
    let run = process(&outside, &aim, 5).unwrap();
    assert!(run.outcome.failed.is_empty() && run.outcome.questions.is_empty(), "{:?}", run.outcome);
    let after = Rc::new(later(&outside, Duration::from_hours(30)));
    super::cloud::deliver_late(&after, after.machine.elapsed());
    assert_eq!(live(&after)["volume"].len(), 2);
    surplus_is_deleted(&after, &aim);
}

/// A late effect stands beside the owned object: it is told, asked about, and deleted once it is said
/// to be one too many.
fn surplus_is_deleted(outside: &Rc<Outside>, aim: &Aim) {
    let run = process(outside, aim, 10).unwrap();
    let told: Vec<_> = run.plan.blocks.iter().map(|block| (block.code.as_str(), &*block.help)).collect();
    let [("late_effect", help)] = told[..] else { panic!("{told:?}") };
    assert!(help.contains("surplus") && !help.contains("adopt"), "{help}");
    assert_eq!(run.outcome.questions.len(), 1, "{:?}", run.outcome);
    let question = only_question(outside);
    say(
        outside,
        question.intent.op,
        IntentResolution::Surplus { object: object(&question, &question.candidates[0]) },
    );
    let run = process(outside, aim, 11).unwrap();
    assert_eq!(run.plan.changes.len(), 1, "{:?}", run.plan.changes);
    assert_converged(outside, aim, &run, "the surplus is deleted");
}

#[test]
fn a_late_effect_is_in_the_plan_and_ambiguous_in_the_apply() {
    let aim = two();
    let mut outside = beginning(&aim.stack);
    outside.delay = Some((SPARE, Duration::from_secs(200)));
    let outside = Rc::new(outside);
    process(&outside, &aim, 1).unwrap();
    let after = in_ten_minutes(&outside);
    super::cloud::deliver_late(&after, after.machine.elapsed());
    surplus_is_deleted(&after, &aim);
}

#[test]
fn an_intent_resolved_as_foreign_is_not_ambiguous_again() {
    for answer in [IntentResolution::Dropped, IntentResolution::Nothing] {
        let aim = two();
        let mut outside = beginning(&aim.stack);
        outside.before_change = Some((SPARE, twin));
        outside.lose = vec![SPARE];
        let outside = Rc::new(outside);
        process(&outside, &aim, 1).unwrap();
        let question = only_question(&outside);
        assert_eq!(question.candidates.len(), 2);
        say(&outside, question.intent.op, answer);
        process(&outside, &aim, 2).unwrap();
        let run = process(&outside, &aim, 3).unwrap();
        assert!(run.outcome.questions.is_empty(), "{:?}", run.outcome.questions);
        assert!(ledger(&outside).questions.is_empty());
    }
}

#[test]
fn an_intent_is_watched_for_seven_days() {
    let aim = two();
    let mut outside = beginning(&aim.stack);
    outside.delay = Some((SPARE, Duration::from_hours(24 * 30)));
    let outside = Rc::new(outside);
    process(&outside, &aim, 1).unwrap();
    assert_eq!(ledger(&outside).watched.len(), 1);
    for (days, watched) in [(6, 1), (8, 0)] {
        let after = Outside::after(&outside.left_behind(0, "days"), Duration::from_hours(24 * days));
        let after = Rc::new(after);
        process(&after, &aim, 2).unwrap();
        assert_eq!(ledger(&after).watched.len(), watched, "after {days} days");
    }
}

#[test]
fn facts_that_the_ledger_did_not_record_are_replayed_by_the_next_run() {
    let aim = two();
    let undisturbed = Rc::new(beginning(&aim.stack));
    process(&undisturbed, &aim, 1).unwrap();
    let mut rescued = 0;
    for append in 0..undisturbed.appends() {
        let mut outside = beginning(&aim.stack);
        outside.fail_append = Some(append);
        let outside = Rc::new(outside);
        process(&outside, &aim, 1).unwrap();
        let kept = outside.rescued.take();
        let after = Rc::new(later(&outside, Duration::from_secs(5)));
        let records = records_to_replay(&ledger(&after), &kept);
        assert_eq!(records.len(), kept.len(), "append {append}");
        rescued += records.len();
        after.records.borrow_mut().extend(records);
        converge(&after, &aim, 2, &format!("append {append} failed, and what was in it was kept"));
        let found = ledger(&after).entries.into_values().filter_map(|entry| entry.current);
        assert!(
            !found.into_iter().any(|owned| owned.provisional),
            "append {append}: nothing had to be found"
        );
    }
    assert!(rescued >= 2, "{rescued}");
}

#[test]
fn a_secret_that_did_not_reach_its_sink_is_read_and_delivered_again() {
    let user = "database.main.users.app";
    let mut aim = Aim::build(shop());
    aim.stack.resources[user].deliver_secret = Some(Box::new(SecretSink::File("app.password".to_owned())));
    aim.sink_is_full = true;
    let outside = Rc::new(beginning(&aim.stack));
    process(&outside, &aim, 1).unwrap();
    assert!(ledger(&outside).entries[user].secret_lost);
    aim.sink_is_full = false;
    let run = process(&outside, &aim, 2).unwrap();
    assert_eq!(names(&run.delivered), [user]);
    assert!(!ledger(&outside).entries[user].secret_lost);
    converge(&outside, &aim, 3, "delivered at last");
    // An answer that is lost takes the secret along: it is read again in the same run.
    let undisturbed = Rc::new(beginning(&aim.stack));
    process(&undisturbed, &aim, 1).unwrap();
    for lost in 0..undisturbed.changes.get() {
        let mut outside = beginning(&aim.stack);
        outside.lose = vec![lost];
        let outside = Rc::new(outside);
        let run = process(&outside, &aim, 1).unwrap();
        assert_eq!(names(&run.delivered), [user], "answer {lost} is lost");
        assert!(!ledger(&outside).entries[user].secret_lost, "answer {lost} is lost");
    }
}

#[test]
fn an_unconfirmed_object_is_not_deleted_before_it_is_confirmed() {
    let aim = two();
    let mut outside = beginning(&aim.stack);
    outside.lose = vec![SPARE];
    let outside = Rc::new(outside);
    process(&outside, &aim, 1).unwrap();
    let destroy = Aim::destroy(aim.stack.clone());
    let run = process(&outside, &destroy, 2).unwrap();
    assert_eq!(run.plan.blocks.len(), 1, "{:?}", run.plan.blocks);
    assert_eq!(run.plan.blocks[0].code, "provisional");
    assert!(!run.plan.blocks[0].only_freezes());
}

/// Two volumes, of which the first is the stack's own or a stranger's, and the name of the change that
/// makes the second.
fn beside(first: &str) -> (Outside, Aim) {
    let project = Builder::new().with("project", "shop", &[]);
    let ours = Aim::build(project.with("volume", first, &[("size", number(5))]).build());
    let outside = Rc::new(beginning(&ours.stack));
    converge(&outside, &ours, 900, "the first volume");
    let both = Builder::new()
        .with("project", "shop", &[])
        .with("volume", first, &[("size", number(5))])
        .with("volume", "spare", &[("size", number(5))]);
    (later(&outside, Duration::from_mins(5)), Aim::build(both.build()))
}

#[test]
fn a_response_that_names_an_older_object_is_an_ambiguous_intent() {
    type Other = fn(&Outside) -> String;
    // In the same run ours was made just before; a stranger's, whatever it is called, was listed.
    let ours: Other = |outside| {
        let owned = ledger(outside).entries["volume.first"].current.as_ref().unwrap().id.to_string();
        assert!(live(outside)["volume"].contains(&owned));
        owned
    };
    let theirs: Other = |outside| outside.strangers.borrow().first().unwrap().clone();
    for (whose, other) in [("ours", ours), ("a stranger's", theirs)] {
        let (mut outside, aim) = beside("first");
        let project = super::process::listed(&outside, "/api/v1/projects");
        let project = project.iter().find(|project| project["name"] == "shop").unwrap();
        let body = json!({"name": "another", "size": 5});
        let made = meddle(&outside, Method::Post, "/api/v1/volumes", project["id"].as_str(), body);
        outside.strangers.borrow_mut().insert(made["data"]["id"].as_str().unwrap().to_owned());
        outside.misname = Some((0, other));
        let outside = Rc::new(outside);
        let named = other(&outside);
        let run = process(&outside, &aim, 1).unwrap();
        assert!(matches!(failed(&run, VOLUME), StepError::Ambiguous(_)), "{whose}: {:?}", run.outcome);
        let question = only_question(&outside);
        assert!(question.text.contains(&named), "{whose}: {}", question.text);
        let owners = |id: &str| {
            let entries = ledger(&outside).entries;
            entries.values().filter(|entry| entry.current.iter().any(|owned| *owned.id == *id)).count()
        };
        assert_eq!(owners(&named), usize::from(whose == "ours"), "{whose} is nobody else's");
        // A human finds the one that it made.
        let known: Vec<String> =
            outside.strangers.borrow().iter().cloned().chain([ours(&outside)]).collect();
        let id = live(&outside)["volume"].iter().find(|id| !known.contains(id)).unwrap().clone();
        assert_eq!(question.candidates, [Name::new(&id)], "{whose}: what was named is no candidate");
        say(&outside, question.intent.op, IntentResolution::Made { object: object(&question, &id) });
        converge(&outside, &aim, 2, whose);
    }
}

#[test]
fn an_unconfirmed_object_is_watched_until_no_late_effect_is_possible() {
    let aim = two();
    let mut outside = beginning(&aim.stack);
    // A stranger makes the same while ours is on its way, and that takes longer than any bound.
    outside.before_change = Some((SPARE, twin));
    outside.delay = Some((SPARE, Duration::from_secs(500)));
    let outside = Rc::new(outside);
    let run = process(&outside, &aim, 1).unwrap();
    assert_eq!(names(&run.outcome.done), ["project.shop", VOLUME]);
    let owned = ledger(&outside).entries[VOLUME].current.clone().unwrap();
    assert!(owned.provisional, "the stranger's is taken for ours, and only so far");
    let after = in_ten_minutes(&outside);
    super::cloud::deliver_late(&after, after.machine.elapsed());
    let all = live(&after)["volume"].clone();
    let ours = all.iter().find(|id| **id != *owned.id).unwrap();
    assert_eq!(all.len(), 2);
    let run = process(&after, &aim, 2).unwrap();
    assert_eq!(run.outcome.questions.len(), 1, "ours came, and nobody hears of it: {:?}", run.outcome);
    assert!(run.outcome.questions[0].contains(ours.as_str()), "{:?}", run.outcome.questions);
    assert_eq!(only_question(&after).candidates, [Name::new(ours)]);
}

#[test]
fn an_ambiguous_intent_freezes_only_its_dependents() {
    let stack = Builder::new()
        .with("project", "shop", &[])
        .with("vpc", "net", &[("cidr", super::stack::text("10.1.0.0/16"))])
        .with(
            "vm",
            "web",
            &[
                ("template", super::stack::text("debian-13")),
                ("plan", super::stack::text("std-1c-1g")),
                ("vpc", id("vpc.net")),
            ],
        )
        .with("volume", "data", &[("size", number(5)), ("vm", id("vm.web"))])
        .with("volume", "spare", &[("size", number(5))]);
    let mut aim = Aim::build(stack.build());
    (aim.strict, aim.parallel) = (true, 1);
    let undisturbed = Rc::new(beginning(&aim.stack));
    process(&undisturbed, &aim, 1).unwrap();
    for lost in 1..undisturbed.changes.get() {
        let mut outside = beginning(&aim.stack);
        outside.lose = vec![lost];
        let outside = Rc::new(outside);
        process(&outside, &aim, 1).unwrap();
        let Some(question) = ledger(&outside).questions.into_values().next() else { continue };
        let asked = question.intent.address;
        let run = process(&outside, &aim, 2).unwrap();
        assert!(run.plan.steps.iter().all(|step| step.address != asked), "{asked} is frozen");
        let frozen = match asked.as_str() {
            "vpc.net" => 3,
            "vm.web" => 2,
            _ => 1,
        };
        let owned = ledger(&outside).entries.len();
        assert_eq!(owned, aim.stack.resources.len() - frozen, "{asked} and its dependents wait");
    }
}
