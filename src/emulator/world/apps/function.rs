//! `function`: serverless functions. (The specification names the area only: all of it is assumed.)

use std::collections::BTreeMap;

use super::input::read_env_variables;
use super::upload::{create_upload_grant, find_uploaded_archive};
use crate::emulator::seeded_rng;
use crate::emulator::world::engine::catalog::HOST_DOMAIN;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::{BodyField, RequestBody as Input};
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::app::SourceUpload;
use crate::emulator::world::records::app_parts::ServerlessFunction;
use crate::emulator::world::request::call::{Call, Reply, message_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/functions";
const ITEM: &str = "/api/v1/functions/{id}";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::Project, |call| call.list_records::<ServerlessFunction>()),
    Route::new(Method::Post, COLLECTION, Access::Project, create_function),
    Route::new(Method::Get, ITEM, Access::Account, read_function),
    Route::new(Method::Patch, ITEM, Access::Project, update_function),
    Route::new(Method::Delete, ITEM, Access::Project, delete_function),
    Route::new(
        Method::Post,
        "/api/v1/functions/{id}/source-upload",
        Access::Project,
        grant_function_upload,
    ),
];

const RUNTIMES: &[&str] = &["node20", "python312", "go122", "rust"];
const STEPS: &[(i64, &str)] = &[(0, "deploying"), (5, "active")];
const MAX_HANDLER_CHARS: usize = 253;
const DEFAULT_MEMORY: i64 = 128;
const DEFAULT_TIMEOUT: i64 = 30;

impl Handlers for ServerlessFunction {
    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let function = &record.body;
        let short = seeded_rng::derive_text(record.id, 3, b"abcdefghijklmnopqrstuvwxyz0123456789", 8);
        fields.write_field("id", &record.id);
        fields.write_field("project_id", &record.project);
        fields.write_field("name", &function.name);
        fields.write_field("status", record.status(view.now));
        fields.write_field("region", "us-east");
        fields.write_field("runtime", &function.runtime);
        fields.write_field("handler", &function.handler);
        fields.write_field("memory_mb", &function.memory_mb);
        fields.write_field("timeout_seconds", &function.timeout_seconds);
        if view.detail {
            fields.write_field("env_vars", &function.env_vars);
        }
        fields.write_field("blob_key", function.source.as_ref().map_or("", |blob| blob.key.as_str()));
        fields.write_field("version", &function.version);
        fields.write_field("url", &format!("https://{short}.functions.{HOST_DOMAIN}"));
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
    }
}

/// Reads the fields that create and update requests share; keeps those that the body omits.
fn read_settings(body: &Input, function: &mut ServerlessFunction) -> Result<(), ErrorResponse> {
    if let Some(handler) = body.optional_field("handler", |field| field.text(1, MAX_HANDLER_CHARS))? {
        handler.clone_into(&mut function.handler);
    }
    let memory = body.optional_field("memory_mb", |field| field.integer(128, 2_048))?;
    let timeout = body.optional_field("timeout_seconds", |field| field.integer(1, 300))?;
    function.memory_mb = memory.unwrap_or(function.memory_mb);
    function.timeout_seconds = timeout.unwrap_or(function.timeout_seconds);
    if let Some(variables) = body.optional_field("env_vars", read_env_variables)? {
        function.env_vars = variables;
    }
    Ok(())
}

fn create_function(call: &mut Call<'_>) -> Reply {
    let body = &call.body;
    let name = body.required_field("name", BodyField::name)?;
    let runtime = body.required_field("runtime", |field| field.one_of(RUNTIMES))?;
    body.required_field("handler", |field| field.text(1, MAX_HANDLER_CHARS))?;
    let mut function = ServerlessFunction {
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
    body.check_region()?;
    let project = Some(call.project_id());
    if call.world.functions.index().0.contains_key(&(project, function.name.clone())) {
        let name = &function.name;
        return Err(ErrorResponse::conflict(format!("the name {name} is already taken in this project")));
    }
    call.validate_billing()?;
    let now = call.now;
    let id = call.world.create_record(project, now, Timeline::new(now, STEPS), function);
    call.record_response::<ServerlessFunction>(201, id, "function created")
}

fn read_function(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<ServerlessFunction>()?.id;
    call.record_response::<ServerlessFunction>(200, id, "")
}

fn update_function(call: &mut Call<'_>) -> Reply {
    let record = call.find_by_path::<ServerlessFunction>()?;
    let (id, old) = (record.id, record.body.clone());
    let mut new = old.clone();
    read_settings(&call.body, &mut new)?;
    if let Some(key) = call.body.optional_field("blob_key", |field| field.text(1, 1_024))? {
        let same = old.source.as_ref().filter(|blob| blob.key == key).cloned();
        new.source = Some(same.map_or_else(|| find_uploaded_archive(call.world, id, key), Ok)?);
    }
    let now = call.now;
    // An update that changes nothing creates no new version, unless the last one failed.
    if new != old || call.find_by_path::<ServerlessFunction>()?.status(now) == "failed" {
        new.version += 1;
        call.update::<ServerlessFunction>(id, |record| {
            record.body = new;
            record.timeline = Timeline::new(now, STEPS);
        });
    }
    call.record_response::<ServerlessFunction>(200, id, "function updated")
}

fn delete_function(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<ServerlessFunction>()?.id;
    call.world.functions.remove(id);
    call.world.table_mut::<SourceUpload>().remove_all(id);
    Ok(message_response("function deleted"))
}

fn grant_function_upload(call: &mut Call<'_>) -> Reply {
    let record = call.find_by_path::<ServerlessFunction>()?;
    let (id, project) = (record.id, record.project);
    Ok(create_upload_grant(call, id, project))
}
