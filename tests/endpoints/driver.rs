//! `Cloud`: a world whose clock the test moves, and the log of its responses.

use serde_json::{Value, json};
use stead::emulator::world::{
    ApiRequest, RateTier, Time, World, WorldSetup, handle_request, mutate, route_template,
};
use stead::model::schema::Method;

use crate::table::verb;

const KEY: &str = "sk_story";

/// One successful request and its response.
pub struct Exchange {
    pub method: Method,
    pub route: &'static str,
    pub body: Value,
    pub status: u16,
    pub answer: Value,
}

/// The world, its time, and the exchanges so far.
pub struct Cloud {
    world: World,
    now: Time,
    project: Option<String>,
    /// The successful exchanges, in order.
    pub log: Vec<Exchange>,
    /// How many strings with a length limit were sent.
    pub bounds: usize,
}

impl Cloud {
    pub fn new() -> Self {
        let now: Time = "2026-03-04T12:00:00Z".parse().unwrap();
        let setup = WorldSetup { seed: 1, api_key: KEY.to_owned(), tier: RateTier::Standard };
        let world = World::new(&setup, now);
        let mut cloud = Self { world, now, project: None, log: Vec::new(), bounds: 0 };
        let projects = cloud.get("/projects");
        let default = projects.as_array().unwrap().iter().find(|project| project["is_default"] == true);
        cloud.project = Some(id(default.unwrap()));
        cloud
    }

    pub fn wait(&mut self, seconds: i64) {
        self.now += jiff::SignedDuration::from_secs(seconds);
    }

    /// Sends a request line such as `"POST /vms?limit=2"`, to which `/api/v1` is added; panics unless it succeeds.
    #[track_caller]
    pub fn raw(&mut self, line: &str, body: &[u8]) -> Value {
        let (method, target) = line.split_once(' ').unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let whole = ["/health", "/ready", "/uploads/"].iter().any(|start| path.starts_with(start));
        let path = if whole { path.to_owned() } else { format!("/api/v1{path}") };
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let request = ApiRequest {
            method: verb(method),
            path,
            query: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            api_key: Some(KEY.to_owned()),
            project: self.project.clone(),
            body: body.to_vec(),
        };
        self.bounds += crate::bounds::hold(&self.world, &request, self.now);
        let response = handle_request(&mut self.world, &request, self.now);
        let answer: Value = serde_json::from_slice(&response.body).unwrap();
        assert!((200..300).contains(&response.status), "{line}: {} {answer}", response.status);
        let route = route_template(request.method, &request.path).unwrap();
        self.log.push(Exchange {
            method: request.method,
            route,
            body: serde_json::from_slice(body).unwrap_or_default(),
            status: response.status,
            answer: answer.clone(),
        });
        answer
    }

    /// Sends a JSON body, or none for null; returns the payload, under whichever key it is.
    #[track_caller]
    pub fn ok(&mut self, line: &str, body: Value) -> Value {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.raw(line, text.as_bytes());
        let payload = ["data", "database", "run", "settings", "pricing"]
            .iter()
            .find_map(|key| answer.get(key).filter(|payload| !payload.is_null()));
        payload.cloned().unwrap_or(answer)
    }

    #[track_caller]
    pub fn act(&mut self, line: &str) -> Value {
        self.ok(line, Value::Null)
    }

    #[track_caller]
    pub fn get(&mut self, path: &str) -> Value {
        self.act(&format!("GET {path}"))
    }

    /// Reads an object by id, and checks that its list contains it.
    #[track_caller]
    pub fn look(&mut self, collection: &str, id: &str) {
        assert_eq!(self.get(&format!("{collection}/{id}"))["id"], id);
        self.listed(collection, id);
    }

    /// Checks that a list contains an object.
    #[track_caller]
    pub fn listed(&mut self, collection: &str, id: &str) {
        let list = self.get(collection);
        assert!(list.as_array().unwrap().iter().any(|object| object["id"] == id), "{collection}: {list}");
    }

    /// Creates an object; returns its id.
    #[track_caller]
    pub fn make(&mut self, collection: &str, body: Value) -> String {
        id(&self.ok(&format!("POST {collection}"), body))
    }

    #[track_caller]
    pub fn delete(&mut self, path: &str) {
        self.act(&format!("DELETE {path}"));
    }

    /// Sets a field outside the API, for states that only people or time cause.
    pub fn mutate(&mut self, kind: &str, id: &str, field: &str, value: Value) {
        let set = json!({field: value});
        mutate(&mut self.world, kind, id, set.as_object().unwrap(), self.now).unwrap();
    }
}

/// Returns an object's id.
#[track_caller]
pub fn id(object: &Value) -> String {
    object["id"].as_str().unwrap_or_else(|| panic!("no id: {object}")).to_owned()
}
