//! Tests of rows, export and import, reset, and out-of-band changes.

use std::collections::BTreeMap;

use super::*;
use crate::emulator::world::{MutateError, RecordSearch, inspect_many, inspect_one, list_kinds, mutate};

/// Makes one object of each kind.
fn furnish(cloud: &mut Cloud) {
    let vpc = cloud.vpc();
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me";
    cloud.make("/ssh-keys", json!({"name": "me", "public_key": key}));
    let vm = cloud.make("/vms", with(vm_body(), json!({"vpc_id": vpc, "billing_type": "subscription"})));
    cloud.wait(20);
    cloud.make("/volumes", json!({"name": "data", "size": 5, "vm_id": vm}));
    cloud.make("/backup-schedules", json!({"vm_id": vm, "frequency": "weekly"}));
    cloud.make("/snapshots", json!({"name": "before", "vm_id": vm}));
    cloud.make("/backups", json!({"name": "nightly", "vm_id": vm}));
    let database = cloud
        .make("/databases", json!({"name": "main", "plan_id": 102, "public_access": true, "vpc_id": vpc}));
    cloud.wait(47);
    cloud.ok(&format!("POST /databases/{database}/users"), json!({"name": "reporting"}));
    let cluster = cloud.make("/k8s/clusters", with(cluster_body(), json!({"vpc_id": vpc})));
    let set = json!({"claims": {"data-0": 20}, "upgrade_mode": "auto_minor"});
    mutate(&mut cloud.world, "cluster", &cluster, set.as_object().unwrap(), cloud.now).unwrap();
    cloud.wait(90);
    cloud.ok(
        &format!("PUT /databases/{database}/saved-queries"),
        json!({"name": "top", "query": "SELECT 1"}),
    );
    let query = json!({"query": "CREATE TABLE a (b int)", "read_only": false});
    cloud.ok(&format!("POST /databases/{database}/console"), query);
    let project = cloud.make("/projects", json!({"name": "other"}));
    let role = cloud.make("/roles", json!({"name": "Site ops", "permissions": ["compute:read"]}));
    let key = cloud.make("/api-keys", json!({"name": "ci", "role_id": role}));
    cloud.make("/invitations", json!({"email": "a@example.com", "role_id": role}));
    cloud.make(&format!("/projects/{project}/members"), json!({"api_key_id": key, "role_id": role}));
    furnish_apps(cloud, &database);
}

/// Makes an app with everything that hangs on one, and a function.
fn furnish_apps(cloud: &mut Cloud, database: &str) {
    let digest = json!({
        "name": "digest", "type": "cron", "image": "digest:1", "cron_schedule": "0 6 * * *",
        "link_database_id": database,
    });
    let digest = cloud.make("/apps/services", digest);
    let web = json!({
        "name": "web", "type": "web", "repo": "acme/shop", "branch": "main", "previews_enabled": true,
    });
    let web = cloud.make("/apps/services", web);
    cloud.wait(25);
    cloud.ok(&format!("POST /apps/services/{digest}/jobs/run"), Value::Null);
    cloud.make(&format!("/apps/services/{web}/domains"), json!({"domain": "shop.example.com"}));
    cloud.ok("PATCH /apps/spend-settings", json!({"enabled": true, "monthly_cap_usd": 50}));
    let function =
        cloud.make("/functions", json!({"name": "resize", "runtime": "rust", "handler": "main"}));
    cloud.ok(&format!("POST /functions/{function}/source-upload"), Value::Null);
}

fn text(world: &World) -> String {
    serde_json::to_string(world).unwrap()
}

#[test]
fn the_rows_of_all_requests_restore_the_same_cloud() {
    let mut cloud = Cloud::new();
    let mut stored = BTreeMap::new();
    let keep = |world: &mut World, stored: &mut BTreeMap<String, Vec<u8>>| {
        for row in world.take_rows() {
            match row.value {
                Some(value) => stored.insert(row.key, value),
                None => stored.remove(&row.key),
            };
        }
    };
    keep(&mut cloud.world, &mut stored);
    furnish(&mut cloud);
    keep(&mut cloud.world, &mut stored);
    let volume = cloud.volume(3);
    let database = cloud.get("/databases")[0]["id"].as_str().unwrap().to_owned();
    cloud.ok(&format!("DELETE /volumes/{volume}"), Value::Null);
    cloud.ok(&format!("DELETE /databases/{database}"), Value::Null);
    keep(&mut cloud.world, &mut stored);
    let mut again = World::from_rows(stored.clone()).unwrap();
    assert_eq!(text(&again), text(&cloud.world));
    assert!(again.take_rows().is_empty());
    // What was to go while nobody looked is gone, and its name is free.
    cloud.world = again;
    cloud.wait(10);
    cloud.refuses(&format!("GET /databases/{database}"), Value::Null, 404, "database");
    keep(&mut cloud.world, &mut stored);
    assert!(!stored.contains_key(&format!("database/{database}")));
    cloud.database("main");
}

#[test]
fn a_read_changes_no_row() {
    let mut cloud = Cloud::new();
    furnish(&mut cloud);
    cloud.world.take_rows();
    for path in
        ["/vms", "/databases", "/volumes", "/k8s/clusters", "/vpcs/cidr-suggestions", "/public/pricing/vm"]
    {
        cloud.get(path);
    }
    cloud.refuses("POST /vms", json!({}), 400, "required");
    assert_eq!(cloud.world.take_rows(), []);
}

#[test]
fn invalid_rows_are_rejected() {
    let row = |key: &str, value: &str| (key.to_owned(), value.as_bytes().to_vec());
    for (rows, words) in [
        (vec![], "no account"),
        (vec![row("vm/1", "{}")], "vm/1"),
        (vec![row("account", "[")], "account"),
        (vec![row("spaceship/1", "{}")], "spaceship"),
    ] {
        let error = World::from_rows(rows).err().unwrap();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn an_export_contains_the_whole_cloud_and_can_be_imported() {
    let mut cloud = Cloud::new();
    furnish(&mut cloud);
    let export = text(&cloud.world);
    assert!(!export.contains(KEY));
    let mut other = Cloud::new();
    let stray = other.volume(1);
    other.world.take_rows();
    other.world.import(serde_json::from_str(&export).unwrap()).unwrap();
    other.now = cloud.now;
    other.project = None;
    for path in [
        "/vms",
        "/volumes",
        "/databases",
        "/vpcs",
        "/projects",
        "/backup-schedules",
        "/snapshots",
        "/backups",
        "/k8s/clusters",
        "/roles",
        "/api-keys",
        "/invitations",
    ] {
        assert_eq!(other.get(path), cloud.get(path), "{path}");
    }
    // What was there before is gone from the store too.
    let gone =
        other.world.take_rows().into_iter().find(|row| row.key == format!("volume/{stray}")).unwrap();
    assert_eq!(gone.value, None);
}

#[test]
fn an_invalid_import_is_rejected_completely() {
    let mut cloud = Cloud::new();
    furnish(&mut cloud);
    let export: Value = serde_json::from_str(&text(&cloud.world)).unwrap();
    let broken = |change: fn(&mut Value)| {
        let mut copy = export.clone();
        change(&mut copy);
        serde_json::from_value::<World>(copy)
    };
    assert!(broken(|copy| copy["vms"][0]["body"]["pricing_id"] = json!("x")).is_err());
    assert!(broken(|copy| copy["spaceships"] = json!([])).is_err());
    assert!(broken(|copy| copy["vpcs"][0]["body"]["cidr"] = json!("10")).is_err());
    let twice = broken(|copy| copy["vms"] = json!([copy["vms"][0].clone(), copy["vms"][0].clone()]));
    assert!(twice.err().unwrap().to_string().contains("two records"));
    let homeless = broken(|copy| copy["projects"] = json!([])).unwrap();
    assert!(cloud.world.import(homeless).unwrap_err().contains("default project"));
}

#[test]
fn a_reset_empties_the_cloud_and_keeps_the_account() {
    let mut cloud = Cloud::new();
    furnish(&mut cloud);
    let (default, id) = (cloud.world.default_project(), cloud.volume(1));
    cloud.world.reset(cloud.now);
    assert_eq!((cloud.world.object_count(), cloud.world.default_project()), (0, default));
    assert_eq!(cloud.balance(), "1000");
    assert_ne!(cloud.volume(1), id);
}

#[test]
fn every_record_can_be_inspected_and_lists_its_settable_fields() {
    let mut cloud = Cloud::new();
    furnish(&mut cloud);
    let now = cloud.now;
    let all = RecordSearch { limit: 100, ..RecordSearch::default() };
    for (kind, total) in list_kinds(&mut cloud.world, now) {
        assert!(total > 0, "{kind} is not in the furnished world");
        let found = inspect_many(&mut cloud.world, kind, &all, now).unwrap();
        assert_eq!((&found["total"], found["objects"].as_array().unwrap().len()), (&json!(total), total));
        for object in found["objects"].as_array().unwrap() {
            let id = object["id"].as_str().unwrap();
            assert!(object["name"].is_string() || object["name"].is_null(), "{kind}: {object}");
            assert!(object["shown"].is_null() || kind == "account");
            let one = inspect_one(&mut cloud.world, kind, id, now).unwrap();
            assert_eq!(one["object"]["status"], object["status"]);
            // What can be set can be set to what it is.
            let mut fields = one["fields"].as_object().unwrap().clone();
            fields.remove("status");
            mutate(&mut cloud.world, kind, id, &fields, now).unwrap();
            assert_eq!(inspect_one(&mut cloud.world, kind, id, now).unwrap()["fields"], one["fields"]);
        }
    }
    let words = |result: Result<Value, MutateError>| result.unwrap_err().to_string();
    assert!(words(inspect_many(&mut cloud.world, "vmm", &all, now)).contains("Did you mean `vm`?"));
    assert!(words(inspect_one(&mut cloud.world, "vmm", NOBODY, now)).contains("no kind"));
    assert!(words(inspect_one(&mut cloud.world, "vm", NOBODY, now)).contains("no vm"));
    assert!(words(inspect_one(&mut cloud.world, "vm", "x", now)).contains("no vm"));
}

#[test]
fn records_are_searchable_and_have_a_price() {
    let mut cloud = Cloud::new();
    for name in ["One \"quoted\"", "two", "one more"] {
        cloud.make("/databases", json!({"name": name, "plan_id": 102}));
        cloud.wait(1);
    }
    let vm = cloud.make("/vms", with(vm_body(), json!({"billing_type": "subscription"})));
    let mut names = |find: &str, offset, limit| {
        let search = RecordSearch { offset, limit, find: find.to_owned() };
        let found = inspect_many(&mut cloud.world, "database", &search, cloud.now).unwrap();
        let names = found["objects"].as_array().unwrap().iter().map(|object| object["name"].clone());
        (names.collect::<Vec<_>>(), found["total"].as_u64().unwrap())
    };
    assert_eq!(names("", 1, 1), (vec![json!("two")], 3));
    assert_eq!(names("ONE", 0, 1), (vec![json!("one more")], 2));
    assert_eq!(names("one", 1, 9), (vec![json!("One \"quoted\"")], 2));
    assert_eq!(names("\"quoted", 0, 9), (vec![json!("One \"quoted\"")], 1));
    assert_eq!(names("nobody", 0, 9), (vec![], 0));
    assert_eq!(names("", 9, 9), (vec![], 3));
    let all = RecordSearch { limit: 9, ..RecordSearch::default() };
    let price = |object: &Value| {
        ["price_per_hour", "price_per_month", "billed"].map(|name| object[name].as_str().map(str::to_owned))
    };
    let database =
        inspect_many(&mut cloud.world, "database", &all, cloud.now).unwrap()["objects"][0].clone();
    assert_eq!(price(&database), ["0.0260", "19.00", "hourly"].map(|text| Some(text.to_owned())));
    let shown = inspect_one(&mut cloud.world, "vm", &vm, cloud.now).unwrap()["object"].clone();
    assert_eq!(price(&shown), ["0.0274", "20.00", "monthly"].map(|text| Some(text.to_owned())));
    assert_eq!(shown["shown"]["id"], json!(vm));
    let project = inspect_many(&mut cloud.world, "project", &all, cloud.now).unwrap()["objects"][0].clone();
    assert_eq!(price(&project), [None, None, None]);
}

#[test]
fn a_mutation_changes_an_object_without_an_api_call() {
    let mut cloud = Cloud::new();
    furnish(&mut cloud);
    let vm = cloud.get("/vms")[0]["id"].as_str().unwrap().to_owned();
    let now = cloud.now;
    let mut set = |kind: &str, id: &str, set: Value| {
        mutate(&mut cloud.world, kind, id, set.as_object().unwrap(), now)
    };
    set("vm", &vm, json!({"name": "renamed", "pricing_id": 5, "status": "moving"})).unwrap();
    let words = |result: Result<(), MutateError>| result.unwrap_err().to_string();
    assert!(words(set("vm", &vm, json!({"nmae": "x"}))).contains("Did you mean `name`?"));
    assert!(words(set("vm", &vm, json!({"pricing_id": "x"}))).contains("is not valid"));
    assert!(words(set("vm", &vm, json!({"status": 1}))).contains("status must be a text"));
    assert!(words(set("vmm", &vm, json!({}))).contains("Did you mean `vm`?"));
    assert!(words(set("vm", NOBODY, json!({}))).contains("no vm with the id"));
    assert!(words(set("account", "", json!({"balance": "x"}))).contains("must be a number"));
    assert!(words(set("account", "", json!({"name": "x"}))).contains("balance, banned, card"));
    let shown = cloud.get(&format!("/vms/{vm}"));
    assert_eq!(
        (&shown["name"], &shown["cpu"], &shown["status"]),
        (&json!("renamed"), &json!(8), &json!("moving"))
    );
    cloud.wait(1_000_000);
    cloud.status_is(&format!("/vms/{vm}"), "moving");
}
