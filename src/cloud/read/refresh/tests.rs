//! Refresh: what is read, what is proven absent, and what it costs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::*;
use crate::cloud::fake::{answer, client, error, page, run};
use crate::cloud::http::message::{HttpRequest, HttpResponse, TransportError};
use crate::model::values::value::Attributes;

/// Records by path of their list.
type World = BTreeMap<&'static str, Vec<Json>>;

fn records(prefix: &str, count: usize) -> Vec<Json> {
    let record = |n| {
        let created_at = format!("2026-11-21T12:00:00.{:06}Z", count - n);
        json!({"id": format!("{prefix}-{n}"), "name": format!("n{n}"), "project_id": "p1", "created_at": created_at})
    };
    (0..count).map(record).collect()
}

fn world() -> World {
    let projects =
        vec![json!({"id": "p0", "name": "other"}), json!({"id": "p1", "name": "d", "is_default": true})];
    BTreeMap::from([
        ("/api/v1/projects", projects),
        ("/api/v1/vms", records("vm", 3)),
        ("/api/v1/volumes", records("vol", 2)),
        ("/api/v1/databases", records("db", 1)),
        ("/api/v1/databases/db-0/users", vec![json!({"name": "app"})]),
    ])
}

/// Serves a world; `hidden` is there by id, but in no list.
fn serve(world: &World, request: &HttpRequest, hidden: &[&str]) -> Result<HttpResponse, TransportError> {
    if let Some(records) = world.get(request.path.as_str()) {
        let listed: Vec<Json> = records
            .iter()
            .filter(|r| !hidden.contains(&r["id"].as_str().unwrap_or_default()))
            .cloned()
            .collect();
        return page(request, &listed, 100);
    }
    let (list, id) = request.path.rsplit_once('/').unwrap();
    let found = world.get(list).and_then(|records| records.iter().find(|record| record["id"] == id));
    match found {
        Some(record) => answer(200, &json!({"success": true, "data": record})),
        None => error(404),
    }
}

fn key(kind: &str, parent: Option<&str>, id: &str) -> ObjectKey {
    ObjectKey { kind: kind.into(), parent: parent.map(Name::from), id: id.into() }
}

fn names(names: &[&str]) -> BTreeSet<Name> {
    names.iter().map(Name::new).collect()
}

#[test]
fn a_refresh_reads_lists_details_and_proofs_of_absence() {
    let world = world();
    let (client, clock, log) = client(|request| serve(&world, request, &["vm-1"]));
    let wanted = RefreshRequest {
        everywhere: BTreeSet::new(),
        kinds: names(&["vm", "volume"]),
        projects: None,
        owned: vec![
            key("vm", None, "vm-0"),
            key("vm", None, "vm-1"),
            key("vm", None, "vm-9"),
            key("database_user", Some("db-0"), "app"),
            key("database_user", Some("db-0"), "lost"),
            key("database_user", Some("db-7"), "app"),
            key("no_such_kind", None, "x"),
        ],
        details: [key("vm", None, "vm-2"), key("volume", None, "vol-9")].into(),
        parents: [("database_user".into(), "db-0".into())].into(),
        choices: BTreeSet::new(),
        applied: BTreeMap::new(),
        adopted: BTreeSet::new(),
        homeless: BTreeSet::new(),
    };
    let snapshot = run(&clock, client.refresh(&wanted)).unwrap();
    assert_eq!(
        (snapshot.account.as_deref(), snapshot.default_project.as_deref()),
        (Some("p1"), Some("p1"))
    );
    assert!(snapshot.objects.contains_key(&key("vm", None, "vm-1")), "unlisted, but alive");
    assert!(snapshot.objects[&key("vm", None, "vm-2")].detailed);
    assert!(!snapshot.objects[&key("vm", None, "vm-0")].detailed);
    assert!(snapshot.objects.contains_key(&key("database_user", Some("db-0"), "app")));
    let absent = [
        key("database", None, "db-7"),
        key("database_user", Some("db-0"), "lost"),
        key("database_user", Some("db-7"), "app"),
        key("vm", None, "vm-9"),
        key("volume", None, "vol-9"),
    ];
    assert_eq!(snapshot.absent, absent.into());
    assert_eq!(snapshot.listed, names(&["database_user", "project", "vm", "volume"]));
    assert_eq!(snapshot.requests.sent as usize, log.borrow().len());
    assert!(log.borrow().iter().all(|(_, request)| !request.method.mutates()));
    assert_eq!(snapshot.read_at, Some(clock.now()));
}

#[test]
fn lists_can_be_limited_to_projects() {
    let mut world = world();
    world.get_mut("/api/v1/vms").unwrap().push(json!({"id": "vm-x", "project_id": "p9"}));
    world.get_mut("/api/v1/volumes").unwrap().push(json!({"id": "vol-x", "project_id": "p9"}));
    let (client, clock, log) = client(|request| serve(&world, request, &[]));
    let projects = Some(vec!["p1".into(), "p1".into()]);
    let wanted = RefreshRequest { kinds: names(&["vm", "ssh_key"]), projects, ..RefreshRequest::default() };
    // There are no SSH keys in this world: 404, and so an error, never "none".
    assert!(run(&clock, client.refresh(&wanted)).is_err());
    let everywhere = names(&["volume", "database_user"]);
    let wanted = RefreshRequest { kinds: names(&["vm", "volume", "database"]), everywhere, ..wanted };
    let snapshot = run(&clock, client.refresh(&wanted)).unwrap();
    assert_eq!(snapshot.of_kind("vm").count(), 3, "a service that ignores the filter widens nothing");
    assert_eq!(snapshot.of_kind("volume").count(), 3, "wherever they are");
    assert_eq!(snapshot.of_kind("database_user").count(), 1, "whoever owns the database");
    let log = log.borrow();
    let filter =
        |path: &str| log.iter().rfind(|(_, r)| r.path == path).and_then(|(_, r)| r.project.clone());
    assert_eq!(filter("/api/v1/vms").as_deref(), Some("p1"));
    assert_eq!(filter("/api/v1/projects"), None);
}

#[test]
fn a_plan_over_a_thousand_objects_needs_fifteen_requests() {
    let mut world = world();
    for (path, count) in [
        ("/api/v1/vms", 420),
        ("/api/v1/volumes", 330),
        ("/api/v1/databases", 60),
        ("/api/v1/backup-schedules", 150),
        ("/api/v1/vpcs", 30),
        ("/api/v1/ssh-keys", 10),
    ] {
        world.insert(path, records(path.rsplit('/').next().unwrap(), count));
    }
    let (client, clock, log) = client(|request| serve(&world, request, &[]));
    let kinds = names(&["vm", "volume", "database", "backup_schedule", "vpc", "ssh_key", "project"]);
    let owned = (0..420).map(|n| key("vm", None, &format!("vms-{n}"))).collect();
    let snapshot =
        run(&clock, client.refresh(&RefreshRequest { kinds, owned, ..RefreshRequest::default() })).unwrap();
    assert_eq!(snapshot.objects.len(), 1_002);
    assert!(snapshot.requests.sent <= 15, "{:?}", snapshot.requests);
    let mut moments: Vec<_> = log.borrow().iter().map(|(at, _)| *at).collect();
    moments.dedup();
    assert_eq!(moments.len(), 2, "{moments:?}");
    assert_eq!(snapshot.requests.waited_ms, 0);
}

/// A 404 that flaps, or a list that lags, is looked at once more, and only that.
#[test]
fn an_apparent_absence_is_checked_twice() {
    let world = world();
    let flaps = std::cell::Cell::new(true);
    let (client, clock, log) = client(|request| match request.path.as_str() {
        "/api/v1/vms/vm-1" if flaps.replace(false) => error(404),
        _ => serve(&world, request, &["vm-1"]),
    });
    let owned = vec![key("vm", None, "vm-1"), key("vm", None, "vm-9")];
    let wanted = RefreshRequest { kinds: names(&["vm"]), owned, ..RefreshRequest::default() };
    client.expect_lag(Duration::from_secs(7));
    let snapshot = run(&clock, client.refresh(&wanted)).unwrap();
    assert_eq!(snapshot.absent, [key("vm", None, "vm-9")].into());
    assert!(snapshot.objects.contains_key(&key("vm", None, "vm-1")), "it was there all the time");
    assert_eq!(log.borrow().len(), 6, "two lists, two looks by id, and two again");
    assert!(clock.elapsed() >= Duration::from_secs(7));
}

#[test]
fn a_refused_request_ends_the_refresh() {
    let (client, clock, log) = client(|_| error(401));
    let error =
        run(&clock, client.refresh(&RefreshRequest { kinds: names(&["vm"]), ..RefreshRequest::default() }))
            .unwrap_err();
    assert!(matches!(&error, ReadError::Refused { refusal, .. } if refusal.status == 401), "{error}");
    assert!(log.borrow().len() <= 2);
}

/// Reads two volumes of which lists show `listed` for the VM, and by-id reads the VM that was applied.
fn read_volumes(listed: &Json) -> (Snapshot, Vec<String>) {
    let whole =
        |n: usize| json!({"id": format!("vol-{n}"), "name": "v", "vm_id": "vm-1", "project_id": "p1"});
    let (client, clock, log) = client(|request| match request.path.as_str() {
        "/api/v1/projects" => page(request, &[json!({"id": "p1", "is_default": true})], 100),
        "/api/v1/volumes" => {
            let mut rows = vec![whole(0), whole(1)];
            match listed {
                Json::String(_) => drop(rows[1].as_object_mut().unwrap().remove("vm_id")),
                listed => rows.iter_mut().for_each(|row| row["vm_id"] = listed.clone()),
            }
            page(request, &rows, 100)
        }
        path => {
            let n = path.rsplit('-').next().unwrap().parse().unwrap();
            answer(200, &json!({"success": true, "data": whole(n)}))
        }
    });
    let keys = [key("volume", None, "vol-0"), key("volume", None, "vol-1")];
    let applied: Attributes = [("vm".into(), "vm-1".into())].into();
    let wanted = RefreshRequest {
        kinds: names(&["volume"]),
        owned: keys.to_vec(),
        applied: keys.into_iter().map(|key| (key, applied.clone())).collect(),
        ..RefreshRequest::default()
    };
    let snapshot = run(&clock, client.refresh(&wanted)).unwrap();
    let reads = log.borrow().iter().map(|(_, request)| request.path.clone()).collect::<Vec<_>>();
    (snapshot, reads.into_iter().filter(|path| path.contains("volumes/")).collect())
}

#[test]
fn a_difference_seen_only_in_a_list_is_verified_by_id() {
    // `null` for everything, and a field that the list leaves out of one record.
    for (listed, reads) in [(json!(null), 2), (json!("absent"), 1)] {
        let (snapshot, read) = read_volumes(&listed);
        assert_eq!(read.len(), reads, "{listed} {read:?}");
        for object in snapshot.of_kind("volume") {
            assert_eq!(object.attributes["vm"], Value::text("vm-1"), "{listed}");
        }
    }
}

const LONG: &str = "0193c0de-0000-7000-8000-000000000001";

/// A service with one database and one app, whose link names the database by its short id.
fn with_short_ids(request: &HttpRequest) -> Result<HttpResponse, TransportError> {
    let rows = |rows: Json| answer(200, &json!({"data": rows, "total": 1}));
    let database = json!({"id": LONG, "database_id": "k3j2h1g9", "name": "main"});
    match request.path.as_str() {
        "/api/v1/projects" => rows(json!([{"id": "p1", "is_default": true}])),
        "/api/v1/databases" => rows(json!([database])),
        "/api/v1/databases/k3j2h1g9" => {
            answer(200, &json!({"success": true, "database": {"id": "k3j2h1g9", "name": "main"}}))
        }
        "/api/v1/databases/x9y8z7w6" => answer(
            200,
            &json!({"success": true, "database": {
            "id": "0193c0de-0000-7000-8000-000000000002", "database_id": "x9y8z7w6"}}),
        ),
        "/api/v1/databases/forbidden" => error(403),
        path if path.starts_with("/api/v1/databases/") => answer(200, &json!({"database": database})),
        path if path.ends_with("/database-links") => answer(
            200,
            &json!({"data": [
                {"id": "l1", "database_id": "k3j2h1g9"},
                {"id": "l2", "database_id": "x9y8z7w6"},
                {"id": "l3", "database_id": "forbidden"},
                {"id": "l4", "database_id": "x9y8z7w6"},
            ], "total": 4}),
        ),
        _ => error(404),
    }
}

#[test]
fn an_object_with_several_ids_is_found_by_any_of_them() {
    let link = |id: &str| key("app_database_link", Some("app-1"), id);
    for listed in [true, false] {
        let (client, clock, log) = client(with_short_ids);
        let kinds: &[&str] = if listed { &["database"] } else { &[] };
        let wanted = RefreshRequest {
            kinds: names(kinds),
            parents: [("app_database_link".into(), "app-1".into())].into(),
            ..RefreshRequest::default()
        };
        let snapshot = run(&clock, client.refresh(&wanted)).unwrap();
        let database = |id: &str| snapshot.objects[&link(id)].attributes.get("database").cloned();
        let short = if listed { LONG } else { "k3j2h1g9" };
        assert_eq!(database("l1"), Some(Value::text(short)));
        assert_eq!(database("l2"), Some(Value::text("0193c0de-0000-7000-8000-000000000002")));
        assert_eq!(database("l4"), database("l2"));
        assert_eq!(database("l3"), None, "what cannot be looked up is not told");
        let by_id = |request: &&(Duration, HttpRequest)| request.1.path.starts_with("/api/v1/databases/");
        assert!(log.borrow().iter().filter(by_id).count() <= 3, "each id is looked up once");
    }
}

#[test]
fn the_ledger_keeps_its_id_and_any_id_finds_the_object() {
    let short = key("database", None, "k3j2h1g9");
    for (adopted, id) in [(false, "k3j2h1g9"), (true, LONG)] {
        let (client, clock, _) = client(with_short_ids);
        let wanted = RefreshRequest {
            kinds: names(&["database"]),
            owned: vec![short.clone()],
            adopted: if adopted { [short.clone()].into() } else { BTreeSet::new() },
            ..RefreshRequest::default()
        };
        let snapshot = run(&clock, client.refresh(&wanted)).unwrap();
        assert_eq!(snapshot.of_kind("database").map(|object| object.id.as_str()).collect::<Vec<_>>(), [id]);
        assert!(snapshot.absent.is_empty());
        assert_eq!(snapshot.find(&short).map(|object| object.id.as_str()), Some(id));
        assert_eq!(snapshot.find(&key("database", None, LONG)), snapshot.find(&short));
    }
}

#[test]
fn a_response_for_another_object_is_rejected_for_every_id() {
    let (client, clock, _) = client(with_short_ids);
    for (id, is_found) in [(LONG, true), ("zzzzzzzz", false), ("k3j2h1g9", true)] {
        let found = run(&clock, client.get(&key("database", None, id)));
        assert_eq!(found.is_ok(), is_found, "{id}: {found:?}");
    }
}

/// A list of five machines that leaves `billing_type` out, but for the first `listed`; by id it is there if `by_id`.
fn unlisted(request: &HttpRequest, listed: usize, by_id: bool) -> Result<HttpResponse, TransportError> {
    let record = |n: usize, shows: bool| {
        let mut record = json!({"id": format!("vm-{n}"), "name": format!("n{n}")});
        if shows {
            record["billing_type"] = "payg".into();
        }
        record
    };
    match request.path.as_str() {
        "/api/v1/projects" => answer(200, &json!({"data": [{"id": "p1", "is_default": true}], "total": 1})),
        "/api/v1/vms" => {
            let rows: Vec<_> = (0..5).map(|n| record(n, n < listed)).collect();
            answer(200, &json!({"data": rows, "total": 5}))
        }
        path => {
            let n = path.rsplit('-').next().and_then(|n| n.parse().ok()).unwrap();
            answer(200, &json!({"success": true, "data": record(n, by_id)}))
        }
    }
}

/// Returns what is asked of so many machines, each with a billing type that was applied.
fn payg_machines(count: usize) -> RefreshRequest {
    let keys: Vec<_> = (0..count).map(|n| key("vm", None, &format!("vm-{n}"))).collect();
    let applied = Attributes::from([("billing_type".into(), "payg".into())]);
    RefreshRequest {
        kinds: names(&["vm"]),
        applied: keys.iter().map(|key| (key.clone(), applied.clone())).collect(),
        owned: keys,
        ..RefreshRequest::default()
    }
}

#[test]
fn attributes_missing_from_lists_are_read_by_id() {
    // How many rows of the list show it, whether a by-id read does, and the reads by id.
    for (listed, by_id, reads) in [(5, true, 0), (3, true, 2), (3, false, 2), (0, true, 5), (0, false, 1)] {
        let (client, clock, log) = client(|request| unlisted(request, listed, by_id));
        let snapshot = run(&clock, client.refresh(&payg_machines(5))).unwrap();
        let asked = log.borrow().iter().filter(|(_, request)| request.path.contains("/vms/")).count();
        assert_eq!(asked, reads, "{listed} {by_id}");
        let count = snapshot.one_by_one.get("vm").map_or(0, |count| count.objects);
        assert_eq!(count, reads, "{listed} {by_id}");
    }
}

#[test]
fn refreshing_a_thousand_objects_needs_few_requests() {
    // Whether lists show the attribute, whether by-id reads do, and the requests beside those of the lists.
    for (listed, by_id, more) in [(true, true, 0), (false, true, 1_000), (false, false, 1)] {
        let record = |n: usize, shows: bool| {
            let created_at = format!("2026-11-21T12:00:00.{:06}Z", 1_000 - n);
            let mut record = json!({"id": format!("vm-{n}"), "project_id": "p1", "created_at": created_at});
            if shows {
                record["billing_type"] = "payg".into();
            }
            record
        };
        let rows: Vec<_> = (0..1_000).map(|n| record(n, listed)).collect();
        let (client, clock, log) = client(|request| match request.path.as_str() {
            "/api/v1/projects" => page(request, &[json!({"id": "p1", "is_default": true})], 100),
            "/api/v1/vms" => page(request, &rows, 100),
            path => {
                let n = path.rsplit('-').next().and_then(|n| n.parse().ok()).unwrap();
                answer(200, &json!({"success": true, "data": record(n, by_id)}))
            }
        });
        let snapshot = run(&clock, client.refresh(&payg_machines(1_000))).unwrap();
        assert_eq!((snapshot.objects.len(), snapshot.requests.limited), (1_001, 0));
        let sent = log.borrow().len();
        assert!((more..=more + 15).contains(&sent), "{listed} {by_id}: {sent} requests");
        assert!(clock.elapsed() <= Duration::from_secs(40), "{listed} {by_id}: {:?}", clock.elapsed());
    }
}
