//! The scenario's apps and functions.

use serde_json::{Value, json};

use crate::driver::{Cloud, id};

/// The smallest body that counts as a gzip file.
const ARCHIVE: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

/// Creates an app and waits until it is live; returns its path.
fn app(cloud: &mut Cloud, body: Value) -> String {
    let id = cloud.make("/apps/services", body);
    cloud.wait(25);
    format!("/apps/services/{id}")
}

pub fn services(cloud: &mut Cloud, database: &str) {
    let web = app(cloud, json!({"name": "web", "type": "web", "image": "nginx:1", "port": 8080}));
    cloud.look("/apps/services", web.rsplit('/').next().unwrap());
    cloud.ok(&format!("PATCH {web}"), json!({"description": "the shop"}));
    cloud.ok(&format!("POST {web}/scale"), json!({"instances": 2}));
    cloud.wait(25);
    cloud.ok(&format!("POST {web}/deployments"), json!({"image": "nginx:2"}));
    cloud.wait(25);
    for read in ["deployments", "events", "instances"] {
        cloud.get(&format!("{web}/{read}"));
    }
    cloud.get("/apps/usage?period=current");
    let domains = format!("{web}/domains");
    let domain = cloud.make(&domains, json!({"domain": "shop.example.com"}));
    cloud.listed(&domains, &domain);
    cloud.delete(&format!("{domains}/{domain}"));
    let links = format!("{web}/database-links");
    let link = cloud.make(&links, json!({"database_id": database}));
    cloud.listed(&links, &link);
    cloud.act(&format!("POST {links}/{link}/rotate"));
    cloud.delete(&format!("{links}/{link}"));
    cloud.act(&format!("POST {web}/pause"));
    cloud.act(&format!("POST {web}/resume"));
    cloud.wait(25);
    cloud.ok("PATCH /apps/spend-settings", json!({"enabled": true, "monthly_cap_usd": 100}));
    assert_eq!(cloud.get("/apps/spend-settings")["enabled"], true);
    cloud.delete(&web);
    let job = app(cloud, json!({"name": "job", "type": "job", "image": "job:1"}));
    cloud.act(&format!("POST {job}/jobs/run"));
    cloud.wait(5);
    cloud.get(&format!("{job}/jobs/runs"));
    cloud.delete(&job);
    let built = json!({"name": "built", "type": "web", "repo": "acme/shop", "branch": "main", "previews_enabled": true});
    let built = app(cloud, built);
    cloud.ok(&format!("PATCH {built}"), json!({"previews_enabled": false}));
    cloud.ok(&format!("PATCH {built}"), json!({"previews_enabled": true}));
    let preview = id(&cloud.get(&format!("{built}/previews"))[0]);
    cloud.wait(25);
    cloud.act(&format!("POST /apps/previews/{preview}/redeploy"));
    cloud.delete(&format!("/apps/previews/{preview}"));
    cloud.delete(&built);
}

/// Requests an upload and sends it; returns its blob key.
fn upload(cloud: &mut Cloud, path: &str) -> Value {
    let grant = cloud.act(&format!("POST {path}/source-upload"));
    let url = grant["upload_url"].as_str().unwrap();
    let (_, target) = url.split_once("/uploads/").unwrap();
    cloud.raw(&format!("PUT /uploads/{target}"), ARCHIVE);
    grant["blob_key"].clone()
}

pub fn sources(cloud: &mut Cloud) {
    let uploaded = app(cloud, json!({"name": "uploaded", "type": "worker"}));
    let key = upload(cloud, &uploaded);
    cloud.ok(&format!("POST {uploaded}/deployments"), json!({"blob_key": key}));
    cloud.wait(25);
    cloud.delete(&uploaded);
    let body = json!({"name": "resize", "runtime": "node20", "handler": "index.handler"});
    let function = cloud.make("/functions", body);
    cloud.wait(5);
    cloud.look("/functions", &function);
    let path = format!("/functions/{function}");
    let key = upload(cloud, &path);
    cloud.ok(&format!("PATCH {path}"), json!({"blob_key": key}));
    cloud.wait(5);
    cloud.delete(&path);
}
