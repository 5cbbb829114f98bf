//! Who is let in, projects, keys, and the rules that all endpoints share.

use super::*;
use crate::emulator::world::mutate;

#[test]
fn only_health_and_catalog_need_no_key() {
    let mut cloud = Cloud::new();
    for (path, needs) in [
        ("/health", false),
        ("/ready", false),
        ("/api/v1/public/regions", false),
        ("/api/v1/public/templates", false),
        ("/api/v1/public/pricing/vm", false),
        ("/api/v1/public/pricing/database", false),
        ("/api/v1/public/pricing/kubernetes", false),
        ("/api/v1/public/pricing/ip", false),
        ("/api/v1/public/pricing/volume", false),
        ("/api/v1/public/pricing/snapshot", false),
        ("/api/v1/public/pricing/backup", false),
        ("/api/v1/databases/plans", true),
        ("/api/v1/database/plans", true),
        ("/api/v1/databases/engines", true),
        ("/api/v1/k8s/node-plans", true),
        ("/api/v1/k8s/versions", true),
        ("/api/v1/vpcs/cidr-suggestions", true),
        ("/api/v1/vms", true),
        ("/api/v1/permissions", true),
        ("/api/v1/api-keys", true),
        ("/api/v1/nowhere", true),
    ] {
        for key in [None, Some("sk_wrong".to_owned())] {
            let request = ApiRequest {
                method: Method::Get,
                path: path.to_owned(),
                query: Vec::new(),
                api_key: key,
                project: None,
                body: Vec::new(),
            };
            let status = handle_request(&mut cloud.world, &request, cloud.now).status;
            assert_eq!(status, if needs { 401 } else { 200 }, "{path}");
        }
    }
}

#[test]
fn unknown_routes_and_verbs_are_not_found() {
    let mut cloud = Cloud::new();
    for line in
        ["GET /nowhere", "PUT /vms", "PATCH /vms", "POST /public/regions", "GET /vms/", "GET /vms/a/b/c"]
    {
        cloud.refuses(line, Value::Null, 404, "not found");
    }
}

#[test]
fn mutating_requests_must_name_their_project() {
    let mut cloud = Cloud::new();
    cloud.project = None;
    for line in [
        "POST /vpcs",
        "DELETE /vpcs/x",
        "POST /vms",
        "DELETE /vms/x",
        "POST /vms/x/start",
        "POST /vms/x/resize",
        "PATCH /vms/x/console-policy",
        "POST /volumes",
        "PATCH /volumes/x",
        "DELETE /volumes/x",
        "POST /volumes/x/attach",
        "POST /volumes/x/detach",
        "POST /backup-schedules",
        "PATCH /backup-schedules/x",
        "DELETE /backup-schedules/x",
        "POST /snapshots",
        "DELETE /snapshots/x",
        "POST /snapshots/x/restore",
        "PATCH /snapshots/x/rename",
        "POST /backups",
        "DELETE /backups/x",
        "POST /backups/x/restore",
        "POST /k8s/clusters",
        "DELETE /k8s/clusters/x",
        "POST /k8s/clusters/x/upgrade",
        "PATCH /k8s/clusters/x/maintenance",
        "POST /k8s/clusters/x/kubeconfig/rotate",
        "POST /k8s/clusters/x/pools",
        "PATCH /k8s/clusters/x/pools/y",
        "DELETE /k8s/clusters/x/pools/y",
    ] {
        let (status, answer) = cloud.send(line, json!({}));
        assert_eq!(
            (status, &answer["error"], &answer["message"]),
            (400, &json!("Bad Request"), &json!("X-Project-ID required")),
            "{line}"
        );
    }
    let made = cloud.ok("POST /databases", json!({"name": "a", "plan_id": 102}));
    assert_eq!(made["project_id"], cloud.world.default_project().to_string());
}

#[test]
fn an_unknown_project_is_404_on_a_change_and_empty_on_a_read() {
    let mut cloud = Cloud::new();
    cloud.vm();
    for project in [NOBODY, "not-an-id"] {
        cloud.project = Some(project.to_owned());
        cloud.refuses("POST /vms", vm_body(), 404, "project");
        cloud.refuses("POST /databases", json!({"name": "a", "plan_id": 102}), 404, "project");
        let (status, list) = cloud.send("GET /vms", Value::Null);
        assert_eq!((status, list), (200, json!({"data": [], "total": 0})));
    }
    cloud.project = None;
    assert_eq!(cloud.send("GET /vms", Value::Null).1["total"], 1);
}

#[test]
fn objects_of_another_project_are_listed_separately_and_unchangeable() {
    let mut cloud = Cloud::new();
    let vm = cloud.vm();
    let other = cloud.make("/projects", json!({"name": "other"}));
    cloud.project = Some(other.clone());
    assert_eq!(cloud.send("GET /vms", Value::Null).1["total"], 0);
    cloud.refuses(&format!("DELETE /vms/{vm}"), Value::Null, 404, "VM");
    let here = cloud.make("/vms", vm_body());
    assert_eq!(cloud.get(&format!("/vms/{here}"))["project_id"], other);
    assert_eq!(cloud.send("GET /vms", Value::Null).1["total"], 1);
}

#[test]
fn bodies_that_are_not_objects_are_rejected() {
    let mut cloud = Cloud::new();
    for text in ["{", "[]", "\"a\"", "3", "{\"name\": }", "{\"a\":1}x", "\u{0}"] {
        let (status, answer) = cloud.send_text("POST /projects", text);
        assert_eq!((status, &answer["error"]), (400, &json!("Bad Request")), "{text}");
    }
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(cloud.send_text("POST /projects", &format!("{{\"name\":{deep}}}")).0, 400);
    // Unknown fields are ignored, and null counts as absent.
    cloud.ok("POST /projects", json!({"name": "a", "unheard": {"of": 1}, "description": null}));
}

#[test]
fn projects_are_created_changed_and_deleted() {
    let mut cloud = Cloud::new();
    let id = cloud.make("/projects", json!({"name": "shop", "description": "d"}));
    let path = format!("/projects/{id}");
    let made = cloud.get(&path);
    assert_eq!(
        (&made["name"], &made["description"], &made["is_default"]),
        (&json!("shop"), &json!("d"), &json!(false))
    );
    cloud.wait(1);
    let patched = cloud.ok(&format!("PATCH {path}"), json!({"description": ""}));
    assert_eq!((&patched["name"], &patched["description"]), (&json!("shop"), &json!("")));
    assert_ne!(patched["updated_at"], patched["created_at"]);
    cloud.project = Some(id.clone());
    let vpc = cloud.vpc();
    cloud.refuses(&format!("DELETE {path}"), Value::Null, 409, "still holds");
    cloud.ok(&format!("DELETE /vpcs/{vpc}"), Value::Null);
    cloud.ok(&format!("DELETE {path}"), Value::Null);
    cloud.refuses(&format!("GET {path}"), Value::Null, 404, "project");
    let default = cloud.world.default_project();
    cloud.refuses(&format!("DELETE /projects/{default}"), Value::Null, 400, "default project");
    assert_eq!(cloud.send("GET /projects", Value::Null).1["data"][0]["is_default"], true);
}

#[test]
fn project_names_have_a_length_limit() {
    let mut cloud = Cloud::new();
    for (body, words) in [
        (json!({}), "name is required"),
        (json!({"name": null}), "name is required"),
        (json!({"name": ""}), "1 to 64"),
        (json!({"name": "x".repeat(65)}), "1 to 64"),
        (json!({"name": 7}), "name must be"),
        (json!({"name": "a", "description": 1}), "description must be"),
    ] {
        cloud.refuses("POST /projects", body, 400, words);
    }
    // Characters, not bytes.
    cloud.ok("POST /projects", json!({"name": "é".repeat(64)}));
}

#[test]
fn ssh_keys_are_checked_and_carry_a_fingerprint() {
    let mut cloud = Cloud::new();
    let line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me";
    let id = cloud.make("/ssh-keys", json!({"name": "me", "public_key": line}));
    let made = cloud.get(&format!("/ssh-keys/{id}"));
    assert!(made["fingerprint"].as_str().unwrap().starts_with("SHA256:"));
    assert_eq!(made["public_key"], line);
    cloud.refuses("POST /ssh-keys", json!({"name": "me", "public_key": "hello"}), 400, "OpenSSH");
    cloud.refuses("POST /ssh-keys", json!({"name": "me"}), 400, "public_key is required");
    cloud.ok(&format!("DELETE /ssh-keys/{id}"), Value::Null);
    cloud.refuses(&format!("DELETE /ssh-keys/{id}"), Value::Null, 404, "SSH key");
}

#[test]
fn a_banned_account_cannot_create_objects() {
    let mut cloud = Cloud::new();
    let (vm, volume, cluster) = (cloud.vm(), cloud.volume(10), cloud.cluster("jobs"));
    let pool = cloud.get(&format!("/k8s/clusters/{cluster}/pools"))[0]["id"].as_str().unwrap().to_owned();
    let set = json!({"banned": true});
    mutate(&mut cloud.world, "account", "", set.as_object().unwrap(), cloud.now).unwrap();
    for (line, body) in [
        ("POST /vpcs".to_owned(), json!({"name": "a", "cidr": "10.9.0.0/16"})),
        ("POST /vms".to_owned(), vm_body()),
        ("POST /volumes".to_owned(), json!({"name": "a", "size": 1})),
        ("POST /databases".to_owned(), json!({"name": "a", "plan_id": 102})),
        (format!("POST /vms/{vm}/resize"), json!({"pricing_id": 4})),
        (format!("PATCH /volumes/{volume}"), json!({"new_size": 11})),
        ("POST /snapshots".to_owned(), json!({"name": "a", "vm_id": vm})),
        ("POST /backups".to_owned(), json!({"name": "a", "vm_id": vm})),
        ("POST /k8s/clusters".to_owned(), with(cluster_body(), json!({"name": "more"}))),
        (
            format!("POST /k8s/clusters/{cluster}/pools"),
            json!({"name": "a", "plan_id": 701, "node_count": 1}),
        ),
        (format!("PATCH /k8s/clusters/{cluster}/pools/{pool}"), json!({"node_count": 3})),
    ] {
        cloud.refuses(&line, body.clone(), 403, "payment method");
        let (_, answer) = cloud.send(&line, body);
        assert_eq!(
            (&answer["error"], &answer["reason"]),
            (&json!("Billing validation failed"), &json!("banned"))
        );
    }
}

#[test]
fn without_a_card_or_a_balance_a_creation_is_402() {
    let mut cloud = Cloud::new();
    let set = json!({"card": false, "balance": 5});
    mutate(&mut cloud.world, "account", "", set.as_object().unwrap(), cloud.now).unwrap();
    cloud.refuses("POST /databases", json!({"name": "a", "plan_id": 102}), 402, "https://");
    cloud.ok("POST /databases", json!({"name": "free", "plan_id": 101}));
    cloud.refuses("POST /vms", with(vm_body(), json!({"billing_type": "subscription"})), 402, "balance");
    cloud.refuses(
        "POST /volumes",
        json!({"name": "a", "size": 51, "billing_type": "subscription"}),
        402,
        "balance",
    );
    cloud.ok("POST /volumes", json!({"name": "a", "size": 50, "billing_type": "subscription"}));
    assert_eq!(cloud.balance(), "0.00");
}

#[test]
fn catalogs_have_the_documented_shapes() {
    let mut cloud = Cloud::new();
    let ip = cloud.send("GET /public/pricing/ip", Value::Null).1;
    for version in ["ipv4", "ipv6"] {
        for field in ["price_per_hour", "monthly_price", "yearly_price", "twenty_four_month_price"] {
            assert!(ip["pricing"][version][field].is_number(), "{version} {field}");
        }
    }
    let volume = cloud.send("GET /public/pricing/volume", Value::Null).1;
    assert_eq!(volume["pricing"]["price_per_gb_month"], 0.1);
    assert!(volume["pricing"]["id"].is_i64() && volume["pricing"]["region"] == "us-east");
    assert_eq!(
        cloud.get("/public/pricing/vm")[0],
        json!({
            "id": 1, "slug": "std-1c-1g", "name": "std-1c-1g", "cpu": 1, "ram": 1024, "storage": 25,
            "price_per_hour": 0.0068, "monthly_price": 5,
        })
    );
    let plans = cloud.send("GET /public/pricing/database?limit=100", Value::Null).1;
    assert_eq!(plans, cloud.send("GET /databases/plans?limit=100", Value::Null).1);
    assert_eq!(plans["data"].as_array().unwrap().len(), 21);
    assert_eq!(cloud.get("/public/pricing/database").as_array().unwrap().len(), 20);
    assert!(
        cloud.send("GET /public/pricing/kubernetes", Value::Null).1["control_planes"]["ha_monthly"]
            .is_number()
    );
    let engines = cloud.get("/databases/engines");
    assert_eq!((&engines[0]["engine"], &engines[0]["default_version"]), (&json!("postgres"), &json!("18")));
    for table in ["snapshot", "backup"] {
        let answer = cloud.send(&format!("GET /public/pricing/{table}"), Value::Null).1;
        assert!(answer["pricing"]["price_per_gb_month"].is_number(), "{table}");
    }
}
