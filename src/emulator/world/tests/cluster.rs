//! Clusters.

use super::*;
use crate::emulator::world::mutate;

const WEEK: i64 = 7 * 24 * 3_600;

fn path(id: &str) -> String {
    format!("/k8s/clusters/{id}")
}

/// Sets fields behind everyone's back.
fn set(cloud: &mut Cloud, id: &str, fields: Value) {
    mutate(&mut cloud.world, "cluster", id, fields.as_object().unwrap(), cloud.now).unwrap();
}

fn types(cloud: &mut Cloud, id: &str) -> Vec<String> {
    let events = cloud.get(&format!("{}/events?limit=100", path(id)));
    let events = events.as_array().unwrap().iter().rev();
    events.map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

fn upgrades(cloud: &mut Cloud, id: &str) -> Vec<i64> {
    let list = cloud.get(&format!("{}/upgrades", path(id)));
    list.as_array().unwrap().iter().map(|version| version["id"].as_i64().unwrap()).collect()
}

#[test]
fn a_cluster_has_the_fields_of_the_contract() {
    let mut cloud = Cloud::new();
    let made = cloud.ok("POST /k8s/clusters", cluster_body());
    let fields: Vec<_> = made.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        [
            "cluster_id",
            "control_plane_count",
            "created_at",
            "endpoint",
            "id",
            "maintenance_day",
            "maintenance_start",
            "name",
            "node_pools",
            "price_per_hour",
            "project_id",
            "region",
            "status",
            "updated_at",
            "upgrade_mode",
            "version",
            "version_id",
            "vpc_id",
            "worker_plan_id",
        ]
    );
    let short = made["cluster_id"].as_str().unwrap();
    assert!(short.len() == 8 && short.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
    assert_eq!((&made["version"], &made["version_id"]), (&json!("1.33.7"), &json!(833)));
    assert_eq!(made["upgrade_mode"], "manual");
    assert_eq!(cloud.get("/k8s/clusters")[0], made);
    assert_eq!(cloud.get(&path(short)), made);
}

#[test]
fn a_cluster_is_created_and_deleted() {
    let mut cloud = Cloud::new();
    let id = cloud.make("/k8s/clusters", cluster_body());
    let path = path(&id);
    for (seconds, status, pools) in
        [(0, "pending", "provisioning"), (2, "provisioning", "provisioning"), (88, "running", "running")]
    {
        cloud.wait(seconds);
        let shown = cloud.get(&path);
        assert_eq!(shown["status"], status);
        assert_eq!(shown["node_pools"][0]["status"], pools);
        assert_eq!(shown["endpoint"] == "", status != "running");
        if status != "running" {
            for line in [
                format!("DELETE {path}"),
                format!("POST {path}/upgrade"),
                format!("POST {path}/kubeconfig/rotate"),
                format!("GET {path}/kubeconfig"),
                format!("POST {path}/pools"),
            ] {
                cloud.refuses(&line, Value::Null, 409, status);
            }
        }
    }
    cloud.ok(&format!("DELETE {path}"), Value::Null);
    cloud.wait(9);
    let leaving = cloud.get(&path);
    assert_eq!((&leaving["status"], &leaving["price_per_hour"]), (&json!("deleting"), &json!(0)));
    assert_eq!(leaving["node_pools"][1]["status"], "deleting");
    for line in [
        format!("DELETE {path}"),
        format!("PATCH {path}/maintenance"),
        format!("POST {path}/upgrade"),
        format!("POST {path}/pools"),
        format!("GET {path}/kubeconfig"),
    ] {
        cloud.refuses(&line, Value::Null, 409, "deleting");
    }
    cloud.refuses("POST /k8s/clusters", cluster_body(), 409, "taken");
    cloud.wait(1);
    cloud.refuses(&format!("GET {path}"), Value::Null, 404, "cluster");
    assert_eq!(cloud.send("GET /k8s/clusters", Value::Null).1, json!({"data": [], "total": 0}));
    assert_eq!(cloud.world.object_count(), 0);
    cloud.ok("POST /k8s/clusters", cluster_body());
}

#[test]
fn an_invalid_cluster_is_rejected() {
    let mut cloud = Cloud::new();
    cloud.ok("POST /k8s/clusters", with(cluster_body(), json!({"name": "taken"})));
    let pool = |changes: Value| {
        let pool = with(json!({"name": "a", "plan_id": 701, "node_count": 2}), changes);
        json!({"node_pools": [pool]})
    };
    for (changes, status, words) in [
        (json!({"name": null}), 400, "name is required"),
        (json!({"name": ""}), 400, "1 to 64"),
        (json!({"version_id": null}), 400, "version_id is required"),
        (json!({"version_id": "833"}), 400, "version_id must be an integer"),
        (json!({"version_id": 999}), 400, "versions"),
        (json!({"control_plane_count": 0}), 400, "control_plane_count"),
        (json!({"control_plane_count": 2}), 400, "must be 1, or 3"),
        (json!({"control_plane_count": 5}), 400, "control_plane_count"),
        (json!({"storage_node_count": 1}), 400, "storage_node_count"),
        (json!({"storage_node_disk_gb": 10}), 400, "storage_node_disk_gb"),
        (json!({"storage_node_count": "1"}), 400, "storage_node_count"),
        (json!({"worker_plan_id": 999}), 400, "catalog"),
        (json!({"vpc_id": NOBODY}), 404, "VPC"),
        (json!({"vpc_id": "main"}), 400, "UUID"),
        (json!({"region": "eu"}), 400, "region"),
        (json!({"upgrade_mode": "auto"}), 400, "manual, auto_patch, auto_minor"),
        (json!({"maintenance_day": 7}), 400, "maintenance_day"),
        (json!({"maintenance_start": "3:00"}), 400, "maintenance_start"),
        (json!({"node_pools": {}}), 400, "node_pools must be a list"),
        (json!({"node_pools": ["a"]}), 400, "must be an object"),
        (pool(json!({"name": null})), 400, "node_pools: name is required"),
        (pool(json!({"plan_id": null})), 400, "node_pools: plan_id is required"),
        (pool(json!({"plan_id": 999})), 400, "catalog"),
        (pool(json!({"node_count": null})), 400, "node_count is required"),
        (pool(json!({"node_count": 0})), 400, "node_count must be"),
        (pool(json!({"node_count": 1})), 400, "at least 2 workers"),
        (json!({"name": "taken"}), 409, "taken"),
    ] {
        cloud.refuses("POST /k8s/clusters", with(cluster_body(), changes), status, words);
    }
    for changes in [
        json!({"storage_node_count": 0, "storage_node_disk_gb": 0}),
        json!({"name": "ha", "control_plane_count": 3}),
        json!({"name": "two", "node_pools": [
            {"name": "a", "plan_id": 701, "node_count": 1}, {"name": "a", "plan_id": 701, "node_count": 1},
        ]}),
    ] {
        cloud.ok("POST /k8s/clusters", with(cluster_body(), changes));
    }
    let other = cloud.make("/projects", json!({"name": "other"}));
    cloud.project = Some(other);
    cloud.ok("POST /k8s/clusters", with(cluster_body(), json!({"name": "taken"})));
}

#[test]
fn a_cluster_may_have_no_pools_or_a_default_one() {
    let mut cloud = Cloud::new();
    let bare = cloud.ok("POST /k8s/clusters", json!({"name": "bare", "version_id": 842}));
    assert_eq!((&bare["node_pools"], &bare["price_per_hour"]), (&json!([]), &json!(0)));
    let body = json!({"name": "usual", "version_id": 842, "worker_plan_id": 702, "node_pools": []});
    let made = cloud.ok("POST /k8s/clusters", body);
    let pool = &made["node_pools"][0];
    assert_eq!(
        (&pool["name"], &pool["plan_id"], &pool["node_count"], &pool["node_class"]),
        (&json!("default"), &json!(702), &json!(2), &json!("shared"))
    );
    assert_eq!((&made["worker_plan_id"], &bare["worker_plan_id"]), (&json!(702), &Value::Null));
    let named = cloud.ok("POST /k8s/clusters", with(cluster_body(), json!({"worker_plan_id": 702})));
    assert_eq!(named["node_pools"].as_array().unwrap().len(), 2);
}

#[test]
fn control_plane_and_workers_are_billed_by_the_hour() {
    let mut cloud = Cloud::new();
    let public = cloud.send("GET /public/pricing/kubernetes", Value::Null).1;
    let hourly = |id: i64| {
        let plans = public["data"].as_array().unwrap();
        plans.iter().find(|plan| plan["id"] == id).unwrap()["price_per_hour"].as_f64().unwrap()
    };
    let rate =
        |cloud: &Cloud| cloud.world.bill(cloud.now).rate_per_hour.to_string().parse::<f64>().unwrap();
    let close = |a: f64, b: f64| (a - b).abs() < 0.000_15;
    let single = cloud.ok("POST /k8s/clusters", cluster_body());
    assert!(close(rate(&cloud), 2.0 * hourly(701) + 2.0 * hourly(704)), "{}", rate(&cloud));
    assert_eq!(single["price_per_hour"].to_string(), rate(&cloud).to_string());
    let ha =
        cloud.ok("POST /k8s/clusters", json!({"name": "ha", "version_id": 842, "control_plane_count": 3}));
    // 60 USD a month.
    assert_eq!(ha["price_per_hour"], 0.0822);
    assert_eq!(public["control_planes"], json!({"single_monthly": 0, "ha_monthly": 60}));
    let before = rate(&cloud);
    cloud.wait(3_600);
    let used: f64 = cloud.world.bill(cloud.now).accrued.to_string().parse().unwrap();
    assert!(close(used, before));
    cloud.ok(&format!("DELETE {}", path(single["id"].as_str().unwrap())), Value::Null);
    cloud.ok(&format!("DELETE {}", path(ha["id"].as_str().unwrap())), Value::Null);
    assert!(cloud.world.bill(cloud.now).rate_per_hour.is_zero());
}

#[test]
fn an_upgrade_needs_a_listed_version_and_a_confirmation() {
    let mut cloud = Cloud::new();
    let id = cloud.cluster("jobs");
    let (path, short) = (path(&id), cloud.get(&path(&id))["cluster_id"].as_str().unwrap().to_owned());
    let list = cloud.send(&format!("GET {path}/upgrades"), Value::Null).1;
    assert_eq!(list["total"], 2);
    assert_eq!(list["data"][1], json!({"id": 842, "version": "1.34.3", "is_default": true}));
    let upgrade = format!("POST /k8s/clusters/{short}/upgrade");
    for (body, words) in [
        (json!({"confirm_single_master": true}), "version_id is required"),
        (json!({"version_id": "841"}), "version_id must be an integer"),
        (json!({"version_id": 833, "confirm_single_master": true}), "not among the upgrades"),
        (json!({"version_id": 832, "confirm_single_master": true}), "not among the upgrades"),
        (json!({"version_id": 851, "confirm_single_master": true}), "not among the upgrades"),
        (json!({"version_id": 841}), "confirm_single_master must be true"),
        (json!({"version_id": 841, "confirm_single_master": false}), "confirm_single_master must be true"),
        (json!({"version_id": 841, "confirm_single_master": 1}), "true or false"),
    ] {
        cloud.refuses(&upgrade, body, 400, words);
    }
    let body = json!({"version_id": 841, "confirm_single_master": true});
    let (status, answer) = cloud.send(&upgrade, body.clone());
    assert_eq!((status, answer.as_object().unwrap().len()), (200, 2), "success and message: {answer}");
    cloud.wait(59);
    let during = cloud.get(&path);
    assert_eq!((&during["status"], &during["version_id"]), (&json!("upgrading"), &json!(833)));
    assert_ne!(during["endpoint"], "");
    cloud.refuses(&upgrade, body, 409, "upgrading");
    cloud.refuses(&format!("DELETE {path}"), Value::Null, 409, "upgrading");
    cloud.refuses(&format!("POST {path}/pools"), Value::Null, 409, "upgrading");
    assert_eq!(
        types(&mut cloud, &id),
        [
            "cluster.created",
            "pool.created",
            "pool.created",
            "cluster.ready",
            "upgrade.started",
            "upgrade.control_plane",
            "upgrade.workers"
        ]
    );
    cloud.wait(1);
    let after = cloud.get(&path);
    assert_eq!(
        (&after["status"], &after["version_id"], &after["version"]),
        (&json!("running"), &json!(841), &json!("1.34.1"))
    );
    assert_eq!(types(&mut cloud, &id)[7..], ["upgrade.workers", "upgrade.finished"]);
    assert_eq!(upgrades(&mut cloud, &id), [842, 851]);
}

#[test]
fn a_cluster_with_three_control_plane_nodes_needs_no_confirmation() {
    let mut cloud = Cloud::new();
    let body = with(cluster_body(), json!({"control_plane_count": 3}));
    let id = cloud.make("/k8s/clusters", body);
    cloud.wait(90);
    cloud.ok(&format!("POST {}/upgrade", path(&id)), json!({"version_id": 842}));
    cloud.wait(60);
    let masters = types(&mut cloud, &id).iter().filter(|kind| *kind == "upgrade.control_plane").count();
    assert_eq!(masters, 3);
    let rate = cloud.world.bill(cloud.now).rate_per_hour;
    cloud.ok(&format!("POST {}/upgrade", path(&id)), json!({"version_id": 851}));
    assert_eq!(cloud.world.bill(cloud.now).rate_per_hour, rate, "an upgrade is free");
    cloud.wait(60);
    assert_eq!(upgrades(&mut cloud, &id), [0; 0]);
}

#[test]
fn a_maintenance_update_changes_only_the_sent_fields() {
    let mut cloud = Cloud::new();
    let id = cloud.cluster("jobs");
    let patch = format!("PATCH {}/maintenance", path(&id));
    let shown = cloud.ok(&patch, json!({"upgrade_mode": "auto_patch", "maintenance_day": 6}));
    let words = |shown: &Value| {
        ["upgrade_mode", "maintenance_day", "maintenance_start"].map(|name| shown[name].clone())
    };
    assert_eq!(words(&shown), [json!("auto_patch"), json!(6), json!("03:00")]);
    let shown = cloud.ok(&patch, json!({"maintenance_start": "23:30"}));
    assert_eq!(words(&shown), [json!("auto_patch"), json!(6), json!("23:30")]);
    for (body, words) in [
        (json!({"upgrade_mode": "never"}), "manual, auto_patch, auto_minor"),
        (json!({"maintenance_day": -1}), "maintenance_day"),
        (json!({"maintenance_day": "sunday"}), "maintenance_day"),
        (json!({"maintenance_start": "24:00"}), "maintenance_start"),
        (json!({"maintenance_start": 3}), "maintenance_start"),
    ] {
        cloud.refuses(&patch, body, 400, words);
    }
}

/// Wednesday noon, and a window on Saturday at 22:00.
fn weekly(mode: &str) -> (Cloud, String) {
    let mut cloud = Cloud::new();
    let changes = json!({
        "version_id": 821, "upgrade_mode": mode, "maintenance_day": 6, "maintenance_start": "22:00",
    });
    let id = cloud.make("/k8s/clusters", with(cluster_body(), changes));
    (cloud, id)
}

#[test]
fn a_cluster_upgrades_itself_in_its_maintenance_window() {
    for (mode, versions) in [
        ("manual", [821, 821, 821, 821, 821]),
        ("auto_patch", [822, 822, 822, 822, 822]),
        ("auto_minor", [833, 842, 851, 851, 851]),
    ] {
        let (mut cloud, id) = weekly(mode);
        cloud.now = "2026-03-07T21:59:59Z".parse().unwrap();
        let before = cloud.get(&path(&id));
        assert_eq!((&before["status"], &before["version_id"]), (&json!("running"), &json!(821)));
        cloud.wait(1);
        cloud.status_is(&path(&id), if mode == "manual" { "running" } else { "upgrading" });
        cloud.wait(60);
        for version in versions {
            let shown = cloud.get(&path(&id));
            assert_eq!(
                (&shown["version_id"], &shown["status"]),
                (&json!(version), &json!("running")),
                "{mode}"
            );
            cloud.wait(WEEK);
        }
    }
}

#[test]
fn an_open_maintenance_window_is_used_and_one_without_idle_time_is_missed() {
    let (mut cloud, id) = weekly("manual");
    cloud.now = "2026-03-08T01:00:00Z".parse().unwrap();
    cloud.ok(&format!("PATCH {}/maintenance", path(&id)), json!({"upgrade_mode": "auto_minor"}));
    cloud.status_is(&path(&id), "upgrading");
    cloud.wait(60);
    assert_eq!(cloud.get(&path(&id))["version_id"], 833);
    set(&mut cloud, &id, json!({"status": "failed"}));
    cloud.wait(WEEK);
    assert_eq!(cloud.get(&path(&id))["version_id"], 833);
    set(&mut cloud, &id, json!({"status": "running"}));
    cloud.wait(WEEK);
    assert_eq!(cloud.get(&path(&id))["version_id"], 842);
}

#[test]
fn one_jump_of_the_clock_equals_many_steps() {
    let end = |step: i64| {
        let (mut cloud, id) = weekly("auto_minor");
        set(&mut cloud, &id, json!({"claims": {"data": 30}}));
        // Whole hours: the meter rounds at each step that finds a price changed.
        cloud.now = "2026-03-04T13:00:00Z".parse().unwrap();
        let days = 30;
        for _ in 0..(days * 24 / step) {
            cloud.wait(step * 3_600);
            clock::tick(&mut cloud.world, cloud.now);
        }
        let mut world: Value = serde_json::to_value(&cloud.world).unwrap();
        world["account"]["meter"] = Value::Null;
        world
    };
    let whole = end(30 * 24);
    assert_eq!(whole, end(1));
    assert_eq!(whole, end(5 * 24));
    assert_eq!(whole["clusters"][0]["body"]["version_id"], 851);
    assert_eq!(whole["volumes"][0]["body"]["size"], 30);
}

#[test]
fn no_manually_set_value_stops_the_clock() {
    let (mut cloud, id) = weekly("auto_minor");
    let pool = cloud.get(&format!("{}/pools", path(&id)))[0]["id"].as_str().unwrap().to_owned();
    for fields in [
        json!({"maintenance_day": 127, "maintenance_start": "never"}),
        json!({"maintenance_day": -128, "control_plane_count": i64::MAX}),
        json!({"control_plane_count": 0, "rotations": u64::MAX}),
        json!({"version_id": 1, "plan_id": null}),
        json!({"bound": {"a": {"volume": NOBODY, "size": 10}}}),
        json!({"status": "moving", "claims": {"b": 10_240}}),
    ] {
        // One that does not fit is refused whole.
        let fields = fields.as_object().unwrap();
        let _ = mutate(&mut cloud.world, "cluster", &id, fields, cloud.now);
        cloud.wait(3 * WEEK);
        cloud.get(&path(&id));
    }
    let many = json!({"node_count": u32::MAX});
    mutate(&mut cloud.world, "node_pool", &pool, many.as_object().unwrap(), cloud.now).unwrap();
    cloud.get(&path(&id));
    set(&mut cloud, &id, json!({"version_id": 811, "status": "running"}));
    cloud.now = Time::MAX;
    cloud.get(&path(&id));
    cloud.ok(&format!("DELETE {}", path(&id)), Value::Null);
    cloud.refuses(&format!("GET {}", path(&id)), Value::Null, 404, "cluster");
}

#[test]
fn a_kubeconfig_expires_and_rotation_invalidates_it() {
    let mut cloud = Cloud::new();
    let id = cloud.cluster("a: \"hostile\n- name");
    let read = |cloud: &mut Cloud, query: &str| cloud.get(&format!("{}/kubeconfig{query}", path(&id)));
    let usual = read(&mut cloud, "");
    assert_eq!(usual["expires_at"], "2026-03-11T12:01:30Z");
    assert_eq!(read(&mut cloud, "?expires_in=600")["expires_at"], "2026-03-04T12:11:30Z");
    assert_eq!(read(&mut cloud, "?expires_in=2592000")["expires_at"], "2026-04-03T12:01:30Z");
    for bad in ["599", "2592001", "-600", "", "7d", "600.5"] {
        let line = format!("GET {}/kubeconfig?expires_in={bad}", path(&id));
        cloud.refuses(&line, Value::Null, 400, "600 to 2592000");
    }
    let text = usual["kubeconfig"].as_str().unwrap();
    let yaml: Value = serde_yaml::from_str(text).unwrap();
    assert_eq!(yaml["kind"], "Config");
    assert_eq!(yaml["clusters"][0]["cluster"]["server"], cloud.get(&path(&id))["endpoint"]);
    assert_eq!(yaml["clusters"][0]["name"], yaml["contexts"][0]["context"]["cluster"]);
    assert_eq!(yaml["users"][0]["name"], yaml["contexts"][0]["context"]["user"]);
    let token = yaml["users"][0]["user"]["token"].as_str().unwrap().to_owned();
    assert_eq!(read(&mut cloud, ""), usual);
    assert!(!read(&mut cloud, "?expires_in=600").to_string().contains(&token));
    let (status, answer) = cloud.send(&format!("POST {}/kubeconfig/rotate", path(&id)), Value::Null);
    assert_eq!((status, &answer["success"]), (200, &json!(true)));
    assert!(!read(&mut cloud, "").to_string().contains(&token));
    assert_eq!(types(&mut cloud, &id).last().unwrap(), "kubeconfig.rotated");
}

#[test]
fn claims_become_volumes_that_outlive_the_cluster() {
    let mut cloud = Cloud::new();
    let id = cloud.make("/k8s/clusters", cluster_body());
    set(&mut cloud, &id, json!({"claims": {"shop/data-0": 20, "shop/data-1": 10}}));
    cloud.wait(89);
    assert_eq!(cloud.get("/volumes"), json!([]));
    cloud.wait(1);
    let list = cloud.send(&format!("GET {}/volumes", path(&id)), Value::Null).1;
    assert_eq!(list["total"], 2);
    let claimed = list["data"][0].clone();
    assert_eq!(
        (&claimed["claim"], &claimed["size"], &claimed["vm_id"]),
        (&json!("shop/data-0"), &json!(20), &Value::Null)
    );
    let volume = claimed["id"].as_str().unwrap().to_owned();
    cloud.wait(3);
    let shown = cloud.get(&format!("/volumes/{volume}"));
    assert_eq!((&shown["status"], &shown["name"]), (&json!("in_use"), &json!(format!("pvc-{volume}"))));
    for (line, words) in [("DELETE", "claim"), ("POST", "claim"), ("POST", "in_use")] {
        let (verb, body) = match words {
            "in_use" => ("/attach", json!({"vm_id": cloud.vm()})),
            _ => (if line == "POST" { "/detach" } else { "" }, Value::Null),
        };
        cloud.refuses(&format!("{line} /volumes/{volume}{verb}"), body, 409, words);
    }
    // Larger, smaller, and none.
    set(&mut cloud, &id, json!({"claims": {"shop/data-0": 50, "shop/data-1": 10}}));
    assert_eq!(cloud.get(&format!("/volumes/{volume}"))["size"], 50);
    set(&mut cloud, &id, json!({"claims": {"shop/data-0": 10}}));
    assert_eq!(cloud.get(&format!("/volumes/{volume}"))["size"], 50);
    assert_eq!(cloud.get("/volumes").as_array().unwrap().len(), 1);
    assert_eq!(
        types(&mut cloud, &id)[4..],
        ["claim.bound", "claim.bound", "claim.grown", "claim.released", "claim.refused"]
    );
    let small = json!({"claims": {"a": 9}});
    let error =
        mutate(&mut cloud.world, "cluster", &id, small.as_object().unwrap(), cloud.now).unwrap_err();
    assert!(error.to_string().contains("10 to 10240 GB"), "{error}");
    cloud.ok(&format!("DELETE {}", path(&id)), Value::Null);
    cloud.wait(10);
    let left = cloud.get(&format!("/volumes/{volume}"));
    assert_eq!((&left["status"], &left["size"]), (&json!("available"), &json!(50)));
    cloud.ok(&format!("DELETE /volumes/{volume}"), Value::Null);
}

#[test]
fn clusters_are_found_by_short_id_and_only_in_their_project() {
    let mut cloud = Cloud::new();
    let id = cloud.cluster("jobs");
    let short = cloud.get(&path(&id))["cluster_id"].as_str().unwrap().to_owned();
    for tail in ["", "/pools", "/upgrades", "/kubeconfig", "/volumes", "/events"] {
        assert_eq!(
            cloud.get(&format!("{}{tail}", path(&short))),
            cloud.get(&format!("{}{tail}", path(&id)))
        );
        cloud.refuses(&format!("GET {}{tail}", path(NOBODY)), Value::Null, 404, "cluster");
    }
    let other = cloud.make("/projects", json!({"name": "other"}));
    let home = cloud.project.replace(other);
    assert_eq!(cloud.send("GET /k8s/clusters", Value::Null).1["total"], 0);
    cloud.refuses(&format!("DELETE {}", path(&short)), Value::Null, 404, "cluster");
    cloud.project = home;
    cloud.refuses("DELETE /k8s/clusters/x/pools/y", Value::Null, 404, "cluster");
}

#[test]
fn versions_and_node_plans_are_catalogs() {
    let mut cloud = Cloud::new();
    let versions = cloud.send("GET /k8s/versions", Value::Null).1;
    assert_eq!(versions["total"], 10);
    let defaults = versions["data"].as_array().unwrap().iter().filter(|v| v["is_default"] == true).count();
    assert_eq!((defaults, &versions["data"][0]["version"]), (1, &json!("1.31.9")));
    let plans = cloud.get("/k8s/node-plans");
    assert_eq!(plans, cloud.get("/public/pricing/kubernetes"));
    for plan in plans.as_array().unwrap() {
        assert!(matches!(plan["node_class"].as_str(), Some("shared" | "cpu_optimized")));
    }
}
