//! Lists against an oracle whose world changes between any two requests.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::cloud::exchange::{Answer, ExchangeError, Request};
use crate::cloud::fake::{answer, client, client_with, kind, page, run, slice};

/// A world of numbered objects, newest first, that remembers every state it was in.
struct Oracle {
    rows: Vec<u32>,
    next: u32,
    history: Vec<BTreeSet<u32>>,
    largest: usize,
    /// What happens before each request: 0–1 something comes, 2–3 something goes, else nothing.
    tape: Vec<u8>,
    at: usize,
    calls: usize,
    /// Requests after which nothing changes any more.
    restless: usize,
}

impl Oracle {
    fn new(count: u32, largest: usize, tape: Vec<u8>, restless: usize) -> Self {
        let rows: Vec<u32> = (0..count).rev().collect();
        let history = vec![rows.iter().copied().collect()];
        Self { rows, next: count, history, largest, tape, at: 0, calls: 0, restless }
    }

    fn draw(&mut self) -> usize {
        self.at += 1;
        self.tape.get(self.at % self.tape.len().max(1)).copied().unwrap_or(255).into()
    }

    fn change(&mut self) {
        match self.draw() % 8 {
            0 | 1 => {
                self.rows.insert(0, self.next);
                self.next += 1;
            }
            2 | 3 if !self.rows.is_empty() => {
                let at = (self.draw() * 257 + self.draw()) % self.rows.len();
                self.rows.remove(at);
            }
            _ => return,
        }
        self.history.push(self.rows.iter().copied().collect());
    }

    fn answer(&mut self, request: &Request) -> Result<Answer, ExchangeError> {
        self.calls += 1;
        if self.calls <= self.restless {
            for _ in 0..self.draw() % 4 {
                self.change();
            }
        }
        let rows: Vec<Json> = slice(request, &self.rows, self.largest)
            .iter()
            .map(|n| json!({"id": format!("vm-{n}")}))
            .collect();
        answer(200, &json!({"data": rows, "total": self.rows.len()}))
    }
}

fn numbers(objects: &[Object]) -> Vec<u32> {
    objects.iter().map(|object| object.id.strip_prefix("vm-").unwrap().parse().unwrap()).collect()
}

fn vms() -> Scope<'static> {
    Scope { kind: kind("vm"), parent: None, project: None }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// A list is the world at one instant. From pages too small to overlap, a stable list still is, and
    /// no list has what never was.
    #[test]
    fn a_list_is_what_was_there(
        count in 0u32..460,
        largest in prop_oneof![Just(100usize), Just(1_000), Just(20), Just(7), Just(1)],
        tape in prop::collection::vec(any::<u8>(), 8..64),
        restless in 0usize..12,
        stable: bool,
    ) {
        let count = if largest < 20 { count / 12 } else { count };
        let delays = tape.clone();
        let oracle = RefCell::new(Oracle::new(count, largest, tape, restless));
        let turn = Cell::new(0);
        let delay = || {
            turn.set(turn.get() + 1);
            Duration::from_millis(5 + u64::from(delays[turn.get() % delays.len()]))
        };
        let (client, clock, _) = client_with(|request| oracle.borrow_mut().answer(request), delay);
        let listed = run(&clock, async {
            if stable {
                list_stable(&client, &vms()).await.map(|(objects, _)| objects)
            } else {
                list(&client, &vms()).await
            }
        });
        // A list that never holds still is refused; one that does is read within the bound.
        let listed = match listed {
            Ok(listed) => numbers(&listed),
            Err(error) => {
                prop_assert!(restless > 0, "{}", error);
                return Ok(());
            }
        };
        let set: BTreeSet<u32> = listed.iter().copied().collect();
        prop_assert_eq!(set.len(), listed.len(), "each once");
        let history = &oracle.borrow().history;
        let always = history.iter().skip(1).fold(history[0].clone(), |all, state| &all & state);
        let ever = history.iter().fold(BTreeSet::new(), |all, state| &all | state);
        prop_assert!(set.is_subset(&ever));
        if stable || largest >= OVERLAPPING {
            prop_assert!(always.is_subset(&set), "missed {:?}", always.difference(&set).collect::<Vec<_>>());
            prop_assert!(history.contains(&set), "no instant had these rows");
        }
    }
}

/// Lists a still world; returns the ids in order and the number of requests.
fn still(count: usize, largest: usize, total: impl Fn(usize, usize) -> Json) -> (usize, usize) {
    let rows: Vec<Json> = (0..count).map(|n| json!({"id": format!("vm-{n}")})).collect();
    let (client, clock, log) = client(|request| {
        let part = slice(request, &rows, largest);
        answer(200, &json!({"data": part, "total": total(rows.len(), part.len())}))
    });
    let listed = run(&clock, list(&client, &vms())).unwrap();
    assert_eq!(numbers(&listed), (0..u32::try_from(count).unwrap()).collect::<Vec<_>>());
    assert_eq!(client.count().pages as usize, log.borrow().len());
    (listed.len(), log.borrow().len())
}

#[test]
fn a_list_takes_no_more_pages_than_it_has() {
    let honest = |all, _| json!(all);
    for (count, largest, requests) in [
        (0, 100, 1),
        (1, 100, 1),
        (99, 100, 1),
        (100, 100, 2),
        (101, 100, 2),
        (150, 1_000, 2),
        (1_000, 100, 11),
        (60, 20, 4),
        (5, 1, 6),
    ] {
        assert_eq!(still(count, largest, honest), (count, requests), "{count} of {largest}");
    }
}

#[test]
fn a_total_that_lies_does_no_harm() {
    still(250, 100, |_, page| json!(page));
    for largest in [100, 20] {
        still(250, largest, |_, _| json!(17));
        still(250, largest, |_, _| Json::Null);
        still(250, largest, |_, _| json!("many"));
        let (_, requests) = still(250, largest, |_, _| json!(1_000_000));
        assert!(requests <= 130, "{requests}");
    }
}

#[test]
fn pages_go_out_together() {
    let rows: Vec<Json> = (0..1_000).map(|n| json!({"id": format!("vm-{n}")})).collect();
    let (client, clock, log) = client(|request| page(request, &rows, 100));
    run(&clock, list(&client, &vms())).unwrap();
    let mut moments: Vec<_> = log.borrow().iter().map(|(at, _)| *at).collect();
    moments.dedup();
    assert_eq!(moments.len(), 2, "two round trips: {moments:?}");
}

/// Pages of one row have none in common: here a single pass sees rows that were never there together.
#[test]
fn pages_without_common_rows_are_read_twice() {
    let calls = Cell::new(0);
    let (client, clock, _) = client(|request| {
        calls.set(calls.get() + 1);
        let rows = if calls.get() == 1 { [3, 2, 1] } else { [5, 4, 1] };
        let rows: Vec<_> = rows.iter().map(|n| json!({"id": format!("vm-{n}")})).collect();
        page(request, &rows, 1)
    });
    let (listed, date) = run(&clock, list_stable(&client, &vms())).unwrap();
    assert_eq!(numbers(&listed), [5, 4, 1]);
    assert!(date.is_some());
}

#[test]
fn a_list_that_never_holds_still_is_refused() {
    let next = Cell::new(0u32);
    let (client, clock, log) = client(|_| {
        next.set(next.get() + 1);
        let rows: Vec<_> =
            (0..100).map(|n| json!({"id": format!("vm-{}", next.get() * 1_000 + n)})).collect();
        answer(200, &json!({"data": rows, "total": 500 + next.get()}))
    });
    let error = run(&clock, list(&client, &vms())).unwrap_err();
    assert!(error.to_string().contains("changed under each of 6 reads"), "{error}");
    assert!(log.borrow().len() < 60);
}

#[test]
fn a_record_without_an_id_is_an_error_not_a_gap() {
    let (client, clock, _) = client(|_| answer(200, &json!({"data": [{"name": "web"}], "total": 1})));
    let error = run(&clock, list(&client, &vms())).unwrap_err();
    assert_eq!(error.to_string(), "GET /api/v1/vms: a vm in the answer has no legal `id`");
}
