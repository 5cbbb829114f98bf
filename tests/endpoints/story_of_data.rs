//! The scenario's databases and clusters.

use serde_json::{Value, json};

use crate::driver::Cloud;

const DAY: i64 = 24 * 3_600;

/// Returns the id of an engine's plan, free or not.
fn plan(cloud: &mut Cloud, engine: &str, free: bool) -> Value {
    let plans = cloud.get("/databases/plans");
    let mut plans = plans.as_array().unwrap().iter();
    plans.find(|plan| plan["engine"] == engine && plan["is_free"] == free).unwrap()["id"].clone()
}

fn database(cloud: &mut Cloud, name: &str, engine: &str, free: bool) -> String {
    let plan = plan(cloud, engine, free);
    let id = cloud.make("/databases", json!({"name": name, "engine": engine, "plan_id": plan}));
    cloud.wait(47);
    id
}

/// Calls the endpoints of databases; returns the id of one that runs.
pub fn databases(cloud: &mut Cloud, vpc: &str) -> String {
    let topics = database(cloud, "events", "kafka", false);
    cloud.get(&format!("/databases/{topics}/consumers"));
    cloud.delete(&format!("/databases/{topics}"));
    let idle = database(cloud, "idle", "postgres", true);
    let main = database(cloud, "main", "postgres", false);
    cloud.wait(8 * DAY);
    cloud.act(&format!("POST /databases/{idle}/resume"));
    cloud.wait(60);
    cloud.delete(&format!("/databases/{idle}"));
    cloud.look("/databases", &main);
    let path = format!("/databases/{main}");
    cloud.ok(&format!("PATCH {path}"), json!({"name": "shop"}));
    cloud.ok(&format!("POST {path}/vpc"), json!({"vpc_id": vpc}));
    cloud.act(&format!("DELETE {path}/vpc"));
    cloud
        .ok(&format!("POST {path}/public-access"), json!({"enabled": true, "allowlist": ["192.0.2.0/24"]}));
    cloud.wait(60);
    cloud.ok(&format!("POST {path}/scale"), json!({"replica_count": 1}));
    cloud.wait(30);
    cloud.ok(&format!("POST {path}/restore"), json!({"in_place": true}));
    cloud.wait(30);
    for read in ["connection", "parameters", "metrics/clients", "backups"] {
        cloud.get(&format!("{path}/{read}"));
    }
    cloud.act(&format!("POST {path}/credentials/rotate"));
    cloud.ok(&format!("POST {path}/console"), json!({"query": "SELECT 1", "read_only": true}));
    cloud.ok(&format!("POST {path}/browse"), json!({"path": []}));
    cloud.ok(&format!("POST {path}/users"), json!({"name": "reporting"}));
    cloud.get(&format!("{path}/users"));
    cloud.act(&format!("POST {path}/users/reporting/rotate"));
    cloud.get(&format!("{path}/users/reporting/password"));
    cloud.delete(&format!("{path}/users/reporting"));
    cloud.ok(&format!("PUT {path}/saved-queries"), json!({"name": "one", "query": "SELECT 1"}));
    cloud.get(&format!("{path}/saved-queries"));
    cloud.delete(&format!("{path}/saved-queries/one"));
    main
}

pub fn clusters(cloud: &mut Cloud, vpc: &str) {
    let plan = cloud.get("/k8s/node-plans")[0]["id"].clone();
    let versions = cloud.get("/k8s/versions");
    let oldest = versions.as_array().unwrap().iter().map(|version| &version["id"]);
    let oldest = oldest.min_by_key(|id| id.as_i64()).unwrap();
    let pool = json!({"name": "a", "plan_id": plan, "node_count": 2});
    let body = json!({"name": "main", "version_id": oldest, "vpc_id": vpc, "node_pools": [pool]});
    let cluster = cloud.make("/k8s/clusters", body);
    cloud.wait(90);
    cloud.look("/k8s/clusters", &cluster);
    let path = format!("/k8s/clusters/{cluster}");
    let newer = cloud.get(&format!("{path}/upgrades"))[0]["id"].clone();
    let body = json!({"version_id": newer, "confirm_single_master": true});
    cloud.ok(&format!("POST {path}/upgrade"), body);
    cloud.wait(120);
    cloud.ok(
        &format!("PATCH {path}/maintenance"),
        json!({"maintenance_day": 0, "maintenance_start": "03:00"}),
    );
    for read in ["kubeconfig?expires_in=600", "volumes", "events"] {
        cloud.get(&format!("{path}/{read}"));
    }
    cloud.act(&format!("POST {path}/kubeconfig/rotate"));
    let pools = format!("{path}/pools");
    let second = cloud.make(&pools, json!({"name": "b", "plan_id": plan, "node_count": 1}));
    cloud.wait(60);
    cloud.look(&pools, &second);
    cloud.ok(&format!("PATCH {pools}/{second}"), json!({"node_count": 2}));
    cloud.wait(60);
    cloud.delete(&format!("{pools}/{second}"));
    cloud.wait(10);
    cloud.delete(&path);
    cloud.wait(10);
}
