//! Which records are legal, and that no id is ever lost.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::ledger::fixture::*;
use crate::ledger::journal::replay::apply_record;
use crate::ledger::state::entry::{AmbiguousIntent, Entry};
use crate::ledger::state::holder::LeaseHolder;
use crate::ledger::state::ledger::MAX_FORGOTTEN_OBJECTS;
use crate::ledger::state::run_details::{
    MAX_FULL_RUNS, MAX_KEPT_RESOURCES, MAX_OUTPUT_BYTES, OutputRun, RequestOutcome, RequestRun,
    ResourceResult, ResourceRun, RunValue,
};
use crate::ledger::state::run_history::{ResourceCounts, RunOrigin};
use crate::model::address::Name;
use crate::model::values::secret::Secret;

/// Replays records; the first illegal one ends it with its reason.
fn replay(records: &[Record]) -> Result<Ledger, &'static str> {
    let mut ledger = Ledger::new(identity());
    for record in records {
        apply_record(&mut ledger, record).map_err(|illegal| illegal.reason)?;
    }
    Ok(ledger)
}

fn closed(n: u8, outcome: ClosedOutcome) -> Record {
    Record::Closed { op: op(n), outcome }
}

fn asked(record: &Record) -> Record {
    let Record::Intent(intent) = record else { panic!("{record:?}") };
    Record::Asked(Box::new(AmbiguousIntent {
        intent: intent.clone(),
        candidates: vec![],
        text: "which?".into(),
    }))
}

fn moved(from: u8, to: u8) -> Record {
    Record::Moved { moves: [(address(from), address(to))].into() }
}

fn ids(ledger: &Ledger) -> BTreeSet<Name> {
    let entries = ledger.entries.values();
    entries
        .flat_map(|entry| entry.current.iter().chain(&entry.deposed))
        .map(|object| object.id.clone())
        .collect()
}

#[test]
fn an_object_is_created_updated_and_deleted() {
    let ledger = replay(&[create(1, 1, false), bound(1, "x")]).unwrap();
    assert_eq!(ledger.entries[&address(1)].current, Some(owned("x")));
    assert!(ledger.intents.is_empty());
    let ended = replay(&[
        create(1, 1, false),
        bound(1, "x"),
        update(2, 1, "x"),
        closed(2, ClosedOutcome::Done),
        delete(3, 1, "x"),
        gone(Some(3), 1, "x"),
    ])
    .unwrap();
    assert_eq!((ended.entries.len(), ended.intents.len(), ended.serial), (0, 0, 6));
    assert!(ended.has_owned(), "also once nothing is left");
    assert!(!replay(&[create(1, 1, false), closed(1, ClosedOutcome::Refused)]).unwrap().has_owned());
    let of_earlier_versions = Ledger { had_entries: false, ..ended };
    assert!(!of_earlier_versions.has_owned(), "no run is remembered, and no deleted object");
    let tally = ResourceCounts { done: 1, ..ResourceCounts::default() };
    let end = Some(RunEnd { at: Timestamp::UNIX_EPOCH, complete: true, tally });
    let (run, who) = (op(1), "a@b".to_owned());
    let run = Run { run, plan: run, who, at: Timestamp::UNIX_EPOCH, end, ..Run::default() };
    assert!(Ledger { history: [run].into(), ..of_earlier_versions }.has_owned());
}

#[test]
fn a_replacement_keeps_both_objects_until_the_old_one_is_deleted() {
    let start = [adopted(1, "x"), create(1, 1, true), bound(1, "y")];
    let ledger = replay(&start).unwrap();
    let entry = &ledger.entries[&address(1)];
    assert_eq!((&entry.current, &entry.deposed), (&Some(owned("y")), &vec![owned("x")]));
    let ended = replay(&[&start[..], &[delete(2, 1, "x"), gone(Some(2), 1, "x")]].concat()).unwrap();
    assert_eq!(ids(&ended), BTreeSet::from([Name::new("y")]));
    let current_first = replay(&[&start[..], &[gone(None, 1, "y")]].concat()).unwrap();
    assert_eq!(current_first.entries[&address(1)].deposed, vec![owned("x")]);
}

#[test]
fn a_forgotten_object_is_remembered_until_its_address_is_used_again() {
    let forgotten = [adopted(1, "x"), Record::Forgotten { address: address(1) }];
    let ledger = replay(&forgotten).unwrap();
    assert!(ledger.entries.is_empty());
    let kept = &ledger.kept[&address(1)];
    assert_eq!((&kept.kind, kept.id.as_str()), (&entry(None).kind, "x"));
    let text = serde_json::to_string(&ledger).unwrap();
    assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap().kept, ledger.kept);
    for again in [vec![adopted(1, "x")], vec![create(1, 1, false), bound(1, "y")]] {
        assert!(replay(&[&forgotten[..], &again].concat()).unwrap().kept.is_empty());
    }
    let address = |n: usize| Address::new("thing", &format!("n{n}"));
    let many = (0..MAX_FORGOTTEN_OBJECTS + 2).flat_map(|n| {
        let Record::Adopted { entry, .. } = adopted(1, &format!("x{n}")) else { panic!() };
        [Record::Adopted { address: address(n), entry }, Record::Forgotten { address: address(n) }]
    });
    assert_eq!(replay(&many.collect::<Vec<_>>()).unwrap().kept.len(), MAX_FORGOTTEN_OBJECTS);
}

#[test]
fn a_deposed_object_can_be_updated_before_its_deletion() {
    let both = [adopted(1, "x"), create(1, 1, true), bound(1, "y")];
    let story =
        [update(2, 1, "x"), closed(2, ClosedOutcome::Done), delete(3, 1, "x"), gone(Some(3), 1, "x")];
    let ledger = replay(&[&both[..], &story[..]].concat()).unwrap();
    assert_eq!(ids(&ledger), BTreeSet::from([Name::new("y")]));
}

#[test]
fn an_ambiguous_update_or_deletion_freezes_and_adopts_no_object() {
    for request in [update(1, 1, "x"), delete(1, 1, "x")] {
        let asked = [adopted(1, "x"), request.clone(), asked(&request)];
        let ledger = replay(&asked).unwrap();
        assert!(ledger.intents.is_empty() && ledger.questions.contains_key(&op(1)));
        let frozen = [&asked[..], &[update(2, 1, "x")]].concat();
        assert_eq!(replay(&frozen).err(), Some("an ambiguous intent for the address is open"));
        let answer = |answer| [&asked[..], &[Record::Answered { op: op(1), answer }]].concat();
        for none in [
            IntentResolution::Made { object: owned("y") },
            IntentResolution::Surplus { object: owned("y") },
        ] {
            assert_eq!(replay(&answer(none)).err(), Some("only a create request creates an object"));
        }
        for said in [IntentResolution::Nothing, IntentResolution::Dropped] {
            let ledger = replay(&[answer(said), vec![update(2, 1, "x")]].concat()).unwrap();
            assert!(ledger.questions.is_empty() && ledger.watched.is_empty());
            assert_eq!(ids(&ledger), BTreeSet::from([Name::new("x")]));
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn illegal_transitions_are_errors() {
    let made = || vec![create(1, 1, false), bound(1, "x")];
    let table: Vec<(Vec<Record>, Record, &str)> = vec![
        (vec![], bound(1, "x"), "there is no such open intent"),
        (vec![create(1, 1, false)], bound(1, "old"), "the object existed before the request"),
        (vec![create(1, 1, false)], create(1, 2, false), "the operation's id was used before"),
        (vec![create(1, 1, false)], create(2, 1, false), "another request for the address is open"),
        (
            vec![create(1, 1, false)],
            closed(1, ClosedOutcome::Done),
            "a completed creation must name its object",
        ),
        (made(), create(2, 1, false), "the address has an object already"),
        (vec![], create(1, 1, true), "the address has no object to depose"),
        (made(), update(2, 1, "other"), "the object does not belong to the address"),
        (made(), delete(2, 1, "other"), "the object does not belong to the address"),
        (made(), gone(None, 1, "other"), "the object does not belong to the address"),
        (made(), gone(None, 2, "x"), "there is no such entry"),
        (made(), adopted(1, "y"), "the address has an object already"),
        (made(), moved(2, 3), "there is no entry to move"),
        (
            [made(), vec![delete(2, 1, "x")]].concat(),
            closed(2, ClosedOutcome::Done),
            "a completed deletion must name the deleted object",
        ),
        (
            [made(), vec![update(2, 1, "x")]].concat(),
            gone(Some(2), 1, "x"),
            "the intent is for another operation",
        ),
        (
            [made(), vec![update(2, 1, "x")]].concat(),
            moved(1, 2),
            "a request for the address is open or ambiguous",
        ),
        (
            vec![create(1, 1, false), asked(&create(1, 1, false))],
            create(2, 1, false),
            "an ambiguous intent for the address is open",
        ),
        (
            vec![create(1, 1, false)],
            asked(&create(1, 2, false)),
            "the ambiguous intent differs from the open intent",
        ),
        (
            vec![],
            Record::birth(&identity()),
            "only the first record may name the ledger's stack and environment",
        ),
        (
            vec![Record::Account { account: "a".into() }],
            Record::Account { account: "b".into() },
            "the ledger belongs to another account",
        ),
        (
            vec![Record::Ended {
                run: op(1),
                plan: op(2),
                complete: false,
                at: Timestamp::UNIX_EPOCH,
                tally: ResourceCounts::default(),
                outputs: None,
                resources: Vec::new(),
                policies: Vec::new(),
                unused_overrides: Vec::new(),
            }],
            Record::Begin {
                run: op(3),
                plan: op(2),
                who: "me".into(),
                at: Timestamp::UNIX_EPOCH,
                origin: RunOrigin::default(),
            },
            "the plan was applied before",
        ),
    ];
    for (before, record, reason) in table {
        let mut ledger = replay(&before).unwrap();
        let copy = ledger.clone();
        assert_eq!(
            apply_record(&mut ledger, &record).map_err(|illegal| illegal.reason),
            Err(reason),
            "{record:?}"
        );
        assert_eq!(ledger, copy, "a refused record leaves no trace");
    }
}

#[test]
fn leases_are_taken_in_epoch_order_and_released_by_their_holder() {
    let holder = || LeaseHolder {
        session: Uuid::nil(),
        who: "ada@host".to_owned(),
        process: None,
        since: Timestamp::UNIX_EPOCH,
    };
    let took = |epoch| Record::Took { epoch, holder: holder(), proven: true, reason: None };
    let older = "the lease is older than the current one";
    let not_held = "the released lease is not the current one";
    for (records, wanted) in [
        (vec![took(2), took(1)], Some(older)),
        (vec![took(2), took(2)], Some(older)),
        (vec![Record::Released { epoch: 0 }], Some(not_held)),
        (vec![took(1), took(2), Record::Released { epoch: 1 }], Some(not_held)),
        (vec![took(1), Record::Released { epoch: 1 }, Record::Released { epoch: 1 }], Some(not_held)),
        (vec![took(1), Record::Released { epoch: 1 }, took(3)], None),
    ] {
        assert_eq!(replay(&records).err(), wanted, "{records:?}");
    }
}

#[test]
fn an_intent_presumed_absent_is_watched() {
    let ledger = replay(&[create(1, 1, false), closed(1, ClosedOutcome::PresumedAbsent)]).unwrap();
    assert!(ledger.intents.is_empty() && ledger.watched.contains_key(&op(1)));
    let again =
        [create(1, 1, false), closed(1, ClosedOutcome::PresumedAbsent), create(2, 1, false), bound(2, "x")];
    assert!(replay(&again).is_ok());
    let over = replay(&[
        create(1, 1, false),
        closed(1, ClosedOutcome::PresumedAbsent),
        closed(1, ClosedOutcome::PresumedAbsent),
    ]);
    assert!(over.unwrap().watched.is_empty());
}

#[test]
fn an_ambiguous_intent_freezes_its_address_until_it_is_resolved() {
    let question = [create(1, 1, false), asked(&create(1, 1, false))];
    let ledger = replay(&question).unwrap();
    assert!(ledger.intents.is_empty() && ledger.questions.contains_key(&op(1)));
    let answer = |answer| Record::Answered { op: op(1), answer };
    let adopted =
        replay(&[&question[..], &[answer(IntentResolution::Made { object: owned("x") })]].concat())
            .unwrap();
    assert_eq!(ids(&adopted), BTreeSet::from([Name::new("x")]));
    let absent = replay(&[&question[..], &[answer(IntentResolution::Nothing)]].concat()).unwrap();
    assert!(absent.questions.is_empty() && absent.entries.is_empty());
    assert!(absent.watched.contains_key(&op(1)), "what a human saw is watched all the same");
    let dropped = replay(&[&question[..], &[answer(IntentResolution::Dropped)]].concat()).unwrap();
    assert!(dropped.questions.is_empty() && dropped.watched.is_empty());
}

#[test]
fn a_deleted_object_is_not_bound_again_while_its_tombstone_exists() {
    let begin = |n: u8, days: i64| Record::Begin {
        run: op(n),
        plan: op(n + 1),
        who: "me".into(),
        at: Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * days),
        origin: RunOrigin::default(),
    };
    let dead = [begin(90, 0), adopted(1, "x"), delete(1, 1, "x"), gone(Some(1), 1, "x")];
    let ghost = "the object was deleted, and its absence is proven";
    let made = |record: Record| [&dead[..], &[create(2, 1, false), record]].concat();
    assert_eq!(replay(&made(bound(2, "x"))).unwrap_err(), ghost);
    assert!(replay(&made(bound(2, "y"))).is_ok());
    for answer in
        [IntentResolution::Made { object: owned("x") }, IntentResolution::Surplus { object: owned("x") }]
    {
        assert_eq!(replay(&made(Record::Answered { op: op(2), answer })).unwrap_err(), ghost);
    }
    assert_eq!(replay(&[&dead[..], &[adopted(2, "x")]].concat()).unwrap_err(), ghost);
    // Nobody remembers it for ever; and what was only found gone may come back.
    let long_ago = [&dead[..], &[begin(92, 31), adopted(2, "x")]].concat();
    assert!(replay(&long_ago).unwrap().tombstones.is_empty());
    assert!(replay(&[begin(90, 0), adopted(1, "x"), gone(None, 1, "x"), adopted(1, "x")]).is_ok());
    // A child's id may be its name, which is given again.
    let mut child = entry(Some("app"));
    child.current.as_mut().unwrap().parent = Some("db".into());
    let child = Record::Adopted { address: address(1), entry: Box::new(child) };
    let again = [begin(90, 0), child.clone(), delete(1, 1, "app"), gone(Some(1), 1, "app"), child];
    assert!(replay(&again).unwrap().tombstones.is_empty());
}

#[test]
fn a_late_effect_is_an_ambiguous_intent_and_a_surplus_object_is_deleted() {
    let given_up = [create(1, 1, false), closed(1, ClosedOutcome::PresumedAbsent)];
    let late = [&given_up[..], &[create(2, 1, false), bound(2, "x"), asked(&create(1, 1, false))]].concat();
    let ledger = replay(&late).unwrap();
    assert!(ledger.watched.is_empty() && ledger.questions.contains_key(&op(1)));
    let answer = |answer| Record::Answered { op: op(1), answer };
    let surplus = answer(IntentResolution::Surplus { object: owned("y") });
    let entry =
        &replay(&[&late[..], std::slice::from_ref(&surplus)].concat()).unwrap().entries[&address(1)];
    assert_eq!((&entry.current, &entry.deposed), (&Some(owned("x")), &vec![owned("y")]));
    // Also where the address has nothing else.
    let alone = replay(&[create(1, 1, false), surplus]).unwrap();
    let entry = &alone.entries[&address(1)];
    assert_eq!((&entry.current, &entry.deposed), (&None, &vec![owned("y")]));
}

#[test]
fn a_move_updates_every_reference_to_the_address() {
    let mut child = entry(Some("c"));
    child.parent = Some(address(1));
    child.depends_on = vec![address(3), address(1)];
    let child = Record::Adopted { address: address(2), entry: Box::new(child) };
    let ledger = replay(&[adopted(1, "x"), child, moved(1, 9)]).unwrap();
    let child = &ledger.entries[&address(2)];
    assert_eq!((&child.parent, &child.depends_on), (&Some(address(9)), &vec![address(3), address(9)]));
    assert!(!ledger.entries.contains_key(&address(1)));
}

#[test]
fn applied_and_merged_records_keep_the_objects() {
    let mut after = entry(None);
    after.applied.insert("name".into(), "web".into());
    let applied = Record::Applied { address: address(1), entry: Box::new(after) };
    let attributes = [("name".into(), Value::Null), ("size".into(), Value::Integer(3))].into();
    let merged = Record::Merged { address: address(1), attributes };
    let start = [adopted(1, "x"), create(1, 1, true), bound(1, "y")];
    let ledger = replay(&[&start[..], &[applied, merged]].concat()).unwrap();
    let entry = &ledger.entries[&address(1)];
    assert_eq!((&entry.current, &entry.deposed), (&Some(owned("y")), &vec![owned("x")]));
    assert_eq!(entry.applied, [("size".into(), Value::Integer(3))].into());
}

#[test]
fn a_ledger_starts_with_its_birth_record() {
    assert!(matches!(load_ledger(vec![]), Err(StoreError::Corrupt { .. })));
    assert!(matches!(load_ledger(vec![adopted(1, "x")]), Err(StoreError::Corrupt { .. })));
    let ledger = load_ledger(vec![Record::birth(&identity()), adopted(1, "x")]).unwrap();
    assert_eq!((ledger.serial, &ledger.identity), (2, &identity()));
    let condensed = Record::Condensed(Box::new(ledger.clone()));
    assert_eq!(load_ledger(vec![condensed]).unwrap(), ledger);
}

fn begin(n: u8) -> Record {
    let who = "ada@host".to_owned();
    Record::Begin { run: op(n), plan: op(n), who, at: Timestamp::UNIX_EPOCH, origin: RunOrigin::default() }
}

fn ended(n: u8, resources: usize) -> Record {
    let resource = ResourceRun {
        address: address(1),
        action: "create".into(),
        result: ResourceResult::Done,
        ms: 7,
        error: None,
        requests: vec![RequestRun("POST".into(), "/api/v1/vms".to_owned(), Some(201), None)],
    };
    Record::Ended {
        run: op(n),
        plan: op(n),
        complete: true,
        at: Timestamp::UNIX_EPOCH,
        tally: ResourceCounts::default(),
        outputs: None,
        resources: vec![resource; resources],
        policies: Vec::new(),
        unused_overrides: Vec::new(),
    }
}

#[test]
fn runs_are_numbered_and_no_number_is_used_again() {
    let runs: Vec<Record> = (0..=u8::MAX).flat_map(|n| [begin(n), ended(n, 1)]).collect();
    let ledger = replay(&runs).unwrap();
    let numbers: Vec<u64> = ledger.history.iter().map(|run| run.number).collect();
    assert_eq!(numbers, (57..=256).collect::<Vec<_>>(), "the last 200 are remembered");
    assert_eq!(ledger.last_run, 256);
    let full = ledger.history.iter().filter(|run| !run.resources.is_empty());
    assert_eq!(full.map(|run| run.number).min(), Some(157), "the last 100 are kept in full");
    // Another copy of the ledger, which made fewer runs, replaces it.
    let copy = replay(&runs[..6]).unwrap();
    let mut pushed = ledger.clone();
    let push =
        Record::Pushed { ledger: Box::new(copy), who: "ada@host".to_owned(), at: Timestamp::UNIX_EPOCH };
    apply_record(&mut pushed, &push).unwrap();
    apply_record(&mut pushed, &begin(9)).unwrap();
    assert_eq!(pushed.history.back().unwrap().number, 257);
}

#[test]
fn the_runs_of_a_ledger_of_an_earlier_version_get_numbers() {
    let ledger = replay(&[begin(1), ended(1, 1), begin(2), ended(2, 1)]).unwrap();
    let mut old = serde_json::to_value(&ledger).unwrap();
    old.as_object_mut().unwrap().remove("last_run").unwrap();
    for run in old["history"].as_array_mut().unwrap() {
        let run = run.as_object_mut().unwrap();
        run.remove("number").unwrap();
        run.remove("resources").unwrap();
    }
    let condensed = Record::Condensed(Box::new(serde_json::from_value(old).unwrap()));
    let read = load_ledger([condensed, begin(3)]).unwrap();
    assert_eq!(read.history.iter().map(|run| run.number).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(read.last_run, 3);
}

#[test]
fn the_history_of_very_large_runs_is_bounded() {
    let many = MAX_KEPT_RESOURCES / 2 + 1;
    let runs = [begin(1), ended(1, many), begin(2), ended(2, many), begin(3), ended(3, 3 * many)];
    let kept = |count: usize| -> Vec<usize> {
        replay(&runs[..count]).unwrap().history.iter().map(|run| run.resources.len()).collect()
    };
    assert_eq!(kept(2), [many]);
    assert_eq!(kept(4), [0, many]);
    assert_eq!(kept(6), [0, 0, 3 * many], "the last run is kept in full");
    let one = serde_json::to_string(&replay(&[begin(1), ended(1, 1)]).unwrap()).unwrap().len();
    let two = serde_json::to_string(&replay(&[begin(1), ended(1, 2)]).unwrap()).unwrap().len();
    assert!(two - one < 150, "{} bytes a resource", two - one);
}

fn ended_with(n: u8, outputs: &[(&str, Value)]) -> Record {
    let mut record = ended(n, 1);
    if let Record::Ended { outputs: recorded, .. } = &mut record {
        *recorded = Some(outputs.iter().map(|(name, value)| (Name::new(name), value.clone())).collect());
    }
    record
}

#[test]
fn a_run_keeps_the_outputs_that_it_changed() {
    let secret = |digest: &str| Value::Secret(Secret::Fingerprint(Some(digest.into())));
    let long = Value::text("x".repeat(MAX_OUTPUT_BYTES));
    let first = [("address", Value::text("a")), ("same", Value::Integer(1)), ("token", secret("aa"))];
    let second = [("long", long), ("same", Value::Integer(1)), ("token", secret("bb"))];
    let runs = [begin(1), ended_with(1, &first), begin(2), ended_with(2, &second), begin(3), ended(3, 1)];
    let ledger = replay(&runs).unwrap();
    let output = |name: &str, before, after| OutputRun { name: name.into(), before, after };
    let (none, kept) = (|| RunValue::Absent, |value: &Value| RunValue::Kept(value.clone()));
    let added = first.iter().map(|(name, value)| output(name, none(), kept(value)));
    assert_eq!(ledger.history[0].outputs, added.collect::<Vec<_>>());
    let changed = [
        output("address", kept(&first[0].1), none()),
        output("long", none(), RunValue::TooLong),
        output("token", kept(&secret("aa")), kept(&secret("bb"))),
    ];
    assert_eq!(ledger.history[1].outputs, changed);
    assert!(ledger.history[2].outputs.is_empty(), "it recorded no outputs");
}

#[test]
fn a_run_without_an_end_keeps_the_requests_that_it_began() {
    let records = [begin(1), create(1, 1, false), bound(1, "x"), update(2, 1, "x"), create(3, 2, false)];
    let requests = |records: &[Record]| -> Vec<(Uuid, Name, RequestOutcome)> {
        let ledger = replay(records).unwrap();
        let begun = ledger.history.iter().flat_map(|run| &run.begun);
        begun.map(|request| (request.op, request.action.clone(), request.outcome)).collect()
    };
    let of = |n, action: &str, outcome| (op(n), action.into(), outcome);
    let killed = [
        of(1, "create", RequestOutcome::Done),
        of(2, "update", RequestOutcome::Open),
        of(3, "create", RequestOutcome::Open),
    ];
    assert_eq!(requests(&records), killed);
    // The next run finds out what became of them; its own requests are others.
    let closed = [
        closed(2, ClosedOutcome::Done),
        closed(3, ClosedOutcome::PresumedAbsent),
        begin(2),
        delete(4, 1, "x"),
        gone(Some(4), 1, "x"),
    ];
    let after = [
        of(1, "create", RequestOutcome::Done),
        of(2, "update", RequestOutcome::Done),
        of(3, "create", RequestOutcome::NoEffect),
        of(4, "delete", RequestOutcome::Done),
    ];
    let all = [&records[..], &closed].concat();
    assert_eq!(requests(&all), after);
    assert_eq!(replay(&all).unwrap().history[0].begun.len(), 3);
    assert_eq!(
        requests(&[&all[..], &[ended(2, 1)]].concat()),
        after[..3],
        "a recorded end has the resources"
    );
    let asked = [&records[..], &[asked(&create(3, 2, false))]].concat();
    assert_eq!(requests(&asked)[2].2, RequestOutcome::Ambiguous);
}

#[test]
fn runs_that_are_killed_again_and_again_are_bounded() {
    let killed =
        (0..=u8::MAX).flat_map(|n| [begin(n), create(1, 1, false), closed(1, ClosedOutcome::NotSent)]);
    let ledger = replay(&killed.collect::<Vec<_>>()).unwrap();
    assert_eq!(ledger.history.iter().filter(|run| !run.begun.is_empty()).count(), MAX_FULL_RUNS);
}

/// Any record over a few addresses, operations and ids: most are illegal where they stand.
pub(crate) fn any_record() -> impl Strategy<Value = Record> {
    let id = prop_oneof![Just("x"), Just("y"), Just("z"), Just("old")];
    let outcome = prop_oneof![
        Just(ClosedOutcome::Done),
        Just(ClosedOutcome::Refused),
        Just(ClosedOutcome::NotSent),
        Just(ClosedOutcome::PresumedAbsent),
    ];
    (0u8..15, 0u8..4, 0u8..3, id, outcome, any::<bool>()).prop_map(|(what, n, at, id, outcome, flag)| {
        match what {
            0 | 1 => create(n, at, flag),
            2 => update(n, at, id),
            3 | 4 => delete(n, at, id),
            5 | 6 => bound(n, id),
            7 => closed(n, outcome),
            8 => gone(flag.then_some(n), at, id),
            9 => adopted(at, id),
            10 => Record::Forgotten { address: address(at) },
            11 => moved(at, (at + 1) % 3),
            12 => asked(&create(n, at, flag)),
            13 if flag => {
                Record::Answered { op: op(n), answer: IntentResolution::Surplus { object: owned(id) } }
            }
            _ if flag => {
                Record::Answered { op: op(n), answer: IntentResolution::Made { object: owned(id) } }
            }
            _ => Record::Answered { op: op(n), answer: IntentResolution::Nothing },
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// I4: an id leaves the ledger only when it is said to be gone, or let go.
    #[test]
    fn no_object_id_is_lost(records in prop::collection::vec(any_record(), 0..60)) {
        let mut ledger = Ledger::new(identity());
        for record in records {
            let before = ids(&ledger);
            let current = |(address, entry): (&Address, &Entry)| {
                Some((address.clone(), entry.current.as_ref()?.id.clone()))
            };
            let owners: BTreeMap<Address, Name> = ledger.entries.iter().filter_map(current).collect();
            if apply_record(&mut ledger, &record).is_err() {
                prop_assert_eq!(ids(&ledger), before);
                continue;
            }
            for lost in before.difference(&ids(&ledger)) {
                let current = |address: &Address| owners.get(address).is_some_and(|id| id == lost);
                let said = matches!(&record, Record::Gone { id, .. } if id == lost)
                    || matches!(&record, Record::Forgotten { address } if current(address));
                prop_assert!(said, "{} was lost by {:?}", lost, record);
            }
            // At most one open request, and no entry without an object.
            for entry in ledger.entries.values() {
                prop_assert!(entry.current.is_some() || !entry.deposed.is_empty());
            }
            for intent in ledger.intents.values() {
                let same = ledger.intents.values().filter(|other| other.address == intent.address);
                prop_assert_eq!(same.count(), 1);
            }
        }
    }
}
