//! `function`: serverless functions. (The specification names the area only: all of it is assumed.)

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::input::variables;
use super::upload::{Blob, Upload};
use crate::emulator::chance;
use crate::emulator::world::databases::database::DOMAIN;
use crate::emulator::world::engine::json_writer::Fields;
use crate::emulator::world::engine::message::Refusal;
use crate::emulator::world::engine::request_body::{Body as Input, Field};
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::{Body, Record, Table, View};
use crate::emulator::world::request::call::{Call, Reply, done};
use crate::emulator::world::router::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/functions";
const ITEM: &str = "/api/v1/functions/{id}";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::Project, |call| call.list::<Function>()),
    Route::new(Method::Post, COLLECTION, Access::Project, create),
    Route::new(Method::Get, ITEM, Access::Account, read),
    Route::new(Method::Patch, ITEM, Access::Project, patch),
    Route::new(Method::Delete, ITEM, Access::Project, delete),
    Route::new(Method::Post, "/api/v1/functions/{id}/source-upload", Access::Project, grant),
];

const RUNTIMES: &[&str] = &["node20", "python312", "go122", "rust"];
const STEPS: &[(i64, &str)] = &[(0, "deploying"), (5, "active")];
const HANDLER: usize = 253;
const DEFAULT_MEMORY: i64 = 128;
const DEFAULT_TIMEOUT: i64 = 30;

/// A serverless function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Function {
    pub(in crate::emulator::world) name: String,
    pub(in crate::emulator::world) runtime: String,
    pub(in crate::emulator::world) handler: String,
    pub(in crate::emulator::world) memory_mb: i64,
    pub(in crate::emulator::world) timeout_seconds: i64,
    pub(in crate::emulator::world) env_vars: BTreeMap<String, String>,
    pub(in crate::emulator::world) source: Option<Blob>,
    pub(in crate::emulator::world) version: i64,
}

/// Functions by name.
#[derive(Default)]
pub(in crate::emulator::world) struct Names(HashMap<(Option<Uuid>, String), BTreeSet<Uuid>>);

impl Body for Function {
    const KIND: &'static str = "serverless_function";
    const TITLE: &'static str = "function";
    type Index = Names;

    fn table(world: &World) -> &Table<Self> {
        &world.functions
    }

    fn table_mut(world: &mut World) -> &mut Table<Self> {
        &mut world.functions
    }

    fn index(index: &mut Names, record: &Record<Self>, present: bool) {
        let key = (record.project, record.body.name.clone());
        if present {
            index.0.entry(key).or_default().insert(record.id);
        } else if let Some(same) = index.0.get_mut(&key) {
            same.remove(&record.id);
            if same.is_empty() {
                index.0.remove(&key);
            }
        }
    }

    fn show(record: &Record<Self>, view: View<'_>, fields: &mut Fields<'_>) {
        let function = &record.body;
        let short = chance::text(record.id, 3, b"abcdefghijklmnopqrstuvwxyz0123456789", 8);
        fields.put("id", &record.id);
        fields.put("project_id", &record.project);
        fields.put("name", &function.name);
        fields.put("status", record.status(view.now));
        fields.put("region", "us-east");
        fields.put("runtime", &function.runtime);
        fields.put("handler", &function.handler);
        fields.put("memory_mb", &function.memory_mb);
        fields.put("timeout_seconds", &function.timeout_seconds);
        if view.detail {
            fields.put("env_vars", &function.env_vars);
        }
        fields.put("blob_key", function.source.as_ref().map_or("", |blob| blob.key.as_str()));
        fields.put("version", &function.version);
        fields.put("url", &format!("https://{short}.functions.{DOMAIN}"));
        fields.put("created_at", &record.created_at);
        fields.put("updated_at", &record.updated_at);
    }
}

/// Reads what a creation and a change have in common.
fn read_settings(body: &Input, function: &mut Function) -> Result<(), Refusal> {
    if let Some(handler) = body.optional("handler", |field| field.text(1, HANDLER))? {
        handler.clone_into(&mut function.handler);
    }
    let memory = body.optional("memory_mb", |field| field.integer(128, 2_048))?;
    let timeout = body.optional("timeout_seconds", |field| field.integer(1, 300))?;
    function.memory_mb = memory.unwrap_or(function.memory_mb);
    function.timeout_seconds = timeout.unwrap_or(function.timeout_seconds);
    if let Some(variables) = body.optional("env_vars", variables)? {
        function.env_vars = variables;
    }
    Ok(())
}

fn create(call: &mut Call<'_>) -> Reply {
    let body = &call.body;
    let name = body.required("name", Field::name)?;
    let runtime = body.required("runtime", |field| field.one_of(RUNTIMES))?;
    body.required("handler", |field| field.text(1, HANDLER))?;
    let mut function = Function {
        name,
        runtime: runtime.to_owned(),
        handler: String::new(),
        memory_mb: DEFAULT_MEMORY,
        timeout_seconds: DEFAULT_TIMEOUT,
        env_vars: BTreeMap::new(),
        source: None,
        version: 1,
    };
    read_settings(body, &mut function)?;
    body.region()?;
    let project = Some(call.project());
    if call.world.functions.index().0.contains_key(&(project, function.name.clone())) {
        let name = &function.name;
        return Err(Refusal::conflict(format!("the name {name} is already taken in this project")));
    }
    call.validate_billing()?;
    let now = call.now;
    let id = call.world.create(project, now, Timeline::new(now, STEPS), function);
    call.show::<Function>(201, id, "function created")
}

fn read(call: &mut Call<'_>) -> Reply {
    let id = call.find::<Function>()?.id;
    call.show::<Function>(200, id, "")
}

fn patch(call: &mut Call<'_>) -> Reply {
    let record = call.find::<Function>()?;
    let (id, old) = (record.id, record.body.clone());
    let mut new = old.clone();
    read_settings(&call.body, &mut new)?;
    if let Some(key) = call.body.optional("blob_key", |field| field.text(1, 1_024))? {
        let same = old.source.as_ref().filter(|blob| blob.key == key).cloned();
        new.source = Some(same.map_or_else(|| call.world.blob(id, key), Ok)?);
    }
    let now = call.now;
    // What changes nothing is no new version, unless the last one failed.
    if new != old || call.find::<Function>()?.status(now) == "failed" {
        new.version += 1;
        call.update::<Function>(id, |record| {
            record.body = new;
            record.timeline = Timeline::new(now, STEPS);
        });
    }
    call.show::<Function>(200, id, "function updated")
}

fn delete(call: &mut Call<'_>) -> Reply {
    let id = call.find::<Function>()?.id;
    call.world.functions.remove(id);
    call.world.table_mut::<Upload>().remove_all(id);
    Ok(done("function deleted"))
}

fn grant(call: &mut Call<'_>) -> Reply {
    let record = call.find::<Function>()?;
    let (id, project) = (record.id, record.project);
    Ok(call.grant(id, project))
}
