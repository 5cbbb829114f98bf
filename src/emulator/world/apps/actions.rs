//! The life cycle of an app: creation, changes, pause, resume and deletion. Statuses other than those that the
//! specification names are assumed ("Other state").

use std::collections::BTreeMap;

use uuid::Uuid;

use super::app::{
    ITEM, change_metered_app, find_app, find_live_deployment, find_undeleted_app, reject_capped_change,
};
use super::database_link::{create_database_link, require_linkable_database};
use super::deployment::start_deployment;
use super::events::record_app_event;
use super::input::{read_branch, read_settings, read_source};
use super::job_run::run_due_schedule;
use super::preview::add_app_preview;
use super::scaling::read_scale;
use crate::emulator::world::Time;
use crate::emulator::world::engine::app_sizes::SIZES;
use crate::emulator::world::engine::billing::Billing;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::money;
use crate::emulator::world::engine::monthly_meter::MonthMeter;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::app::{
    App, AppType, SourceUpload, app_short_id, app_url, is_app_up, replace_app_body, schedule_next_run,
    update_app_meters,
};
use crate::emulator::world::records::app_parts::{
    AppDomain, AppEvent, AppLink, Deployment, JobRun, Preview,
};
use crate::emulator::world::request::call::{Call, Reply, message_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Post, "/api/v1/apps/services", Access::Project, create_app),
    Route::new(Method::Patch, ITEM, Access::Project, update_app),
    Route::new(Method::Delete, ITEM, Access::Project, delete_app),
    Route::new(Method::Post, "/api/v1/apps/services/{id}/pause", Access::Project, pause_app),
    Route::new(Method::Post, "/api/v1/apps/services/{id}/resume", Access::Project, resume_paused_app),
];

const APP_TYPES: &[&str] = &["web", "private", "worker", "cron", "job"];
/// Port of a web or private app whose request names none.
const DEFAULT_PORT: i64 = 8_080;
/// Seconds from the request until a deleted app is gone.
const DELETION_SECS: i64 = 5;
/// Seconds until a resumed app is live again, without a new deployment.
const RESUME_SECS: i64 = 10;

fn create_app(call: &mut Call<'_>) -> Reply {
    let mut app = read_new_app(call)?;
    let database = call.body.optional_field("link_database_id", BodyField::uuid)?;
    let deploy = deploys_now(call, &app)?;
    let billing_type = call.billing_type()?;
    call.body.check_region()?;
    let project = call.project_id();
    reject_taken_app_name(call, Some(project), &app.name, None)?;
    if let Some(database) = database {
        require_linkable_database(call, database)?;
    }
    if billing_type == "payg" {
        reject_capped_change(call, &Billing::Payg, "created")?;
    }
    call.validate_billing()?;
    app.billing = call.begin_billing(billing_type, app.monthly_price())?;
    let now = call.now;
    let previews = app.previews_enabled;
    let waiting = if app.is_uploaded() { "awaiting_source" } else { "paused" };
    let id = call.world.create_record(Some(project), now, Timeline::with_status(now, waiting), app);
    record_app_event(call, id, "created", "");
    if deploy {
        start_deployment(call.world, id, now, "create");
    }
    if let Some(database) = database {
        create_database_link(call, id, database)?;
    }
    if previews {
        add_app_preview(call.world, id, now);
    }
    call.record_response::<App>(201, id, "app service created")
}

/// Reads and checks the body of a create request; the caller fills in billing.
fn read_new_app(call: &Call<'_>) -> Result<App, ErrorResponse> {
    let body = &call.body;
    let name = body.required_field("name", BodyField::name)?;
    let kind = match body.required_field("type", |field| field.one_of(APP_TYPES))? {
        "web" => AppType::Web,
        "private" => AppType::Private,
        "worker" => AppType::Worker,
        "cron" => AppType::Cron,
        _ => AppType::Job,
    };
    let mut app = App { name, ..default_app(kind, call.now) };
    read_source(body, &mut app)?;
    read_scale(body, &mut app)?;
    read_settings(body, &mut app)?;
    Ok(app)
}

fn default_app(kind: AppType, now: Time) -> App {
    App {
        name: String::new(),
        kind,
        description: String::new(),
        image: String::new(),
        repo: String::new(),
        branch: String::new(),
        github_installation_id: String::new(),
        source: None,
        size: SIZES.first().map_or("", |size| size.slug).to_owned(),
        start_command: String::new(),
        port: kind.has_port().then_some(DEFAULT_PORT),
        health_check_path: String::new(),
        cron_schedule: String::new(),
        cron_timezone: "UTC".to_owned(),
        cron_concurrency: "allow".to_owned(),
        previews_enabled: false,
        env_vars: BTreeMap::new(),
        instances: 1,
        min_replicas: None,
        max_replicas: None,
        autoscaling_target: None,
        billing: Billing::Payg,
        paused_by_cap: false,
        deployments: 0,
        changed: false,
        previews: 0,
        job_exit_code: 0,
        job_seconds: 5,
        next_run_at: None,
        used: MonthMeter::new(now),
        spent: MonthMeter::new(now),
    }
}

/// Returns whether a new app is deployed at once, the default. An app built from uploaded source never is, because
/// nothing is uploaded yet.
fn deploys_now(call: &Call<'_>, app: &App) -> Result<bool, ErrorResponse> {
    let wanted = call.body.optional_field("deploy_now", BodyField::boolean)?;
    if app.is_uploaded() {
        return match wanted {
            Some(true) => Err(ErrorResponse::bad_request(
                "deploy_now is refused for an app built from uploaded source: upload it, then create a \
                 deployment with its blob_key",
            )),
            _ => Ok(false),
        };
    }
    Ok(wanted.unwrap_or(true))
}

/// Returns whether a change affects how the app runs, so that a live app needs a deployment.
fn rolls_out(old: &App, new: &App) -> bool {
    let runs = |app: &App| {
        (
            app.start_command.clone(),
            app.port,
            app.health_check_path.clone(),
            app.size.clone(),
            app.branch.clone(),
        )
    };
    runs(old) != runs(new) || old.env_vars != new.env_vars
}

fn update_app(call: &mut Call<'_>) -> Reply {
    let record = find_undeleted_app(call)?;
    let (id, project, old) = (record.id, record.project, record.body.clone());
    let status = record.status(call.now).to_owned();
    let mut new = old.clone();
    new.name = call.body.optional_field("name", BodyField::name)?.unwrap_or(new.name);
    read_branch(&call.body, &mut new)?;
    read_settings(&call.body, &mut new)?;
    reject_taken_app_name(call, project, &new.name, Some(id))?;
    let changes = rolls_out(&old, &new);
    let deploys = match status.as_str() {
        // Any change to a failed app deploys it ("Catalogue of other endpoints", App platform).
        "failed" => new != old,
        "live" | "building" | "deploying" => changes,
        _ => false,
    };
    if deploys {
        reject_capped_change(call, &new.billing, "deployed")?;
    }
    if new.monthly_price() > old.monthly_price() {
        call.validate_billing()?;
    }
    call.adjust_billing(old.billing, old.monthly_price(), new.monthly_price())?;
    let now = call.now;
    let opens = new.previews_enabled && !old.previews_enabled;
    // A paused app gets its deployment when it is resumed.
    new.changed |= changes && status == "paused";
    change_metered_app(call, id, |record| {
        replace_app_body(record, new);
        schedule_next_run(record, now);
    });
    record_app_event(call, id, "updated", "");
    if deploys {
        start_deployment(call.world, id, now, "change");
    }
    if opens {
        add_app_preview(call.world, id, now);
    }
    call.record_response::<App>(200, id, "app service updated")
}

fn delete_app(call: &mut Call<'_>) -> Reply {
    let record = find_undeleted_app(call)?.clone();
    let now = call.now;
    call.world.refund(record.body.billing, record.body.monthly_price(), now);
    change_metered_app(call, record.id, |record| {
        record.timeline = Timeline::with_status(now, "deleting").gone_after(now, DELETION_SECS);
        record.body.next_run_at = None;
    });
    Ok(message_response("app service deletion accepted"))
}

fn pause_app(call: &mut Call<'_>) -> Reply {
    let record = find_app(call)?;
    let (id, now) = (record.id, call.now);
    match record.status(now) {
        "live" => {}
        status => {
            return Err(ErrorResponse::conflict(format!(
                "the app is {status}; only a live one can be paused"
            )));
        }
    }
    change_metered_app(call, id, |record| {
        record.timeline = Timeline::with_status(now, "paused");
        record.body.next_run_at = None;
    });
    record_app_event(call, id, "paused", "");
    call.record_response::<App>(200, id, "app paused")
}

fn resume_paused_app(call: &mut Call<'_>) -> Reply {
    let record = find_app(call)?;
    let (id, billing, now) = (record.id, record.body.billing, call.now);
    match record.status(now) {
        "paused" => {}
        status => {
            return Err(ErrorResponse::conflict(format!(
                "the app is {status}; only a paused one can be resumed"
            )));
        }
    }
    reject_capped_change(call, &billing, "resumed")?;
    call.validate_billing()?;
    resume_app(call.world, id, now);
    record_app_event(call, id, "resumed", "");
    call.record_response::<App>(200, id, "app is being resumed")
}

impl Handlers for App {
    fn happen(world: &mut World, id: Uuid, at: Time, until: Time) {
        let leaving = world.apps.get(id).is_some_and(|record| record.timeline.gone_at().is_some());
        if leaving {
            remove_app_records(world, id);
        } else {
            run_due_schedule(world, id, at, until);
        }
    }

    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let app = &record.body;
        fields.write_field("id", &record.id);
        fields.write_field("service_id", &app_short_id(record));
        fields.write_field("project_id", &record.project);
        fields.write_field("name", &app.name);
        fields.write_field("type", &app.kind);
        fields.write_field("description", &app.description);
        fields.write_field("status", record.status(view.now));
        fields.write_field("region", "us-east");
        fields.write_field("image", &app.image);
        fields.write_field("repo", &app.repo);
        fields.write_field("branch", &app.branch);
        fields.write_field("github_installation_id", &app.github_installation_id.parse::<i64>().ok());
        fields.write_field("blob_key", app.source.as_ref().map_or("", |blob| blob.key.as_str()));
        fields.write_field("url", &app_url(record));
        let live = find_live_deployment(view.world, record.id, view.now);
        fields.write_field("live_deployment_id", &live.map(|id| id.to_string()).unwrap_or_default());
        fields.write_field("deployments", &app.deployments);
        show_settings(app, fields);
        if view.detail {
            fields.write_field("env_vars", &app.env_vars);
        }
        let up = is_app_up(record) && app.kind == AppType::Cron;
        fields.write_field("next_run_at", &app.next_run_at.filter(|_| up));
        let subscription = app.billing.subscription_id().map(|id| id.to_string());
        fields.write_field("billing_type", app.billing.as_str());
        fields.write_field("subscription_id", &subscription.unwrap_or_default());
        fields.write_number("price_per_hour", money::hourly_price(app.monthly_price()));
        fields.write_number("monthly_price", money::round_to_cents(app.monthly_price()));
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
    }
}

/// Writes the settings that determine how an app runs; those that do not apply to its type are `null`.
fn show_settings(app: &App, fields: &mut JsonObjectWriter<'_>) {
    fields.write_field("size", &app.size);
    fields.write_field("start_command", &app.start_command);
    fields.write_field("port", &app.port);
    fields.write_field("health_check_path", &app.health_check_path);
    fields.write_field("cron_schedule", &app.cron_schedule);
    fields.write_field("cron_timezone", &app.cron_timezone);
    fields.write_field("cron_concurrency", &app.cron_concurrency);
    fields.write_field("previews_enabled", &app.previews_enabled);
    let fixed = app.min_replicas.is_none() && app.kind.is_long_running();
    fields.write_field("instances", &fixed.then_some(app.instances));
    fields.write_field("min_replicas", &app.min_replicas);
    fields.write_field("max_replicas", &app.max_replicas);
    fields.write_field("autoscaling_metric", &app.min_replicas.map(|_| "concurrency"));
    fields.write_field("autoscaling_target", &app.autoscaling_target);
}

/// Refuses a name that another app of the project has, with 409; `except` is the app that is being renamed.
fn reject_taken_app_name(
    call: &Call<'_>,
    project: Option<Uuid>,
    name: &str,
    except: Option<Uuid>,
) -> Result<(), ErrorResponse> {
    if call.world.apps.index().is_name_taken(project, name, except) {
        return Err(ErrorResponse::conflict(format!("the name {name} is already taken in this project")));
    }
    Ok(())
}

/// Resumes a paused app, with the changes made to it meanwhile; no effect on an unknown id.
pub(in crate::emulator::world) fn resume_app(world: &mut World, id: Uuid, now: Time) {
    let Some(record) = world.apps.get(id) else { return };
    // An app that was never deployed has no version to resume.
    if record.body.changed || find_live_deployment(world, id, now).is_none() {
        world.apps.update(id, now, |record| record.body.paused_by_cap = false);
        start_deployment(world, id, now, "resume");
        return;
    }
    world.apps.update(id, now, |record| {
        update_app_meters(record, now);
        record.timeline = Timeline::new(now, &[(0, "deploying"), (RESUME_SECS, "live")]);
        record.body.paused_by_cap = false;
        schedule_next_run(record, now);
    });
}

/// Removes an app and all records that belong to it.
pub(in crate::emulator::world) fn remove_app_records(world: &mut World, id: Uuid) {
    world.apps.remove(id);
    world.table_mut::<Deployment>().remove_all(id);
    world.table_mut::<JobRun>().remove_all(id);
    world.table_mut::<Preview>().remove_all(id);
    world.table_mut::<AppDomain>().remove_all(id);
    world.table_mut::<AppLink>().remove_all(id);
    world.table_mut::<AppEvent>().remove_all(id);
    world.table_mut::<SourceUpload>().remove_all(id);
}
