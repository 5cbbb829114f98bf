//! What is put in of the facts that a failed append left behind.

use super::*;
use crate::ledger::fixture::*;
use crate::ledger::journal::replay::apply_record;
use crate::ledger::state::entry::AmbiguousIntent;
use crate::model::values::value::Value;

fn ledger(records: &[Record]) -> Ledger {
    let mut ledger = Ledger::new(identity());
    for record in records {
        apply_record(&mut ledger, record).unwrap();
    }
    ledger
}

fn done(n: u8) -> [Record; 2] {
    let attributes = [("size".into(), Value::Integer(9))].into();
    [
        Record::Closed { op: op(n), outcome: ClosedOutcome::Done },
        Record::Merged { address: address(1), attributes },
    ]
}

#[test]
fn a_recovered_fact_is_replayed_while_its_intent_is_open() {
    let kept = [bound(1, "x")];
    assert_eq!(records_to_replay(&ledger(&[create(1, 1, false)]), &kept), kept);
    // The append was written after all; or a later run found it by itself.
    assert_eq!(records_to_replay(&ledger(&[create(1, 1, false), bound(1, "x")]), &kept), []);
    let given_up = Record::Closed { op: op(1), outcome: ClosedOutcome::PresumedAbsent };
    assert_eq!(records_to_replay(&ledger(&[create(1, 1, false), given_up]), &kept), []);
}

#[test]
fn a_recovered_fact_resolves_its_ambiguous_intent() {
    let record = create(1, 1, false);
    let Record::Intent(intent) = record.clone() else { panic!() };
    let question =
        AmbiguousIntent { intent, candidates: vec!["x".into(), "y".into()], text: "which?".into() };
    let ledger = ledger(&[record, Record::Asked(Box::new(question))]);
    let made = Record::Answered { op: op(1), answer: IntentResolution::Made { object: owned("x") } };
    assert_eq!(records_to_replay(&ledger, &[bound(1, "x")]), [made]);
}

#[test]
fn recovered_attributes_are_replayed_only_with_the_end_of_their_call() {
    let open = [adopted(1, "x"), update(2, 1, "x")];
    assert_eq!(records_to_replay(&ledger(&open), &done(2)), done(2));
    let over = [&open[..], &done(2)].concat();
    assert_eq!(records_to_replay(&ledger(&over), &done(2)), []);
    assert_eq!(records_to_replay(&ledger(&open), &done(2)[1..]), []);
}

#[test]
fn a_recovered_deletion_is_replayed_once() {
    let open = [adopted(1, "x"), delete(2, 1, "x")];
    let kept = [gone(Some(2), 1, "x")];
    assert_eq!(records_to_replay(&ledger(&open), &kept), kept);
    assert_eq!(records_to_replay(&ledger(&[&open[..], &kept].concat()), &kept), []);
    assert_eq!(records_to_replay(&ledger(&open), &[gone(None, 1, "x")]), []);
}
