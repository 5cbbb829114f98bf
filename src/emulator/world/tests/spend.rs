//! The monthly spend cap.

use super::*;

const HOUR: i64 = 3_600;
const PATH: &str = "/apps/spend-settings";

impl Cloud {
    fn settings(&mut self, body: Value) -> Value {
        self.send(&format!("PATCH {PATH}"), body).1["settings"].clone()
    }

    fn paused(&mut self) -> bool {
        self.send(&format!("GET {PATH}"), Value::Null).1["settings"]["paused_by_cap"].as_bool().unwrap()
    }
}

/// An app that costs 0.0986 USD an hour.
fn dear() -> Value {
    json!({"size": "app-m", "instances": 6})
}

#[test]
fn settings_have_defaults_and_limits() {
    let mut cloud = Cloud::new();
    let answer = cloud.send(&format!("GET {PATH}"), Value::Null).1;
    assert_eq!(
        answer["settings"],
        json!({
            "enabled": false, "monthly_cap_usd": null, "cap_action": "notify_only", "paused_by_cap": false,
        })
    );
    for (body, words) in [
        (json!({"monthly_cap_usd": 0}), "monthly_cap_usd"),
        (json!({"monthly_cap_usd": 0.99}), "monthly_cap_usd"),
        (json!({"monthly_cap_usd": -5}), "monthly_cap_usd"),
        (json!({"monthly_cap_usd": "20"}), "monthly_cap_usd"),
        (json!({"monthly_cap_usd": 1e300}), "monthly_cap_usd"),
        (json!({"enabled": 1}), "true or false"),
        (json!({"cap_action": "stop"}), "notify_only, pause"),
    ] {
        cloud.refuses(&format!("PATCH {PATH}"), body, 400, words);
    }
    assert_eq!(cloud.settings(json!({"enabled": true, "monthly_cap_usd": 1}))["monthly_cap_usd"], 1);
    assert_eq!(cloud.settings(json!({"cap_action": "pause"}))["enabled"], true);
    assert_eq!(cloud.settings(json!({"monthly_cap_usd": 12.5}))["monthly_cap_usd"], 12.5);
    let off = cloud.settings(json!({"enabled": false}));
    assert_eq!((&off["enabled"], &off["cap_action"]), (&json!(false), &json!("pause")));
}

#[test]
fn the_cap_pauses_apps_when_reached_and_a_new_month_resumes_them() {
    let mut cloud = Cloud::new();
    let payg = cloud.app(dear());
    let monthly = cloud.app(json!({"name": "monthly", "billing_type": "subscription"}));
    let by_hand = cloud.app(json!({"name": "by-hand"}));
    cloud.ok(&format!("POST /apps/services/{by_hand}/pause"), Value::Null);
    cloud.settings(json!({"enabled": true, "monthly_cap_usd": 1, "cap_action": "pause"}));
    let path = format!("/apps/services/{payg}");
    cloud.wait(10 * HOUR);
    assert!(!cloud.paused());
    cloud.status_is(&path, "live");
    cloud.wait(HOUR);
    assert!(cloud.paused());
    cloud.status_is(&path, "paused");
    cloud.status_is(&format!("/apps/services/{monthly}"), "live");
    // To the millisecond: 1 USD, at 0.0986 an hour, and 50 seconds of a smaller one.
    let spent = cloud.get("/apps/usage")["total_usd"].as_f64().unwrap();
    assert!((spent - 1.0).abs() < 0.0001, "{spent}");
    for (line, body) in [
        (format!("POST {path}/resume"), Value::Null),
        (format!("POST /apps/services/{by_hand}/resume"), Value::Null),
        ("POST /apps/services".to_owned(), with(web(), json!({"name": "more"}))),
        (format!("POST {path}/deployments"), json!({})),
        (
            format!("POST /apps/services/{payg}/scale"),
            json!({"min_replicas": 1, "max_replicas": 6, "instances": null}),
        ),
    ] {
        let (status, answer) = cloud.send(&line, body);
        let scale_down = line.ends_with("/scale");
        assert_eq!(status, if scale_down { 200 } else { 412 }, "{line}: {answer}");
    }
    cloud.refuses(
        &format!("POST {path}/scale"),
        json!({"instances": 6, "max_replicas": null}),
        412,
        "spend cap",
    );
    // What is paid by the month goes on.
    cloud.ok(&format!("POST /apps/services/{monthly}/scale"), json!({"instances": 2}));
    cloud.ok(&format!("POST /apps/services/{monthly}/deployments"), json!({}));
    cloud.ok("POST /apps/services", with(web(), json!({"name": "b", "billing_type": "subscription"})));
    cloud.wait(26 * 24 * HOUR);
    assert!(cloud.paused());
    cloud.wait(2 * 24 * HOUR);
    assert!(!cloud.paused());
    cloud.status_is(&path, "live");
    cloud.status_is(&format!("/apps/services/{by_hand}"), "paused");
    let events = cloud.get(&format!("{path}/events"));
    let kinds: Vec<_> =
        events.as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert!(kinds.starts_with(&["app.resumed"]) && kinds.contains(&"app.paused"), "{kinds:?}");
}

#[test]
fn raising_or_disabling_the_cap_resumes_apps() {
    for release in
        [json!({"monthly_cap_usd": 50}), json!({"enabled": false}), json!({"cap_action": "notify_only"})]
    {
        let mut cloud = Cloud::new();
        let id = cloud.app(dear());
        cloud.wait(100 * HOUR);
        let set = cloud.settings(json!({"enabled": true, "monthly_cap_usd": 5, "cap_action": "pause"}));
        assert_eq!(set["paused_by_cap"], true);
        cloud.status_is(&format!("/apps/services/{id}"), "paused");
        assert_eq!(cloud.settings(json!({"monthly_cap_usd": 6}))["paused_by_cap"], true);
        assert_eq!(cloud.settings(release)["paused_by_cap"], false);
        cloud.status_is(&format!("/apps/services/{id}"), "deploying");
        cloud.wait(10);
        cloud.status_is(&format!("/apps/services/{id}"), "live");
    }
}

#[test]
fn a_cap_that_only_notifies_pauses_nothing() {
    let mut cloud = Cloud::new();
    let id = cloud.app(dear());
    cloud.settings(json!({"enabled": true, "monthly_cap_usd": 1}));
    cloud.wait(200 * HOUR);
    assert!(!cloud.paused());
    cloud.status_is(&format!("/apps/services/{id}"), "live");
}

#[test]
fn jobs_and_previews_respect_the_cap() {
    let mut cloud = Cloud::new();
    cloud.app(dear());
    let body = json!({
        "name": "cron", "type": "cron", "cron_schedule": "0 * * * *", "image": null, "repo": "acme/a",
        "branch": "main", "previews_enabled": true,
    });
    let cron = cloud.app(body);
    cloud.settings(json!({"enabled": true, "monthly_cap_usd": 1, "cap_action": "pause"}));
    let path = format!("/apps/services/{cron}");
    cloud.wait(200 * HOUR);
    cloud.refuses(&format!("POST {path}/jobs/run"), Value::Null, 412, "spend cap");
    let preview = cloud.get(&format!("{path}/previews"))[0]["id"].as_str().unwrap().to_owned();
    cloud.refuses(&format!("POST /apps/previews/{preview}/redeploy"), Value::Null, 412, "spend cap");
    assert_eq!(cloud.send(&format!("GET {path}/jobs/runs"), Value::Null).1["total"], 10);
    cloud.mutate("app", &cron, json!({"status": "failed"}));
    cloud.refuses(&format!("PATCH {path}"), json!({"description": "x"}), 412, "spend cap");
}

#[test]
fn the_spend_settings_can_be_mutated_without_an_api_call() {
    let mut cloud = Cloud::new();
    let id = cloud.app(json!({}));
    cloud.mutate("spend_settings", "", json!({"paused_by_cap": true}));
    cloud.refuses(&format!("POST /apps/services/{id}/deployments"), json!({}), 412, "spend cap");
    assert_eq!(cloud.settings(json!({}))["paused_by_cap"], false);
    let huge =
        json!({"enabled": true, "cap_action": "pause", "monthly_cap_usd": "79000000000000000000000000000"});
    cloud.mutate("spend_settings", "", huge);
    cloud.wait(1_000 * HOUR);
    assert!(!cloud.paused());
    cloud.mutate("spend_settings", "", json!({"monthly_cap_usd": "0.01"}));
    cloud.wait(1);
    assert!(cloud.paused());
}
