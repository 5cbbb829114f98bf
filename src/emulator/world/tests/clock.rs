//! One jump of the clock or many: the world is the same.

pub(super) use crate::emulator::world::clock::tick;
use proptest::prelude::*;

use super::*;

/// Makes apps of all types, under a cap that is reached each month.
fn furnish(cloud: &mut Cloud, schedule: &str, concurrency: &str) -> Vec<String> {
    let cron = json!({"type": "cron", "cron_schedule": schedule, "cron_concurrency": concurrency});
    let daily = json!({"name": "daily", "type": "cron", "cron_schedule": "30 2 * * *",
                       "cron_timezone": "Europe/Paris", "billing_type": "subscription"});
    let repo = json!({"name": "repo", "image": null, "repo": "acme/a", "branch": "main",
                      "previews_enabled": true, "size": "app-xl", "instances": 6});
    let apps = [with(cron, json!({"name": "cron"})), daily, repo, json!({"name": "job", "type": "job"})];
    let cap = json!({"enabled": true, "monthly_cap_usd": 200, "cap_action": "pause"});
    cloud.ok("PATCH /apps/spend-settings", cap);
    apps.into_iter().map(|body| cloud.make("/apps/services", with(web(), body))).collect()
}

/// Does one of several things to one of the apps; some are refused, and that is no matter.
fn act(cloud: &mut Cloud, apps: &[String], app: usize, action: usize) {
    let path = format!("/apps/services/{}", apps[app % apps.len()]);
    let (line, body) = match action % 11 {
        0 => (format!("POST {path}/pause"), Value::Null),
        1 => (format!("POST {path}/resume"), Value::Null),
        2 => (format!("POST {path}/deployments"), json!({})),
        3 => (format!("POST {path}/jobs/run"), Value::Null),
        4 => (format!("POST {path}/scale"), json!({"instances": 3})),
        5 => (format!("PATCH {path}"), json!({"port": 3000, "cron_schedule": "*/7 * * * *"})),
        6 => (format!("POST {path}/source-upload"), Value::Null),
        7 => (format!("DELETE {path}"), Value::Null),
        8 => ("PATCH /apps/spend-settings".to_owned(), json!({"monthly_cap_usd": 1 + app * 100})),
        9 => ("PATCH /apps/spend-settings".to_owned(), json!({"enabled": app.is_multiple_of(2)})),
        _ => (format!("PATCH {path}"), json!({"previews_enabled": app.is_multiple_of(2), "size": "app-l"})),
    };
    cloud.send(&line, body);
}

/// Returns everything but the account's meter, which rounds at each step.
fn text(cloud: &mut Cloud) -> Value {
    cloud.now = tick(&mut cloud.world, cloud.now);
    let mut world = serde_json::to_value(&cloud.world).unwrap();
    world["account"].as_object_mut().unwrap().remove("meter");
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn one_jump_equals_many_steps(
        schedule in prop::sample::select(vec!["* * * * *", "*/5 3 * * *", "0 0 1 * *", "15 2 29 3 *"]),
        concurrency in prop::sample::select(vec!["allow", "forbid", "replace"]),
        story in prop::collection::vec((0usize..4, 0usize..11, prop::collection::vec(1i64..90_000, 1..10)), 0..6),
        job_seconds in prop::sample::select(vec![5, 50]),
    ) {
        let (mut many, mut one) = (Cloud::new(), Cloud::new());
        let apps = furnish(&mut many, schedule, concurrency);
        prop_assert_eq!(&furnish(&mut one, schedule, concurrency), &apps);
        for cloud in [&mut many, &mut one] {
            cloud.mutate("app", &apps[0], json!({"job_seconds": job_seconds}));
        }
        for (app, action, steps) in story {
            for step in &steps {
                many.wait(*step);
                tick(&mut many.world, many.now);
            }
            one.wait(steps.iter().sum());
            prop_assert_eq!(text(&mut many), text(&mut one));
            act(&mut many, &apps, app, action);
            act(&mut one, &apps, app, action);
            prop_assert_eq!(text(&mut many), text(&mut one));
        }
    }
}

#[test]
fn a_jump_of_ten_years_bills_every_month() {
    let mut cloud = Cloud::new();
    let apps = furnish(&mut cloud, "* * * * *", "allow");
    let mut other = Cloud::new();
    furnish(&mut other, "* * * * *", "allow");
    cloud.wait(3_650 * 24 * 3_600);
    for _ in 0..73 {
        other.wait(50 * 24 * 3_600);
        tick(&mut other.world, other.now);
    }
    assert_eq!(text(&mut cloud), text(&mut other));
    let list = cloud.send(&format!("GET /apps/services/{}/jobs/runs", apps[0]), Value::Null).1;
    assert_eq!(list["total"], 20);
    assert_eq!(
        cloud.world.current_spend_settings().paused_by_cap,
        other.world.current_spend_settings().paused_by_cap
    );
}

#[test]
fn the_maximum_time_does_not_hang_or_overflow() {
    let mut cloud = Cloud::new();
    cloud.now = "9999-11-15T00:00:00Z".parse().unwrap();
    let setup = WorldSetup { seed: 1, api_key: KEY.to_owned(), tier: RateTier::Standard };
    cloud.world = World::new(&setup, cloud.now);
    let apps = furnish(&mut cloud, "* * * * *", "allow");
    cloud.mutate("app", &apps[2], json!({"instances": i64::MAX}));
    cloud.now = Time::MAX;
    cloud.get(&format!("/apps/services/{}/jobs/runs", apps[0]));
    cloud.get("/apps/usage");
    assert!(cloud.get("/apps/services").as_array().unwrap().len() == 4);
}

#[test]
fn a_cloud_restored_from_its_rows_behaves_the_same() {
    let mut cloud = Cloud::new();
    let apps = furnish(&mut cloud, "*/5 * * * *", "replace");
    cloud.wait(25);
    cloud.ok(&format!("POST /apps/services/{}/domains", apps[2]), json!({"domain": "a.example.com"}));
    let database = cloud.database("main");
    cloud.ok(&format!("POST /apps/services/{}/database-links", apps[2]), json!({"database_id": database}));
    let function = cloud.make("/functions", json!({"name": "f", "runtime": "rust", "handler": "main"}));
    cloud.upload(&format!("/functions/{function}"));
    cloud.wait(10_000);
    cloud.ok(&format!("POST /apps/services/{}/jobs/run", apps[0]), Value::Null);
    let rows = cloud.world.take_rows();
    let rows = rows.into_iter().filter_map(|row| Some((row.key, row.value?)));
    let mut again = Cloud::new();
    again.world = World::from_rows(rows).unwrap();
    again.now = cloud.now;
    assert_eq!(text(&mut again), text(&mut cloud));
    assert!(again.world.take_rows().is_empty());
    for seconds in [1, 5, 3_600, 100 * 24 * 3_600] {
        cloud.wait(seconds);
        again.wait(seconds);
        assert_eq!(text(&mut again), text(&mut cloud));
    }
    let id = cloud.get("/apps/services")[0]["service_id"].clone();
    assert_eq!(again.get("/apps/services")[0]["service_id"], id);
}
