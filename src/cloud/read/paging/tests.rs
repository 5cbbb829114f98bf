//! What lists cost, and how they meet services that lie.

use std::cell::Cell;

use serde_json::{Value as Json, json};

use super::*;
use crate::cloud::fake::{answer, client, kind, page, run, slice};

fn numbers(objects: &[Object]) -> Vec<u32> {
    objects.iter().map(|object| object.id.strip_prefix("vm-").unwrap().parse().unwrap()).collect()
}

fn vms() -> ListScope<'static> {
    ListScope { kind: kind("vm"), parent: None, project: None }
}

/// Records in the order of the service: newest first.
fn dated(count: usize) -> Vec<Json> {
    let record = |n| json!({"id": format!("vm-{n}"), "created_at": format!("2026-11-21T12:00:00.{:06}Z", count - n)});
    (0..count).map(record).collect()
}

/// Lists a still world; returns the ids in order and the number of requests.
fn still(count: usize, largest: usize, total: impl Fn(usize, usize) -> Json) -> (usize, usize) {
    let rows = dated(count);
    let (client, clock, log) = client(|request| {
        let part = slice(request, &rows, largest);
        answer(200, &json!({"data": part, "total": total(rows.len(), part.len())}))
    });
    let listed = run(&clock, list_consistently(&client.reader, &vms())).unwrap();
    assert_eq!(numbers(&listed), (0..u32::try_from(count).unwrap()).collect::<Vec<_>>());
    assert_eq!(client.request_count().pages as usize, log.borrow().len());
    (listed.len(), log.borrow().len())
}

#[test]
fn a_list_is_read_with_no_more_requests_than_pages() {
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
        // Without a row in common a list must be seen twice.
        (5, 1, 12),
    ] {
        assert_eq!(still(count, largest, honest), (count, requests), "{count} of {largest}");
    }
}

#[test]
fn a_wrong_total_does_not_change_the_list() {
    still(250, 100, |_, page| json!(page));
    for largest in [100, 20] {
        still(250, largest, |_, _| json!(17));
        still(250, largest, |_, _| Json::Null);
        still(250, largest, |_, _| json!("many"));
        let (_, requests) = still(250, largest, |_, _| json!(1_000_000));
        assert!(requests <= 260, "{requests}");
    }
}

#[test]
fn an_endless_list_is_given_up_after_a_bounded_number_of_requests() {
    for total in [Json::Null, json!(u32::MAX)] {
        let (client, clock, log) = client(|request| {
            let offset = request.query.iter().find(|(name, _)| *name == "offset").unwrap();
            answer(200, &json!({"data": [{"id": format!("vm-{}", offset.1)}], "total": total}))
        });
        let error = run(&clock, list_consistently(&client.reader, &vms())).unwrap_err().to_string();
        assert!(error.contains("does not end"), "{error}");
        let requests = log.borrow().len();
        assert!((MAX_LIST_PAGES..=MAX_LIST_PAGES + 2 * CONCURRENT_PAGES).contains(&requests), "{requests}");
    }
}

#[test]
fn pages_are_requested_concurrently() {
    let rows = dated(1_000);
    let (client, clock, log) = client(|request| page(request, &rows, 100));
    run(&clock, list_consistently(&client.reader, &vms())).unwrap();
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
    let (listed, date) = run(&clock, list_stable(&client.reader, &vms())).unwrap();
    assert_eq!(numbers(&listed), [5, 4, 1]);
    assert!(date.is_some());
}

#[test]
fn a_list_that_keeps_changing_is_an_error() {
    let next = Cell::new(0u32);
    let (client, clock, log) = client(|_| {
        next.set(next.get() + 1);
        let rows: Vec<_> =
            (0..100).map(|n| json!({"id": format!("vm-{}", next.get() * 1_000 + n)})).collect();
        answer(200, &json!({"data": rows, "total": 500 + next.get()}))
    });
    let error = run(&clock, list_consistently(&client.reader, &vms())).unwrap_err();
    assert!(error.to_string().contains("changed during each of 6 reads"), "{error}");
    assert!(log.borrow().len() < 60);
}

#[test]
fn a_list_that_grows_with_every_page_is_read_in_one_pass() {
    let calls = Cell::new(0usize);
    let (client, clock, log) = client(|request| {
        calls.set(calls.get() + 1);
        let rows = dated_newest(500 + calls.get());
        answer(200, &json!({"data": slice(request, &rows, 100), "total": rows.len()}))
    });
    let rows = run(&clock, list_consistently(&client.reader, &vms())).unwrap();
    assert_eq!(rows.len(), 501, "the objects at the time of the first page");
    assert!(log.borrow().len() < 16, "{} pages", log.borrow().len());
}

#[test]
fn a_removal_below_what_is_known_is_noticed_while_the_list_grows() {
    let calls = Cell::new(0usize);
    let (client, clock, _) = client(|request| {
        calls.set(calls.get() + 1);
        let mut rows = dated_newest(300 + calls.get());
        // One object is added and the oldest one removed with each page: the total stays the same.
        let oldest = rows.len() - calls.get();
        rows.truncate(oldest);
        answer(200, &json!({"data": slice(request, &rows, 100), "total": rows.len()}))
    });
    let error = run(&clock, list_consistently(&client.reader, &vms())).unwrap_err();
    assert!(error.to_string().contains("changed during each of 6 reads"), "{error}");
}

/// Records of a list that grows at its top: an object keeps its id and its time of creation.
fn dated_newest(count: usize) -> Vec<Json> {
    let record = |n| json!({"id": format!("vm-{n}"), "created_at": format!("2026-11-21T12:00:00.{n:06}Z")});
    (0..count).rev().map(record).collect()
}

#[test]
fn a_burst_of_other_writers_delays_a_stable_list_but_ends_it_not() {
    let calls = Cell::new(0usize);
    let (client, clock, _) = client(|request| {
        // Each page is of another list, until the burst ends.
        calls.set(calls.get() + 1);
        let rows = dated(150 + calls.get().min(20));
        answer(200, &json!({"data": slice(request, &rows, 100), "total": rows.len()}))
    });
    let (rows, _) = run(&clock, list_stable(&client.reader, &vms())).unwrap();
    assert_eq!(rows.len(), 170);
    assert!(calls.get() > 12, "six passes at once were not enough");
    assert!(clock.elapsed() >= Duration::from_millis(250), "it paused before it tried again");
}

#[test]
fn a_record_without_an_id_is_an_error_not_a_gap() {
    let (client, clock, _) = client(|_| answer(200, &json!({"data": [{"name": "web"}], "total": 1})));
    let error = run(&clock, list_consistently(&client.reader, &vms())).unwrap_err();
    assert_eq!(error.to_string(), "GET /api/v1/vms: a vm in the answer has no legal `id`");
}
