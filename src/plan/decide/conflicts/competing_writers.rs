//! Competing writers: two writers of one attribute, each of which reverts the other's value. Neither sees the other;
//! the sign is that the same difference returns after every apply.

use std::collections::BTreeSet;

use foldhash::{HashMap, HashMapExt};

use crate::ledger::state::run_history::Run;
use crate::model::address::Name;
use crate::plan::model::change::{Drift, DriftClass};

/// The limit on differences that the history of an apply records.
const MAX_RECORDED_DIFFERENCES: usize = 64;

/// The number of recent applies that are examined.
const EXAMINED_RUNS: usize = 10;

/// The number of applies that must have reverted a difference before it counts as contested: one revert
/// may be an accident.
const MIN_REVERTS: usize = 2;

/// Returns the differences that a plan reverts, as `address.path`, for the history: the first
/// `MAX_RECORDED_DIFFERENCES` in the order of the drift.
pub fn put_back(drift: &[Drift]) -> Vec<Name> {
    drift.iter().filter_map(reverted_difference).take(MAX_RECORDED_DIFFERENCES).collect()
}

/// Returns the differences that are present again although at least `MIN_REVERTS` of the recent applies
/// reverted them. `history` lists applies oldest first.
pub fn find_competing_writes<'a>(
    drift: &[Drift],
    history: impl DoubleEndedIterator<Item = &'a Run>,
) -> Vec<Name> {
    let mut times: HashMap<&Name, usize> = HashMap::new();
    for run in history.rev().take(EXAMINED_RUNS) {
        for name in run.origin.put_back.iter().collect::<BTreeSet<_>>() {
            *times.entry(name).or_default() += 1;
        }
    }
    let is_contested = |name: &Name| times.get(name).is_some_and(|times| *times >= MIN_REVERTS);
    drift.iter().filter_map(reverted_difference).filter(is_contested).collect()
}

/// Returns the name of a difference that the plan reverts; `None` for a lost object and for drift that the plan
/// leaves as it is.
fn reverted_difference(drift: &Drift) -> Option<Name> {
    let path = drift.path.as_ref().filter(|_| drift.class == DriftClass::Reverted)?;
    Some(smol_str::format_smolstr!("{}.{path}", drift.address))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use uuid::Uuid;

    use super::*;
    use crate::ledger::state::run_history::RunOrigin;
    use crate::model::address::Address;
    use crate::model::values::value::Value;

    fn drift(path: Option<&str>, class: DriftClass) -> Drift {
        Drift {
            address: Address::new("volume", "a"),
            path: path.map(Into::into),
            last_applied: Value::Integer(1),
            live: Value::Integer(2),
            class,
            leave: None,
            acceptable: false,
            unconfirmed: false,
            blocked_by: None,
            source: None,
        }
    }

    fn run(put_back: &[&str]) -> Run {
        let put_back = put_back.iter().map(Name::new).collect();
        Run {
            run: Uuid::nil(),
            plan: Uuid::nil(),
            who: "ada".to_owned(),
            at: Timestamp::UNIX_EPOCH,
            origin: RunOrigin { put_back, ..RunOrigin::default() },
            ..Run::default()
        }
    }

    #[test]
    fn drift_that_returns_after_two_applies_is_a_competing_writer() {
        let again = [drift(Some("name"), DriftClass::Reverted), drift(Some("size"), DriftClass::Reverted)];
        let (name, both) = (run(&["volume.a.name"]), run(&["volume.a.name", "volume.a.size"]));
        let quiet = run(&[]);
        for (history, found) in [
            (vec![], vec![]),
            (vec![&both], vec![]),
            (vec![&both, &name], vec!["volume.a.name"]),
            (vec![&both, &quiet, &both], vec!["volume.a.name", "volume.a.size"]),
            ([vec![&both, &both], vec![&quiet; EXAMINED_RUNS]].concat(), vec![]),
        ] {
            assert_eq!(find_competing_writes(&again, history.into_iter()), found);
        }
        let twice = run(&["volume.a.name", "volume.a.name"]);
        assert!(find_competing_writes(&again, [&twice].into_iter()).is_empty(), "one apply is one");
    }

    #[test]
    fn only_reverted_drift_is_recorded() {
        let all = [
            drift(Some("name"), DriftClass::Reverted),
            drift(Some("size"), DriftClass::AcceptOnly),
            drift(Some("note"), DriftClass::Ignored),
            drift(None, DriftClass::Gone),
        ];
        assert_eq!(put_back(&all), ["volume.a.name"]);
        let many: Vec<Drift> =
            (0..1_000).map(|n| drift(Some(&format!("p{n}")), DriftClass::Reverted)).collect();
        assert_eq!(put_back(&many).len(), MAX_RECORDED_DIFFERENCES, "a record stays small");
    }
}
