//! `preview`: copies of an app that is built from a repository, one per open pull request.
//!
//! An emulator gets no pull requests. To make previews visible, one is opened each time previews are turned on for an
//! app that is built from a repository.

use uuid::Uuid;

use super::app::{find_app, reject_capped_change};
use crate::emulator::seeded_rng;
use crate::emulator::world::Time;
use crate::emulator::world::engine::catalog::HOST_DOMAIN;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::app::App;
use crate::emulator::world::records::app_parts::Preview;
use crate::emulator::world::request::call::{Call, Reply, success_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/apps/services/{id}/previews", Access::Account, list_previews),
    Route::new(Method::Delete, "/api/v1/apps/previews/{id}", Access::Project, delete_preview),
    Route::new(Method::Post, "/api/v1/apps/previews/{id}/redeploy", Access::Project, redeploy_preview),
];

const STEPS: &[(i64, &str)] = &[(0, "building"), (15, "deploying"), (25, "live")];
/// Seconds from the request until a deleted preview is gone.
const DELETION_SECS: i64 = 5;

impl Handlers for Preview {
    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let preview = &record.body;
        let short = seeded_rng::derive_text(record.id, 2, b"abcdefghijklmnopqrstuvwxyz0123456789", 8);
        fields.write_field("id", &record.id);
        fields.write_field("service_id", &preview.service_id);
        fields.write_field("project_id", &record.project);
        fields.write_field("pull_request", &preview.pull_request);
        fields.write_field("branch", &preview.branch);
        fields.write_field("status", record.status(view.now));
        fields.write_field("url", &format!("https://{short}.preview.apps.{HOST_DOMAIN}"));
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
    }
}

/// Opens a preview of an app; no effect if the app is not built from a repository.
pub(in crate::emulator::world) fn add_app_preview(world: &mut World, app: Uuid, now: Time) {
    let Some(record) = world.apps.get(app).filter(|record| !record.body.repo.is_empty()) else { return };
    let (project, number) = (record.project, record.body.previews + 1);
    world.apps.amend(app, |record| record.body.previews = number);
    let preview = Preview { service_id: app, pull_request: number, branch: format!("preview-{number}") };
    world.create_record(project, now, Timeline::new(now, STEPS), preview);
}

fn list_previews(call: &mut Call<'_>) -> Reply {
    let id = find_app(call)?.id;
    call.list_children::<Preview>(id)
}

/// Finds the preview that the path identifies; refuses one that is being deleted, with 409.
fn find_active_preview<'c>(call: &'c Call<'_>) -> Result<&'c TableRecord<Preview>, ErrorResponse> {
    let record = call.find_by_path::<Preview>()?;
    match record.status(call.now) {
        "deleting" => Err(ErrorResponse::conflict("the preview is deleting")),
        _ => Ok(record),
    }
}

fn delete_preview(call: &mut Call<'_>) -> Reply {
    let (id, now) = (find_active_preview(call)?.id, call.now);
    call.update::<Preview>(id, |record| {
        record.timeline = Timeline::with_status(now, "deleting").gone_after(now, DELETION_SECS);
    });
    Ok(success_response(200, "preview deletion accepted", |fields| fields.write_field("accepted", &true)))
}

fn redeploy_preview(call: &mut Call<'_>) -> Reply {
    let record = find_active_preview(call)?;
    let (id, now) = (record.id, call.now);
    let billing = call.find_by_id::<App>(record.body.service_id)?.body.billing;
    reject_capped_change(call, &billing, "deployed")?;
    call.update::<Preview>(id, |record| record.timeline = Timeline::new(now, STEPS));
    call.record_response::<Preview>(200, id, "preview is being deployed")
}
