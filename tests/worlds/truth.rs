//! The world's own record, read past the client and past the layer.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use jiff::Timestamp;
use serde_json::Value as Json;
use stead::emulator::world::{ApiRequest, handle_request, mutate};
use stead::model::schema::Method;

use crate::cloud::KEY;
use crate::contract::{COLLECTIONS, Collection, SPEND_SETTINGS, collection};
use crate::disaster::Outside;
use crate::layer::Sent;
use crate::machine::wall;
use crate::written::{Attr, Block, Edit, Truth, Written};

/// Sends a request past the layer.
pub fn ask(
    outside: &Outside,
    method: Method,
    path: &str,
    project: Option<&str>,
    body: &Json,
) -> (u16, Json) {
    outside.thaw();
    let query = vec![("limit".to_owned(), "100".to_owned())];
    let request = ApiRequest {
        method,
        path: path.to_owned(),
        query: if method == Method::Get { query } else { Vec::new() },
        api_key: Some(KEY.to_owned()),
        project: project.map(str::to_owned),
        body: if body.is_null() { Vec::new() } else { body.to_string().into_bytes() },
    };
    let now = wall(outside.machine.elapsed());
    let response = handle_request(&mut outside.world.borrow_mut(), &request, now);
    (response.status, serde_json::from_slice(&response.body).unwrap_or_default())
}

pub fn rows(outside: &Outside, path: &str) -> Vec<Json> {
    let (_, json) = ask(outside, Method::Get, path, None, &Json::Null);
    json["data"].as_array().cloned().unwrap_or_default()
}

/// Which object each address has: by the creations that arrived.
#[derive(Debug, Default)]
pub struct Objects {
    pub of: BTreeMap<String, (&'static Collection, Option<String>, String)>,
    /// Creations of each address that went through.
    pub creates: BTreeMap<String, Vec<String>>,
    /// Creations that are no address's.
    pub strays: Vec<String>,
}

impl Objects {
    /// Reads the log.
    pub fn new(written: &Written, log: &[Sent]) -> Self {
        let mut objects = Self::default();
        for sent in log.iter().filter(|sent| sent.status < 300) {
            let Some(target) = crate::contract::target(&sent.path)
                .filter(|target| matches!(sent.method, Method::Post | Method::Put) && target.id.is_none())
            else {
                continue;
            };
            let id = sent.record.as_ref().and_then(|record| record[target.of.id].as_str());
            let sent_name = sent.body.as_ref().and_then(|body| body[target.of.name].as_str());
            let id = id.or(sent_name).unwrap_or_default().to_owned();
            let fits = |block: &&Block| {
                block.kind == target.of.kind
                    && objects.parent(block) == target.parent
                    && Some(objects.name(block, target.of)) == sent_name.map(str::to_owned)
            };
            let Some(block) = written.blocks.iter().find(fits) else {
                objects.strays.push(format!("{} {:?}", sent.path, sent_name));
                continue;
            };
            let creates = objects.creates.entry(block.address.clone()).or_default();
            // A query is written under its name, again and again.
            if !(sent.method == Method::Put && creates.contains(&id)) {
                creates.push(id.clone());
            }
            objects.of.insert(block.address.clone(), (target.of, target.parent, id));
        }
        objects
    }

    fn parent(&self, block: &Block) -> Option<String> {
        let (parent, _) = block.parent.as_ref()?;
        self.of.get(parent).map(|(_, _, id)| id.clone())
    }

    fn name(&self, block: &Block, of: &Collection) -> String {
        let own = block.address.rsplit('.').next().unwrap().to_owned();
        let written = block.attributes.iter().find(|attr| attr.field == of.name && !attr.unwritten);
        written.map_or(own, |attr| match &attr.truth {
            Truth::IdOf(address) => self.of.get(address).map(|(_, _, id)| id.clone()).unwrap_or_default(),
            Truth::Is(json) => json.as_str().unwrap_or_default().to_owned(),
            _ => String::new(),
        })
    }

    pub fn path(&self, address: &str) -> Option<String> {
        let (of, parent, id) = self.of.get(address)?;
        Some(format!("{}/{id}", of.path.replace("{parent}", parent.as_deref().unwrap_or_default())))
    }

    /// Replaces ids by addresses.
    pub fn named(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (address, (_, _, id)) in self.of.iter().filter(|(_, (of, _, _))| of.id == "id") {
            text = text.replace(id, address);
        }
        text
    }
}

/// Returns an object's record as the world has it; `None` when it is gone.
pub fn record(outside: &Outside, objects: &Objects, block: &Block) -> Option<Json> {
    if block.kind == "spend_settings" {
        return Some(ask(outside, Method::Get, SPEND_SETTINGS, None, &Json::Null).1["settings"].clone());
    }
    let (of, parent, id) = objects.of.get(&block.address)?;
    let list = of.path.replace("{parent}", parent.as_deref().unwrap_or_default());
    if !of.readable {
        return rows(outside, &list).into_iter().find(|row| row[of.id] == id.as_str());
    }
    let (status, json) = ask(outside, Method::Get, &format!("{list}/{id}"), None, &Json::Null);
    let record = json.get("data").or_else(|| json.get("database")).cloned();
    record.filter(|record| status == 200 && record["status"] != "deleting")
}

/// Tells whether a record has a value.
pub fn holds(outside: &Outside, objects: &Objects, record: &Json, attr: &Attr, truth: &Truth) -> bool {
    let live = &record[attr.field];
    let id = |address: &String| objects.of.get(address).map(|(_, _, id)| Json::from(id.clone()));
    let set = |json: &Json| -> BTreeSet<String> {
        json.as_array()
            .into_iter()
            .flatten()
            .map(|item| item.as_str().map_or(item.to_string(), Into::into))
            .collect()
    };
    match truth {
        Truth::Untold => true,
        Truth::Is(Json::Null) => live.is_null() || *live == "",
        Truth::Is(json) => live == json,
        Truth::Number(number) => live.as_f64() == Some(*number as f64),
        Truth::IdOf(address) => Some(live.clone()) == id(address),
        Truth::IdsOf(all) => {
            set(live) == all.iter().filter_map(id).map(|id| id.as_str().unwrap().into()).collect()
        }
        Truth::Catalog(path, word) => {
            let rows = rows(outside, path);
            let is = |row: &&Json| ["slug", "version"].iter().any(|key| row[*key].as_str() == Some(word));
            let by_start =
                |row: &&Json| row["version"].as_str().is_some_and(|v| v.starts_with(&format!("{word}.")));
            rows.iter().filter(|row| is(row) || by_start(row)).any(|row| row["id"] == *live)
        }
        Truth::SetOf(all) => set(live) == all.iter().map(|one| (*one).to_owned()).collect(),
        Truth::Has(map) => map.as_object().unwrap().iter().all(|(key, value)| live[key] == *value),
        Truth::Instant(instant) => {
            let live: Option<Timestamp> = live.as_str().and_then(|text| text.parse().ok());
            live == instant.parse().ok()
        }
    }
}

/// Somebody else changes an attribute. Tells whether it worked.
pub fn meddle(outside: &Rc<Outside>, objects: &Objects, block: &Block, attr: &Attr, edit: &Edit) -> bool {
    let Some(record) = record(outside, objects, block) else { return false };
    match edit {
        Edit::Inside(to) => {
            let set = [(attr.field.to_owned(), to.clone())].into_iter().collect();
            let id = objects.of.get(&block.address).map(|(_, _, id)| id.as_str()).unwrap_or_default();
            let now = wall(outside.machine.elapsed());
            outside.thaw();
            mutate(&mut outside.world.borrow_mut(), block.kind, id, &set, now).is_ok()
        }
        Edit::Call(method, tail, body) => {
            let mut body = body.clone();
            let path = if block.kind == "spend_settings" {
                SPEND_SETTINGS.to_owned()
            } else {
                format!("{}{tail}", objects.path(&block.address).unwrap())
            };
            let path = if *method == Method::Put {
                body["name"] = record["name"].clone();
                path.rsplit_once('/').unwrap().0.to_owned()
            } else {
                path
            };
            let mut project = record["project_id"].as_str().map(str::to_owned);
            if project.is_none()
                && let Some((parent, _)) = &block.parent
                && let Some(of) = objects.path(parent)
            {
                let (_, json) = ask(outside, Method::Get, &of, None, &Json::Null);
                project = json["data"]["project_id"].as_str().map(str::to_owned);
            }
            let (status, answer) = ask(outside, *method, &path, project.as_deref(), &body);
            assert!(status < 500 && status != 400 && status != 404, "{path}: {status} {answer}");
            status < 300
        }
    }
}

/// Returns all records of the account, by list path.
pub fn everything(outside: &Outside) -> BTreeMap<String, Vec<Json>> {
    let mut all: BTreeMap<String, Vec<Json>> = BTreeMap::new();
    for of in COLLECTIONS {
        let parents = match of.parent {
            None => vec![String::new()],
            Some(parent) => {
                let parent = collection(parent).unwrap();
                let rows = all.get(parent.path).cloned().unwrap_or_default();
                rows.iter().filter_map(|row| row["id"].as_str().map(str::to_owned)).collect()
            }
        };
        for parent in parents {
            let path = of.path.replace("{parent}", &parent);
            let found = rows(outside, &path).into_iter().filter(|row| row["status"] != "deleting");
            all.insert(path, found.collect());
        }
    }
    all
}
