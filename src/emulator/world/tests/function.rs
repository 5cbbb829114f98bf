//! Serverless functions.

use super::*;

fn body() -> Value {
    json!({"name": "resize", "runtime": "node20", "handler": "index.handler"})
}

#[test]
fn a_function_is_created_and_deployed_with_increasing_versions() {
    let mut cloud = Cloud::new();
    let id = cloud.make("/functions", with(body(), json!({"env_vars": {"A": "1"}})));
    let path = format!("/functions/{id}");
    cloud.status_is(&path, "deploying");
    cloud.wait(5);
    let made = cloud.get(&path);
    let fields: Vec<_> = made.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        [
            "blob_key",
            "created_at",
            "env_vars",
            "handler",
            "id",
            "memory_mb",
            "name",
            "project_id",
            "region",
            "runtime",
            "status",
            "timeout_seconds",
            "updated_at",
            "url",
            "version",
        ]
    );
    assert_eq!(
        (&made["status"], &made["version"], &made["memory_mb"]),
        (&json!("active"), &json!(1), &json!(128))
    );
    assert!(cloud.get("/functions")[0].get("env_vars").is_none());
    let patch = format!("PATCH {path}");
    let key = cloud.upload(&path);
    for (version, body) in [
        (2, json!({"memory_mb": 512})),
        (2, json!({"memory_mb": 512})),
        (3, json!({"env_vars": {"B": "2"}})),
        (4, json!({"blob_key": key})),
        (4, json!({"blob_key": key})),
        (5, json!({"handler": "main.handler", "timeout_seconds": 300})),
    ] {
        let patched = cloud.ok(&patch, body.clone());
        assert_eq!(patched["version"], version, "{body}");
    }
    cloud.status_is(&path, "deploying");
    cloud.wait(5);
    let patched = cloud.get(&path);
    assert_eq!((&patched["env_vars"], &patched["blob_key"]), (&json!({"B": "2"}), &json!(key)));
    cloud.ok(&format!("DELETE {path}"), Value::Null);
    cloud.refuses(&format!("GET {path}"), Value::Null, 404, "function");
    cloud.ok("POST /functions", body());
}

#[test]
fn an_invalid_function_is_rejected() {
    let mut cloud = Cloud::new();
    let id = cloud.make("/functions", with(body(), json!({"name": "taken"})));
    for (changes, status, words) in [
        (json!({"name": null}), 400, "name is required"),
        (json!({"runtime": null}), 400, "runtime is required"),
        (json!({"handler": null}), 400, "handler is required"),
        (json!({"runtime": "cobol"}), 400, "one of node20, python312, go122, rust"),
        (json!({"memory_mb": 127}), 400, "128 to 2048"),
        (json!({"memory_mb": 2049}), 400, "128 to 2048"),
        (json!({"timeout_seconds": 0}), 400, "1 to 300"),
        (json!({"timeout_seconds": 301}), 400, "1 to 300"),
        (json!({"env_vars": {"a b": "c"}}), 400, "not the name"),
        (json!({"region": "eu"}), 400, "region"),
        (json!({"name": "taken"}), 409, "taken"),
    ] {
        cloud.refuses("POST /functions", with(body(), changes), status, words);
    }
    cloud.refuses(
        &format!("PATCH /functions/{id}"),
        json!({"blob_key": "src-1"}),
        400,
        "nothing was uploaded",
    );
    cloud.refuses(&format!("PATCH /functions/{id}"), json!({"memory_mb": 1}), 400, "128 to 2048");
    for line in ["GET", "PATCH", "DELETE"] {
        cloud.refuses(&format!("{line} /functions/{NOBODY}"), Value::Null, 404, "function");
    }
    cloud.refuses(&format!("POST /functions/{NOBODY}/source-upload"), Value::Null, 404, "function");
    cloud.mutate("serverless_function", &id, json!({"status": "failed"}));
    cloud.ok(&format!("PATCH /functions/{id}"), json!({}));
    cloud.status_is(&format!("/functions/{id}"), "deploying");
}
