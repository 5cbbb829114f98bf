//! `app_database_link`: databases whose address and login are passed to an app as variables ("Catalogue of other
//! endpoints", App platform). Each change redeploys a live app, because variables are set when an app starts.

use uuid::Uuid;

use super::app::{find_app, find_settled_app, find_undeleted_app};
use super::deployment::start_deployment;
use super::events::record_app_event;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::app::{App, app_short_id};
use crate::emulator::world::records::app_parts::AppLink;
use crate::emulator::world::records::database::Database;
use crate::emulator::world::request::call::{Call, Reply, message_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/apps/services/{id}/database-links";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::Account, list_app_links),
    Route::new(Method::Post, COLLECTION, Access::Project, create_app_link),
    Route::new(
        Method::Delete,
        "/api/v1/apps/services/{id}/database-links/{link}",
        Access::Project,
        delete_app_link,
    ),
    Route::new(
        Method::Post,
        "/api/v1/apps/services/{id}/database-links/{link}/rotate",
        Access::Project,
        rotate_app_link,
    ),
];

/// Variables that a link sets. Their values are secrets: no response contains them.
const VARIABLES: &[&str] = &[
    "DATABASE_URL",
    "DATABASE_HOST",
    "DATABASE_PORT",
    "DATABASE_NAME",
    "DATABASE_USER",
    "DATABASE_PASSWORD",
    "DATABASE_CA_CERT",
];

impl Handlers for AppLink {
    fn show(record: &TableRecord<Self>, _view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        fields.write_field("id", &record.id);
        fields.write_field("service_id", &record.body.service_id);
        fields.write_field("project_id", &record.project);
        fields.write_field("database_id", &record.body.database_id);
        fields.write_field("user", &record.body.user);
        fields.write_field("variables", VARIABLES);
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
    }
}

/// Removes the links to a deleted database; the apps keep running.
pub(in crate::emulator::world) fn remove_database_links(world: &mut World, database: Uuid) {
    let all = (database, Uuid::nil(), Uuid::nil())..=(database, Uuid::max(), Uuid::max());
    let links: Vec<_> = world.app_links.index().databases.range(all).map(|(_, _, id)| *id).collect();
    for link in links {
        world.app_links.remove(link);
    }
}

/// Refuses a database that does not exist (404) or cannot accept a new login yet (409).
pub(in crate::emulator::world) fn require_linkable_database(
    call: &Call<'_>,
    database: Uuid,
) -> Result<(), ErrorResponse> {
    let record = call.find_by_id::<Database>(database)?;
    match record.status(call.now) {
        "running" | "warning" => Ok(()),
        status => Err(ErrorResponse::conflict(format!("the database is {status}; it must be running"))),
    }
}

/// Creates a login to a database for an app; returns the link's id. The login's name begins with `app_`,
/// which users cannot have.
pub(in crate::emulator::world) fn create_database_link(
    call: &mut Call<'_>,
    app: Uuid,
    database: Uuid,
) -> Result<Uuid, ErrorResponse> {
    let record = call.find_by_id::<App>(app)?;
    let (project, user) = (record.project, format!("app_{}", app_short_id(record)));
    let now = call.now;
    let body = AppLink { service_id: app, database_id: database, user, rotations: 0 };
    Ok(call.world.create_record(project, now, Timeline::with_status(now, "active"), body))
}

fn list_app_links(call: &mut Call<'_>) -> Reply {
    let id = find_app(call)?.id;
    call.list_children::<AppLink>(id)
}

fn create_app_link(call: &mut Call<'_>) -> Reply {
    let app = find_settled_app(call)?.id;
    let database = call.body.required_field("database_id", BodyField::uuid)?;
    require_linkable_database(call, database)?;
    let same = (database, app, Uuid::nil())..=(database, app, Uuid::max());
    if call.world.app_links.index().databases.range(same).next().is_some() {
        return Err(ErrorResponse::conflict("the database is linked to the app already"));
    }
    let id = create_database_link(call, app, database)?;
    record_app_event(call, app, "database_linked", "");
    redeploy_live_app(call, app);
    call.record_response::<AppLink>(201, id, "database linked")
}

/// Returns the ids of the app and the link that the path identifies; "not found" for a link of another app.
fn find_app_link(call: &Call<'_>) -> Result<(Uuid, Uuid), ErrorResponse> {
    let app = find_undeleted_app(call)?.id;
    let id = Uuid::try_parse(call.param(1)).ok();
    let found = id.and_then(|id| call.world.app_links.get(id));
    let found = found.filter(|record| record.body.service_id == app);
    found.map(|record| (app, record.id)).ok_or_else(|| ErrorResponse::not_found("database link"))
}

fn delete_app_link(call: &mut Call<'_>) -> Reply {
    let (app, link) = find_app_link(call)?;
    call.world.app_links.remove(link);
    record_app_event(call, app, "database_unlinked", "");
    redeploy_live_app(call, app);
    Ok(message_response("database unlinked"))
}

fn rotate_app_link(call: &mut Call<'_>) -> Reply {
    let (app, link) = find_app_link(call)?;
    call.update::<AppLink>(link, |record| record.body.rotations += 1);
    redeploy_live_app(call, app);
    call.record_response::<AppLink>(200, link, "password changed")
}

/// Redeploys a live app, so that it gets the new variables.
fn redeploy_live_app(call: &mut Call<'_>, app: Uuid) {
    let now = call.now;
    if call.world.apps.get(app).is_some_and(|record| record.status(now) == "live") {
        start_deployment(call.world, app, now, "database_link");
    }
}
