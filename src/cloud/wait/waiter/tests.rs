//! Waiting: shared looks, statuses known and unknown, and the end of it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use futures_util::future::join_all;
use serde_json::{Value as Json, json};

use super::*;
use crate::cloud::fake::{self, VirtualClock, answer, client, error, kind, page, run};
use crate::cloud::http::message::{HttpRequest, HttpResponse, TransportError};

fn key(id: &str) -> ObjectKey {
    ObjectKey { kind: "vm".into(), parent: None, id: id.into() }
}

const MINUTES: Duration = Duration::from_mins(5);

/// Serves VMs whose status is a function of time; `None` is not there.
fn serve(
    request: &HttpRequest,
    ids: &[String],
    status: impl Fn(&str) -> Option<&'static str>,
) -> Result<HttpResponse, TransportError> {
    let record = |id: &str| {
        status(id).map(|status| json!({"id": id, "status": status, "status_message": "because"}))
    };
    if let Some(id) = request.path.strip_prefix("/api/v1/vms/") {
        return record(id).map_or_else(|| error(404), |json| answer(200, &json!({"data": json})));
    }
    if request.path == "/api/v1/projects" {
        return page(request, &[json!({"id": "p0", "is_default": true})], 100);
    }
    let records: Vec<Json> = ids.iter().filter_map(|id| record(id)).collect();
    page(request, &records, 100)
}

fn wait_for(script: &[(u64, Option<&'static str>)]) -> (Result<Object, WaitError>, Vec<String>, Duration) {
    let now = Rc::new(RefCell::new(VirtualClock::default()));
    let time = Rc::clone(&now);
    let (client, clock, _) = client(move |request| {
        let seconds = time.borrow().elapsed().as_secs();
        let status = script.iter().rfind(|(from, _)| *from <= seconds).and_then(|(_, status)| *status);
        serve(request, &["a".to_owned()], |_| status)
    });
    now.replace(clock.clone());
    let told = RefCell::new(Vec::new());
    let hear = |status: &str| told.borrow_mut().push(status.to_owned());
    let result = run(&clock, client.wait_until_ready(kind("vm"), &key("a"), None, MINUTES, &hear));
    drop(client);
    (result, told.into_inner(), clock.elapsed())
}

#[test]
fn the_waiter_waits_through_unknown_statuses() {
    let (result, told, took) =
        wait_for(&[(0, None), (1, Some("pending")), (7, Some("moving")), (20, Some("active"))]);
    assert!(result.unwrap().detailed);
    assert_eq!(told, ["pending", "moving", "active"]);
    assert!((20..=23).contains(&took.as_secs()), "{took:?}");
    assert_eq!(wait_for(&[(0, Some("stopped"))]).1, ["stopped"], "at rest is settled");
}

#[test]
fn a_read_that_shows_the_previous_state_does_not_end_the_wait() {
    let ends = |script: &'static [(u64, Option<&'static str>)]| {
        let now = Rc::new(RefCell::new(VirtualClock::default()));
        let time = Rc::clone(&now);
        let (client, clock, _) = client(move |request| {
            let seconds = time.borrow().elapsed().as_secs();
            let status = script.iter().rfind(|(from, _)| *from <= seconds).and_then(|(_, status)| *status);
            serve(request, &["a".to_owned()], |_| status)
        });
        now.replace(clock.clone());
        client.expect_lag(Duration::from_secs(10));
        let before = run(&clock, client.get(&key("a"))).unwrap().unwrap();
        let (key, hear) = (key("a"), |_: &str| {});
        let wait = client.settled_after_change((kind("vm"), &key), None, MINUTES, &before, &hear);
        let status = run(&clock, wait).map(|object| object.status("status").unwrap().to_owned());
        (status.map_err(|error| error.to_string()), clock.elapsed().as_secs())
    };
    let (status, took) = ends(&[(0, Some("active")), (3, Some("rebooting")), (8, Some("active"))]);
    assert!(status.as_deref() == Ok("active") && (8..=11).contains(&took), "{status:?} {took}");
    let (status, took) = ends(&[(0, Some("active")), (3, Some("stopped"))]);
    assert!(status.as_deref() == Ok("stopped") && (3..=5).contains(&took), "{status:?} {took}");
    let (status, took) = ends(&[(0, Some("failed")), (3, Some("starting")), (8, Some("active"))]);
    assert!(status.as_deref() == Ok("active") && (8..=11).contains(&took), "{status:?} {took}");
    // It was too quick to be seen, or there was nothing to do.
    let (status, took) = ends(&[(0, Some("active"))]);
    assert!(status.as_deref() == Ok("active") && (10..=13).contains(&took), "{status:?} {took}");
    let (status, _) = ends(&[(0, Some("failed"))]);
    assert_eq!(status, Err("its final status is failed".to_owned()));
}

#[test]
fn a_wait_ends_at_a_final_status_or_when_the_object_is_gone() {
    let (result, _, took) = wait_for(&[(0, Some("pending")), (5, Some("failed"))]);
    assert_eq!(result.unwrap_err().to_string(), "its final status is failed");
    assert!(took.as_secs() <= 7, "{took:?}");
    assert_eq!(wait_for(&[(0, Some("deleting"))]).0, Err(WaitError::Deleting));
    let (result, _, took) = wait_for(&[(0, Some("moving"))]);
    assert_eq!(result.unwrap_err().to_string(), "it is still moving after 300 s");
    assert!((300..302).contains(&took.as_secs()), "{took:?}");
    assert_eq!(wait_for(&[(0, None)]).0.unwrap_err().to_string(), "it is still not listed after 300 s");
}

#[test]
fn many_waits_share_their_list_requests() {
    let ids: Vec<String> = (0..60).map(|n| format!("vm{n}")).collect();
    let now = Rc::new(RefCell::new(VirtualClock::default()));
    let time = Rc::clone(&now);
    let names = ids.clone();
    let (client, clock, log) = client(move |request| {
        let seconds = time.borrow().elapsed().as_secs();
        serve(request, &names, |_| Some(if seconds < 20 { "pending" } else { "active" }))
    });
    now.replace(clock.clone());
    let keys: Vec<_> = ids.iter().map(|id| key(id)).collect();
    let waits = keys.iter().map(|key| client.wait_until_ready(kind("vm"), key, None, MINUTES, &|_| {}));
    for result in run(&clock, join_all(waits)) {
        assert_eq!(result.unwrap().status("status"), Some("active"));
    }
    let log = log.borrow();
    let lists = log.iter().filter(|(_, request)| request.path == "/api/v1/vms").count();
    assert!(lists <= 30, "{lists} lists");
    // The first two look by id, before there are many.
    assert!(log.len() - lists <= 62, "one confirmation each");
}

/// Returns how many pages of a list of 2,000 and how many reads by id 30 waits take that last 20 s. The objects begin
/// at `first` in the list.
fn requests_of_waits(first: usize) -> (usize, usize) {
    let ids: Vec<String> = (0..2_000).map(|n| format!("vm{n}")).collect();
    let now = Rc::new(RefCell::new(VirtualClock::default()));
    let time = Rc::clone(&now);
    let names = ids.clone();
    let (client, clock, log) = client(move |request| {
        let seconds = time.borrow().elapsed().as_secs();
        serve(request, &names, |_| Some(if seconds < 20 { "pending" } else { "active" }))
    });
    now.replace(clock.clone());
    let keys: Vec<_> = ids[first..].iter().take(30).map(|id| key(id)).collect();
    let vm = kind("vm");
    let waits = keys.iter().map(|key| client.settled_as_listed((vm, key), None, MINUTES, None, &|_| {}));
    for result in run(&clock, join_all(waits)) {
        assert_eq!(result.unwrap().status("status"), Some("active"));
    }
    let log = log.borrow();
    let pages = log.iter().filter(|(_, request)| request.path == "/api/v1/vms").count();
    (pages, log.len() - pages)
}

#[test]
fn waits_for_the_newest_objects_of_a_long_list_read_only_its_first_page() {
    let (pages, reads_by_id) = requests_of_waits(0);
    assert!(pages <= 30 && reads_by_id <= 2, "{pages} {reads_by_id}");
}

/// Twenty pages would show what thirty reads by id do; what the first ones do not show is left to either.
#[test]
fn waits_for_older_objects_take_no_more_requests_than_the_cheaper_way() {
    for first in [60, 90, 1_000, 1_960] {
        let (pages, reads_by_id) = requests_of_waits(first);
        // Each object is read at most 30 times: 20 pages for all of them are fewer.
        assert!(pages + reads_by_id <= 30 * 22, "{first}: {pages} {reads_by_id}");
    }
}

/// Whoever makes a thousand objects changes the list under each of its pages.
#[test]
fn while_a_list_keeps_changing_each_object_is_read_by_id() {
    let ids: Vec<String> = (0..9).map(|n| format!("vm{n}")).collect();
    let (names, next) = (ids.clone(), Cell::new(0_u32));
    let (client, clock, _) = client(move |request| {
        if request.path != "/api/v1/vms" {
            return serve(request, &names, |_| Some("active"));
        }
        next.set(next.get() + 1);
        let row = |n| json!({"id": format!("other-{}", next.get() * 1_000 + n), "status": "active"});
        let rows: Vec<_> = (0..100).map(row).collect();
        answer(200, &json!({"data": rows, "total": 500 + next.get()}))
    });
    let keys: Vec<_> = ids.iter().map(|id| key(id)).collect();
    let looks = keys.iter().map(|key| client.wait_until_visible(kind("vm"), key, None, MINUTES));
    for seen in run(&clock, join_all(looks)) {
        assert_eq!(seen.unwrap().unwrap().status("status"), Some("active"));
    }
}

/// A look that began before a wait did says nothing about it: the change may have come after.
#[test]
fn a_wait_does_not_use_a_read_that_began_before_it() {
    let state = RefCell::new(BTreeMap::from([
        ("a", "pending"),
        ("b", "failed"),
        ("c", "pending"),
        ("d", "pending"),
    ]));
    let ids: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).into();
    let (client, clock, _) = client(|request| serve(request, &ids, |id| state.borrow().get(id).copied()));
    let vm = kind("vm");
    let first = async {
        let (a, c, d) = (key("a"), key("c"), key("d"));
        let wait = |key| client.wait_until_ready(vm, key, None, MINUTES, &|_| {});
        futures_util::future::join3(wait(&a), wait(&c), wait(&d)).await
    };
    let second = async {
        clock.sleep(Duration::from_secs(10)).await;
        // `b` starts anew now; an older look has it as failed.
        state.borrow_mut().insert("b", "resizing");
        let b = key("b");
        let wait = client.wait_until_ready(vm, &b, None, MINUTES, &|_| {});
        let change = async {
            clock.sleep(Duration::from_secs(10)).await;
            *state.borrow_mut() =
                BTreeMap::from([("a", "active"), ("b", "active"), ("c", "active"), ("d", "active")]);
        };
        let (object, ()) = futures_util::future::join(wait, change).await;
        assert_eq!(object.unwrap().status("status"), Some("active"));
        assert!(clock.elapsed() >= Duration::from_secs(20), "it waited for the change");
    };
    let ((a, c, d), ()) = run(&clock, futures_util::future::join(first, second));
    assert!(a.is_ok() && c.is_ok() && d.is_ok());
}

#[test]
fn an_object_is_gone_when_neither_list_nor_read_shows_it() {
    let ids = vec!["a".to_owned()];
    let looks = Cell::new(0);
    let told = RefCell::new(Vec::new());
    // By id it is gone at once, in the list a ghost stays for a while.
    let (client, clock, log) = client(|request| {
        looks.set(looks.get() + 1);
        let by_id = request.path.ends_with("/a");
        serve(request, &ids, |_| (!by_id && looks.get() < 9).then_some("deleting"))
    });
    let hear = |status: &str| told.borrow_mut().push(status.to_owned());
    run(&clock, client.wait_until_gone(kind("vm"), &key("a"), None, MINUTES, &hear)).unwrap();
    assert!(log.borrow().len() >= 9);
    assert_eq!(*told.borrow(), ["deleting"]);
    let (client, clock, _) = fake::client(|request| serve(request, &ids, |_| Some("active")));
    let result = run(&clock, client.wait_until_gone(kind("vm"), &key("a"), None, MINUTES, &|_| {}));
    assert!(matches!(result, Err(WaitError::TimedOut { .. })), "{result:?}");
}

/// A role that lost the project sees nothing of what is in it: no 404 counts then.
#[test]
fn an_absence_counts_only_while_the_project_is_visible() {
    let project = |id: &str, default: bool| json!({"id": id, "name": id, "is_default": default});
    for (projects, by_id, proven) in [
        (vec![project("p0", true), project("p1", false)], true, true),
        // It went along with its project.
        (vec![project("p0", true)], false, true),
        // The list hides a project that is there.
        (vec![project("p0", true)], true, false),
        (vec![], false, false),
    ] {
        let told = format!("{projects:?} {by_id}");
        let (client, clock, _) = client(|request| match request.path.as_str() {
            "/api/v1/projects" => page(request, &projects, 100),
            "/api/v1/projects/p1" if by_id => {
                answer(200, &json!({"success": true, "data": project("p1", false)}))
            }
            "/api/v1/projects/p1" => error(404),
            _ => serve(request, &[], |_| None),
        });
        let project = Name::new("p1");
        let result =
            run(&clock, client.wait_until_gone(kind("vm"), &key("a"), Some(&project), MINUTES, &|_| {}));
        match (proven, &result) {
            (true, Ok(())) | (false, Err(WaitError::Unproven { .. })) => {}
            _ => panic!("{told}: {result:?}"),
        }
    }
}

/// A permission that is gone hides the object and its project alike. Whether it comes back right after
/// the look, or goes right before it: one look at the project, on one side only, would prove nothing.
#[test]
fn an_absence_needs_a_visible_project_before_and_after_the_read() {
    for comes_back in [true, false] {
        let (seen, looked) = (Cell::new(0), Cell::new(false));
        let (client, clock, _) = client(|request| match request.path.as_str() {
            "/api/v1/projects" => {
                let hidden = if comes_back { !looked.get() } else { seen.get() > 0 };
                seen.set(seen.get() + 1);
                let projects = [json!({"id": "p0", "is_default": true})];
                page(request, if hidden { &[] } else { &projects }, 100)
            }
            path => {
                // Only the list is the second look.
                looked.set(looked.get() || path == "/api/v1/vms");
                serve(request, &[], |_| None)
            }
        });
        let result = run(&clock, client.wait_until_gone(kind("vm"), &key("a"), None, MINUTES, &|_| {}));
        let wanted = if comes_back { Ok(()) } else { Err(WaitError::Unproven { within: MINUTES }) };
        assert_eq!(result, wanted);
        // The first look behind a hidden project was not believed.
        assert!(!comes_back || seen.get() > 2, "{}", seen.get());
    }
}

#[test]
fn a_refused_request_ends_a_wait() {
    let (client, clock, _) = client(|_| error(401));
    let result = run(&clock, client.wait_until_ready(kind("vm"), &key("a"), None, MINUTES, &|_| {}));
    assert!(matches!(result, Err(WaitError::Read(ReadError::Refused { .. }))), "{result:?}");
}
