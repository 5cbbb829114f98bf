//! Node pools.

use proptest::collection;
use proptest::prelude::*;
use rust_decimal::Decimal;

use super::*;
use crate::emulator::world::mutate;

fn pools(cluster: &str) -> String {
    format!("/k8s/clusters/{cluster}/pools")
}

fn batch(name: &str, count: i64) -> Value {
    json!({"name": name, "plan_id": 703, "node_count": count})
}

/// Returns the ids of a cluster's pools by name.
fn named(cloud: &mut Cloud, cluster: &str, name: &str) -> String {
    let list = cloud.get(&pools(cluster));
    let pool = list.as_array().unwrap().iter().find(|pool| pool["name"] == name).unwrap();
    format!("{}/{}", pools(cluster), pool["id"].as_str().unwrap())
}

#[test]
fn pools_created_with_the_cluster_and_later_have_the_same_fields() {
    let mut cloud = Cloud::new();
    let cluster = cloud.cluster("jobs");
    let later = cloud.ok(&format!("POST {}", pools(&cluster)), batch("later", 1));
    cloud.wait(30);
    let list = cloud.send(&format!("GET {}", pools(&cluster)), Value::Null).1;
    assert_eq!((&list["total"], &list["data"][0]["id"]), (&json!(3), &later["id"]));
    let shown = cloud.get(&format!("/k8s/clusters/{cluster}"));
    assert_eq!(shown["node_pools"], list["data"]);
    let keys = |pool: &Value| pool.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&list["data"][0]), keys(&list["data"][2]));
    let (_, page) = cloud.send(&format!("GET {}?limit=1&offset=1", pools(&cluster)), Value::Null);
    assert_eq!((&page["total"], &page["data"][0]), (&json!(3), &list["data"][1]));
    cloud.refuses(&format!("GET {}?limit=0", pools(&cluster)), Value::Null, 400, "limit");
}

#[test]
fn labels_and_taints_are_shown_only_when_reading_one_pool() {
    let mut cloud = Cloud::new();
    let cluster = cloud.cluster("jobs");
    let taints = json!([
        {"key": "gpu", "value": "yes", "effect": "NoSchedule"}, {"key": "spot", "effect": "NoExecute"},
        "team=data:PreferNoSchedule",
    ]);
    let body = with(batch("gpu", 1), json!({"labels": {"team": "data"}, "taints": taints}));
    let made = cloud.ok(&format!("POST {}", pools(&cluster)), body);
    assert_eq!((&made["labels"], &made["taints"]), (&json!({"team": "data"}), &taints));
    assert!(cloud.get(&pools(&cluster))[0].get("labels").is_none());
    let shown = cloud.get(&format!("/k8s/clusters/{cluster}"));
    assert!(shown["node_pools"][0].get("taints").is_none());
    cloud.wait(30);
    let path = named(&mut cloud, &cluster, "gpu");
    let patched = cloud.ok(&format!("PATCH {path}"), json!({"labels": {}, "taints": []}));
    assert_eq!((&patched["labels"], &patched["taints"]), (&json!({}), &json!([])));
    assert_eq!(patched["status"], "running");
    assert_eq!(cloud.get(&path), patched);
}

#[test]
fn a_pool_moves_through_its_states() {
    let mut cloud = Cloud::new();
    let cluster = cloud.cluster("jobs");
    let id = cloud.make(&pools(&cluster), batch("more", 2));
    let path = format!("{}/{id}", pools(&cluster));
    let patch = format!("PATCH {path}");
    cloud.status_is(&path, "provisioning");
    cloud.refuses(&patch, json!({"node_count": 3}), 409, "provisioning");
    cloud.refuses(&format!("DELETE {path}"), Value::Null, 409, "provisioning");
    cloud.wait(29);
    cloud.status_is(&path, "provisioning");
    cloud.wait(1);
    cloud.status_is(&path, "running");
    assert_eq!(cloud.ok(&patch, json!({"node_count": 2}))["status"], "running");
    let scaled = cloud.ok(&patch, json!({"node_count": 5}));
    assert_eq!((&scaled["status"], &scaled["node_count"]), (&json!("scaling"), &json!(5)));
    cloud.refuses(&patch, json!({"node_count": 3}), 409, "scaling");
    cloud.status_is(&format!("/k8s/clusters/{cluster}"), "running");
    cloud.wait(30);
    cloud.status_is(&path, "running");
    cloud.ok(&format!("DELETE {path}"), Value::Null);
    cloud.wait(4);
    cloud.status_is(&path, "deleting");
    cloud.refuses(&format!("DELETE {path}"), Value::Null, 409, "deleting");
    cloud.wait(1);
    cloud.refuses(&format!("GET {path}"), Value::Null, 404, "node pool");
    let events = cloud.get(&format!("/k8s/clusters/{cluster}/events"));
    let types: Vec<_> = events.as_array().unwrap().iter().take(3).map(|event| &event["type"]).collect();
    assert_eq!(types, ["pool.deleted", "pool.scaled", "pool.created"]);
}

#[test]
fn an_invalid_pool_is_rejected() {
    let mut cloud = Cloud::new();
    let cluster = cloud.cluster("jobs");
    let post = format!("POST {}", pools(&cluster));
    let patch = format!("PATCH {}", named(&mut cloud, &cluster, "batch"));
    for (changes, words) in [
        (json!({"name": null}), "name is required"),
        (json!({"plan_id": null}), "plan_id is required"),
        (json!({"plan_id": 3}), "catalog"),
        (json!({"node_count": null}), "node_count is required"),
    ] {
        cloud.refuses(&post, with(batch("a", 1), changes), 400, words);
    }
    for (changes, words) in [
        (json!({"node_count": 0}), "node_count must be"),
        (json!({"node_count": "3"}), "node_count must be"),
        (json!({"node_count": 1_001}), "node_count must be an integer from 1 to 1000"),
        (json!({"labels": []}), "labels must be an object"),
        (json!({"labels": {"a": 1}}), "the value of a must be a text"),
        (json!({"taints": {}}), "taints must be a list"),
        (json!({"taints": [{"key": "a", "value": 1, "effect": "NoSchedule"}]}), "taints must be"),
        (json!({"taints": [{"key": "a", "effect": "Never"}]}), "NoSchedule, PreferNoSchedule, NoExecute"),
        (json!({"taints": ["a=b"]}), "NoSchedule, PreferNoSchedule, NoExecute"),
    ] {
        cloud.refuses(&post, with(batch("a", 1), changes.clone()), 400, words);
        cloud.refuses(&patch, changes, 400, words);
    }
    let other = cloud.cluster("other");
    let pool = named(&mut cloud, &other, "batch");
    let id = pool.rsplit('/').next().unwrap();
    cloud.refuses(&format!("GET {}/{id}", pools(&cluster)), Value::Null, 404, "node pool");
    cloud.refuses(&format!("GET {}/x", pools(&cluster)), Value::Null, 404, "node pool");
}

#[test]
fn a_cluster_keeps_two_workers() {
    let mut cloud = Cloud::new();
    let cluster = cloud.cluster("jobs");
    let (general, batch) = (named(&mut cloud, &cluster, "general"), named(&mut cloud, &cluster, "batch"));
    cloud.ok(&format!("DELETE {batch}"), Value::Null);
    cloud.refuses(&format!("PATCH {general}"), json!({"node_count": 1}), 400, "at least 2 workers");
    cloud.refuses(&format!("DELETE {general}"), Value::Null, 400, "leaves 0");
    // Create first, then delete.
    cloud.ok(&format!("POST {}", pools(&cluster)), self::batch("new", 2));
    cloud.ok(&format!("DELETE {general}"), Value::Null);
    cloud.wait(30);
    let new = named(&mut cloud, &cluster, "new");
    cloud.refuses(&format!("DELETE {new}"), Value::Null, 400, "leaves 0");
    cloud.ok(&format!("PATCH {new}"), json!({"node_count": 3}));
    cloud.wait(30);
    cloud.ok(&format!("PATCH {new}"), json!({"node_count": 2}));
    // One that began without pools may grow from nothing, and not shrink on the way.
    let bare = cloud.make("/k8s/clusters", json!({"name": "bare", "version_id": 842}));
    cloud.wait(90);
    cloud.ok(&format!("POST {}", pools(&bare)), self::batch("one", 1));
    cloud.wait(30);
    let one = named(&mut cloud, &bare, "one");
    cloud.refuses(&format!("DELETE {one}"), Value::Null, 400, "leaves 0");
    cloud.ok(&format!("PATCH {one}"), json!({"labels": {"a": "b"}, "node_count": 1}));
}

#[test]
fn workers_cost_the_price_of_their_plan() {
    let mut cloud = Cloud::new();
    let bare = cloud.make("/k8s/clusters", json!({"name": "bare", "version_id": 842}));
    cloud.wait(90);
    let rate = |cloud: &Cloud| cloud.world.bill(cloud.now).rate_per_hour.to_string();
    let id = cloud.make(&pools(&bare), batch("a", 3));
    // 3 * 40 USD a month, rounded once.
    assert_eq!(rate(&cloud), "0.1644");
    cloud.wait(30);
    let path = format!("{}/{id}", pools(&bare));
    cloud.ok(&format!("PATCH {path}"), json!({"node_count": 4}));
    assert_eq!(rate(&cloud), "0.2192");
    assert_eq!(cloud.get(&format!("/k8s/clusters/{bare}"))["price_per_hour"], 0.2192);
    cloud.ok(&format!("POST {}", pools(&bare)), batch("b", 2));
    cloud.wait(30);
    cloud.ok(&format!("DELETE {path}"), Value::Null);
    assert_eq!(rate(&cloud), "0.1096");
}

/// Something that happens to a cluster of some pools.
#[derive(Debug, Clone)]
enum Deed {
    Add(i64),
    Scale(usize, i64),
    Label(usize),
    Delete(usize),
    Upgrade,
    Claim(i64),
    Wait(i64),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        (0_i64..4).prop_map(Deed::Add),
        (0_usize..4, 0_i64..5).prop_map(|(pool, count)| Deed::Scale(pool, count)),
        (0_usize..4).prop_map(Deed::Label),
        (0_usize..4).prop_map(Deed::Delete),
        Just(Deed::Upgrade),
        (10_i64..13).prop_map(Deed::Claim),
        prop_oneof![Just(1), Just(5), Just(30), Just(60), Just(7 * DAY)].prop_map(Deed::Wait),
    ];
    collection::vec(deed, 1..40)
}

const DAY: i64 = 24 * 3_600;

/// Returns the workers of a cluster that stay, counted one by one.
fn staying(list: &Value) -> i64 {
    let pools = list.as_array().unwrap().iter().filter(|pool| pool["status"] != "deleting");
    pools.map(|pool| pool["node_count"].as_i64().unwrap()).sum()
}

fn happen(cloud: &mut Cloud, cluster: &str, deed: &Deed) -> u16 {
    let path = format!("/k8s/clusters/{cluster}");
    let list = cloud.get(&pools(cluster));
    let pool = |at: usize| {
        let list = list.as_array().unwrap();
        format!("{}/{}", pools(cluster), list[at % list.len()]["id"].as_str().unwrap())
    };
    let (line, body) = match deed {
        Deed::Add(count) => (format!("POST {}", pools(cluster)), batch("more", *count)),
        Deed::Scale(at, count) => (format!("PATCH {}", pool(*at)), json!({"node_count": count})),
        Deed::Label(at) => (format!("PATCH {}", pool(*at)), json!({"labels": {"a": "b"}})),
        Deed::Delete(at) => (format!("DELETE {}", pool(*at)), Value::Null),
        Deed::Upgrade => {
            let next = cloud.get(&format!("{path}/upgrades"))[0]["id"].clone();
            (format!("POST {path}/upgrade"), json!({"version_id": next, "confirm_single_master": true}))
        }
        Deed::Claim(size) => {
            let set = json!({"claims": {"data": size}});
            mutate(&mut cloud.world, "cluster", cluster, set.as_object().unwrap(), cloud.now).unwrap();
            return 200;
        }
        Deed::Wait(seconds) => {
            cloud.wait(*seconds);
            return 200;
        }
    };
    cloud.send(&line, body).0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_cluster_always_keeps_two_workers_and_a_correct_bill(deeds in deeds()) {
        let mut cloud = Cloud::new();
        let body = with(cluster_body(), json!({"version_id": 811, "upgrade_mode": "auto_minor"}));
        let cluster = cloud.make("/k8s/clusters", body);
        cloud.wait(90);
        for deed in &deeds {
            let before = staying(&cloud.get(&pools(&cluster)));
            let status = happen(&mut cloud, &cluster, deed);
            prop_assert!(matches!(status, 200 | 201 | 400 | 409), "{deed:?}: {status}");
            let list = cloud.get(&pools(&cluster));
            let after = staying(&list);
            prop_assert!(after >= 2 && (status < 300 || after == before), "{deed:?}: {before} to {after}");
            // Each thing that costs something is on the bill, and nothing else is.
            let volumes = cloud.get("/volumes");
            let volumes = volumes.as_array().unwrap().iter().map(|volume| volume["price_per_hour"].clone());
            let volumes: Decimal = volumes.map(|price| price.as_str().unwrap().parse::<Decimal>().unwrap()).sum();
            let shown = cloud.get(&format!("/k8s/clusters/{cluster}"))["price_per_hour"].to_string();
            let rate = cloud.world.bill(cloud.now).rate_per_hour;
            prop_assert_eq!(shown.parse::<Decimal>().unwrap() + volumes, rate);
        }
        let rows = cloud.world.take_rows().into_iter().filter_map(|row| Some((row.key, row.value?)));
        let again = World::from_rows(rows).unwrap();
        prop_assert_eq!(serde_json::to_string(&again).unwrap(), serde_json::to_string(&cloud.world).unwrap());
    }
}
