//! How questions are told, found and answered.

use super::*;
use crate::ledger::fixture::*;
use crate::ledger::journal::record::{IntentResolution, Record};
use crate::ledger::journal::replay::apply_record;
use crate::ledger::state::entry::AmbiguousIntent;

fn asked(record: &Record, candidates: &[&str]) -> Record {
    let Record::Intent(intent) = record else { panic!("{record:?}") };
    let candidates = candidates.iter().map(Name::new).collect();
    Record::Asked(Box::new(AmbiguousIntent { intent: intent.clone(), candidates, text: "which?".into() }))
}

fn ledger(records: &[Record]) -> Ledger {
    let mut ledger = Ledger::new(identity());
    for record in records {
        apply_record(&mut ledger, record).unwrap();
    }
    ledger
}

#[test]
fn an_ambiguous_intent_describes_its_resolutions() {
    let made = |candidates: &[&str]| {
        let record = create(1, 1, false);
        ledger(&[record.clone(), asked(&record, candidates)])
    };
    // The ids of the fixture differ in their last digits only.
    let whole = op(1).to_string();
    for (candidates, words) in [
        (vec![], "absent"),
        (vec!["x"], "adopt x | surplus x | absent | forget"),
        (vec!["x", "y"], "adopt x | surplus x | adopt y | surplus y | absent | forget"),
    ] {
        let told = describe_ambiguous_intent(&made(&candidates), op(1)).unwrap();
        assert_eq!(told, format!("which?; to resolve it: stead resolve {} {words}", &whole[..8]));
    }
    assert_eq!(describe_ambiguous_intent(&made(&[]), op(2)), None);
}

#[test]
fn an_ambiguous_update_or_deletion_cannot_be_resolved_by_adopt() {
    for request in [update(1, 1, "x"), delete(1, 1, "x")] {
        let ledger = ledger(&[adopted(1, "x"), request.clone(), asked(&request, &[])]);
        assert!(describe_ambiguous_intent(&ledger, op(1)).unwrap().ends_with(" absent | forget"));
    }
}

#[test]
fn a_likely_ambiguous_intent_is_announced() {
    let mut ledger = ledger(&[adopted(1, "x"), update(1, 1, "x")]);
    assert_eq!(likely_ambiguous_intents(&ledger), [""; 0], "its own run, or a dead one's");
    ledger.intents.values_mut().for_each(|intent| intent.foreign = true);
    let told = likely_ambiguous_intents(&ledger);
    assert!(told.len() == 1 && told[0].starts_with(address(1).as_str()), "{told:?}");
}

#[test]
fn an_address_with_an_object_adopts_no_second_one() {
    let (first, second) = (create(1, 1, false), create(2, 1, false));
    let Record::Intent(lost) = &first else { panic!() };
    let absent = Record::Answered { op: op(1), answer: IntentResolution::Nothing };
    let again = asked(&first, &["x"]);
    let ledger = ledger(&[first.clone(), asked(&first, &[]), absent, second, bound(2, "y"), again]);
    assert_eq!(possible_answers(&ledger, lost, &["x".into()]), ["surplus x", "absent", "forget"]);
}

#[test]
fn an_unambiguous_id_prefix_is_enough() {
    let (one, two) = (create(1, 1, false), create(2, 2, false));
    let both = ledger(&[one.clone(), two.clone(), asked(&one, &[]), asked(&two, &[])]);
    for n in [1, 2] {
        assert_eq!(find_by_prefix(&both, &short_handle(&both, op(n))), Ok(op(n)));
        assert_eq!(find_by_prefix(&both, &op(n).to_string().to_uppercase()), Ok(op(n)));
    }
    let Err(IntentLookupError::MultipleMatches { all, .. }) = find_by_prefix(&both, "0") else { panic!() };
    assert_eq!(all.len(), 2);
    let one = ledger(&[one.clone(), asked(&one, &[])]);
    let slip = format!("{}9", &short_handle(&one, op(1))[..7]);
    assert!(find_by_prefix(&one, &slip).unwrap_err().to_string().contains("did you mean"), "{slip}");
    assert_eq!(
        find_by_prefix(&one, ""),
        Err(IntentLookupError::NotFound { asked: String::new(), near: None })
    );
}
