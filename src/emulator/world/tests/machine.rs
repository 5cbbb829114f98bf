//! VMs, volumes and backup schedules.

use super::*;

#[test]
fn a_vm_moves_through_its_states() {
    let mut cloud = Cloud::new();
    let id = cloud.make("/vms", vm_body());
    let path = format!("/vms/{id}");
    let act = |cloud: &mut Cloud, verb: &str| {
        cloud.ok(&format!("POST {path}/{verb}"), Value::Null)["status"].clone()
    };
    cloud.status_is(&path, "pending");
    cloud.refuses(&format!("POST {path}/stop"), Value::Null, 409, "pending");
    cloud.wait(19);
    cloud.status_is(&path, "pending");
    cloud.wait(1);
    cloud.status_is(&path, "active");
    cloud.refuses(&format!("POST {path}/start"), Value::Null, 409, "active");
    assert_eq!(act(&mut cloud, "stop"), "stopping");
    cloud.refuses(&format!("POST {path}/stop"), Value::Null, 409, "stopping");
    cloud.wait(5);
    cloud.status_is(&path, "stopped");
    cloud.refuses(&format!("POST {path}/reboot"), Value::Null, 409, "stopped");
    assert_eq!(cloud.ok(&format!("POST {path}/resize"), json!({"pricing_id": 4}))["status"], "resizing");
    cloud.wait(5);
    cloud.status_is(&path, "stopped");
    assert_eq!(act(&mut cloud, "start"), "starting");
    cloud.wait(5);
    assert_eq!(act(&mut cloud, "reboot"), "rebooting");
    cloud.wait(5);
    cloud.ok(&format!("POST {path}/resize"), json!({"pricing_id": 5}));
    cloud.wait(5);
    cloud.status_is(&path, "active");
    assert_eq!(cloud.get(&path)["cpu"], 8);
}

#[test]
fn a_vm_shows_its_plan_price_and_addresses() {
    let mut cloud = Cloud::new();
    let vpc = cloud.vpc();
    let body = with(vm_body(), json!({"vpc_id": vpc, "user_data": "s3cret", "console_require_mfa": true}));
    let made = cloud.ok("POST /vms", body.clone());
    assert_eq!((&made["cpu"], &made["ram"], &made["storage"]), (&json!(2), &json!(4096), &json!(80)));
    assert_eq!((&made["price_per_hour"], &made["billing_type"]), (&json!("0.0274"), &json!("payg")));
    assert_eq!(made["private_ipv4_address"], "10.0.0.2");
    assert_eq!(made["console_require_mfa"], true);
    assert!(!made.to_string().contains("s3cret"));
    assert_eq!(cloud.ok("POST /vms", body)["private_ipv4_address"], "10.0.0.3");
    let listed = cloud.get("/vms");
    assert!(listed[0].get("console_require_mfa").is_none() && !listed.to_string().contains("s3cret"));
}

#[test]
fn an_invalid_vm_is_rejected() {
    let mut cloud = Cloud::new();
    for (changes, status, words) in [
        (json!({"name": null}), 400, "name is required"),
        (json!({"template_id": null}), 400, "template_id is required"),
        (json!({"pricing_id": null}), 400, "pricing_id is required"),
        (json!({"pricing_id": "3"}), 400, "pricing_id must be an integer"),
        (json!({"pricing_id": 999}), 400, "catalog"),
        (json!({"template_id": NOBODY}), 400, "catalog"),
        (json!({"template_id": "ubuntu"}), 400, "UUID"),
        (json!({"vpc_id": NOBODY}), 404, "VPC"),
        (json!({"ssh_key_ids": [NOBODY]}), 404, "SSH key"),
        (json!({"ssh_key_ids": NOBODY}), 400, "ssh_key_ids must be a list"),
        (json!({"billing_type": "free"}), 400, "payg, subscription"),
        (json!({"region": "mars"}), 400, "region"),
        (json!({"console_require_mfa": "yes"}), 400, "true or false"),
    ] {
        cloud.refuses("POST /vms", with(vm_body(), changes), status, words);
    }
    let vm = cloud.vm();
    for (body, words) in [
        (json!({}), "pricing_id is required"),
        (json!({"pricing_id": 1}), "cannot shrink"),
        (json!({"pricing_id": 999}), "catalog"),
    ] {
        cloud.refuses(&format!("POST /vms/{vm}/resize"), body, 400, words);
    }
    cloud.refuses(
        &format!("PATCH /vms/{vm}/console-policy"),
        json!({}),
        400,
        "console_require_mfa is required",
    );
    for line in ["GET /vms/", "DELETE /vms/", "POST /vms/"] {
        let line = format!("{line}{NOBODY}{}", if line.starts_with("POST") { "/start" } else { "" });
        cloud.refuses(&line, Value::Null, 404, "VM");
    }
}

#[test]
fn addresses_of_a_small_network_run_out_and_are_released() {
    let mut cloud = Cloud::new();
    let vpc = cloud.make("/vpcs", json!({"name": "a", "cidr": "10.0.0.0/29"}));
    let body = with(vm_body(), json!({"vpc_id": vpc}));
    let vms: Vec<_> = (0..5).map(|_| cloud.make("/vms", body.clone())).collect();
    cloud.refuses("POST /vms", body.clone(), 409, "no free address");
    let freed = cloud.get(&format!("/vms/{}", vms[1]))["private_ipv4_address"].clone();
    cloud.ok(&format!("DELETE /vms/{}", vms[1]), Value::Null);
    assert_eq!(cloud.ok("POST /vms", body)["private_ipv4_address"], freed);
}

#[test]
fn a_deleted_vm_keeps_its_volumes_by_default() {
    let mut cloud = Cloud::new();
    for (body, stays) in [
        (Value::Null, true),
        (json!({"volume_action": "detach"}), true),
        (json!({"volume_action": "delete"}), false),
    ] {
        let (vm, volume) = (cloud.vm(), cloud.volume(10));
        cloud.ok(&format!("POST /volumes/{volume}/attach"), json!({"vm_id": vm}));
        let schedule = cloud.make("/backup-schedules", json!({"vm_id": vm, "frequency": "daily"}));
        cloud.refuses(
            &format!("DELETE /vms/{vm}"),
            json!({"volume_action": "keep"}),
            400,
            "detach, delete",
        );
        cloud.ok(&format!("DELETE /vms/{vm}"), body);
        let (status, answer) = cloud.send(&format!("GET /volumes/{volume}"), Value::Null);
        assert_eq!(status == 200, stays);
        if stays {
            assert_eq!(
                (&answer["data"]["status"], &answer["data"]["vm_id"]),
                (&json!("available"), &Value::Null)
            );
        }
        cloud.refuses(&format!("GET /backup-schedules/{schedule}"), Value::Null, 404, "schedule");
        cloud.refuses(&format!("GET /vms/{vm}"), Value::Null, 404, "VM");
    }
}

#[test]
fn delete_vpc_keeps_a_vpc_that_others_use() {
    let mut cloud = Cloud::new();
    let vpc = cloud.vpc();
    let body = with(vm_body(), json!({"vpc_id": vpc}));
    let (one, two) = (cloud.make("/vms", body.clone()), cloud.make("/vms", body));
    for (vm, status) in [(one, 200), (two, 404)] {
        cloud.ok(&format!("DELETE /vms/{vm}"), json!({"delete_vpc": true}));
        assert_eq!(cloud.send(&format!("GET /vpcs/{vpc}"), Value::Null).0, status);
    }
}

#[test]
fn a_subscription_is_refunded_by_whole_hours() {
    let mut cloud = Cloud::new();
    let vm = cloud.make("/vms", with(vm_body(), json!({"billing_type": "subscription"})));
    assert_eq!(cloud.balance(), "980.00");
    // Half of the 730 hours, and a bit of the next one.
    cloud.wait(365 * 3_600 + 10);
    cloud.ok(&format!("DELETE /vms/{vm}"), Value::Null);
    // 364 whole hours are left: 20 × 364 / 730 = 9.97.
    assert_eq!(cloud.balance(), "989.97");
}

#[test]
fn volumes_deleted_with_a_vm_are_refunded() {
    let mut cloud = Cloud::new();
    let vm = cloud.vm();
    let body = json!({"name": "a", "size": 100, "vm_id": vm, "billing_type": "subscription"});
    cloud.make("/volumes", body);
    cloud.wait(365 * 3_600);
    cloud.ok(&format!("DELETE /vms/{vm}"), json!({"volume_action": "delete"}));
    assert_eq!(cloud.balance(), "995.00");
}

#[test]
fn a_subscription_is_renewed_each_month() {
    let mut cloud = Cloud::new();
    cloud.make("/vms", with(vm_body(), json!({"billing_type": "subscription"})));
    cloud.wait(730 * 3_600 - 1);
    cloud.get("/vms");
    assert_eq!(cloud.balance(), "980.00");
    cloud.wait(1);
    cloud.get("/vms");
    assert_eq!(cloud.balance(), "960.00");
    cloud.wait(3 * 730 * 3_600);
    cloud.get("/vms");
    assert_eq!(cloud.balance(), "900.00");
}

#[test]
fn hourly_charges_add_up() {
    let mut cloud = Cloud::new();
    let vm = cloud.make("/vms", vm_body());
    cloud.wait(10 * 3_600);
    cloud.ok(&format!("DELETE /vms/{vm}"), Value::Null);
    cloud.wait(100 * 3_600);
    let bill = cloud.world.bill(cloud.now);
    assert_eq!(
        (bill.accrued.normalize().to_string().as_str(), bill.rate_per_hour.is_zero()),
        ("0.274", true)
    );
}

#[test]
fn a_volume_moves_through_its_states() {
    let mut cloud = Cloud::new();
    let vm = cloud.vm();
    let id = cloud.make("/volumes", json!({"name": "data", "size": 10}));
    let path = format!("/volumes/{id}");
    let attach = format!("POST {path}/attach");
    cloud.status_is(&path, "creating");
    cloud.refuses(&attach, json!({"vm_id": vm}), 409, "creating");
    cloud.wait(3);
    cloud.status_is(&path, "available");
    cloud.refuses(&format!("POST {path}/detach"), Value::Null, 409, "available");
    cloud.refuses(&attach, json!({}), 400, "vm_id is required");
    cloud.refuses(&attach, json!({"vm_id": NOBODY}), 404, "VM");
    let attached = cloud.ok(&attach, json!({"vm_id": vm}));
    assert_eq!((&attached["status"], &attached["vm_id"]), (&json!("in_use"), &json!(vm)));
    cloud.refuses(&attach, json!({"vm_id": vm}), 409, "in_use");
    cloud.refuses(&format!("DELETE {path}"), Value::Null, 409, "attached");
    cloud.ok(&format!("POST {path}/detach"), Value::Null);
    let pending = cloud.make("/vms", vm_body());
    cloud.refuses(&attach, json!({"vm_id": pending}), 409, "pending");
    cloud.ok(&format!("DELETE {path}"), Value::Null);
    cloud.refuses(&format!("GET {path}"), Value::Null, 404, "volume");
}

#[test]
fn a_volume_can_be_created_attached_to_a_vm() {
    let mut cloud = Cloud::new();
    let vm = cloud.vm();
    let body = json!({"name": "data", "size": 10, "vm_id": vm});
    let id = cloud.make("/volumes", body.clone());
    cloud.status_is(&format!("/volumes/{id}"), "creating");
    cloud.wait(3);
    cloud.status_is(&format!("/volumes/{id}"), "in_use");
    let pending = cloud.make("/vms", vm_body());
    cloud.refuses("POST /volumes", with(body, json!({"vm_id": pending})), 409, "pending");
}

#[test]
fn a_volume_can_only_grow_and_shows_the_new_price() {
    let mut cloud = Cloud::new();
    let id = cloud.make("/volumes", json!({"name": "a", "size": 100, "billing_type": "subscription"}));
    let patch = format!("PATCH /volumes/{id}");
    cloud.refuses(&patch, json!({"new_size": 101}), 409, "creating");
    cloud.wait(365 * 3_600);
    for (size, words) in
        [(json!(100), "larger"), (json!(99), "larger"), (json!(0), "integer"), (json!("200"), "integer")]
    {
        cloud.refuses(&patch, json!({"new_size": size}), 400, words);
    }
    let (status, answer) = cloud.send(&patch, json!({"new_size": 300}));
    assert_eq!(status, 200);
    assert_eq!(
        answer,
        json!({
            "success": true, "message": "volume resized", "id": id,
            "billing": {
                "type": "upgrade", "pro_rata_amount": 10, "balance_applied": 10,
                "new_monthly_price": 30, "new_price_per_hour": "0.0411",
            },
        })
    );
    assert_eq!(cloud.balance(), "980.00");
    cloud.refuses(&patch, json!({"new_size": 60_000}), 402, "balance");
    let free = cloud.volume(10);
    let (_, answer) = cloud.send(&format!("PATCH /volumes/{free}"), json!({"new_size": 60_000}));
    assert_eq!(answer["billing"]["pro_rata_amount"], 0);
}

#[test]
fn schedules_have_defaults_limits_and_one_per_frequency() {
    let mut cloud = Cloud::new();
    let vm = cloud.vm();
    let made = cloud.ok("POST /backup-schedules", json!({"vm_id": vm, "frequency": "daily"}));
    assert_eq!(
        (&made["hour"], &made["retention"], &made["enabled"], &made["day_of_week"]),
        (&json!(3), &json!(7), &json!(true), &Value::Null)
    );
    assert_eq!(made["next_run_at"], "2026-03-05T03:00:00Z");
    for (body, status, words) in [
        (json!({"frequency": "daily"}), 400, "vm_id is required"),
        (json!({"vm_id": vm}), 400, "frequency is required"),
        (json!({"vm_id": vm, "frequency": "hourly"}), 400, "daily, weekly"),
        (json!({"vm_id": vm, "frequency": "weekly", "day_of_week": 7}), 400, "day_of_week"),
        (json!({"vm_id": vm, "frequency": "daily", "day_of_week": 1}), 400, "weekly schedules only"),
        (json!({"vm_id": vm, "frequency": "weekly", "hour": 24}), 400, "hour"),
        (json!({"vm_id": vm, "frequency": "weekly", "retention": 31}), 400, "retention"),
        (json!({"vm_id": NOBODY, "frequency": "weekly"}), 404, "VM"),
        (json!({"vm_id": vm, "frequency": "daily"}), 409, "already"),
    ] {
        cloud.refuses("POST /backup-schedules", body, status, words);
    }
    let weekly = cloud.ok("POST /backup-schedules", json!({"vm_id": vm, "frequency": "weekly"}));
    assert_eq!(
        (&weekly["day_of_week"], &weekly["next_run_at"]),
        (&json!(0), &json!("2026-03-08T03:00:00Z"))
    );
    let id = weekly["id"].as_str().unwrap();
    let patch = format!("PATCH /backup-schedules/{id}");
    cloud.refuses(&patch, json!({"frequency": "daily"}), 409, "already");
    let changed = cloud.ok(&patch, json!({"day_of_week": 3, "hour": 20, "enabled": false}));
    assert_eq!((&changed["hour"], &changed["next_run_at"]), (&json!(20), &Value::Null));
    cloud.ok(&format!("DELETE /backup-schedules/{id}"), Value::Null);
    cloud.refuses(&patch, json!({}), 404, "schedule");
}
