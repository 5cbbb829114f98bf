//! Databases and their users.

use super::*;

const DAY: i64 = 24 * 3_600;

#[test]
fn a_database_moves_through_the_documented_states() {
    let mut cloud = Cloud::new();
    let id = cloud.make("/databases", json!({"name": "main", "plan_id": 102}));
    let path = format!("/databases/{id}");
    for (seconds, wanted) in
        [(0, "pending"), (1, "pending"), (1, "deploying"), (44, "deploying"), (1, "running")]
    {
        cloud.wait(seconds);
        cloud.status_is(&path, wanted);
    }
    assert_eq!(cloud.ok(&format!("POST {path}/scale"), json!({"plan_id": 103}))["status"], "resizing");
    cloud.refuses(&format!("POST {path}/scale"), json!({"plan_id": 104}), 409, "resizing");
    cloud.refuses(&format!("DELETE {path}"), Value::Null, 409, "resizing");
    cloud.wait(30);
    cloud.status_is(&path, "running");
    cloud.wait(DAY);
    assert_eq!(cloud.ok(&format!("POST {path}/restore"), json!({"in_place": true}))["status"], "restoring");
    cloud.wait(30);
    cloud.status_is(&path, "running");
    cloud.ok(&format!("DELETE {path}"), Value::Null);
    cloud.status_is(&path, "deleting");
    assert_eq!(cloud.get("/databases")[0]["status"], "deleting");
    cloud.refuses(&format!("DELETE {path}"), Value::Null, 409, "deleting");
    cloud.refuses(&format!("PATCH {path}"), json!({"name": "b"}), 409, "deleting");
    cloud.refuses("POST /databases", json!({"name": "main", "plan_id": 102}), 409, "taken");
    cloud.wait(10);
    cloud.refuses(&format!("GET {path}"), Value::Null, 404, "database");
    assert_eq!(cloud.send("GET /databases", Value::Null).1["total"], 0);
    cloud.ok("POST /databases", json!({"name": "main", "plan_id": 102}));
}

#[test]
fn a_free_database_is_paused_when_idle_and_can_be_resumed() {
    let mut cloud = Cloud::new();
    let id = cloud.make("/databases", json!({"name": "free", "plan_id": 101}));
    let path = format!("/databases/{id}");
    cloud.wait(47);
    cloud.refuses(&format!("POST {path}/resume"), Value::Null, 409, "running");
    cloud.wait(7 * DAY - 1);
    cloud.status_is(&path, "running");
    assert_eq!(cloud.get(&path)["suspended_at"], "");
    cloud.wait(1);
    let paused = cloud.get(&path);
    assert_eq!(
        (&paused["status"], &paused["suspended_at"]),
        (&json!("suspended"), &json!("2026-03-11T12:00:47Z"))
    );
    assert_eq!(cloud.ok(&format!("POST {path}/resume"), Value::Null)["status"], "deploying");
    cloud.wait(60);
    let running = cloud.get(&path);
    assert_eq!((&running["status"], &running["suspended_at"]), (&json!("running"), &json!("")));
}

#[test]
fn a_new_database_shows_every_documented_field() {
    let mut cloud = Cloud::new();
    let made =
        cloud.ok("POST /databases", json!({"name": "main", "plan_id": 102, "extensions": ["postgis"]}));
    let fields: Vec<_> = made.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        [
            "billing_type",
            "connection_host",
            "connection_port",
            "created_at",
            "database_id",
            "engine",
            "engine_config",
            "engine_version",
            "extensions",
            "ha_enabled",
            "id",
            "is_free",
            "monthly_price",
            "name",
            "plan_id",
            "price_per_hour",
            "project_id",
            "public_access",
            "public_allowlist",
            "public_dns_hostname",
            "public_port",
            "region",
            "replica_count",
            "status",
            "status_message",
            "storage_gb",
            "subscription_id",
            "suspended_at",
            "updated_at",
            "vpc_id",
        ]
    );
    assert_eq!(
        (
            &made["engine"],
            &made["engine_version"],
            &made["storage_gb"],
            &made["vpc_id"],
            &made["public_port"]
        ),
        (&json!("postgres"), &json!("18"), &json!(20), &json!(""), &json!(0))
    );
    let listed = &cloud.get("/databases")[0];
    assert!(listed.get("extensions").is_none() && listed.get("engine_config").is_none());
    let short = made["database_id"].as_str().unwrap();
    assert!(
        short.len() == 8 && short.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    );
    assert_eq!(cloud.get(&format!("/databases/{short}"))["id"], made["id"]);
}

#[test]
fn prices_include_standby_replicas_and_storage() {
    let mut cloud = Cloud::new();
    for (name, body, month, hour) in [
        ("a", json!({"plan_id": 102}), 19.0, 0.026),
        ("b", json!({"plan_id": 102, "ha_enabled": true}), 32.3, 0.0442),
        ("c", json!({"plan_id": 201, "engine": "mysql", "ha_enabled": true}), 45.6, 0.0625),
        ("d", json!({"plan_id": 501, "engine": "kafka", "ha_enabled": true}), 237.6, 0.3255),
        ("e", json!({"plan_id": 102, "replica_count": 2}), 57.0, 0.0781),
        ("f", json!({"plan_id": 102, "storage_gb": 25}), 20.0, 0.0274),
        (
            "g",
            json!({"plan_id": 102, "ha_enabled": true, "replica_count": 1, "storage_gb": 30}),
            53.3,
            0.073,
        ),
        ("h", json!({"plan_id": 101, "storage_gb": 5}), 0.0, 0.0),
    ] {
        let made = cloud.ok("POST /databases", with(body, json!({"name": name})));
        assert_eq!(
            (made["monthly_price"].as_f64(), made["price_per_hour"].as_f64()),
            (Some(month), Some(hour)),
            "{name}"
        );
    }
}

#[test]
fn an_invalid_database_is_rejected() {
    let mut cloud = Cloud::new();
    cloud.ok("POST /databases", json!({"name": "taken", "plan_id": 102}));
    let base = json!({"name": "a", "plan_id": 102});
    let source = |text: &str| json!({"public_allowlist": [text]});
    for (changes, status, words) in [
        (json!({"name": null}), 400, "name is required"),
        (json!({"plan_id": null}), 400, "plan_id is required"),
        (json!({"plan_id": 999}), 400, "catalog"),
        (json!({"engine": "oracle"}), 400, "engine must be one of"),
        (json!({"engine": "mysql"}), 400, "plan of postgres"),
        (json!({"engine_version": "9"}), 400, "engine_version"),
        (json!({"engine": "mysql", "plan_id": 201, "replica_count": 1}), 400, "no read replicas"),
        (json!({"plan_id": 101, "ha_enabled": true}), 400, "high availability"),
        (json!({"plan_id": 101, "backups_enabled": true}), 400, "no backups"),
        (json!({"engine_config": {"maxmemory-policy": "noeviction"}}), 400, "valkey"),
        (
            json!({"engine": "valkey", "plan_id": 302, "engine_config": {"maxmemory-policy": "x"}}),
            400,
            "noeviction",
        ),
        (json!({"engine": "valkey", "plan_id": 302, "engine_config": {"timeout": "1"}}), 400, "valkey"),
        (json!({"engine": "mysql", "plan_id": 201, "extensions": ["a"]}), 400, "postgres only"),
        (json!({"replica_count": -1}), 400, "replica_count"),
        (json!({"storage_gb": 0}), 400, "storage_gb"),
        (json!({"vpc_id": NOBODY}), 404, "VPC"),
        (json!({"region": "eu"}), 400, "region"),
        (json!({"name": "taken"}), 409, "taken"),
        (source("0.0.0.0/0"), 400, "0.0.0.0/0"),
        (source("1.2.3.4/0"), 400, "0.0.0.0/0"),
        (source("fd00::/8"), 400, "IPv6"),
        (source("1.2.3.4"), 400, "not an IPv4 network"),
        (json!({"public_allowlist": vec!["1.2.3.4/32"; 21]}), 400, "at most 20"),
    ] {
        cloud.refuses("POST /databases", with(base.clone(), changes), status, words);
    }
    cloud.ok("POST /databases", with(base, json!({"public_allowlist": vec!["1.2.3.4/32"; 20]})));
}

#[test]
fn names_are_unique_within_a_project() {
    let mut cloud = Cloud::new();
    let (one, _two) = (cloud.database("one"), cloud.database("two"));
    cloud.refuses(&format!("PATCH /databases/{one}"), json!({"name": "two"}), 409, "taken");
    cloud.ok(&format!("PATCH /databases/{one}"), json!({"name": "one"}));
    let renamed = cloud.ok(&format!("PATCH /databases/{one}"), json!({"name": "three"}));
    assert_eq!(renamed["name"], "three");
    cloud.database("one");
    let other = cloud.make("/projects", json!({"name": "other"}));
    cloud.project = Some(other);
    cloud.database("two");
}

#[test]
fn scale_changes_plan_storage_standby_and_replicas() {
    let mut cloud = Cloud::new();
    let id = cloud.database("main");
    let scale = format!("POST /databases/{id}/scale");
    for (body, words) in [
        (json!({}), "is required"),
        (json!({"plan_id": 201}), "plan of mysql"),
        (json!({"plan_id": 999}), "catalog"),
        (json!({"storage_gb": 19}), "only grow"),
        (json!({"plan_id": 103, "storage_gb": 10}), "only grow"),
    ] {
        cloud.refuses(&scale, body, 400, words);
    }
    let scaled = cloud.ok(&scale, json!({"plan_id": 103, "ha_enabled": true, "replica_count": 1}));
    assert_eq!(
        (&scaled["plan_id"], &scaled["storage_gb"], &scaled["monthly_price"]),
        (&json!(103), &json!(50), &json!(105.3))
    );
    cloud.wait(30);
    let scaled = cloud.ok(&scale, json!({"plan_id": 102}));
    assert_eq!((&scaled["storage_gb"], &scaled["ha_enabled"]), (&json!(50), &json!(true)));
}

#[test]
fn a_free_database_on_a_paid_plan_becomes_a_monthly_subscription() {
    let mut cloud = Cloud::new();
    let id = cloud.make("/databases", json!({"name": "free", "plan_id": 101}));
    cloud.wait(47);
    let before = cloud.get(&format!("/databases/{id}/connection"));
    let scaled = cloud.ok(&format!("POST /databases/{id}/scale"), json!({"plan_id": 102}));
    assert_eq!((&scaled["billing_type"], &scaled["is_free"]), (&json!("subscription"), &json!(false)));
    assert!(!scaled["subscription_id"].as_str().unwrap().is_empty());
    assert_eq!(cloud.balance(), "981.00");
    assert_eq!(cloud.get(&format!("/databases/{id}/connection")), before);
    // Not paused any more; and a smaller plan is credited for the rest of the month.
    cloud.wait(8 * DAY);
    cloud.status_is(&format!("/databases/{id}"), "running");
}

#[test]
fn a_monthly_database_is_charged_and_credited_for_the_rest_of_the_month() {
    let mut cloud = Cloud::new();
    let body = json!({"name": "a", "plan_id": 102, "billing_type": "subscription"});
    let id = cloud.make("/databases", body);
    cloud.wait(365 * 3_600);
    let scale = format!("POST /databases/{id}/scale");
    cloud.ok(&scale, json!({"plan_id": 103}));
    // 1000 - 19, less half of 20.
    assert_eq!(cloud.balance(), "971.00");
    cloud.wait(30);
    cloud.ok(&scale, json!({"plan_id": 105}));
    cloud.wait(30);
    cloud.refuses(&scale, json!({"replica_count": 16}), 402, "balance");
}

#[test]
fn public_ports_are_stable_and_released_with_the_database() {
    let mut cloud = Cloud::new();
    let one = cloud.make("/databases", json!({"name": "one", "plan_id": 102, "public_access": true}));
    let two = cloud.make("/databases", json!({"name": "two", "plan_id": 302, "engine": "valkey"}));
    cloud.wait(47);
    let access = |id: &str| format!("POST /databases/{id}/public-access");
    let shown = cloud.get(&format!("/databases/{one}"));
    assert_eq!(shown["public_port"], 25_060);
    assert!(shown["public_dns_hostname"].as_str().unwrap().ends_with(".public.db.emulator.internal"));
    // Postgres has the next port too.
    assert_eq!(cloud.ok(&access(&two), json!({"enabled": true}))["public_port"], 25_062);
    let off = cloud.ok(&access(&one), json!({"enabled": false}));
    assert_eq!((&off["public_port"], &off["public_dns_hostname"]), (&json!(0), &json!("")));
    assert_eq!(
        cloud.ok(&access(&one), json!({"enabled": true, "allowlist": ["1.2.3.0/24"]}))["public_port"],
        25_060
    );
    let kept = cloud.ok(&access(&one), json!({"enabled": true}));
    assert_eq!(kept["public_allowlist"], json!(["1.2.3.0/24"]));
    for (body, words) in [
        (json!({}), "enabled is required"),
        (json!({"enabled": 1}), "true or false"),
        (json!({"enabled": true, "allowlist": ["0.0.0.0/0"]}), "0.0.0.0/0"),
    ] {
        cloud.refuses(&access(&one), body, 400, words);
    }
    cloud.ok(&format!("DELETE /databases/{one}"), Value::Null);
    cloud.wait(10);
    let three = cloud.make("/databases", json!({"name": "three", "plan_id": 102, "public_access": true}));
    assert_eq!(cloud.get(&format!("/databases/{three}"))["public_port"], 25_060);
}

#[test]
fn public_ports_run_out_with_503() {
    let mut cloud = Cloud::new();
    // 1,001 ports are 500 pairs, and one that only a single port fits.
    for n in 0..500 {
        cloud
            .ok("POST /databases", json!({"name": format!("d{n}"), "plan_id": 102, "public_access": true}));
    }
    let body = json!({"name": "more", "plan_id": 102, "public_access": true});
    cloud.refuses("POST /databases", body, 503, "port");
    let valkey = json!({"name": "last", "engine": "valkey", "plan_id": 302, "public_access": true});
    assert_eq!(cloud.ok("POST /databases", valkey)["public_port"], 26_060);
}

#[test]
fn a_database_is_attached_to_and_detached_from_a_network() {
    let mut cloud = Cloud::new();
    let (vpc, id) = (cloud.vpc(), cloud.database("main"));
    let path = format!("/databases/{id}");
    cloud.refuses(&format!("DELETE {path}/vpc"), Value::Null, 409, "not connected");
    cloud.refuses(&format!("POST {path}/vpc"), json!({}), 400, "vpc_id is required");
    cloud.refuses(&format!("POST {path}/vpc"), json!({"vpc_id": NOBODY}), 404, "VPC");
    let joined = cloud.ok(&format!("POST {path}/vpc"), json!({"vpc_id": vpc}));
    assert_eq!((&joined["vpc_id"], &joined["connection_port"]), (&json!(vpc), &json!(6432)));
    let host = format!("{}.db.emulator.internal", joined["database_id"].as_str().unwrap());
    assert_eq!(joined["connection_host"], host);
    cloud.refuses(&format!("POST {path}/vpc"), json!({"vpc_id": vpc}), 400, "already");
    let left = cloud.ok(&format!("DELETE {path}/vpc"), Value::Null);
    assert_eq!((&left["vpc_id"], &left["connection_host"]), (&json!(""), &json!("")));
}

#[test]
fn connection_data_follows_the_endpoints_and_rotated_credentials() {
    let mut cloud = Cloud::new();
    let vpc = cloud.vpc();
    let body = json!({"name": "a", "plan_id": 102, "vpc_id": vpc, "public_access": true});
    let id = cloud.make("/databases", body);
    let read = |cloud: &mut Cloud| cloud.get(&format!("/databases/{id}/connection"));
    let before = read(&mut cloud);
    for side in ["private", "public"] {
        let uri = before[side]["uri"].as_str().unwrap();
        assert!(
            uri.starts_with("postgresql://owner:") && uri.contains(before["password"].as_str().unwrap())
        );
    }
    let rotated = cloud.ok(&format!("POST /databases/{id}/credentials/rotate"), Value::Null);
    assert_ne!(rotated["password"], before["password"]);
    assert_eq!(read(&mut cloud)["password"], rotated["password"]);
    cloud.ok(&format!("DELETE /databases/{id}/vpc"), Value::Null);
    assert_eq!(read(&mut cloud)["private"], json!({"host": "", "port": 0, "uri": ""}));
}

#[test]
fn backups_are_taken_daily_and_can_be_restored() {
    let mut cloud = Cloud::new();
    let id = cloud.database("main");
    let path = format!("/databases/{id}");
    assert_eq!(cloud.send(&format!("GET {path}/backups"), Value::Null).1["total"], 0);
    cloud.refuses(&format!("POST {path}/restore"), json!({}), 404, "backup");
    cloud.wait(3 * DAY);
    let backups = cloud.get(&format!("{path}/backups"));
    assert_eq!(backups.as_array().unwrap().len(), 3);
    assert_eq!(
        (&backups[0]["created_at"], &backups[0]["restore_window_start"]),
        (&json!("2026-03-07T12:00:00Z"), &json!("2026-03-05T12:00:00Z"))
    );
    for (body, status, words) in [
        (json!({"backup_id": NOBODY}), 404, "backup"),
        (json!({"restore_time": "yesterday"}), 400, "RFC 3339"),
        (json!({"restore_time": "2026-03-04T12:00:00Z"}), 400, "between"),
        (json!({"restore_time": "2036-03-04T12:00:00Z"}), 400, "between"),
        (json!({"in_place": "no"}), 400, "true or false"),
    ] {
        cloud.refuses(&format!("POST {path}/restore"), body, status, words);
    }
    let (status, answer) =
        cloud.send(&format!("POST {path}/restore"), json!({"backup_id": backups[1]["id"]}));
    let copy = &answer["database"];
    assert_eq!(
        (status, &copy["name"], &copy["status"]),
        (201, &json!("main-restored-1"), &json!("pending"))
    );
    let again = cloud.ok(&format!("POST {path}/restore"), json!({"restore_time": "2026-03-06T00:00:00Z"}));
    assert_eq!(again["name"], "main-restored-2");
    cloud.wait(30 * DAY);
    assert_eq!(cloud.get(&format!("{path}/backups")).as_array().unwrap().len(), 7);
}

#[test]
fn users_have_rules_a_limit_and_a_password() {
    let mut cloud = Cloud::new();
    let deploying = cloud.make("/databases", json!({"name": "new", "plan_id": 102}));
    cloud.refuses(&format!("POST /databases/{deploying}/users"), json!({"name": "a"}), 409, "pending");
    let id = cloud.database("main");
    let users = format!("/databases/{id}/users");
    let post = format!("POST {users}");
    for (name, words) in [
        (json!("app_x"), "reserved"),
        (json!("fnb_x"), "reserved"),
        (json!("1a"), "a-z"),
        (json!("A"), "a-z"),
        (json!("a-b"), "a-z"),
        (json!(""), "1 to 63"),
        (json!("x".repeat(64)), "1 to 63"),
        (json!(7), "name must be"),
        (Value::Null, "name is required"),
    ] {
        cloud.refuses(&post, json!({"name": name}), 400, words);
    }
    let (status, made) = cloud.send(&post, json!({"name": "reporting"}));
    let password = made["data"]["password"].clone();
    assert!(status == 201 && password.as_str().unwrap().len() == 24);
    cloud.refuses(&post, json!({"name": "reporting"}), 409, "exists");
    let list = cloud.send(&format!("GET {users}"), Value::Null).1;
    assert_eq!(
        list,
        json!({"data": [{"name": "reporting", "created_at": made["data"]["created_at"]}], "total": 1})
    );
    assert_eq!(cloud.get(&format!("{users}/reporting/password"))["password"], password);
    let rotated = cloud.ok(&format!("POST {users}/reporting/rotate"), Value::Null)["password"].clone();
    assert_ne!(rotated, password);
    assert_eq!(cloud.get(&format!("{users}/reporting/password"))["password"], rotated);
    for n in 1..20 {
        cloud.ok(&post, json!({"name": format!("user_{n}")}));
    }
    cloud.refuses(&post, json!({"name": "one_more"}), 400, "at most 20");
    cloud.ok(&format!("DELETE {users}/reporting"), Value::Null);
    cloud.refuses(&format!("DELETE {users}/reporting"), Value::Null, 404, "user");
    let again = cloud.ok(&post, json!({"name": "reporting"}));
    assert!(again["password"] != password && again["password"] != rotated);
}

#[test]
fn an_unsupported_engine_feature_is_501() {
    let mut cloud = Cloud::new();
    let id = cloud.database("main");
    cloud.refuses(&format!("GET /databases/{id}/consumers"), Value::Null, 501, "kafka");
    assert_eq!(cloud.get(&format!("/databases/{id}/metrics/clients")), json!([]));
    let parameters = cloud.get(&format!("/databases/{id}/parameters"));
    assert_eq!(parameters[0], json!({"name": "max_connections", "value": "200", "default": "200"}));
}
