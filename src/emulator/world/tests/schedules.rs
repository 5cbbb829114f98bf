//! What the clock brings about: the backups of schedules, in one step or in many.

use proptest::prelude::*;

use super::*;
use crate::emulator::world::mutate;

const DAY: i64 = 24 * 3_600;

/// Returns names and numbers of all backups, youngest first.
fn backups(cloud: &mut Cloud) -> Vec<(String, i64)> {
    let listed = cloud.get("/backups?limit=100");
    let text = |backup: &Value| backup["name"].as_str().unwrap().to_owned();
    let all = listed.as_array().unwrap().iter();
    all.map(|backup| (text(backup), backup["increment_id"].as_i64().unwrap())).collect()
}

#[test]
fn a_schedule_makes_backups_and_keeps_the_last_ones() {
    let mut cloud = Cloud::new();
    let vm = cloud.vm();
    let id = cloud.make("/backup-schedules", json!({"vm_id": vm, "frequency": "daily", "retention": 2}));
    assert!(backups(&mut cloud).is_empty());
    // From noon to three in the morning, and its 15 seconds.
    cloud.wait(15 * 3_600 - 20);
    let made = cloud.get("/backups")[0].clone();
    assert_eq!(
        (&made["name"], &made["status"], &made["created_by"], &made["expire_date"]),
        (&json!("auto-daily-2026-03-05"), &json!("pending"), &json!(id), &json!("2026-03-07T03:00:00Z"))
    );
    cloud.wait(15);
    cloud.status_is(&format!("/backups/{}", made["id"].as_str().unwrap()), "completed");
    cloud.wait(DAY);
    let two = [("auto-daily-2026-03-06".to_owned(), 2), ("auto-daily-2026-03-05".to_owned(), 1)];
    assert_eq!(backups(&mut cloud), two);
    cloud.wait(DAY);
    let two = [("auto-daily-2026-03-07".to_owned(), 3), ("auto-daily-2026-03-06".to_owned(), 2)];
    assert_eq!(backups(&mut cloud), two);
    // Fewer are kept from the next run on.
    let patch = format!("PATCH /backup-schedules/{id}");
    cloud.ok(&patch, json!({"retention": 1}));
    cloud.wait(DAY);
    assert_eq!(backups(&mut cloud), [("auto-daily-2026-03-08".to_owned(), 4)]);
    // One that is off makes none, and does not make up for it.
    cloud.ok(&patch, json!({"enabled": false}));
    cloud.wait(10 * DAY);
    cloud.ok(&patch, json!({"enabled": true}));
    assert_eq!(backups(&mut cloud), [("auto-daily-2026-03-08".to_owned(), 4)]);
    cloud.wait(DAY);
    assert_eq!(backups(&mut cloud), [("auto-daily-2026-03-19".to_owned(), 5)]);
    // A backup stays when its schedule goes, and then it does not expire.
    cloud.ok(&format!("DELETE /backup-schedules/{id}"), Value::Null);
    cloud.wait(100 * DAY);
    assert_eq!(cloud.get("/backups")[0]["expire_date"], Value::Null);
}

#[test]
fn manual_backups_do_not_count_towards_the_retention() {
    let mut cloud = Cloud::new();
    let vm = cloud.vm();
    cloud.make("/backup-schedules", json!({"vm_id": vm, "frequency": "weekly", "retention": 1}));
    for _ in 0..3 {
        cloud.make("/backups", json!({"name": "mine", "vm_id": vm}));
    }
    cloud.wait(30 * DAY);
    let mine = |number| ("mine".to_owned(), number);
    let all = backups(&mut cloud);
    assert_eq!((all.len(), all[0].0.as_str()), (4, "auto-weekly-2026-03-29"));
    assert!((1..=3).all(|number| all.contains(&mine(number))));
}

#[test]
fn a_deleted_vm_keeps_its_backups_and_gets_no_more() {
    let mut cloud = Cloud::new();
    let vm = cloud.vm();
    cloud.make("/backup-schedules", json!({"vm_id": vm, "frequency": "daily"}));
    cloud.wait(2 * DAY);
    cloud.ok(&format!("DELETE /vms/{vm}"), Value::Null);
    cloud.wait(30 * DAY);
    assert_eq!(backups(&mut cloud).len(), 2);
}

#[test]
fn scheduled_backups_do_not_block_the_deletion_of_a_project() {
    let mut cloud = Cloud::new();
    let project = cloud.make("/projects", json!({"name": "other"}));
    cloud.project = Some(project.clone());
    let vm = cloud.vm();
    cloud.make("/backup-schedules", json!({"vm_id": vm, "frequency": "daily"}));
    let mine = cloud.make("/backups", json!({"name": "mine", "vm_id": vm}));
    cloud.wait(3 * DAY);
    cloud.ok(&format!("DELETE /vms/{vm}"), Value::Null);
    assert_eq!(backups(&mut cloud).len(), 4);
    let delete = format!("DELETE /projects/{project}");
    cloud.refuses(&delete, Value::Null, 409, "still holds");
    cloud.ok(&format!("DELETE /backups/{mine}"), Value::Null);
    cloud.ok(&delete, Value::Null);
    cloud.project = None;
    assert!(backups(&mut cloud).is_empty() && cloud.world.bill(cloud.now).rate_per_hour.is_zero());
}

#[test]
fn ten_years_of_backups_cost_only_the_retained_ones() {
    let mut cloud = Cloud::new();
    let vm = cloud.vm();
    cloud.make("/backup-schedules", json!({"vm_id": vm, "frequency": "daily", "retention": 3}));
    cloud.world.take_rows();
    cloud.wait(3_650 * DAY);
    let all = backups(&mut cloud);
    assert_eq!(all[0], ("auto-daily-2036-03-01".to_owned(), 3_650));
    assert_eq!(all.len(), 3);
    // Three to fill it, one after the gap, two more; those that are gone leave a row each.
    let rows = cloud.world.take_rows().into_iter().filter(|row| row.key.starts_with("backup/"));
    assert_eq!(rows.count(), 6);
}

#[test]
fn the_clock_of_a_restored_cloud_continues() {
    let mut cloud = Cloud::new();
    let vm = cloud.vm();
    cloud.make("/backup-schedules", json!({"vm_id": vm, "frequency": "daily", "retention": 4}));
    cloud.wait(2 * DAY);
    cloud.get("/backups");
    let text = serde_json::to_string(&cloud.world).unwrap();
    let mut again = Cloud { world: serde_json::from_str(&text).unwrap(), ..Cloud::new() };
    again.now = cloud.now;
    for cloud in [&mut cloud, &mut again] {
        cloud.wait(9 * DAY);
        cloud.get("/backups");
    }
    assert_eq!(serde_json::to_string(&cloud.world).unwrap(), serde_json::to_string(&again.world).unwrap());
}

fn schedule() -> impl Strategy<Value = Value> {
    let weekly = (0i8..7).prop_map(|day| json!({"frequency": "weekly", "day_of_week": day}));
    let frequency = prop_oneof![Just(json!({"frequency": "daily"})), weekly];
    (frequency, 0i8..24, 1i64..6)
        .prop_map(|(body, hour, retention)| with(body, json!({"hour": hour, "retention": retention})))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn backups_are_the_same_after_one_step_or_many(
        schedules in prop::collection::vec(schedule(), 1..5),
        changes in prop::collection::vec((0i64..20 * DAY, 0usize..4, any::<bool>()), 0..4),
        steps in prop::collection::vec(1i64..40 * DAY, 1..6),
        stride in 600i64..3 * DAY,
    ) {
        let run = |stride: Option<i64>| {
            let mut cloud = Cloud::new();
            let body = with(vm_body(), json!({"billing_type": "subscription"}));
            let vms = [cloud.make("/vms", body), cloud.make("/vms", vm_body())];
            cloud.wait(20);
            let mut made = Vec::new();
            for (index, body) in schedules.iter().enumerate() {
                let (status, answer) = cloud.send(
                    "POST /backup-schedules", with(body.clone(), json!({"vm_id": vms[index % 2]})),
                );
                if status == 201 {
                    made.push(answer["data"]["id"].as_str().unwrap().to_owned());
                }
            }
            let walk = |cloud: &mut Cloud, seconds: i64| {
                let end = time_after(cloud.now, seconds);
                while let Some(stride) = stride.filter(|stride| time_after(cloud.now, *stride) < end) {
                    cloud.wait(stride);
                    clock::tick(&mut cloud.world, cloud.now);
                }
                cloud.now = end;
                clock::tick(&mut cloud.world, end);
            };
            for (seconds, which, grow) in &changes {
                walk(&mut cloud, *seconds);
                // Changes that break the steady state: another size, another number to keep.
                if *grow {
                    cloud.send(&format!("POST /vms/{}/resize", vms[which % 2]), json!({"pricing_id": 4}));
                } else if let Some(id) = made.get(which % made.len()) {
                    cloud.send(&format!("PATCH /backup-schedules/{id}"), json!({"retention": which + 1}));
                }
            }
            for seconds in &steps {
                walk(&mut cloud, *seconds);
            }
            serde_json::to_string(&cloud.world).unwrap()
        };
        prop_assert_eq!(run(None), run(Some(stride)));
    }
}

/// Sets up something of each kind that the clock moves.
fn bustle(cloud: &mut Cloud) {
    let vm = cloud.vm();
    cloud.make("/backup-schedules", json!({"vm_id": vm, "frequency": "daily", "retention": 3}));
    cloud.make("/backup-schedules", json!({"vm_id": vm, "frequency": "weekly", "day_of_week": 2}));
    cloud.make("/databases", json!({"name": "free", "plan_id": 101}));
    cloud.make("/databases", json!({"name": "a", "plan_id": 102, "billing_type": "subscription"}));
    let leaving = cloud.database("leaving");
    for (name, schedule) in [("hourly", "7 * * * *"), ("rare", "0 6 * * 1-5")] {
        let body = json!({"name": name, "type": "cron", "image": "job:1", "cron_schedule": schedule});
        cloud.ok("POST /apps/services", body);
    }
    cloud.ok(
        "PATCH /apps/spend-settings",
        json!({"enabled": true, "monthly_cap_usd": 1, "cap_action": "pause"}),
    );
    let cluster = cloud.make("/k8s/clusters", cluster_body());
    cloud.wait(90);
    let set = json!({"claims": {"data-0": 20}, "upgrade_mode": "auto_minor"});
    mutate(&mut cloud.world, "cluster", &cluster, set.as_object().unwrap(), cloud.now).unwrap();
    cloud.ok(&format!("DELETE /databases/{leaving}"), Value::Null);
}

#[test]
fn the_whole_service_is_the_same_after_one_step_or_many() {
    let run = |stride: i64| {
        let mut cloud = Cloud::new();
        bustle(&mut cloud);
        let end = time_after(cloud.now, 45 * DAY);
        while cloud.now < end {
            cloud.now = time_after(cloud.now, stride).min(end);
            clock::tick(&mut cloud.world, cloud.now);
        }
        serde_json::to_value(&cloud.world).unwrap()
    };
    let whole = run(45 * DAY);
    for stride in [1_800, DAY, 10 * DAY + 17] {
        let steps = run(stride);
        for (table, records) in whole.as_object().unwrap() {
            assert_eq!(*records, steps[table], "{table} at {stride}");
        }
    }
}
