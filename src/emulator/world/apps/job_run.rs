//! `job_run`: runs of cron apps and one-off jobs, started by request or by schedule ("App job run"). Nothing is
//! executed: `mutate` sets how long a run takes and how it ends.

use uuid::Uuid;

use super::app::{find_app, find_live_deployment, reject_capped_change};
use crate::emulator::seeded_rng;
use crate::emulator::world::Time;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::app::{App, AppType};
use crate::emulator::world::records::app_parts::JobRun;
use crate::emulator::world::request::call::{Call, Reply};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Post, "/api/v1/apps/services/{id}/jobs/run", Access::Project, start_job_run),
    Route::new(Method::Get, "/api/v1/apps/services/{id}/jobs/runs", Access::Account, list_job_runs),
];

/// How many runs to keep per app.
const MAX_RUNS: usize = 20;
/// Seconds until a run starts.
const START_SECS: i64 = 1;

impl Handlers for JobRun {
    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let (run, status) = (&record.body, record.status(view.now));
        let ended = matches!(status, "succeeded" | "failed");
        let over = !JobRun::is_going(record, view.now);
        let mut history = record.timeline.history(view.now);
        let started = history.find(|(_, status)| *status == "running").map(|(at, _)| at);
        let code = if status == "failed" { run.exit_code.max(1) } else { run.exit_code };
        fields.write_field("id", &record.id);
        fields.write_field("service_id", &run.service_id);
        fields.write_field("deployment_id", &run.deployment_id);
        fields.write_field("trigger", &run.trigger);
        fields.write_field("status", status);
        fields.write_field("exit_code", &ended.then_some(code));
        fields.write_field("error", if ended { run.error.as_str() } else { "" });
        fields.write_field("scheduled_for", &run.scheduled_for);
        fields.write_field("started_at", &started);
        fields.write_field("finished_at", &record.timeline.status_since(view.now).filter(|_| over));
        fields.write_field("created_at", &record.created_at);
    }
}

/// Returns the timeline of a run: queued, running, then succeeded or failed. The values are assumed.
fn run_timeline(app: &App, now: Time) -> Timeline {
    let end = if app.job_exit_code == 0 { "succeeded" } else { "failed" };
    let seconds = app.job_seconds.max(START_SECS + 1);
    Timeline::new(now, &[(0, "queued"), (START_SECS, "running"), (seconds, end)])
}

fn unfinished_job_runs(world: &World, app: Uuid, now: Time) -> Vec<Uuid> {
    let going = world.job_runs.children_of(app).filter(|record| JobRun::is_going(record, now));
    going.map(|record| record.id).collect()
}

/// Starts a run; with `cron_concurrency` `replace`, unfinished runs are canceled. Whether `forbid` applies is
/// up to the caller.
fn add_job_run(world: &mut World, app: Uuid, now: Time, id: Uuid, trigger: &str) {
    let Some(record) = world.apps.get(app) else { return };
    let (project, timeline) = (record.project, run_timeline(&record.body, now));
    let code = record.body.job_exit_code;
    let error = if code == 0 { String::new() } else { format!("the command ended with {code}") };
    let replaces = record.body.cron_concurrency == "replace";
    let run = JobRun {
        service_id: app,
        deployment_id: find_live_deployment(world, app, now),
        trigger: trigger.to_owned(),
        scheduled_for: now,
        exit_code: code,
        error,
    };
    for going in if replaces { unfinished_job_runs(world, app, now) } else { Vec::new() } {
        world.job_runs.amend(going, |record| {
            record.timeline =
                record.timeline.clone().truncate_after(now).with_next_status(now, 0, "canceled");
        });
    }
    let record = TableRecord { id, project, created_at: now, updated_at: now, timeline, body: run };
    world.job_runs.insert(record);
    world.job_runs.prune(app, MAX_RUNS, |_| false);
}

/// Runs a cron app that is due, once for each scheduled time up to `until`, and computes the next time. If the clock
/// skips many runs, only those that would still be kept at the end are created.
pub(in crate::emulator::world) fn run_due_schedule(world: &mut World, app: Uuid, now: Time, until: Time) {
    let Some(record) = world.apps.get(app) else { return };
    let Some(schedule) = record.body.schedule() else {
        world.apps.amend(app, |record| record.body.next_run_at = None);
        return;
    };
    let end = limit_to_cap_change(world, now, until);
    start_scheduled_run(world, app, now);
    // Twice as many, because `forbid` omits runs while an earlier one takes long.
    let mut next = schedule.next(schedule.shortly_before(now, end, 2 * MAX_RUNS));
    while let Some(at) = next.filter(|at| *at <= end) {
        start_scheduled_run(world, app, at);
        next = schedule.next(at);
    }
    world.apps.amend(app, |record| record.body.next_run_at = next);
}

/// Starts a scheduled run, unless the app is not live or `forbid` applies to a run in progress.
fn start_scheduled_run(world: &mut World, app: Uuid, at: Time) {
    let Some(record) = world.apps.get(app).filter(|record| record.status(at) == "live") else { return };
    if record.body.cron_concurrency == "forbid" && !unfinished_job_runs(world, app, at).is_empty() {
        return;
    }
    // The id follows from app and time, so that omitted runs do not change other ids.
    let id = seeded_rng::nth_uuid(app.as_u64_pair().1, at.as_millisecond().unsigned_abs());
    add_job_run(world, app, at, id, "schedule");
}

/// Returns the time until which no event other than the schedule changes the apps, from `now` to `until`: a pause by
/// the spend cap ends the runs.
fn limit_to_cap_change(world: &World, now: Time, until: Time) -> Time {
    let cap = world.next_cap_change().unwrap_or(Time::MAX);
    until.min(cap).max(now)
}

fn start_job_run(call: &mut Call<'_>) -> Reply {
    let record = find_app(call)?;
    let (id, now, billing) = (record.id, call.now, record.body.billing);
    if !matches!(record.body.kind, AppType::Cron | AppType::Job) {
        return Err(ErrorResponse::bad_request("only cron and job apps can be run"));
    }
    reject_capped_change(call, &billing, "run")?;
    let record = find_app(call)?;
    let status = record.status(now);
    if status != "live" {
        return Err(ErrorResponse::conflict(format!("the app is {status}; it must be live to run")));
    }
    if record.body.cron_concurrency == "forbid" && !unfinished_job_runs(call.world, id, now).is_empty() {
        return Err(ErrorResponse::conflict(
            "a run is going, and cron_concurrency forbids another beside it",
        ));
    }
    let run = call.world.fresh_id();
    add_job_run(call.world, id, now, run, "manual");
    call.show_as::<JobRun>("run", 201, run, "job run started")
}

fn list_job_runs(call: &mut Call<'_>) -> Reply {
    let id = find_app(call)?.id;
    call.list_children::<JobRun>(id)
}
