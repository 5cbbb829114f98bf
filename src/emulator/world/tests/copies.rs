//! Snapshots and backups.

use super::*;
use crate::emulator::world::mutate;

#[test]
fn a_vm_snapshot_is_created_restored_and_deleted() {
    let mut cloud = Cloud::new();
    let vm = cloud.vm();
    let made = cloud.ok("POST /snapshots", json!({"name": "before", "vm_id": vm}));
    let path = format!("/snapshots/{}", made["id"].as_str().unwrap());
    assert_eq!(
        (&made["source_type"], &made["vm_id"], &made["volume_id"], &made["size"], &made["status"]),
        (&json!("vm"), &json!(vm), &Value::Null, &json!(80), &json!("pending"))
    );
    // 80 GB of 5 cents a month.
    assert_eq!(made["price_per_hour"], json!(0.0055));
    let restore = format!("POST {path}/restore");
    cloud.refuses(&restore, Value::Null, 409, "pending");
    cloud.wait(10);
    cloud.status_is(&path, "available");
    assert_eq!(cloud.ok(&format!("PATCH {path}/rename"), json!({"name": "after"}))["name"], "after");
    assert_eq!(cloud.ok(&restore, Value::Null)["status"], "restoring");
    cloud.status_is(&format!("/vms/{vm}"), "restoring");
    cloud.refuses(&restore, Value::Null, 409, "restoring");
    cloud.refuses(&format!("DELETE {path}"), Value::Null, 409, "restoring");
    cloud.refuses(&format!("POST /vms/{vm}/stop"), Value::Null, 409, "restoring");
    cloud.wait(5);
    cloud.status_is(&format!("/vms/{vm}"), "active");
    cloud.wait(5);
    cloud.status_is(&path, "available");
    cloud.ok(&format!("DELETE {path}"), Value::Null);
    cloud.refuses(&format!("GET {path}"), Value::Null, 404, "snapshot");
    assert_eq!(cloud.send("GET /snapshots", Value::Null).1, json!({"data": [], "total": 0}));
}

#[test]
fn a_restored_volume_is_attached_where_it_was() {
    let mut cloud = Cloud::new();
    let (vm, volume) = (cloud.vm(), cloud.volume(12));
    let path = format!("/volumes/{volume}");
    let id = cloud.make("/snapshots", json!({"name": "data", "volume_id": volume}));
    cloud.ok(&format!("POST {path}/attach"), json!({"vm_id": vm}));
    cloud.wait(10);
    let restore = format!("POST /snapshots/{id}/restore");
    let shown = cloud.ok(&restore, Value::Null);
    assert_eq!((&shown["source_type"], &shown["size"]), (&json!("volume"), &json!(12)));
    cloud.status_is(&path, "restoring");
    cloud.refuses(&format!("PATCH {path}"), json!({"new_size": 20}), 409, "restoring");
    cloud.wait(10);
    cloud.status_is(&path, "in_use");
    cloud.ok(&format!("POST {path}/detach"), Value::Null);
    cloud.ok(&format!("DELETE {path}"), Value::Null);
    // The snapshot outlives the volume that it was taken of.
    cloud.status_is(&format!("/snapshots/{id}"), "available");
    cloud.refuses(&restore, Value::Null, 409, "gone");
}

#[test]
fn an_invalid_snapshot_is_rejected() {
    let mut cloud = Cloud::new();
    let (vm, volume) = (cloud.vm(), cloud.volume(1));
    for (body, status, words) in [
        (json!({"vm_id": vm}), 400, "name is required"),
        (json!({"name": "", "vm_id": vm}), 400, "1 to 64"),
        (json!({"name": "a"}), 400, "one of vm_id and volume_id is required"),
        (json!({"name": "a", "vm_id": vm, "volume_id": volume}), 400, "one thing"),
        (json!({"name": "a", "vm_id": "x"}), 400, "vm_id must be a UUID"),
        (json!({"name": "a", "volume_id": 1}), 400, "volume_id must be a UUID"),
        (json!({"name": "a", "vm_id": NOBODY}), 404, "VM"),
        (json!({"name": "a", "volume_id": NOBODY}), 404, "volume"),
    ] {
        cloud.refuses("POST /snapshots", body, status, words);
    }
    let pending = cloud.make("/vms", vm_body());
    cloud.refuses("POST /snapshots", json!({"name": "a", "vm_id": pending}), 409, "pending");
    let creating = cloud.make("/volumes", json!({"name": "a", "size": 1}));
    cloud.refuses("POST /snapshots", json!({"name": "a", "volume_id": creating}), 409, "creating");
    let id = cloud.make("/snapshots", json!({"name": "a", "vm_id": vm}));
    cloud.refuses(&format!("PATCH /snapshots/{id}/rename"), json!({}), 400, "name is required");
    for line in [
        "GET /snapshots/X",
        "DELETE /snapshots/X",
        "POST /snapshots/X/restore",
        "PATCH /snapshots/X/rename",
    ] {
        cloud.refuses(&line.replace('X', NOBODY), json!({"name": "a"}), 404, "snapshot");
    }
}

#[test]
fn a_backup_is_created_restored_and_deleted() {
    let mut cloud = Cloud::new();
    let vm = cloud.vm();
    let made = cloud.ok("POST /backups", json!({"name": "nightly", "vm_id": vm}));
    let path = format!("/backups/{}", made["id"].as_str().unwrap());
    for (field, wanted) in [
        ("name", json!("nightly")),
        ("status", json!("pending")),
        ("storage_size", json!(80)),
        ("product_vm", json!(vm)),
        ("region", json!("us-east")),
        ("price_per_hour", json!("0.0044")),
        ("increment_id", json!(1)),
        ("expire_date", Value::Null),
        ("project_id", json!(cloud.project)),
    ] {
        assert_eq!(made[field], wanted, "{field}");
    }
    assert!(made["account_id"].is_string() && made["created_by"].is_string());
    let restore = format!("POST {path}/restore");
    cloud.refuses(&restore, Value::Null, 409, "pending");
    cloud.wait(14);
    cloud.status_is(&path, "pending");
    cloud.wait(1);
    cloud.status_is(&path, "completed");
    cloud.ok(&format!("POST /vms/{vm}/stop"), Value::Null);
    cloud.refuses(&restore, Value::Null, 409, "stopping");
    cloud.wait(5);
    assert_eq!(cloud.ok(&restore, Value::Null)["status"], "completed");
    cloud.status_is(&format!("/vms/{vm}"), "restoring");
    cloud.refuses(&restore, Value::Null, 409, "restoring");
    cloud.wait(5);
    cloud.status_is(&format!("/vms/{vm}"), "stopped");
    assert_eq!(cloud.ok("POST /backups", json!({"name": "nightly", "vm_id": vm}))["increment_id"], 2);
    // It outlives the VM.
    cloud.ok(&format!("DELETE /vms/{vm}"), Value::Null);
    assert_eq!(cloud.send("GET /backups", Value::Null).1["total"], 2);
    cloud.refuses(&restore, Value::Null, 409, "gone");
    cloud.ok(&format!("DELETE {path}"), Value::Null);
    cloud.refuses(&format!("GET {path}"), Value::Null, 404, "backup");
}

#[test]
fn an_invalid_backup_is_rejected() {
    let mut cloud = Cloud::new();
    let vm = cloud.vm();
    for (body, status, words) in [
        (json!({"name": "a"}), 400, "vm_id is required"),
        (json!({"vm_id": vm}), 400, "name is required"),
        (json!({"vm_id": 3, "name": "a"}), 400, "vm_id must be a UUID"),
        (json!({"vm_id": vm, "name": "x".repeat(65)}), 400, "1 to 64"),
        (json!({"vm_id": NOBODY, "name": "a"}), 404, "VM"),
    ] {
        cloud.refuses("POST /backups", body, status, words);
    }
    let pending = cloud.make("/vms", vm_body());
    cloud.refuses("POST /backups", json!({"name": "a", "vm_id": pending}), 409, "pending");
    for line in ["GET /backups/X", "DELETE /backups/X", "POST /backups/X/restore"] {
        cloud.refuses(&line.replace('X', NOBODY), Value::Null, 404, "backup");
    }
}

#[test]
fn snapshots_are_billed_by_size_and_backups_like_their_vm() {
    let mut cloud = Cloud::new();
    let vm = cloud.vm();
    let before = cloud.world.bill(cloud.now).rate_per_hour;
    let snapshot = cloud.make("/snapshots", json!({"name": "a", "vm_id": vm}));
    let backup = cloud.make("/backups", json!({"name": "a", "vm_id": vm}));
    let rate = cloud.world.bill(cloud.now).rate_per_hour - before;
    assert_eq!(rate.normalize().to_string(), "0.0099");
    cloud.ok(&format!("DELETE /snapshots/{snapshot}"), Value::Null);
    cloud.ok(&format!("DELETE /backups/{backup}"), Value::Null);
    assert_eq!(cloud.world.bill(cloud.now).rate_per_hour, before);

    let paid = cloud.make("/vms", with(vm_body(), json!({"billing_type": "subscription"})));
    cloud.wait(20);
    assert_eq!(cloud.balance(), "980.00");
    let backup = cloud.ok("POST /backups", json!({"name": "a", "vm_id": paid}));
    // It is paid for a month at once, as its VM is; its record has no word for that.
    assert_eq!((cloud.balance().as_str(), &backup["billing_type"]), ("976.80", &Value::Null));
    cloud.wait(365 * 3_600);
    cloud.ok(&format!("DELETE /backups/{}", backup["id"].as_str().unwrap()), Value::Null);
    assert_eq!(cloud.balance(), "978.40");
    let set = json!({"balance": 3});
    mutate(&mut cloud.world, "account", "", set.as_object().unwrap(), cloud.now).unwrap();
    cloud.refuses("POST /backups", json!({"name": "a", "vm_id": paid}), 402, "balance");
    cloud.ok("POST /backups", json!({"name": "a", "vm_id": vm}));
}

#[test]
fn a_project_with_snapshots_cannot_be_deleted() {
    let mut cloud = Cloud::new();
    let other = cloud.make("/projects", json!({"name": "other"}));
    cloud.project = Some(other.clone());
    let vm = cloud.vm();
    for collection in ["snapshots", "backups"] {
        let id = cloud.make(&format!("/{collection}"), json!({"name": "a", "vm_id": vm}));
        if collection == "backups" {
            cloud.ok(&format!("DELETE /vms/{vm}"), Value::Null);
        }
        cloud.refuses(&format!("DELETE /projects/{other}"), Value::Null, 409, "still holds");
        cloud.ok(&format!("DELETE /{collection}/{id}"), Value::Null);
    }
    cloud.ok(&format!("DELETE /projects/{other}"), Value::Null);
}
