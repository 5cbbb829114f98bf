//! Lists against an oracle whose world changes between any two requests, and whose service is as odd as
//! chance has it: a list is the world at one instant, or an error.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::cloud::fake::{answer, client_with, kind, run, slice};
use crate::cloud::http::message::{HttpRequest, HttpResponse, TransportError};

/// In which order a service lists.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    /// Newest first, and those of one second by id.
    Born,
    /// What was touched last comes first.
    Touched,
    /// By name: what is new or renamed comes anywhere.
    Name,
    /// None: rows change places for no reason.
    Loose,
}

/// What a service says is the total.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Total {
    Honest,
    Missing,
    OfThePage,
    Always(u32),
    /// Now and then one too many.
    Wavering,
}

/// How a service is.
#[derive(Debug, Clone)]
struct Manner {
    order: Order,
    total: Total,
    /// Rows carry their `created_at`.
    dated: bool,
    /// Most rows of a page; the second one holds now and then.
    largest: (usize, usize),
    /// Lists a row twice, now and then.
    repeats: bool,
}

#[derive(Clone)]
struct Row {
    id: u32,
    born: u32,
    name: u32,
}

/// A world of numbered objects that remembers every state it was in.
struct Oracle {
    manner: Manner,
    rows: Vec<Row>,
    next: u32,
    history: Vec<BTreeSet<u32>>,
    /// Where chance comes from, over and over.
    tape: Vec<u8>,
    at: usize,
    calls: usize,
    /// Requests after which nothing changes any more.
    restless: usize,
}

impl Oracle {
    fn new(count: u32, manner: Manner, tape: Vec<u8>, restless: usize) -> Self {
        let (rows, history) = (Vec::new(), Vec::new());
        let mut oracle = Self { manner, rows, next: 0, history, tape, at: 0, calls: 0, restless };
        (0..count).for_each(|_| oracle.insert());
        oracle.history = vec![oracle.state()];
        oracle
    }

    fn draw(&mut self) -> usize {
        self.at += 1;
        // A tape that is over goes on differently.
        let again = self.at / self.tape.len() * 31;
        usize::from(self.tape[self.at % self.tape.len()].wrapping_add(u8::try_from(again % 256).unwrap()))
    }

    fn place(&mut self) -> usize {
        (self.draw() * 257 + self.draw()) % self.rows.len()
    }

    fn state(&self) -> BTreeSet<u32> {
        self.rows.iter().map(|row| row.id).collect()
    }

    fn insert(&mut self) {
        let id = self.next;
        self.next += 1;
        // Three of one second.
        let row = Row { id, born: id / 3, name: u32::try_from(self.draw()).unwrap() };
        self.rows.insert(0, row);
        self.tidy();
    }

    fn tidy(&mut self) {
        match self.manner.order {
            Order::Born => self.rows.sort_by_key(|row| (std::cmp::Reverse(row.born), row.id)),
            Order::Name => self.rows.sort_by_key(|row| (row.name, row.id)),
            Order::Touched | Order::Loose => {}
        }
    }

    fn change(&mut self) {
        match self.draw() % 8 {
            0 | 1 => self.insert(),
            2 | 3 if !self.rows.is_empty() => {
                let at = self.place();
                self.rows.remove(at);
            }
            4 | 5 if !self.rows.is_empty() => {
                let at = self.place();
                let mut row = self.rows.remove(at);
                row.name = u32::try_from(self.draw()).unwrap();
                let to = if self.manner.order == Order::Touched { 0 } else { at };
                self.rows.insert(to, row);
                self.tidy();
            }
            6 if self.manner.order == Order::Loose && !self.rows.is_empty() => {
                let (one, other) = (self.place(), self.place());
                self.rows.swap(one, other);
            }
            _ => return,
        }
        self.history.push(self.state());
    }

    fn answer(&mut self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        self.calls += 1;
        if self.calls <= self.restless {
            for _ in 0..self.draw() % 4 {
                self.change();
            }
        }
        let Manner { total, dated, largest, repeats, .. } = self.manner;
        let largest = if self.draw().is_multiple_of(4) { largest.1 } else { largest.0 };
        let mut page = slice(request, &self.rows, largest);
        if repeats && self.draw().is_multiple_of(8) {
            page.extend(page.last().cloned());
        }
        let count = self.rows.len();
        let total = match total {
            Total::Honest => json!(count),
            Total::Missing => Json::Null,
            Total::OfThePage => json!(page.len()),
            Total::Always(total) => json!(total),
            Total::Wavering => json!(count + usize::from(self.draw().is_multiple_of(8))),
        };
        let record = |row: &Row| {
            let mut record = json!({"id": format!("vm-{:05}", row.id), "name": row.name.to_string()});
            if dated {
                // Fractions of a second are written only where there are any.
                let born = Timestamp::from_millisecond(i64::from(row.born) * 500).unwrap();
                record["created_at"] = json!(born.to_string());
            }
            record
        };
        let rows: Vec<Json> = page.iter().map(record).collect();
        answer(200, &json!({"data": rows, "total": total}))
    }
}

fn manner() -> impl Strategy<Value = Manner> {
    let order = prop_oneof![
        3 => Just(Order::Born),
        1 => Just(Order::Touched),
        1 => Just(Order::Name),
        1 => Just(Order::Loose)
    ];
    let total = prop_oneof![
        4 => Just(Total::Honest),
        1 => Just(Total::Missing),
        1 => Just(Total::OfThePage),
        1 => prop_oneof![Just(17), Just(100), Just(9_999)].prop_map(Total::Always),
        1 => Just(Total::Wavering)
    ];
    let largest = prop_oneof![
        4 => Just((100, 100)),
        1 => Just((1_000, 1_000)),
        2 => Just((20, 20)),
        1 => Just((100, 30)),
        1 => Just((7, 7)),
        1 => Just((1, 1))
    ];
    (order, total, any::<bool>(), largest, prop::bool::weighted(0.1)).prop_map(
        |(order, total, dated, largest, repeats)| Manner { order, total, dated, largest, repeats },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_list_equals_the_live_objects_at_one_instant_or_is_an_error(
        count in 0u32..160,
        manner in manner(),
        tape in prop::collection::vec(any::<u8>(), 8..64),
        restless in prop_oneof![Just(0usize), 1usize..24],
        stable: bool,
    ) {
        // A page that counts only itself and is smaller than it was asked to be cannot be
        // told from a whole list.
        let stable = stable || manner.total == Total::OfThePage;
        let count = if manner.largest.0 < 20 { count / 12 } else { count };
        let calm = restless == 0
            && !manner.repeats
            && manner.largest.0 == manner.largest.1
            && manner.total != Total::Wavering;
        let delays = tape.clone();
        let oracle = RefCell::new(Oracle::new(count, manner, tape, restless));
        let turn = Cell::new(0);
        let delay = || {
            turn.set(turn.get() + 1);
            Duration::from_millis(5 + u64::from(delays[turn.get() % delays.len()]))
        };
        let (client, clock, _) = client_with(|request| oracle.borrow_mut().answer(request), delay);
        let scope = ListScope { kind: kind("vm"), parent: None, project: None };
        let listed = run(&clock, async {
            if stable {
                list_stable(&client.reader, &scope).await.map(|(rows, _)| rows)
            } else {
                list_consistently(&client.reader, &scope).await
            }
        });
        let listed = match listed {
            Ok(listed) => listed,
            // A list that never holds still is refused; one that does is read within the bound.
            Err(error) => {
                prop_assert!(!calm, "{}", error);
                return Ok(());
            }
        };
        let ids = listed.iter().map(|object| object.id.strip_prefix("vm-").unwrap().parse().unwrap());
        let set: BTreeSet<u32> = ids.collect();
        prop_assert_eq!(set.len(), listed.len(), "each once");
        prop_assert!(oracle.borrow().history.contains(&set), "no instant had these rows");
    }
}
