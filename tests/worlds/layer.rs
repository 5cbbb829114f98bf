//! The layer between the pure world and the client: a variation changes requests on their way in and
//! answers on their way out. The world behind it stays the contract's.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use stead::emulator::world::{Request, Response, Time, World, handle};
use stead::model::schema::Method;

use crate::contract::{COMMON, Collection, Field, Target, target};

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
    /// The client cannot go on, and must say so without a change.
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
    /// Records, by id, as of a time.
    pub records: BTreeMap<String, Vec<(Time, Json)>>,
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
    pub body: Option<Json>,
    pub target: Option<Target>,
    /// The service answers this itself, and the world is not asked.
    pub instead: Option<Told>,
}

impl Asked {
    /// Tells whether it lists objects.
    pub fn is_list(&self) -> bool {
        self.method == Method::Get && self.target.as_ref().is_some_and(|target| target.id.is_none())
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
}

impl Layer {
    pub fn new(variation: &'static Variation) -> Self {
        Self { variation, seen: Seen::default(), sent: Vec::new(), reads: 0 }
    }

    /// Answers a request: through the variation, from the world.
    pub fn handle(&mut self, world: &mut World, request: &Request, now: Time) -> Response {
        self.seen.now = Some(now);
        let mut asked = Asked {
            method: request.method,
            path: request.path.clone(),
            query: request.query.clone(),
            body: serde_json::from_slice(&request.body).ok(),
            target: target(&request.path),
            instead: None,
        };
        (self.variation.ask)(&mut self.seen, &mut asked);
        let mut headers = Vec::new();
        let mut told = match asked.instead.take() {
            Some(told) => told,
            None => {
                let is_json = !request.body.is_empty() && asked.body.is_some();
                let body = asked.body.as_ref().filter(|_| is_json).map(Json::to_string);
                let request = Request {
                    method: asked.method,
                    path: asked.path.clone(),
                    query: asked.query.clone(),
                    body: body.map_or_else(|| request.body.clone(), String::into_bytes),
                    ..request.clone()
                };
                let response = handle(world, &request, now);
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
        (self.variation.tell)(&mut self.seen, &asked, &mut told);
        let body = told.body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        Response { status: told.status, headers, body }
    }
}

/// A command that reads more often does not end.
const MOST_READS: usize = 20_000;

fn sent(request: &Request, told: &Told) -> Sent {
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
