//! The emulator over TCP: what the tests of the pure world cannot show.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use reqwest::{Client, Method, Response};
use serde_json::{Value, json};
use stead::emulator::faults::FaultPlan;
use stead::emulator::seed::Seed;
use stead::emulator::server::{
    EmulatorHandle, EmulatorOptions, ServeError, spawn_emulator, spawn_emulator_async,
};
use stead::kinds::REGISTRY;
use stead::model::schema;

/// A running server and a client of it.
struct Service {
    running: EmulatorHandle,
    client: Client,
    project: String,
}

fn client() -> Client {
    // A second installation is refused, and the first one serves all tests.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().timeout(Duration::from_secs(20)).build().unwrap()
}

impl Service {
    async fn start(options: EmulatorOptions) -> Self {
        let running = spawn_emulator_async(options).await.unwrap();
        let mut service = Self { running, client: client(), project: String::new() };
        let projects = service.ok("GET /api/v1/projects", Value::Null).await;
        let projects = projects["data"].as_array().unwrap().clone();
        let default = projects.iter().find(|project| project["is_default"] == true).unwrap();
        default["id"].as_str().unwrap().clone_into(&mut service.project);
        service
    }

    async fn send(&self, line: &str, body: Value) -> Result<Response, reqwest::Error> {
        let (method, path) = line.split_once(' ').unwrap();
        let url = format!("{}{path}", self.running.base_url());
        let mut request = self.client.request(method.parse::<Method>().unwrap(), url);
        request = request.header("X-API-Key", &self.running.api_key);
        if !self.project.is_empty() {
            request = request.header("X-Project-ID", &self.project);
        }
        if !body.is_null() {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        request.send().await
    }

    async fn get(&self, line: &str, body: Value) -> (u16, Value) {
        let response = self.send(line, body).await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap())
    }

    async fn ok(&self, line: &str, body: Value) -> Value {
        let (status, answer) = self.get(line, body).await;
        assert!(status < 300, "{line}: {status} {answer}");
        answer
    }

    async fn advance(&self, seconds: u32) {
        self.ok("POST /_emulator/clock", json!({"advance_seconds": seconds})).await;
    }

    async fn volume(&self, name: &str) -> String {
        let made = self.ok("POST /api/v1/volumes", json!({"name": name, "size": 1})).await;
        made["data"]["id"].as_str().unwrap().to_owned()
    }

    async fn total(&self, collection: &str) -> Value {
        self.ok(&format!("GET /api/v1/{collection}"), Value::Null).await["total"].clone()
    }
}

/// Returns options without a rate limit, with a clock that stands still unless the test moves it.
fn calm() -> EmulatorOptions {
    EmulatorOptions { limited: false, speed: Some(0.0), ..EmulatorOptions::default() }
}

fn kept(data: &Path) -> EmulatorOptions {
    EmulatorOptions { data: Some(data.join("cloud.db")), ..calm() }
}

fn faulty(rules: &[&str]) -> EmulatorOptions {
    EmulatorOptions {
        faults: FaultPlan::new(1, rules.iter().map(|rule| rule.parse().unwrap()).collect()),
        ..calm()
    }
}

#[tokio::test]
async fn every_endpoint_of_the_tables_is_served() {
    let service = Service::start(calm()).await;
    for kind in REGISTRY.kinds {
        for endpoint in kind.endpoints() {
            let path = endpoint.path.replace("{id}", "none").replace("{parent}", "none");
            let body = if endpoint.method == schema::Method::Get { Value::Null } else { json!({}) };
            let (status, answer) = service.get(&format!("{} {path}", endpoint.method), body).await;
            let message = answer["message"].as_str().unwrap_or_default();
            assert!(status != 404 || message != "route not found", "{} {path}", endpoint.method);
        }
    }
    for table in REGISTRY.catalogs {
        service.ok(&format!("GET {}", table.path), Value::Null).await;
    }
}

#[tokio::test]
async fn responses_are_json_with_the_emulated_date() {
    let service = Service::start(calm()).await;
    service.advance(86_400).await;
    let response = service.send("GET /health", Value::Null).await.unwrap();
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "application/json");
    let clock = service.ok("GET /_emulator/clock", Value::Null).await;
    let now: jiff::Timestamp = clock["data"]["now"].as_str().unwrap().parse().unwrap();
    assert_eq!(header("date"), now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string());
    let (status, answer) = service.get("BREW /api/v1/vms", Value::Null).await;
    assert_eq!((status, &answer["error"]), (404, &json!("Not Found")));
}

#[tokio::test]
async fn no_acknowledged_change_is_lost_by_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(kept(folder.path())).await;
    let key = service.running.api_key.clone();
    let mut ids = Vec::new();
    for n in 0..20 {
        ids.push(service.volume(&format!("v{n}")).await);
    }
    service.ok(&format!("DELETE /api/v1/volumes/{}", ids[0]), Value::Null).await;
    // What is on the disk at this moment is what a kill would leave.
    let copy = folder.path().join("after-kill");
    std::fs::create_dir(&copy).unwrap();
    for name in ["cloud.db", "cloud.key"] {
        std::fs::copy(folder.path().join(name), copy.join(name)).unwrap();
    }
    let again = Service::start(kept(&copy)).await;
    assert_eq!((again.running.api_key.as_str(), again.total("volumes").await), (key.as_str(), json!(19)));
    for id in &ids[1..] {
        assert_eq!(again.ok(&format!("GET /api/v1/volumes/{id}"), Value::Null).await["data"]["id"], *id);
    }
    drop(service);
    assert_eq!(Service::start(kept(folder.path())).await.total("volumes").await, 19);
}

#[tokio::test]
async fn the_clock_continues_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(kept(folder.path())).await;
    service.ok("POST /api/v1/databases", json!({"name": "a", "plan_id": 102})).await;
    service.advance(47).await;
    let now = service.ok("GET /_emulator/clock", Value::Null).await;
    service.running.stop();
    let again = Service::start(EmulatorOptions { speed: None, ..kept(folder.path()) }).await;
    assert_eq!(again.ok("GET /_emulator/clock", Value::Null).await, now);
    let list = again.ok("GET /api/v1/databases", Value::Null).await;
    assert_eq!(list["data"][0]["status"], "running");
}

#[tokio::test]
async fn two_servers_do_not_share_a_cloud() {
    let folder = tempfile::tempdir().unwrap();
    let _first = Service::start(kept(folder.path())).await;
    let error = spawn_emulator(kept(folder.path())).unwrap_err().to_string();
    assert!(error.contains("in use by another process"), "{error}");
}

#[tokio::test]
async fn concurrent_changes_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(kept(folder.path())).await;
    let made = (0..100).map(|n| {
        let service = &service;
        async move { service.volume(&format!("v{n}")).await }
    });
    let ids: std::collections::BTreeSet<_> =
        futures_util::future::join_all(made).await.into_iter().collect();
    assert_eq!(ids.len(), 100);
    drop(service);
    assert_eq!(Service::start(kept(folder.path())).await.total("volumes").await, 100);
}

#[tokio::test]
async fn the_limiter_answers_429_as_documented() {
    let service = Service::start(EmulatorOptions { limited: true, ..calm() }).await;
    let mut refused = None;
    for _ in 0..2_000 {
        let response = service.send("GET /api/v1/vms", Value::Null).await.unwrap();
        assert_eq!(response.headers()["x-ratelimit-limit"], "30");
        if response.status() == 429 {
            refused = Some(response);
            break;
        }
    }
    let refused = refused.expect("a storm is refused at some point");
    assert_eq!(
        (&refused.headers()["retry-after"], &refused.headers()["x-ratelimit-remaining"]),
        (&"1".parse().unwrap(), &"0".parse().unwrap())
    );
    let body: Value = serde_json::from_slice(&refused.bytes().await.unwrap()).unwrap();
    assert_eq!(body["error"], "Rate limit exceeded");
    assert!(body["message"].as_str().unwrap().contains("30"));
    // Health and the emulator's own calls are free.
    for _ in 0..200 {
        service.ok("GET /health", Value::Null).await;
    }
    let stats = service.ok("GET /_emulator/stats", Value::Null).await;
    let routes = stats["data"]["routes"].as_array().unwrap();
    assert!(routes.iter().any(|route| route["status"] == 429 && route["route"] == "/api/v1/vms"));
}

#[tokio::test]
async fn faults_occur_as_planned() {
    let rules = [
        "POST /volumes=500:1",
        "POST /vpcs=503:1",
        "POST /backups=402:1",
        "POST /vms=403:1",
        "POST /apps/services=412:1",
    ];
    let service = Service::start(faulty(&rules)).await;
    for (path, status, words) in [
        ("volumes", 500, "on our side"),
        ("vpcs", 503, "unavailable"),
        ("backups", 402, "balance"),
        ("vms", 403, "denied"),
        ("apps/services", 412, "spend cap"),
    ] {
        let (got, answer) = service.get(&format!("POST /api/v1/{path}"), json!({})).await;
        assert!(got == status && answer["message"].as_str().unwrap().contains(words), "{got} {answer}");
    }
    service.volume("fine").await;
    let set = json!({"seed": 3, "rules": ["GET /volumes=429:1"]});
    let shown = service.ok("POST /_emulator/faults", set).await;
    assert_eq!(shown["data"]["rules"][0], "GET /api/v1/volumes=429:1");
    assert_eq!(service.get("GET /api/v1/volumes", Value::Null).await.0, 429);
    let (status, answer) = service.get("POST /_emulator/faults", json!({"rules": ["GET /vms=404"]})).await;
    assert!(
        status == 400 && answer["message"].as_str().unwrap().contains("must be one of 402"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_reset_happens_before_or_after_the_change() {
    let service =
        Service::start(faulty(&["POST /volumes=reset-before:1", "POST /volumes=reset-after:1"])).await;
    let body = json!({"name": "a", "size": 1});
    assert!(service.send("POST /api/v1/volumes", body.clone()).await.is_err());
    assert_eq!(service.total("volumes").await, 0);
    assert!(service.send("POST /api/v1/volumes", body).await.is_err());
    assert_eq!(service.total("volumes").await, 1);
    let log = service.ok("GET /_emulator/requests?since=0", Value::Null).await;
    let resets = log["data"]["requests"].as_array().unwrap().iter().filter(|entry| entry["status"] == 0);
    assert_eq!(resets.count(), 2);
}

#[tokio::test]
async fn responses_can_be_truncated_or_corrupted() {
    let service = Service::start(faulty(&["GET /vms=truncate:1", "GET /vms=malformed:1"])).await;
    let cut = service.send("GET /api/v1/vms", Value::Null).await.unwrap();
    assert_eq!(cut.status(), 200);
    assert!(cut.bytes().await.is_err());
    let spoiled = service.send("GET /api/v1/vms", Value::Null).await.unwrap().bytes().await.unwrap();
    assert!(serde_json::from_slice::<Value>(&spoiled).is_err());
    assert_eq!(service.total("vms").await, 0);
}

#[tokio::test]
async fn a_body_that_is_too_large_gets_413() {
    let service = Service::start(calm()).await;
    let body = json!({"name": "x".repeat(17 << 20)});
    let (status, answer) = service.get("POST /api/v1/projects", body).await;
    assert_eq!((status, &answer["error"]), (413, &json!("Payload Too Large")));
}

#[tokio::test]
async fn source_uploads_need_no_key_and_have_a_larger_size_limit() {
    let service = Service::start(calm()).await;
    let made = service.ok("POST /api/v1/apps/services", json!({"name": "a", "type": "web"})).await;
    let path = format!("/api/v1/apps/services/{}", made["data"]["id"].as_str().unwrap());
    let grant = service.ok(&format!("POST {path}/source-upload"), Value::Null).await;
    let url = grant["upload_url"].as_str().unwrap();
    assert!(url.starts_with(&service.running.base_url()), "{url}");
    let put = |url: &str, bytes: Vec<u8>| service.client.put(url).body(bytes).send();
    let mut archive = vec![0_u8; 17 << 20];
    archive[..3].copy_from_slice(&[0x1f, 0x8b, 8]);
    assert_eq!(put(url, archive).await.unwrap().status(), 200);
    assert_eq!(put(url.split_once('?').unwrap().0, vec![1]).await.unwrap().status(), 403);
    let deploy = json!({"blob_key": grant["blob_key"]});
    let made = service.ok(&format!("POST {path}/deployments"), deploy).await;
    assert_eq!(made["data"]["source_size"], 17 << 20);
    // A length that is too large is refused before a byte of it is read.
    let mut socket = std::net::TcpStream::connect(service.running.address).unwrap();
    let target = url.strip_prefix(&service.running.base_url()).unwrap();
    let length = (100 << 20) + 1;
    write!(socket, "PUT {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n").unwrap();
    let mut answer = [0; 12];
    tokio::task::spawn_blocking(move || socket.read_exact(&mut answer).map(|()| answer))
        .await
        .unwrap()
        .map(|answer| assert_eq!(answer, *b"HTTP/1.1 413"))
        .unwrap();
}

#[tokio::test]
async fn control_calls_check_their_bodies() {
    let service = Service::start(calm()).await;
    for (line, body, status, words) in [
        ("POST /_emulator/clock", json!({}), 400, "one of speed and advance_seconds"),
        ("POST /_emulator/clock", json!({"speed": 1, "advance_seconds": 1}), 400, "one of"),
        ("POST /_emulator/clock", json!({"speed": -1}), 400, "speed must be"),
        ("POST /_emulator/clock", json!({"advance_seconds": -1}), 400, "cannot be set back"),
        ("POST /_emulator/clock", json!({"sped": 1}), 400, "sped"),
        ("POST /_emulator/mutate", json!({"kind": "vm"}), 400, "set"),
        ("POST /_emulator/mutate", json!({"kind": "vm", "id": "x", "set": {}}), 404, "no vm"),
        ("POST /_emulator/import", json!({"world": {}}), 400, "not an export"),
        ("POST /_emulator/import", json!([]), 400, "not an export"),
        ("GET /_emulator/requests?since=x", Value::Null, 400, "since"),
        ("GET /_emulator/objects?kind=vmm", Value::Null, 400, "Did you mean `vm`?"),
        ("GET /_emulator/objects?kind=vm&offset=x", Value::Null, 400, "offset"),
        ("GET /_emulator/objects?kind=vm&limit=-1", Value::Null, 400, "limit"),
        ("GET /_emulator/objects?kind=vm&id=x", Value::Null, 404, "no vm"),
        ("POST /", Value::Null, 404, "no call"),
        ("GET /_emulator/nothing", Value::Null, 404, "no call nothing"),
        ("GET /_emulator/reset", Value::Null, 404, "no call"),
    ] {
        let (got, answer) = service.get(line, body.clone()).await;
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(got == status && message.contains(words), "{line} {body}: {got} {answer}");
    }
}

#[tokio::test]
async fn drift_export_reset_and_import_are_persisted() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(kept(folder.path())).await;
    let id = service.volume("data").await;
    let set = json!({"kind": "volume", "id": id, "set": {"size": 7}});
    service.ok("POST /_emulator/mutate", set).await;
    service.ok("POST /_emulator/mutate", json!({"kind": "account", "set": {"banned": true}})).await;
    let export = service.ok("GET /_emulator/export", Value::Null).await;
    assert!(!export.to_string().contains(&service.running.api_key));
    service.ok("POST /_emulator/reset", json!({})).await;
    assert_eq!(service.total("volumes").await, 0);
    drop(service);
    let service = Service::start(kept(folder.path())).await;
    assert_eq!(service.total("volumes").await, 0);
    service.ok("POST /_emulator/import", export).await;
    drop(service);
    let service = Service::start(kept(folder.path())).await;
    let read = service.ok(&format!("GET /api/v1/volumes/{id}"), Value::Null).await;
    assert_eq!(read["data"]["size"], 7);
    assert_eq!(service.get("POST /api/v1/volumes", json!({"name": "a", "size": 1})).await.0, 403);
}

#[tokio::test]
async fn pages_of_another_site_cannot_use_the_control_calls() {
    let service = Service::start(calm()).await;
    let url = format!("{}/_emulator/reset", service.running.base_url());
    for (header, value) in [("Origin", "https://evil.example"), ("Host", "evil.example")] {
        let response = service.client.post(&url).header(header, value).send().await.unwrap();
        assert_eq!(response.status(), 403, "{header}");
    }
}

#[tokio::test]
async fn other_machines_are_not_served_by_default() {
    let bind = "0.0.0.0:0".parse().unwrap();
    let error = spawn_emulator(EmulatorOptions { bind, ..calm() }).unwrap_err();
    assert!(matches!(error, ServeError::NotLoopback(_)) && error.to_string().contains("--i-know"));
    let running = spawn_emulator(EmulatorOptions { bind, i_know: true, ..calm() }).unwrap();
    let port = running.address.port();
    let url = format!("http://127.0.0.1:{port}");
    let status = |path: &str| client().get(format!("{url}{path}")).send();
    assert_eq!(status("/health").await.unwrap().status(), 200);
    assert_eq!(status("/_emulator/stats").await.unwrap().status(), 403);
}

#[tokio::test]
async fn a_seed_fills_a_new_cloud_only() {
    let folder = tempfile::tempdir().unwrap();
    let seeded = EmulatorOptions { seed: Some(Seed::Objects(60)), ..kept(folder.path()) };
    let service = Service::start(seeded.clone()).await;
    let stats = service.ok("GET /_emulator/stats", Value::Null).await;
    assert_eq!(stats["data"]["objects"], 60);
    let export = service.ok("GET /_emulator/export", Value::Null).await;
    drop(service);
    let error = spawn_emulator(seeded).unwrap_err().to_string();
    assert!(error.contains("objects=60") && error.contains("already"), "{error}");
    let file = folder.path().join("export.json");
    std::fs::write(&file, export.to_string()).unwrap();
    let copy = Service::start(EmulatorOptions { seed: Some(Seed::File(file)), ..calm() }).await;
    assert_eq!(copy.ok("GET /_emulator/stats", Value::Null).await["data"]["objects"], 60);
    let missing = EmulatorOptions { seed: Some(Seed::File(folder.path().join("none.json"))), ..calm() };
    assert!(spawn_emulator(missing).unwrap_err().to_string().contains("none.json"));
}

#[tokio::test]
async fn stopping_closes_idle_connections() {
    let service = Service::start(calm()).await;
    service.ok("GET /health", Value::Null).await;
    // The client keeps its connection; a server that waited for it would not end.
    service.running.stop();
    assert!(service.client.get("http://127.0.0.1:1/").send().await.is_err());
}

#[tokio::test]
async fn the_page_is_served_locally_with_a_content_security_policy() {
    let service = Service::start(calm()).await;
    for (path, kind) in [("/", "text/html"), ("/_emulator/console.js", "text/javascript")] {
        let response = service.send(&format!("GET {path}"), Value::Null).await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert!(header("content-type").starts_with(kind), "{path}");
        let policy = header("content-security-policy");
        for part in ["default-src 'none'", "script-src 'self';", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe") && header("x-content-type-options") == "nosniff");
    }
    let objects = service.ok("GET /_emulator/objects?kind=project", Value::Null).await;
    assert_eq!(
        (&objects["data"]["total"], &objects["data"]["objects"][0]["name"]),
        (&json!(1), &json!("default"))
    );
    let base = service.running.base_url();
    for (path, header, value) in [
        ("/", "Host", "evil.example"),
        ("/_emulator/console.js", "Host", "evil.example"),
        ("/_emulator/objects", "Host", "evil.example:80"),
        ("/_emulator/objects", "Origin", "http://localhost:1"),
        ("/_emulator/reset", "Origin", "null"),
        ("/_emulator/reset", "Sec-Fetch-Site", "cross-site"),
    ] {
        let method = if path.ends_with("reset") { Method::POST } else { Method::GET };
        let request = service.client.request(method, format!("{base}{path}")).header(header, value);
        assert_eq!(request.send().await.unwrap().status(), 403, "{path} {header}: {value}");
    }
}

#[tokio::test]
async fn a_publicly_bound_emulator_does_not_serve_its_page() {
    let options = EmulatorOptions { bind: "0.0.0.0:0".parse().unwrap(), i_know: true, ..calm() };
    let running = spawn_emulator_async(options).await.unwrap();
    let base = format!("http://127.0.0.1:{}", running.address.port());
    for path in ["/", "/_emulator/console.js", "/_emulator/objects"] {
        assert_eq!(client().get(format!("{base}{path}")).send().await.unwrap().status(), 403, "{path}");
    }
    assert_eq!(client().get(format!("{base}/health")).send().await.unwrap().status(), 200);
}
