//! Deployments, and the source that is uploaded for them.

use super::*;
use crate::emulator::world::{LARGEST_ARCHIVE, ReceivedArchive, handle_upload};

const GZIP: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

/// A request to a signed address, without a key.
fn signed(url: &str, body: &[u8]) -> ApiRequest {
    let target = url.strip_prefix("http://emulator.internal").unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    ApiRequest {
        method: Method::Put,
        path: path.to_owned(),
        query: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        api_key: None,
        project: None,
        body: body.to_vec(),
    }
}

impl Cloud {
    /// Asks for a grant; returns where to put the archive, and its key.
    fn grant(&mut self, path: &str) -> (String, String) {
        let grant = self.ok(&format!("POST {path}/source-upload"), Value::Null);
        assert_eq!((&grant["success"], &grant["expires_in_seconds"]), (&json!(true), &json!(900)));
        (grant["upload_url"].as_str().unwrap().into(), grant["blob_key"].as_str().unwrap().into())
    }

    /// Puts bytes at a signed address.
    fn put(&mut self, url: &str, bytes: &[u8]) -> (u16, String) {
        let response = handle_request(&mut self.world, &signed(url, bytes), self.now);
        let answer: Value = serde_json::from_slice(&response.body).unwrap();
        (response.status, answer["message"].as_str().unwrap().to_owned())
    }

    /// Uploads an archive; returns its key.
    pub(super) fn upload(&mut self, path: &str) -> String {
        let (url, key) = self.grant(path);
        assert_eq!(self.put(&url, GZIP).0, 200);
        key
    }

    fn uploaded_app(&mut self) -> String {
        let id = self.make("/apps/services", json!({"name": "web", "type": "web"}));
        format!("/apps/services/{id}")
    }
}

#[test]
fn an_app_from_uploaded_source_waits_for_the_upload() {
    let mut cloud = Cloud::new();
    let path = cloud.uploaded_app();
    cloud.wait(60);
    cloud.status_is(&path, "awaiting_source");
    let deploy = format!("POST {path}/deployments");
    cloud.refuses(&deploy, json!({}), 400, "blob_key is required");
    let (url, key) = cloud.grant(&path);
    cloud.refuses(&deploy, json!({"blob_key": key}), 400, "nothing was uploaded");
    assert_eq!(cloud.put(&url, GZIP).0, 200);
    let made = cloud.ok(&deploy, json!({"blob_key": key}));
    assert_eq!(
        (&made["status"], &made["blob_key"], &made["source_size"]),
        (&json!("queued"), &json!(key), &json!(10))
    );
    assert_eq!(made["source_sha256"].as_str().unwrap().len(), 64);
    cloud.status_is(&path, "building");
    cloud.wait(25);
    cloud.status_is(&path, "live");
    assert_eq!(cloud.get(&path)["blob_key"], key);
    // The same again, by its key and without; and another one.
    cloud.ok(&deploy, json!({"blob_key": key}));
    cloud.ok(&deploy, json!({}));
    let next = cloud.upload(&path);
    cloud.ok(&deploy, json!({"blob_key": next}));
    assert_eq!(cloud.get(&path)["blob_key"], next);
    assert_eq!(cloud.send(&format!("GET {path}/deployments"), Value::Null).1["total"], 4);
}

#[test]
fn an_upload_requires_a_valid_signature_time_and_archive() {
    let mut cloud = Cloud::new();
    let path = cloud.uploaded_app();
    let (url, key) = cloud.grant(&path);
    let (_, other) = cloud.grant(&path);
    let (bare, signature) = url.rsplit_once('=').unwrap();
    let flipped = if signature.starts_with('0') { '1' } else { '0' };
    for (bad, words) in [
        (format!("{bare}={flipped}{}", &signature[1..]), "wrong signature"),
        (format!("{bare}="), "wrong signature"),
        (format!("{bare}=zz"), "wrong signature"),
        (url.replace(&key, &other), "wrong signature"),
        (url.replace("expires=", "expires=9"), "wrong signature"),
        (url.split_once('?').unwrap().0.to_owned(), "not signed"),
    ] {
        let (status, message) = cloud.put(&bad, GZIP);
        assert!(status == 403 && message.contains(words), "{bad}: {status} {message}");
    }
    for bytes in [&b""[..], b"PK\x03\x04", b"\x1f\x8b"] {
        let (status, message) = cloud.put(&url, bytes);
        assert!(status == 400 && message.contains("gzip"), "{status} {message}");
    }
    let large = ReceivedArchive { size: LARGEST_ARCHIVE as u64 + 1, ..ReceivedArchive::from_bytes(GZIP) };
    let answer = handle_upload(&mut cloud.world, &signed(&url, b""), &large, cloud.now);
    assert_eq!(answer.status, 413);
    cloud.wait(899);
    assert_eq!(cloud.put(&url, GZIP).0, 200);
    cloud.wait(1);
    let (status, message) = cloud.put(&url, GZIP);
    assert!(status == 403 && message.contains("expired"), "{status} {message}");
    // What arrived in time can still be deployed; what did not cannot.
    cloud.ok(&format!("POST {path}/deployments"), json!({"blob_key": key}));
    cloud.refuses(
        &format!("POST {path}/deployments"),
        json!({"blob_key": other}),
        400,
        "nothing was uploaded",
    );
}

#[test]
fn an_archive_can_be_deployed_only_by_the_app_that_requested_it() {
    let mut cloud = Cloud::new();
    let path = cloud.uploaded_app();
    let key = cloud.upload(&path);
    let other = cloud.make("/apps/services", json!({"name": "other", "type": "worker"}));
    let deploy = format!("POST /apps/services/{other}/deployments");
    for wrong in [key.as_str(), "src-", "src-1", "x", NOBODY] {
        cloud.refuses(&deploy, json!({"blob_key": wrong}), 400, "nothing was uploaded");
    }
    let image = cloud.app(json!({"name": "image"}));
    cloud.refuses(&format!("POST /apps/services/{image}/source-upload"), Value::Null, 400, "image");
    cloud.refuses(&format!("POST /apps/services/{NOBODY}/source-upload"), Value::Null, 404, "app service");
}

#[test]
fn a_deployment_uses_the_source_of_its_app() {
    let mut cloud = Cloud::new();
    let image = cloud.app(json!({}));
    let repo = cloud.app(json!({"name": "b", "image": null, "repo": "acme/b", "branch": "main"}));
    for (app, body, words) in [
        (&image, json!({"branch": "next"}), "repository"),
        (&image, json!({"blob_key": "src-1"}), "uploaded source"),
        (&repo, json!({"image": "nginx:2"}), "image is for"),
    ] {
        cloud.refuses(&format!("POST /apps/services/{app}/deployments"), body, 400, words);
    }
    cloud.ok(&format!("POST /apps/services/{image}/deployments"), json!({"image": "nginx:2"}));
    assert_eq!(cloud.get(&format!("/apps/services/{image}"))["image"], "nginx:2");
    cloud.ok(&format!("POST /apps/services/{repo}/deployments"), json!({"branch": "next"}));
    assert_eq!(cloud.get(&format!("/apps/services/{repo}"))["branch"], "next");
    cloud.ok(&format!("DELETE /apps/services/{repo}"), Value::Null);
    cloud.refuses(&format!("POST /apps/services/{repo}/deployments"), json!({}), 409, "deleting");
}

#[test]
fn one_deployment_at_a_time_is_live() {
    let mut cloud = Cloud::new();
    let id = cloud.app(json!({}));
    let path = format!("/apps/services/{id}");
    for _ in 0..5 {
        cloud.ok(&format!("POST {path}/deployments"), json!({}));
        cloud.wait(10);
    }
    let statuses = |cloud: &mut Cloud| -> Vec<String> {
        let list = cloud.get(&format!("{path}/deployments"));
        list.as_array().unwrap().iter().map(|one| one["status"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        statuses(&mut cloud),
        ["building", "superseded", "superseded", "superseded", "superseded", "live"]
    );
    cloud.wait(15);
    assert_eq!(statuses(&mut cloud)[..2], ["live", "superseded"]);
    assert_eq!(statuses(&mut cloud).iter().filter(|status| *status == "live").count(), 1);
    for _ in 0..120 {
        cloud.ok(&format!("POST {path}/deployments"), json!({}));
    }
    // The one that is live stays among those that are kept.
    assert_eq!(cloud.send(&format!("GET {path}/deployments"), Value::Null).1["total"], 101);
    cloud.status_is(&path, "live");
    assert_ne!(cloud.get(&path)["live_deployment_id"], "");
}

#[test]
fn events_record_each_action_and_its_outcome() {
    let mut cloud = Cloud::new();
    let id = cloud.app(json!({}));
    let path = format!("/apps/services/{id}");
    cloud.ok(&format!("POST {path}/scale"), json!({"instances": 2}));
    cloud.wait(1);
    cloud.ok(&format!("POST {path}/pause"), Value::Null);
    let events = cloud.get(&format!("{path}/events"));
    let kinds: Vec<_> =
        events.as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[0], "app.paused");
    for kind in ["app.created", "app.scaled", "deployment.queued", "deployment.building", "deployment.live"]
    {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    let ids: std::collections::BTreeSet<_> =
        events.as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), kinds.len());
    assert_eq!(cloud.get(&format!("{path}/events?limit=2")).as_array().unwrap().len(), 2);
}
