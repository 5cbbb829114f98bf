//! The layer between the pure world and the client: a variation changes requests on their way in and
//! answers on their way out. The world behind it stays the contract's.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use stead::emulator::world::{ApiRequest, ApiResponse, Time, World, handle_request};
use stead::model::schema::Method;

use crate::contract::{COMMON, Collection, Field, SPEND_SETTINGS, Target, target};

/// What a variation hides, ignores, or that it does neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Another form of the same: a client sends the same requests, and says the same.
    Representation,
    /// Lists and objects appear late, or in passing states: the same in the end.
    Timing,
    /// These fields, `kind.field`, are in no answer.
    Hides(&'static [&'static str]),
    /// These fields, `kind.field`, do not take effect when they are sent, or otherwise.
    Ignores(&'static [&'static str]),
    /// The client may be unable to go on, and then says so without a change.
    Refuses,
}

/// One way in which a service differs from ours.
pub struct Variation {
    pub name: &'static str,
    pub effect: Effect,
    /// Changes what the client asks before the world sees it.
    pub ask: fn(&mut Seen, &mut Asked),
    /// Changes what the world tells before the client sees it.
    pub tell: fn(&mut Seen, &Asked, &mut Told),
}

/// What a variation remembers.
#[derive(Default)]
pub struct Seen {
    pub now: Option<Time>,
    /// Counts, by whatever the variation counts.
    pub counts: BTreeMap<String, u64>,
    /// Records as they were shown last, by list and id.
    pub records: BTreeMap<String, Json>,
    /// When something happened, by whatever the variation looks at.
    pub times: BTreeMap<String, Time>,
    /// The page that is asked for begins elsewhere.
    pub shifted: bool,
    /// Machines that the service starts by itself after a resize, with their projects.
    pub resized: Vec<(String, Option<String>)>,
    /// Short ids, by the long ones.
    pub short: BTreeMap<String, String>,
}

impl Seen {
    /// Counts up, and returns how many came before.
    pub fn count(&mut self, what: &str) -> u64 {
        let count = self.counts.entry(what.to_owned()).or_default();
        *count += 1;
        *count - 1
    }
}

/// A request.
pub struct Asked {
    pub method: Method,
    pub path: String,
    pub query: Vec<(String, String)>,
    pub project: Option<String>,
    pub body: Option<Json>,
    pub target: Option<Target>,
    /// The service answers this itself, and the world is not asked.
    pub instead: Option<Told>,
    /// The page that the client asked for, as offset and length, where the world is asked for the whole list.
    pub page: Option<(usize, usize)>,
}

impl Asked {
    /// Tells whether it lists objects.
    pub fn is_list(&self) -> bool {
        self.method == Method::Get && self.target.as_ref().is_some_and(|target| target.id.is_none())
    }

    /// Replaces a number of the query, where there is one.
    pub fn set(&mut self, name: &str, number: usize) {
        for (_, value) in self.query.iter_mut().filter(|(key, _)| key == name) {
            *value = number.to_string();
        }
    }

    /// Asks the world for the whole list; the variation cuts out the page, of so many rows at most.
    pub fn take_page(&mut self, most: usize) {
        if !self.is_list() {
            return;
        }
        let number = |name: &str| {
            let value = self.query.iter().find(|(key, _)| key == name);
            value.and_then(|(_, value)| value.parse().ok())
        };
        self.page = Some((number("offset").unwrap_or(0), number("limit").unwrap_or(20).min(most)));
        self.query.retain(|(name, _)| name != "offset" && name != "limit");
        self.query.push(("limit".to_owned(), "100".to_owned()));
    }

    /// Tells whether it makes an object.
    pub fn is_create(&self) -> bool {
        let lists = self.target.as_ref().is_some_and(|target| target.id.is_none());
        lists && matches!(self.method, Method::Post | Method::Put)
    }

    /// Tells whether the answer is records of a collection.
    fn has_records(&self) -> bool {
        let call = self.target.as_ref().and_then(|target| target.call.as_deref());
        match call {
            None => self.method != Method::Delete,
            Some(_) => self.method != Method::Get,
        }
    }
}

/// An answer. No body at all is `None`.
#[derive(Clone)]
pub struct Told {
    pub status: u16,
    pub body: Option<Json>,
}

impl Told {
    /// Returns the rows of a list.
    pub fn rows(&mut self) -> Option<&mut Vec<Json>> {
        self.body.as_mut()?.get_mut("data")?.as_array_mut()
    }

    /// Changes the records in an answer; a record also learns whether it stands in a list.
    pub fn records(&mut self, asked: &Asked, mut change: impl FnMut(&'static Collection, &mut Json, bool)) {
        let Some(of) = asked.target.as_ref().filter(|_| asked.has_records()).map(|target| target.of) else {
            return;
        };
        let Some(map) = self.body.as_mut().and_then(Json::as_object_mut).filter(|_| self.status < 300)
        else {
            return;
        };
        for key in ["data", "database"] {
            match map.get_mut(key) {
                Some(Json::Array(rows)) => rows.iter_mut().for_each(|row| change(of, row, true)),
                Some(record @ Json::Object(_)) => change(of, record, false),
                _ => {}
            }
        }
    }

    /// Changes the known fields of all records in an answer.
    pub fn fields(&mut self, asked: &Asked, mut change: impl FnMut(&'static Field, &mut Json)) {
        self.records(asked, |of, record, _| {
            let Some(map) = record.as_object_mut() else { return };
            for field in of.fields.iter().chain(COMMON) {
                if let Some(value) = map.get_mut(field.name) {
                    change(field, value);
                }
            }
        });
    }
}

/// A request that arrived and may have changed something.
#[derive(Debug, Clone)]
pub struct Sent {
    pub method: Method,
    pub path: String,
    pub project: Option<String>,
    pub body: Option<Json>,
    pub status: u16,
    /// The record of the answer, as the world gave it.
    pub record: Option<Json>,
}

/// The layer, with its log.
pub struct Layer {
    pub variation: &'static Variation,
    pub seen: Seen,
    pub sent: Vec<Sent>,
    pub reads: usize,
    /// What somebody changed in the service: the kind, the id and the field, with the value.
    pub edited: BTreeMap<(String, String, String), Json>,
}

impl Layer {
    pub fn new(variation: &'static Variation) -> Self {
        Self { variation, seen: Seen::default(), sent: Vec::new(), reads: 0, edited: BTreeMap::new() }
    }

    /// Answers a request: through the variation, from the world.
    pub fn handle(&mut self, world: &mut World, request: &ApiRequest, now: Time) -> ApiResponse {
        self.seen.now = Some(now);
        let mut asked = Asked {
            method: request.method,
            path: request.path.clone(),
            query: request.query.clone(),
            project: request.project.clone(),
            body: serde_json::from_slice(&request.body).ok(),
            target: target(&request.path),
            instead: None,
            page: None,
        };
        self.start_resized(world, request, now);
        (self.variation.ask)(&mut self.seen, &mut asked);
        let mut headers = Vec::new();
        let mut told = match asked.instead.take() {
            Some(told) => told,
            None => {
                let is_json = !request.body.is_empty() && asked.body.is_some();
                let body = asked.body.as_ref().filter(|_| is_json).map(Json::to_string);
                let request = ApiRequest {
                    method: asked.method,
                    path: asked.path.clone(),
                    query: asked.query.clone(),
                    body: body.map_or_else(|| request.body.clone(), String::into_bytes),
                    ..request.clone()
                };
                let response = handle_request(world, &request, now);
                headers = response.headers;
                Told { status: response.status, body: serde_json::from_slice(&response.body).ok() }
            }
        };
        if request.method.mutates() {
            self.sent.push(sent(request, &told));
        } else {
            self.reads += 1;
            assert!(self.reads < MOST_READS, "more than {MOST_READS} reads: {}", request.path);
        }
        self.show_edits(&asked, &mut told);
        (self.variation.tell)(&mut self.seen, &asked, &mut told);
        let body = told.body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        ApiResponse { status: told.status, headers, body }
    }
}

impl Layer {
    fn show_edits(&self, asked: &Asked, told: &mut Told) {
        let show = |kind: &str, id: &str, record: &mut Json| {
            let Some(record) = record.as_object_mut() else { return };
            let of = self.edited.iter().filter(|((of, object, _), _)| of == kind && object == id);
            for ((_, _, field), value) in of {
                record.entry(field).and_modify(|shown| shown.clone_from(value));
            }
        };
        if self.edited.is_empty() {
            return;
        }
        told.records(asked, |of, record, _| {
            let id = record[of.id].as_str().unwrap_or_default().to_owned();
            show(of.kind, &id, record);
        });
        if let Some(settings) = told.body.as_mut().filter(|_| asked.path == SPEND_SETTINGS) {
            show("spend_settings", "", &mut settings["settings"]);
        }
    }

    /// The service starts the machines that it resized, as soon as they are at rest and stopped.
    fn start_resized(&mut self, world: &mut World, request: &ApiRequest, now: Time) {
        self.seen.resized.retain(|(machine, project)| {
            let of = |method, path: &str| ApiRequest {
                method,
                path: path.to_owned(),
                query: Vec::new(),
                project: project.clone(),
                body: Vec::new(),
                ..request.clone()
            };
            let shown = handle_request(world, &of(Method::Get, machine), now);
            let shown: Json = serde_json::from_slice(&shown.body).unwrap_or_default();
            let status = shown["data"]["status"].as_str().unwrap_or_default();
            if status == "stopped" {
                let started = handle_request(world, &of(Method::Post, &format!("{machine}/start")), now);
                assert!(started.status < 300, "{machine} does not start: {}", started.status);
            }
            status == "resizing"
        });
    }
}

/// A command that reads more often does not end.
const MOST_READS: usize = 20_000;

fn sent(request: &ApiRequest, told: &Told) -> Sent {
    let record = |body: &Json| {
        ["data", "database"].iter().find_map(|key| body.get(key)).filter(|json| json.is_object()).cloned()
    };
    Sent {
        method: request.method,
        path: request.path.clone(),
        project: request.project.clone(),
        body: serde_json::from_slice(&request.body).ok(),
        status: told.status,
        record: told.body.as_ref().and_then(record),
    }
}
