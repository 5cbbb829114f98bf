//! Apps: what they are made of, how they come up, change, scale and go.

use super::*;
use crate::emulator::world::mutate;

impl Cloud {
    /// Makes an app that is live.
    pub(super) fn app(&mut self, body: Value) -> String {
        let id = self.make("/apps/services", with(web(), body));
        self.wait(25);
        id
    }

    pub(super) fn mutate(&mut self, kind: &str, id: &str, set: Value) {
        mutate(&mut self.world, kind, id, set.as_object().unwrap(), self.now).unwrap();
    }
}

fn repo() -> Value {
    json!({"name": "web", "type": "web", "repo": "acme/shop", "branch": "main"})
}

#[test]
fn an_app_is_created_and_deleted() {
    let mut cloud = Cloud::new();
    let id = cloud.make("/apps/services", web());
    let path = format!("/apps/services/{id}");
    for (seconds, wanted) in
        [(0, "building"), (14, "building"), (1, "deploying"), (9, "deploying"), (1, "live")]
    {
        cloud.wait(seconds);
        cloud.status_is(&path, wanted);
    }
    let app = cloud.get(&path);
    let short = app["service_id"].as_str().unwrap();
    assert_eq!(cloud.get(&format!("/apps/services/{short}"))["id"], app["id"]);
    let deployment = &cloud.get(&format!("{path}/deployments"))[0];
    assert_eq!((&app["live_deployment_id"], &deployment["status"]), (&deployment["id"], &json!("live")));
    cloud.ok(&format!("DELETE {path}"), Value::Null);
    cloud.status_is(&path, "deleting");
    cloud.refuses(&format!("DELETE {path}"), Value::Null, 409, "deleting");
    cloud.refuses(&format!("PATCH {path}"), json!({"name": "b"}), 409, "deleting");
    cloud.refuses("POST /apps/services", web(), 409, "taken");
    cloud.wait(5);
    cloud.refuses(&format!("GET {path}"), Value::Null, 404, "app service");
    assert_eq!(cloud.send("GET /apps/services", Value::Null).1["total"], 0);
    cloud.app(json!({}));
}

#[test]
fn a_new_app_shows_every_field() {
    let mut cloud = Cloud::new();
    let made = cloud.ok(
        "POST /apps/services",
        with(repo(), json!({"env_vars": {"A": "1"}, "github_installation_id": 7})),
    );
    let fields: Vec<_> = made.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        [
            "autoscaling_metric",
            "autoscaling_target",
            "billing_type",
            "blob_key",
            "branch",
            "created_at",
            "cron_concurrency",
            "cron_schedule",
            "cron_timezone",
            "deployments",
            "description",
            "env_vars",
            "github_installation_id",
            "health_check_path",
            "id",
            "image",
            "instances",
            "live_deployment_id",
            "max_replicas",
            "min_replicas",
            "monthly_price",
            "name",
            "next_run_at",
            "port",
            "previews_enabled",
            "price_per_hour",
            "project_id",
            "region",
            "repo",
            "service_id",
            "size",
            "start_command",
            "status",
            "subscription_id",
            "type",
            "updated_at",
            "url",
        ]
    );
    assert_eq!(made["env_vars"], json!({"A": "1"}));
    assert_eq!((&made["github_installation_id"], &made["deployments"]), (&json!(7), &json!(1)));
    assert!(cloud.get("/apps/services")[0].get("env_vars").is_none());
    assert_eq!(
        (&made["size"], &made["port"], &made["instances"]),
        (&json!("app-xs"), &json!(8080), &json!(1))
    );
}

#[test]
fn an_invalid_app_is_rejected() {
    let mut cloud = Cloud::new();
    cloud.ok("POST /apps/services", with(web(), json!({"name": "taken"})));
    for (changes, status, words) in [
        (json!({"name": null}), 400, "name is required"),
        (json!({"type": null}), 400, "type is required"),
        (json!({"type": "site"}), 400, "type must be one of"),
        (json!({"repo": "acme/shop", "branch": "main"}), 400, "exclude"),
        (json!({"image": null, "repo": "acme/shop"}), 400, "branch is required"),
        (json!({"branch": "main"}), 400, "go with repo"),
        (json!({"github_installation_id": 1}), 400, "go with repo"),
        (json!({"image": null, "deploy_now": true}), 400, "uploaded source"),
        (json!({"size": "huge"}), 400, "choose one of app-xs"),
        (json!({"port": 0}), 400, "port must be"),
        (json!({"port": 65536}), 400, "port must be"),
        (json!({"port": 8008}), 400, "reserved"),
        (json!({"port": 9091}), 400, "reserved"),
        (json!({"type": "private", "port": 8012, "min_replicas": 0, "max_replicas": 2}), 400, "reserved"),
        (json!({"health_check_path": "healthz"}), 400, "slash"),
        (json!({"type": "cron"}), 400, "cron_schedule is required"),
        (json!({"type": "cron", "cron_schedule": "often"}), 400, "cron_schedule"),
        (json!({"type": "cron", "cron_schedule": "* * * * *", "cron_timezone": "Mars"}), 400, "IANA"),
        (
            json!({"type": "cron", "cron_schedule": "* * * * *", "cron_concurrency": "x"}),
            400,
            "allow, forbid",
        ),
        (json!({"cron_timezone": "Mars"}), 400, "IANA"),
        (json!({"instances": 0}), 400, "instances"),
        (json!({"instances": 7}), 400, "at most 6"),
        (json!({"instances": 2, "min_replicas": 1}), 400, "either"),
        (json!({"min_replicas": 3, "max_replicas": 2}), 400, "above max_replicas"),
        (json!({"min_replicas": 1, "max_replicas": 7}), 400, "at most 6"),
        (json!({"min_replicas": 1, "max_replicas": 2, "autoscaling_metric": "cpu"}), 400, "concurrency"),
        (json!({"type": "worker", "min_replicas": 1, "max_replicas": 2}), 400, "workers"),
        (json!({"type": "private", "min_replicas": 1, "max_replicas": 2}), 400, "always-on private"),
        (json!({"type": "job", "instances": 2}), 400, "cannot be scaled"),
        (json!({"env_vars": {"A": 1}}), 400, "A must be a text"),
        (json!({"env_vars": {"1A": "x"}}), 400, "not the name"),
        (json!({"env_vars": ["A"]}), 400, "object"),
        (json!({"previews_enabled": "yes"}), 400, "true or false"),
        (json!({"billing_type": "free"}), 400, "billing_type"),
        (json!({"region": "eu"}), 400, "region"),
        (json!({"link_database_id": "x"}), 400, "UUID"),
        (json!({"link_database_id": NOBODY}), 404, "database"),
        (json!({"name": "taken"}), 409, "taken"),
    ] {
        cloud.refuses("POST /apps/services", with(web(), changes), status, words);
    }
    // The nearest that can be.
    for (name, changes) in [
        ("a", json!({"type": "private", "port": 8012})),
        ("b", json!({"type": "worker", "port": 8012, "instances": 6})),
        ("c", json!({"type": "private", "min_replicas": 0, "max_replicas": 6})),
        ("d", json!({"min_replicas": 1, "max_replicas": 6, "autoscaling_metric": "concurrency"})),
        ("e", json!({"type": "cron", "cron_schedule": "0 6 * * 1-5", "cron_timezone": "Europe/Paris"})),
        ("f", json!({"image": null, "deploy_now": false})),
        ("g", json!({"health_check_path": "/", "port": 65535, "region": "us-east"})),
    ] {
        cloud.ok("POST /apps/services", with(web(), with(changes, json!({"name": name}))));
    }
}

#[test]
fn only_a_runtime_change_of_an_app_creates_a_deployment() {
    let mut cloud = Cloud::new();
    let id = cloud.make("/apps/services", with(repo(), json!({"env_vars": {"A": "1"}})));
    cloud.wait(25);
    let path = format!("/apps/services/{id}");
    let mut deployments = 1;
    for (body, rolls_out) in [
        (json!({"name": "shop"}), false),
        (json!({"description": "d"}), false),
        (json!({"previews_enabled": true}), false),
        (json!({"cron_schedule": "* * * * *"}), false),
        (json!({"env_vars": {"A": "1"}}), false),
        (json!({"env_vars": {"B": "2"}}), true),
        (json!({"start_command": "run"}), true),
        (json!({"port": 3000}), true),
        (json!({"health_check_path": "/healthz"}), true),
        (json!({"size": "app-m"}), true),
        (json!({"branch": "next"}), true),
        (json!({"branch": "next"}), false),
    ] {
        cloud.ok(&format!("PATCH {path}"), body.clone());
        cloud.status_is(&path, "live");
        deployments += i64::from(rolls_out);
        let list = cloud.send(&format!("GET {path}/deployments"), Value::Null).1;
        assert_eq!(list["total"], deployments, "{body}");
        if rolls_out {
            assert_eq!(
                (&list["data"][0]["status"], &list["data"][1]["status"]),
                (&json!("queued"), &json!("live"))
            );
            let old = cloud.get(&path)["live_deployment_id"].clone();
            cloud.wait(25);
            let list = cloud.get(&format!("{path}/deployments"));
            assert_eq!((&list[0]["status"], &list[1]["status"]), (&json!("live"), &json!("superseded")));
            assert_ne!(cloud.get(&path)["live_deployment_id"], old);
        }
    }
    let app = cloud.get(&path);
    assert_eq!(app["env_vars"], json!({"B": "2"}));
    assert_eq!((&app["name"], &app["branch"]), (&json!("shop"), &json!("next")));
    assert_eq!(cloud.ok(&format!("PATCH {path}"), json!({"description": ""}))["description"], "");
}

#[test]
fn an_invalid_change_of_an_app_is_rejected() {
    let mut cloud = Cloud::new();
    let id = cloud.app(json!({}));
    cloud.app(json!({"name": "other"}));
    let patch = format!("PATCH /apps/services/{id}");
    for (body, status, words) in [
        (json!({"name": "other"}), 409, "taken"),
        (json!({"name": ""}), 400, "1 to 64"),
        (json!({"port": 8013}), 400, "reserved"),
        (json!({"health_check_path": "x"}), 400, "slash"),
        (json!({"size": "x"}), 400, "catalog"),
        (json!({"branch": "x"}), 400, "repository"),
        (json!({"cron_schedule": "x"}), 400, "cron_schedule"),
        (json!({"cron_timezone": "x"}), 400, "IANA"),
        (json!({"env_vars": {"": "x"}}), 400, "not the name"),
    ] {
        cloud.refuses(&patch, body, status, words);
    }
    cloud.refuses(&format!("PATCH /apps/services/{NOBODY}"), json!({}), 404, "app service");
    cloud.ok(&patch, json!({"name": "web"}));
}

#[test]
fn a_change_to_a_failed_app_deploys_it() {
    let mut cloud = Cloud::new();
    let id = cloud.app(json!({}));
    let path = format!("/apps/services/{id}");
    cloud.mutate("app", &id, json!({"status": "failed"}));
    cloud.status_is(&path, "failed");
    cloud.ok(&format!("PATCH {path}"), json!({"name": "web"}));
    cloud.status_is(&path, "failed");
    cloud.ok(&format!("PATCH {path}"), json!({"description": "again"}));
    cloud.status_is(&path, "building");
    cloud.wait(25);
    cloud.status_is(&path, "live");
}

#[test]
fn a_change_during_a_deployment_supersedes_it() {
    let mut cloud = Cloud::new();
    let id = cloud.make("/apps/services", web());
    let path = format!("/apps/services/{id}");
    cloud.wait(20);
    cloud.ok(&format!("PATCH {path}"), json!({"port": 3000}));
    cloud.wait(20);
    cloud.status_is(&path, "deploying");
    let list = cloud.get(&format!("{path}/deployments"));
    assert_eq!((&list[0]["status"], &list[1]["status"]), (&json!("deploying"), &json!("superseded")));
    cloud.wait(5);
    cloud.status_is(&path, "live");
}

#[test]
fn scale_limits_apply_only_when_scaling_up() {
    let mut cloud = Cloud::new();
    let id = cloud.app(json!({}));
    let scale = format!("POST /apps/services/{id}/scale");
    for (body, words) in [
        (json!({}), "is required"),
        (json!({"instances": 7}), "at most 6"),
        (json!({"instances": 0}), "instances"),
        (json!({"min_replicas": 7}), "at most 6"),
        (json!({"min_replicas": 2, "max_replicas": 1}), "above max_replicas"),
        (json!({"instances": 2, "max_replicas": 3}), "either"),
        (json!({"autoscaling_metric": "memory"}), "concurrency"),
    ] {
        cloud.refuses(&scale, body, 400, words);
    }
    assert_eq!(cloud.ok(&scale, json!({"instances": 6}))["instances"], 6);
    cloud.mutate("app", &id, json!({"instances": 12}));
    cloud.refuses(&scale, json!({"instances": 13}), 400, "at most 6");
    assert_eq!(cloud.ok(&scale, json!({"instances": 9}))["instances"], 9);
    let scaled = cloud.ok(&scale, json!({"min_replicas": 1, "max_replicas": 4, "autoscaling_target": 10}));
    assert_eq!(
        (
            &scaled["instances"],
            &scaled["min_replicas"],
            &scaled["max_replicas"],
            &scaled["autoscaling_target"]
        ),
        (&Value::Null, &json!(1), &json!(4), &json!(10))
    );
    assert_eq!(scaled["autoscaling_metric"], "concurrency");
    let fixed = cloud.ok(&scale, json!({"instances": 2}));
    assert_eq!((&fixed["instances"], &fixed["min_replicas"]), (&json!(2), &Value::Null));
    assert_eq!((&fixed["autoscaling_metric"], &fixed["autoscaling_target"]), (&Value::Null, &Value::Null));
    assert_eq!(cloud.send(&format!("GET /apps/services/{id}/deployments"), Value::Null).1["total"], 1);
}

#[test]
fn only_web_and_private_apps_can_autoscale() {
    let mut cloud = Cloud::new();
    let worker = cloud.app(json!({"name": "worker", "type": "worker"}));
    let private = cloud.app(json!({"name": "private", "type": "private", "port": 9090}));
    let both = json!({"min_replicas": 1, "max_replicas": 2});
    cloud.refuses(&format!("POST /apps/services/{worker}/scale"), both.clone(), 400, "workers");
    let scale = format!("POST /apps/services/{private}/scale");
    cloud.refuses(&scale, both, 400, "always-on private");
    let zero = json!({"min_replicas": 0, "max_replicas": 2});
    cloud.refuses(&scale, zero.clone(), 400, "reserved");
    cloud.ok(&format!("PATCH /apps/services/{private}"), json!({"port": 9092}));
    cloud.ok(&scale, zero);
    cloud.refuses(&format!("PATCH /apps/services/{private}"), json!({"port": 9090}), 400, "reserved");
}

#[test]
fn an_app_can_be_paused_and_resumed() {
    let mut cloud = Cloud::new();
    let id = cloud.app(json!({}));
    let path = format!("/apps/services/{id}");
    cloud.refuses(&format!("POST {path}/resume"), Value::Null, 409, "live");
    assert_eq!(cloud.ok(&format!("POST {path}/pause"), Value::Null)["status"], "paused");
    cloud.refuses(&format!("POST {path}/pause"), Value::Null, 409, "paused");
    assert_eq!(cloud.get(&format!("{path}/instances")), json!([]));
    assert_eq!(cloud.ok(&format!("POST {path}/resume"), Value::Null)["status"], "deploying");
    cloud.refuses(&format!("POST {path}/pause"), Value::Null, 409, "deploying");
    cloud.wait(10);
    cloud.status_is(&path, "live");
    assert_eq!(cloud.send(&format!("GET {path}/deployments"), Value::Null).1["total"], 1);
    // What was changed meanwhile is deployed with the resumption.
    cloud.ok(&format!("POST {path}/pause"), Value::Null);
    cloud.ok(&format!("PATCH {path}"), json!({"port": 3000}));
    cloud.status_is(&path, "paused");
    cloud.ok(&format!("POST {path}/resume"), Value::Null);
    assert_eq!(cloud.send(&format!("GET {path}/deployments"), Value::Null).1["total"], 2);
    cloud.wait(25);
    cloud.status_is(&path, "live");
}

#[test]
fn an_app_created_without_deploying_is_paused() {
    let mut cloud = Cloud::new();
    let id = cloud.app(json!({"deploy_now": false}));
    let path = format!("/apps/services/{id}");
    cloud.status_is(&path, "paused");
    assert_eq!(cloud.get(&path)["live_deployment_id"], "");
    cloud.ok(&format!("POST {path}/deployments"), json!({}));
    cloud.wait(25);
    cloud.status_is(&path, "live");
}
