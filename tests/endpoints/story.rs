//! One long scenario in which every endpoint succeeds once; this part has the account and compute.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::driver::{Cloud, id};
use crate::table::{rows, shape};

const PUBLIC_KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me";

#[test]
fn every_endpoint_has_a_successful_response() {
    let mut cloud = Cloud::new();
    catalogs(&mut cloud);
    account(&mut cloud);
    let vpc = cloud.make("/vpcs", json!({"name": "main", "cidr": "10.0.0.0/24"}));
    cloud.look("/vpcs", &vpc);
    machines(&mut cloud, &vpc);
    crate::story_of_data::clusters(&mut cloud, &vpc);
    let database = crate::story_of_data::databases(&mut cloud, &vpc);
    crate::story_of_apps::services(&mut cloud, &database);
    crate::story_of_apps::sources(&mut cloud);
    cloud.delete(&format!("/databases/{database}"));
    cloud.wait(10);
    cloud.delete(&format!("/vpcs/{vpc}"));
    let answered: BTreeSet<_> =
        cloud.log.iter().map(|exchange| (exchange.method, shape(exchange.route))).collect();
    let silent: Vec<_> = rows()
        .filter(|row| !answered.contains(&(row.method, shape(row.path))))
        .map(|row| format!("{} {}", row.method, row.path))
        .collect();
    assert_eq!(silent, Vec::<String>::new(), "never answered with success");
    println!(
        "{} endpoints, {} requests, {} texts with a bound",
        rows().count(),
        cloud.log.len(),
        cloud.bounds
    );
    assert!(cloud.bounds > 40, "{} texts with a bound", cloud.bounds);
    crate::openapi::describes(&cloud.log);
}

fn catalogs(cloud: &mut Cloud) {
    for path in [
        "/health",
        "/ready",
        "/public/regions",
        "/public/templates",
        "/public/pricing/vm",
        "/public/pricing/ip",
        "/public/pricing/volume",
        "/public/pricing/snapshot",
        "/public/pricing/backup",
        "/public/pricing/database",
        "/public/pricing/kubernetes",
        "/vpcs/cidr-suggestions",
        "/databases/engines",
        "/databases/plans",
        "/database/plans",
        "/k8s/node-plans",
        "/k8s/versions",
        "/apps/sizes",
        "/apps/templates",
        "/apps/github/connections",
        "/permissions",
    ] {
        cloud.get(path);
    }
}

fn account(cloud: &mut Cloud) {
    let project = cloud.make("/projects", json!({"name": "other"}));
    cloud.look("/projects", &project);
    cloud.ok(&format!("PATCH /projects/{project}"), json!({"description": "for a while"}));
    let ssh_key = cloud.make("/ssh-keys", json!({"name": "me", "public_key": PUBLIC_KEY}));
    cloud.look("/ssh-keys", &ssh_key);
    cloud.delete(&format!("/ssh-keys/{ssh_key}"));
    let role = cloud.make("/roles", json!({"name": "reader", "permissions": ["compute:read"]}));
    cloud.look("/roles", &role);
    cloud.ok(&format!("PATCH /roles/{role}"), json!({"permissions": ["compute:read", "apps:read"]}));
    let key = cloud.make("/api-keys", json!({"name": "ci", "role_id": role}));
    cloud.look("/api-keys", &key);
    let members = format!("/projects/{project}/members");
    let member = cloud.make(&members, json!({"api_key_id": key, "role_id": role}));
    cloud.listed(&members, &member);
    cloud.ok(&format!("PATCH {members}/{member}"), json!({"role_id": role}));
    cloud.delete(&format!("{members}/{member}"));
    cloud.delete(&format!("/api-keys/{key}"));
    let invite =
        |cloud: &mut Cloud, email| cloud.make("/invitations", json!({"email": email, "role_id": role}));
    let open = invite(cloud, "a@example.com");
    cloud.listed("/invitations", &open);
    cloud.delete(&format!("/invitations/{open}"));
    let accepted = invite(cloud, "b@example.com");
    cloud.mutate("invitation", &accepted, "status", json!("accepted"));
    let list = cloud.get("/members");
    let person = list.as_array().unwrap().iter().find(|person| person["email"] == "b@example.com");
    let person = id(person.unwrap());
    cloud.delete(&format!("/members/{person}"));
    cloud.delete(&format!("/roles/{role}"));
    cloud.delete(&format!("/projects/{project}"));
}

/// Returns two VM plans, the second with a larger disk.
fn plans(cloud: &mut Cloud) -> (Value, Value) {
    let mut plans = cloud.get("/public/pricing/vm").as_array().unwrap().clone();
    plans.sort_by_key(|plan| plan["storage"].as_i64());
    (plans[0]["id"].clone(), plans.last().unwrap()["id"].clone())
}

fn machines(cloud: &mut Cloud, vpc: &str) {
    let (small, large) = plans(cloud);
    let template = id(&cloud.get("/public/templates")[0]);
    let body = json!({"name": "web", "template_id": template, "pricing_id": small, "vpc_id": vpc});
    let vm = cloud.make("/vms", body);
    cloud.wait(20);
    cloud.look("/vms", &vm);
    for verb in ["stop", "start", "reboot"] {
        cloud.act(&format!("POST /vms/{vm}/{verb}"));
        cloud.wait(5);
    }
    cloud.ok(&format!("POST /vms/{vm}/resize"), json!({"pricing_id": large}));
    cloud.wait(5);
    cloud.ok(&format!("PATCH /vms/{vm}/console-policy"), json!({"console_require_mfa": true}));
    let volume = cloud.make("/volumes", json!({"name": "data", "size": 1}));
    cloud.wait(3);
    cloud.look("/volumes", &volume);
    cloud.ok(&format!("PATCH /volumes/{volume}"), json!({"new_size": 2}));
    cloud.ok(&format!("POST /volumes/{volume}/attach"), json!({"vm_id": vm}));
    cloud.act(&format!("POST /volumes/{volume}/detach"));
    copies(cloud, &vm, &volume);
    cloud.delete(&format!("/volumes/{volume}"));
    cloud.ok(&format!("DELETE /vms/{vm}"), json!({"volume_action": "detach", "delete_vpc": false}));
}

fn copies(cloud: &mut Cloud, vm: &str, volume: &str) {
    let snapshot = cloud.make("/snapshots", json!({"name": "before", "volume_id": volume}));
    let backup = cloud.make("/backups", json!({"name": "before", "vm_id": vm}));
    cloud.wait(15);
    for (collection, copy) in [("/snapshots", &snapshot), ("/backups", &backup)] {
        cloud.look(collection, copy);
        cloud.act(&format!("POST {collection}/{copy}/restore"));
        cloud.wait(15);
    }
    cloud.ok(&format!("PATCH /snapshots/{snapshot}/rename"), json!({"name": "after"}));
    cloud.delete(&format!("/snapshots/{snapshot}"));
    cloud.delete(&format!("/backups/{backup}"));
    let schedule = cloud.make("/backup-schedules", json!({"vm_id": vm, "frequency": "daily"}));
    cloud.look("/backup-schedules", &schedule);
    cloud.ok(&format!("PATCH /backup-schedules/{schedule}"), json!({"hour": 5}));
    cloud.delete(&format!("/backup-schedules/{schedule}"));
}
