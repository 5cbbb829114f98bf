//! The fields of the specification, written here without the tables: the OpenAPI document must have them, too.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use stead::editor::openapi;
use stead::kinds::REGISTRY;

use crate::openapi::operations;
use crate::table::{shape, verb};

/// Fields of the records of kinds.
const RECORDS: &[(&str, &str)] = &[
    (
        "Database",
        "id database_id project_id name engine engine_version status status_message region plan_id storage_gb \
         ha_enabled replica_count vpc_id public_access connection_host connection_port billing_type \
         subscription_id price_per_hour monthly_price public_port public_dns_hostname public_allowlist is_free \
         suspended_at created_at updated_at",
    ),
    (
        "ApiKeyCreated",
        "id name key_prefix is_active secret account_id scope rate_limit_tier expires_at last_used_at role_id \
         role_name role_slug project_accesses created_by created_at",
    ),
    (
        "Vpc",
        "id name cidr status region account_id project_id gateway dns total_ips used_ips gateway_type \
         router_public_ip router_status created_at updated_at",
    ),
    (
        "Backup",
        "id name storage_size status account_id project_id created_by region product_vm price_per_hour \
         expire_date increment_id created_at",
    ),
    (
        "Vm",
        "id name status cpu ram storage public_ipv4_address price_per_hour pricing_id billing_type region \
         created_at console_require_mfa",
    ),
    ("SpendSettings", "enabled monthly_cap_usd cap_action paused_by_cap"),
];

/// Fields of responses that are no records of kinds: endpoint, key that contains them, and names. The key is empty
/// for fields beside `success`.
const ANSWERS: &[(&str, &str, &str)] = &[
    ("PATCH /api/v1/volumes/{id}", "", "success message id billing"),
    ("POST /api/v1/apps/services/{id}/source-upload", "", "success upload_url blob_key expires_in_seconds"),
    ("DELETE /api/v1/apps/previews/{id}", "", "success accepted"),
    (
        "POST /api/v1/apps/services/{id}/jobs/run",
        "run",
        "id service_id deployment_id trigger status exit_code error scheduled_for started_at finished_at",
    ),
    ("GET /api/v1/public/pricing/ip", "pricing", "ipv4 ipv6"),
    (
        "GET /api/v1/public/pricing/volume",
        "pricing",
        "id price_per_gb_hour price_per_gb_month yearly_price_per_gb twenty_four_month_price_per_gb region",
    ),
];

/// Enum values of fields of records.
const WORDS: &[(&str, &str, &str)] = &[
    ("Database", "engine", "postgres mysql valkey clickhouse kafka"),
    (
        "Database",
        "status",
        "pending deploying running warning resizing restoring suspended failed deleting deleted",
    ),
    ("Database", "region", "us-east"),
    ("Database", "billing_type", "payg subscription"),
    ("ApiKey", "rate_limit_tier", "standard high"),
    ("Vpc", "region", "us-east"),
    ("SpendSettings", "cap_action", "notify_only pause"),
];

/// Fields of request bodies, each with its enum values, if any.
const BODIES: &[(&str, &str, &str)] = &[
    ("DELETE /api/v1/vms/{id}", "volume_action", "detach delete"),
    ("DELETE /api/v1/vms/{id}", "delete_vpc", ""),
    ("PATCH /api/v1/volumes/{id}", "new_size", ""),
    ("POST /api/v1/databases", "engine_config", ""),
    ("POST /api/v1/databases", "extensions", ""),
    ("POST /api/v1/databases/{id}/restore", "in_place", ""),
    ("POST /api/v1/databases/{id}/console", "read_only", ""),
    ("POST /api/v1/k8s/clusters", "node_pools", ""),
    ("POST /api/v1/k8s/clusters", "storage_node_count", ""),
    ("POST /api/v1/k8s/clusters", "storage_node_disk_gb", ""),
    ("POST /api/v1/k8s/clusters/{id}/upgrade", "confirm_single_master", ""),
    ("PATCH /api/v1/k8s/clusters/{id}/maintenance", "upgrade_mode", "manual auto_patch auto_minor"),
    ("POST /api/v1/apps/services", "link_database_id", ""),
    ("POST /api/v1/apps/services", "deploy_now", ""),
    ("POST /api/v1/api-keys", "rate_limit_tier", "standard high"),
    ("PATCH /api/v1/apps/spend-settings", "cap_action", "notify_only pause"),
];

/// Error statuses that the specification names, by endpoint.
const REFUSALS: &[(&str, &str)] = &[
    ("POST /api/v1/vpcs", "400 401 403 404 409 429 500 503"),
    ("POST /api/v1/backups", "400 401 402 403 404 429 500 503"),
    ("PATCH /api/v1/volumes/{id}", "400 401 402 404 429 500 503"),
    ("DELETE /api/v1/vms/{id}", "400 401 404 429 500 503"),
    ("POST /api/v1/databases/{id}/vpc", "400 401 404 501"),
    ("POST /api/v1/databases", "400 401 402 403 409 503"),
    ("POST /api/v1/apps/services", "400 401 403 409 412"),
    ("POST /api/v1/apps/services/{id}/jobs/run", "401 404 412"),
    ("POST /api/v1/apps/services/{id}/resume", "412"),
    ("POST /api/v1/apps/services/{id}/scale", "400 412"),
    ("POST /api/v1/apps/services/{id}/deployments", "400 412"),
    ("PATCH /api/v1/apps/spend-settings", "400 401 403"),
    ("GET /api/v1/databases/{id}/consumers", "401 404 501"),
    ("GET /api/v1/public/regions", "429 500 503"),
];

fn words(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

/// Returns a schema with its reference resolved.
fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    match schema["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

fn operation<'d>(document: &'d Value, line: &str) -> &'d Value {
    let (method, path) = line.split_once(' ').unwrap();
    operations(document)[&(verb(method).as_str().to_owned(), shape(path))]
}

fn has_words(schema: &Value, expected: &str, place: &str) {
    let known = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let known: BTreeSet<_> = known.filter(|word| !word.is_empty()).collect();
    assert_eq!(known, words(expected), "{place}: {schema}");
}

#[test]
fn records_and_responses_have_the_specified_fields() {
    let document = openapi::build_document(&REGISTRY);
    let schemas = &document["components"]["schemas"];
    let fields = |schema: &Value| -> BTreeSet<String> {
        schema["properties"].as_object().unwrap().keys().cloned().collect()
    };
    for (name, expected) in RECORDS {
        let known = fields(&schemas[name]);
        let missing: Vec<_> = words(expected).into_iter().filter(|field| !known.contains(*field)).collect();
        assert!(missing.is_empty(), "{name} lacks {missing:?}");
    }
    for (name, field, expected) in WORDS {
        has_words(&schemas[name]["properties"][field], expected, &format!("{name}.{field}"));
    }
    for (line, key, expected) in ANSWERS {
        let responses = operation(&document, line)["responses"].as_object().unwrap();
        let (_, response) = responses.iter().find(|(status, _)| status.starts_with('2')).unwrap();
        let schema = resolved(&document, &response["content"]["application/json"]["schema"]);
        let schema = if key.is_empty() { schema } else { &schema["properties"][key] };
        let known = fields(schema);
        let missing: Vec<_> = words(expected).into_iter().filter(|field| !known.contains(*field)).collect();
        assert!(missing.is_empty() && !known.contains("data"), "{line} lacks {missing:?}: {known:?}");
    }
}

#[test]
fn bodies_have_the_fields_that_are_specified() {
    let document = openapi::build_document(&REGISTRY);
    for (line, field, expected) in BODIES {
        let body = &operation(&document, line)["requestBody"]["content"]["application/json"]["schema"];
        let schema = &resolved(&document, body)["properties"][field];
        assert!(schema.is_object(), "{line} lacks {field}");
        has_words(schema, expected, &format!("{line} {field}"));
    }
}

#[test]
fn error_responses_are_listed_by_status() {
    let document = openapi::build_document(&REGISTRY);
    for (line, expected) in REFUSALS {
        let responses = operation(&document, line)["responses"].as_object().unwrap();
        let missing: Vec<_> =
            words(expected).into_iter().filter(|status| !responses.contains_key(*status)).collect();
        assert!(missing.is_empty(), "{line} lacks {missing:?}");
    }
    let is_app = |path: &str| path.starts_with("/api/v1/apps/");
    for ((method, path), operation) in operations(&document) {
        let responses = operation["responses"].as_object().unwrap();
        assert!(!responses.contains_key("default"), "{method} {path}");
        assert!(!responses.contains_key("412") || is_app(&path), "{method} {path}");
        assert!(
            !responses.contains_key("501") || path.starts_with("/api/v1/databases/{}/"),
            "{method} {path}"
        );
        assert_eq!(responses.contains_key("401"), operation["security"] != json!([]), "{method} {path}");
    }
}
