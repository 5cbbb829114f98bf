//! VPCs.

use super::*;

#[test]
fn a_vpc_is_active_at_once_and_has_the_specified_fields() {
    let mut cloud = Cloud::new();
    let made = cloud.ok("POST /vpcs", json!({"name": "main", "cidr": "10.0.0.0/24"}));
    let fields: Vec<_> = made.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        [
            "account_id",
            "cidr",
            "created_at",
            "dns",
            "gateway",
            "gateway_type",
            "id",
            "name",
            "project_id",
            "region",
            "router_public_ip",
            "router_status",
            "status",
            "total_ips",
            "updated_at",
            "used_ips",
        ]
    );
    assert_eq!(
        (&made["status"], &made["gateway"], &made["total_ips"]),
        (&json!("active"), &json!("10.0.0.1"), &json!(256))
    );
}

#[test]
fn vpcs_must_not_overlap_within_the_account() {
    let mut cloud = Cloud::new();
    for cidr in ["10.0.0.0/24", "10.0.2.0/23", "172.16.0.0/12"] {
        cloud.ok("POST /vpcs", json!({"name": "a", "cidr": cidr}));
    }
    let other = cloud.make("/projects", json!({"name": "other"}));
    cloud.project = Some(other);
    for cidr in ["10.0.0.0/24", "10.0.0.128/25", "10.0.0.0/8", "10.0.3.0/24", "172.20.0.0/16", "0.0.0.0/0"]
    {
        cloud.refuses("POST /vpcs", json!({"name": "a", "cidr": cidr}), 400, "overlaps");
    }
    for cidr in ["10.0.1.0/24", "10.0.4.0/24", "192.168.0.0/16"] {
        cloud.ok("POST /vpcs", json!({"name": "a", "cidr": cidr}));
    }
}

#[test]
fn an_invalid_cidr_is_rejected() {
    let mut cloud = Cloud::new();
    for (body, words) in [
        (json!({"cidr": "10.0.0.0/24"}), "name is required"),
        (json!({"name": "a"}), "cidr is required"),
        (json!({"name": "a", "cidr": "10.0.0.0"}), "cidr must be"),
        (json!({"name": "a", "cidr": "10.0.0.0/33"}), "cidr must be"),
        (json!({"name": "a", "cidr": "10.0.0.256/24"}), "cidr must be"),
        (json!({"name": "a", "cidr": "fd00::/8 more"}), "cidr must be"),
        (json!({"name": "a", "cidr": 10}), "cidr must be"),
        (json!({"name": "a", "cidr": "10.0.0.0/24", "region": "eu"}), "region must be one of us-east"),
        (json!({"name": "x".repeat(65), "cidr": "10.0.0.0/24"}), "1 to 64"),
    ] {
        cloud.refuses("POST /vpcs", body, 400, words);
    }
}

#[test]
fn a_vpc_in_use_cannot_be_deleted() {
    let mut cloud = Cloud::new();
    let vpc = cloud.vpc();
    let vm = cloud.make("/vms", with(vm_body(), json!({"vpc_id": vpc})));
    let database = cloud.make("/databases", json!({"name": "a", "plan_id": 102, "vpc_id": vpc}));
    let cluster = cloud.make("/k8s/clusters", with(cluster_body(), json!({"vpc_id": vpc})));
    assert_eq!(cloud.get(&format!("/vpcs/{vpc}"))["used_ips"], 4);
    let delete = format!("DELETE /vpcs/{vpc}");
    cloud.refuses(&delete, Value::Null, 409, "in use");
    cloud.ok(&format!("DELETE /vms/{vm}"), Value::Null);
    cloud.refuses(&delete, Value::Null, 409, "in use");
    cloud.wait(90);
    cloud.ok(&format!("DELETE /databases/{database}/vpc"), Value::Null);
    cloud.ok(&format!("DELETE /k8s/clusters/{cluster}"), Value::Null);
    cloud.refuses(&delete, Value::Null, 409, "in use");
    cloud.wait(10);
    cloud.ok(&delete, Value::Null);
    cloud.refuses(&delete, Value::Null, 404, "VPC");
}

#[test]
fn suggested_networks_do_not_overlap() {
    let mut cloud = Cloud::new();
    cloud.ok("POST /vpcs", json!({"name": "a", "cidr": "10.0.0.0/15"}));
    let list = cloud.get("/vpcs/cidr-suggestions");
    assert_eq!(list[0], "10.2.0.0/16");
    for cidr in list.as_array().unwrap() {
        cloud.ok("POST /vpcs", json!({"name": "a", "cidr": cidr}));
    }
}
