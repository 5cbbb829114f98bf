//! `deployment`: one rollout of an app, from the queue until it is live. Its statuses and times are assumed.

use uuid::Uuid;

use super::app::{change_metered_app, find_app, find_undeleted_app, reject_capped_change};
use super::input::{read_branch, read_image};
use super::upload::find_uploaded_archive;
use crate::emulator::world::Time;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::app::{App, replace_app_body, schedule_next_run, update_app_meters};
use crate::emulator::world::records::app_parts::Deployment;
use crate::emulator::world::request::call::{Call, Reply};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/apps/services/{id}/deployments";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::Account, list_deployments),
    Route::new(Method::Post, COLLECTION, Access::Project, create_deployment),
];

/// Statuses of a new deployment, by seconds.
const STEPS: &[(i64, &str)] =
    &[(0, "queued"), (2, "building"), (15, "deploying"), (DEPLOYMENT_SECS, "live")];
/// Statuses of an app that was not live before the deployment, by seconds.
const APP_STEPS: &[(i64, &str)] = &[(0, "building"), (15, "deploying"), (DEPLOYMENT_SECS, "live")];
/// Seconds until a deployment is live.
pub(in crate::emulator::world) const DEPLOYMENT_SECS: i64 = 25;
/// How many deployments to keep per app, besides the live one.
const MAX_DEPLOYMENTS: usize = 100;

impl Handlers for Deployment {
    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let deployment = &record.body;
        let status = record.status(view.now);
        fields.write_field("id", &record.id);
        fields.write_field("service_id", &deployment.service_id);
        fields.write_field("status", status);
        fields.write_field("trigger", &deployment.trigger);
        fields.write_field("image", &deployment.image);
        fields.write_field("branch", &deployment.branch);
        let blob = deployment.source.as_ref();
        fields.write_field("blob_key", blob.map_or("", |blob| blob.key.as_str()));
        fields.write_field("source_size", &blob.map(|blob| blob.size));
        fields.write_field("source_sha256", &blob.map(|blob| &blob.sha256));
        let finished = matches!(status, "live" | "failed" | "superseded");
        fields.write_field("finished_at", &record.timeline.status_since(view.now).filter(|_| finished));
        fields.write_field("created_at", &record.created_at);
    }
}

/// Starts a deployment of an app's current settings; a live app stays live meanwhile. Returns its id, or `None`
/// for an unknown app.
pub(in crate::emulator::world) fn start_deployment(
    world: &mut World,
    app: Uuid,
    now: Time,
    trigger: &str,
) -> Option<Uuid> {
    let record = world.apps.get(app)?;
    let (project, body) = (record.project, &record.body);
    let deployment = Deployment {
        service_id: app,
        trigger: trigger.to_owned(),
        image: body.image.clone(),
        branch: body.branch.clone(),
        source: body.source.clone(),
    };
    supersede_deployments(world, app, now);
    let id = world.create_record(project, now, Timeline::new(now, STEPS), deployment);
    world.deployments.prune(app, MAX_DEPLOYMENTS, |record| record.status(now) == "live");
    world.apps.amend(app, |record| {
        update_app_meters(record, now);
        if record.status(now) != "live" {
            record.timeline = Timeline::new(now, APP_STEPS);
        }
        record.body.deployments += 1;
        record.body.changed = false;
        schedule_next_run(record, now);
    });
    Some(id)
}

/// Ends the deployments that a new one supersedes: those in progress immediately, the live one when the
/// new one is live.
fn supersede_deployments(world: &mut World, app: Uuid, now: Time) {
    let mut ended = Vec::new();
    for record in world.deployments.children_of(app) {
        let so_far = || record.timeline.clone().truncate_after(now);
        if record.status(now) == "live" {
            ended.push((record.id, so_far().with_next_status(now, DEPLOYMENT_SECS, "superseded")));
            // Children are listed youngest first: all before the live one are superseded already.
            break;
        }
        if Deployment::in_progress(record, now) {
            ended.push((record.id, so_far().with_next_status(now, 0, "superseded")));
        }
    }
    for (id, timeline) in ended {
        world.deployments.amend(id, |record| record.timeline = timeline);
    }
}

fn list_deployments(call: &mut Call<'_>) -> Reply {
    let id = find_app(call)?.id;
    call.list_children::<Deployment>(id)
}

fn create_deployment(call: &mut Call<'_>) -> Reply {
    let record = find_undeleted_app(call)?;
    let (app, old) = (record.id, record.body.clone());
    let mut new = old.clone();
    read_branch(&call.body, &mut new)?;
    read_image(&call.body, &mut new)?;
    read_blob(call, app, &mut new)?;
    reject_capped_change(call, &new.billing, "deployed")?;
    call.validate_billing()?;
    let now = call.now;
    change_metered_app(call, app, |record| {
        replace_app_body(record, new);
    });
    let id = start_deployment(call.world, app, now, "manual")
        .ok_or_else(|| ErrorResponse::not_found("app service"))?;
    call.record_response::<Deployment>(201, id, "deployment created")
}

/// Reads the uploaded source to deploy; without a key, the most recently deployed one is used. Refuses a key for an
/// app that is not built from uploaded source.
fn read_blob(call: &Call<'_>, id: Uuid, app: &mut App) -> Result<(), ErrorResponse> {
    let key = call.body.optional_field("blob_key", |field| field.text(1, 1_024))?;
    match key {
        Some(_) if !app.is_uploaded() => {
            Err(ErrorResponse::bad_request("blob_key is for apps that are built from uploaded source"))
        }
        Some(key) if app.source.as_ref().is_some_and(|blob| blob.key == key) => Ok(()),
        Some(key) => {
            app.source = Some(find_uploaded_archive(call.world, id, key)?);
            Ok(())
        }
        None if app.is_uploaded() && app.source.is_none() => Err(ErrorResponse::bad_request(
            "blob_key is required: nothing was deployed yet that could be deployed again",
        )),
        None => Ok(()),
    }
}
