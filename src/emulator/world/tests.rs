//! Table tests of the world: every endpoint, what it answers, and what it refuses.

#![allow(clippy::needless_pass_by_value, reason = "a body is written once, where it is sent")]

use serde_json::{Value, json};

use super::engine::status_timeline::time_after;
use super::{ApiRequest, RateTier, Time, World, WorldSetup, handle_request};
use crate::model::schema::Method;

mod access;
mod account;
mod app;
mod app_parts;
mod clock;
mod cluster;
mod contents;
mod copies;
mod database;
mod deployment;
mod function;
mod job;
mod machine;
mod network;
mod node_pool;
mod paging;
mod reading;
mod schedules;
mod spend;

const KEY: &str = "sk_test";

/// A world with a clock that the test moves, and requests in short form.
struct Cloud {
    world: World,
    now: Time,
    project: Option<String>,
    key: String,
}

impl Cloud {
    fn new() -> Self {
        let now: Time = "2026-03-04T12:00:00Z".parse().unwrap();
        let setup = WorldSetup { seed: 1, api_key: KEY.to_owned(), tier: RateTier::Standard };
        let world = World::new(&setup, now);
        let project = Some(world.default_project().to_string());
        Self { world, now, project, key: KEY.to_owned() }
    }

    fn wait(&mut self, seconds: i64) {
        self.now = time_after(self.now, seconds);
    }

    /// Sends `"POST /vms?limit=2"`, with `/api/v1` put before it, in the cloud's project.
    fn send(&mut self, line: &str, body: Value) -> (u16, Value) {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        self.send_text(line, &text)
    }

    fn send_text(&mut self, line: &str, body: &str) -> (u16, Value) {
        let (method, target) = line.split_once(' ').unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let method = match method {
            "GET" => Method::Get,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "PATCH" => Method::Patch,
            "DELETE" => Method::Delete,
            _ => panic!("{method}"),
        };
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let request = ApiRequest {
            method,
            path: format!("/api/v1{path}"),
            query: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            api_key: Some(self.key.clone()),
            project: self.project.clone(),
            body: body.as_bytes().to_vec(),
        };
        let response = handle_request(&mut self.world, &request, self.now);
        (response.status, serde_json::from_slice(&response.body).unwrap())
    }

    /// Sends what must succeed; returns the payload.
    fn ok(&mut self, line: &str, body: Value) -> Value {
        let (status, answer) = self.send(line, body);
        assert!(status < 300, "{line}: {status} {answer}");
        answer.get("data").or_else(|| answer.get("database")).cloned().unwrap_or(answer)
    }

    fn get(&mut self, path: &str) -> Value {
        self.ok(&format!("GET {path}"), Value::Null)
    }

    /// Makes an object; returns its id.
    fn make(&mut self, collection: &str, body: Value) -> String {
        self.ok(&format!("POST {collection}"), body)["id"].as_str().unwrap().to_owned()
    }

    /// Sends what must be refused, with a message that holds these words.
    #[track_caller]
    fn refuses(&mut self, line: &str, body: Value, status: u16, words: &str) {
        self.now = clock::tick(&mut self.world, self.now);
        let before = serde_json::to_string(&self.world).unwrap();
        let (got, answer) = self.send(line, body.clone());
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(got == status && message.contains(words), "{line} {body}: {got} {answer}");
        assert!(answer["error"].as_str().is_some_and(|error| !error.is_empty()));
        assert!(serde_json::to_string(&self.world).unwrap() == before, "{line} {body} changed something");
    }

    #[track_caller]
    fn status_is(&mut self, path: &str, wanted: &str) {
        assert_eq!(self.get(path)["status"], wanted, "{path}");
    }

    fn vpc(&mut self) -> String {
        self.make("/vpcs", json!({"name": "main", "cidr": "10.0.0.0/24"}))
    }

    /// Makes a VM that runs.
    fn vm(&mut self) -> String {
        let id = self.make("/vms", vm_body());
        self.wait(20);
        id
    }

    fn volume(&mut self, size: i64) -> String {
        let id = self.make("/volumes", json!({"name": "data", "size": size}));
        self.wait(3);
        id
    }

    /// Makes a database that runs.
    fn database(&mut self, name: &str) -> String {
        let id = self.make("/databases", json!({"name": name, "plan_id": 102}));
        self.wait(47);
        id
    }

    /// Makes a cluster that runs, with two pools of two workers.
    fn cluster(&mut self, name: &str) -> String {
        let id = self.make("/k8s/clusters", with(cluster_body(), json!({"name": name})));
        self.wait(90);
        id
    }

    fn balance(&self) -> String {
        self.world.bill(self.now).balance.to_string()
    }
}

fn template() -> String {
    super::TEMPLATES[0].id.to_string()
}

fn vm_body() -> Value {
    json!({"name": "web", "template_id": template(), "pricing_id": 3})
}

fn cluster_body() -> Value {
    json!({"name": "jobs", "version_id": 833, "node_pools": [
        {"name": "general", "plan_id": 701, "node_count": 2},
        {"name": "batch", "plan_id": 704, "node_count": 2},
    ]})
}

/// Returns a body with some fields set to other values.
fn with(mut body: Value, changes: Value) -> Value {
    for (name, value) in changes.as_object().unwrap() {
        body[name.as_str()] = value.clone();
    }
    body
}

/// An app that is like most.
fn web() -> Value {
    json!({"name": "web", "type": "web", "image": "nginx:1"})
}

const NOBODY: &str = "00000000-0000-4000-8000-000000000000";
