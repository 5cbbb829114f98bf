//! `project`: the account's projects. The specification names the area only, so all of it is assumed.

use uuid::Uuid;

use super::project_member::remove_project_memberships;
use crate::emulator::world::compute::backup::{has_on_demand_backups, remove_scheduled_backups};
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::account::Project;
use crate::emulator::world::request::call::{Call, Reply, message_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::permission::Permission;
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/projects", Access::Account, list_projects),
    Route::new(Method::Post, "/api/v1/projects", Access::Account, create_project),
    Route::new(Method::Get, "/api/v1/projects/{id}", Access::Account, read_project),
    Route::new(Method::Patch, "/api/v1/projects/{id}", Access::Account, update_project),
    Route::new(Method::Delete, "/api/v1/projects/{id}", Access::Account, delete_project),
];

impl Handlers for Project {
    fn show(record: &TableRecord<Self>, _: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        fields.write_field("id", &record.id);
        fields.write_field("name", &record.body.name);
        fields.write_field("description", &record.body.description);
        fields.write_field("is_default", &record.body.is_default);
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
    }
}

const MAX_DESCRIPTION_CHARS: usize = 65_535;

fn list_projects(call: &mut Call<'_>) -> Reply {
    // A key that is a member of projects sees these; the account's role may let it see all.
    let all = Permission::from_name("projects:read")
        .is_some_and(|need| call.grant.account_permissions().holds(need));
    let Some(projects) = call.grant.visible_projects().filter(|_| !all) else {
        return call.list_records::<Project>();
    };
    let mut records: Vec<_> = projects.keys().filter_map(|id| call.world.projects.get(*id)).collect();
    records.sort_by_key(|record| std::cmp::Reverse((record.created_at, record.id)));
    let view = RenderContext { world: call.world, now: call.now, detail: false };
    call.list_of(&records, |fields, record| Project::show(record, view, fields))
}

fn create_project(call: &mut Call<'_>) -> Reply {
    let name = call.body.required_field("name", BodyField::name)?;
    let description =
        call.body.optional_field("description", |field| field.text(0, MAX_DESCRIPTION_CHARS))?;
    let body = Project { name, description: description.unwrap_or_default().to_owned(), is_default: false };
    let now = call.now;
    let id = call.world.create_record(None, now, Timeline::with_status(now, "active"), body);
    call.record_response::<Project>(201, id, "project created")
}

fn read_project(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<Project>()?.id;
    call.record_response::<Project>(200, id, "")
}

fn update_project(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<Project>()?.id;
    let name = call.body.optional_field("name", BodyField::name)?;
    let description =
        call.body.optional_field("description", |field| field.text(0, MAX_DESCRIPTION_CHARS))?;
    let description = description.map(str::to_owned);
    call.update::<Project>(id, |record| {
        record.body.name = name.unwrap_or_else(|| record.body.name.clone());
        record.body.description = description.unwrap_or_else(|| record.body.description.clone());
    });
    call.record_response::<Project>(200, id, "project updated")
}

fn delete_project(call: &mut Call<'_>) -> Reply {
    let project = call.find_by_path::<Project>()?;
    let id = project.id;
    if project.body.is_default {
        return Err(ErrorResponse::bad_request("the account's default project cannot be deleted"));
    }
    if has_objects(call.world, id) {
        return Err(ErrorResponse::conflict("the project still holds resources: delete them first"));
    }
    remove_project_memberships(call.world, id);
    remove_scheduled_backups(call.world, id);
    call.world.projects.remove(id);
    Ok(message_response("project deleted"))
}

/// Returns whether anything in a project would lose its project. Scheduled backups do not count: they are
/// removed with the project.
fn has_objects(world: &World, project: Uuid) -> bool {
    let project = Some(project);
    let counts = [
        world.vpcs.len(project),
        world.vms.len(project),
        world.volumes.len(project),
        world.snapshots.len(project),
        world.backup_schedules.len(project),
        world.databases.len(project),
        world.clusters.len(project),
        world.apps.len(project),
        world.functions.len(project),
    ];
    counts.iter().any(|count| *count > 0) || project.is_some_and(|id| has_on_demand_backups(world, id))
}
