//! Runs of jobs: told to, and on the clock.

use super::*;

const DAY: i64 = 24 * 3_600;

impl Cloud {
    fn cron(&mut self, body: Value) -> String {
        let base = json!({"type": "cron", "cron_schedule": "*/10 * * * *"});
        let id = self.app(with(base, body));
        format!("/apps/services/{id}")
    }

    fn runs(&mut self, path: &str) -> Vec<Value> {
        self.get(&format!("{path}/jobs/runs?limit=100")).as_array().unwrap().clone()
    }

    fn statuses(&mut self, path: &str) -> Vec<String> {
        self.runs(path).iter().map(|run| run["status"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn a_job_runs_on_request() {
    let mut cloud = Cloud::new();
    let id = cloud.app(json!({"type": "job"}));
    let path = format!("/apps/services/{id}");
    let answer = cloud.send(&format!("POST {path}/jobs/run"), Value::Null);
    let run = &answer.1["run"];
    assert_eq!((answer.0, &run["status"], &run["trigger"]), (201, &json!("queued"), &json!("manual")));
    assert_eq!((&run["exit_code"], &run["started_at"]), (&Value::Null, &Value::Null));
    let app = cloud.get(&path);
    assert_eq!((&run["service_id"], &run["deployment_id"]), (&app["id"], &app["live_deployment_id"]));
    cloud.wait(1);
    let run = &cloud.runs(&path)[0];
    assert_eq!((&run["status"], &run["exit_code"]), (&json!("running"), &Value::Null));
    cloud.wait(4);
    let run = &cloud.runs(&path)[0];
    assert_eq!(
        (&run["status"], &run["exit_code"], &run["started_at"], &run["finished_at"]),
        (&json!("succeeded"), &json!(0), &json!("2026-03-04T12:00:26Z"), &json!("2026-03-04T12:00:30Z"))
    );
    cloud.mutate("app", &id, json!({"job_exit_code": 3}));
    cloud.ok(&format!("POST {path}/jobs/run"), Value::Null);
    cloud.wait(5);
    let run = &cloud.runs(&path)[0];
    assert_eq!((&run["status"], &run["exit_code"]), (&json!("failed"), &json!(3)));
    assert!(run["error"].as_str().unwrap().contains('3'));
}

#[test]
fn a_job_run_that_is_not_allowed_is_rejected() {
    let mut cloud = Cloud::new();
    let web = cloud.app(json!({}));
    cloud.refuses(&format!("POST /apps/services/{web}/jobs/run"), Value::Null, 400, "cron and job");
    let path = cloud.cron(json!({"name": "cron", "cron_concurrency": "forbid"}));
    let run = format!("POST {path}/jobs/run");
    cloud.ok(&run, Value::Null);
    cloud.refuses(&run, Value::Null, 409, "forbids");
    cloud.wait(5);
    cloud.ok(&run, Value::Null);
    cloud.ok(&format!("POST {path}/pause"), Value::Null);
    cloud.refuses(&run, Value::Null, 409, "paused");
    cloud.refuses(&format!("POST /apps/services/{NOBODY}/jobs/run"), Value::Null, 404, "app service");
}

#[test]
fn a_cron_app_runs_on_schedule() {
    let mut cloud = Cloud::new();
    let path = cloud.cron(json!({}));
    assert_eq!(cloud.get(&path)["next_run_at"], "2026-03-04T12:10:00Z");
    cloud.wait(30 * 60);
    let runs = cloud.runs(&path);
    let times: Vec<_> = runs.iter().map(|run| run["scheduled_for"].as_str().unwrap()).collect();
    assert_eq!(times, ["2026-03-04T12:30:00Z", "2026-03-04T12:20:00Z", "2026-03-04T12:10:00Z"]);
    assert!(runs.iter().all(|run| run["trigger"] == "schedule" && run["status"] == "succeeded"));
    // A change of the schedule holds from then on; a paused app does not run.
    cloud
        .ok(&format!("PATCH {path}"), json!({"cron_schedule": "0 6 * * *", "cron_timezone": "Asia/Tokyo"}));
    assert_eq!(cloud.get(&path)["next_run_at"], "2026-03-04T21:00:00Z");
    cloud.wait(DAY);
    assert_eq!(cloud.runs(&path).len(), 4);
    cloud.ok(&format!("POST {path}/pause"), Value::Null);
    assert_eq!(cloud.get(&path)["next_run_at"], Value::Null);
    cloud.wait(10 * DAY);
    assert_eq!(cloud.runs(&path).len(), 4);
    cloud.ok(&format!("POST {path}/resume"), Value::Null);
    cloud.wait(DAY);
    assert_eq!(cloud.runs(&path).len(), 5);
    cloud.ok(&format!("DELETE {path}"), Value::Null);
    cloud.wait(DAY);
    cloud.refuses(&format!("GET {path}/jobs/runs"), Value::Null, 404, "app service");
}

#[test]
fn concurrent_runs_follow_the_concurrency_policy() {
    for (concurrency, wanted) in [
        ("allow", vec!["running", "running", "succeeded"]),
        ("forbid", vec!["running", "succeeded"]),
        ("replace", vec!["running", "canceled", "canceled"]),
    ] {
        let mut cloud = Cloud::new();
        let path = cloud.cron(json!({"cron_schedule": "* * * * *", "cron_concurrency": concurrency}));
        let id = cloud.get(&path)["id"].as_str().unwrap().to_owned();
        cloud.mutate("app", &id, json!({"job_seconds": 90}));
        cloud.wait(3 * 60 - 23);
        assert_eq!(cloud.statuses(&path), wanted, "{concurrency}");
    }
    let mut cloud = Cloud::new();
    let path = cloud.cron(json!({"cron_concurrency": "replace"}));
    cloud.ok(&format!("POST {path}/jobs/run"), Value::Null);
    cloud.ok(&format!("POST {path}/jobs/run"), Value::Null);
    let runs = cloud.runs(&path);
    let canceled = runs.iter().find(|run| run["status"] == "canceled").unwrap();
    assert_eq!((&canceled["exit_code"], &canceled["started_at"]), (&Value::Null, &Value::Null));
    assert!(canceled["finished_at"].is_string());
}

#[test]
fn after_ten_years_only_the_last_runs_exist() {
    let mut cloud = Cloud::new();
    let paths: Vec<_> = (0..20)
        .map(|n| cloud.cron(json!({"name": format!("cron-{n}"), "cron_schedule": "* * * * *"})))
        .collect();
    cloud.wait(3_653 * DAY);
    for path in paths {
        let runs = cloud.runs(&path);
        assert_eq!(runs.len(), 20);
        assert_eq!(runs[0]["scheduled_for"], cloud.get(&path)["next_run_at"].as_str().map(before).unwrap());
    }
}

/// Returns the minute before.
fn before(time: &str) -> String {
    time_after(time.parse().unwrap(), -60).to_string()
}
