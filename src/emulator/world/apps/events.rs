//! `app_event`: the events of an app: requested changes, which are stored, and the progress of its deployments, which
//! follows from their timelines ("Events").

use uuid::Uuid;

use super::app::find_app;
use crate::emulator::seeded_rng;
use crate::emulator::world::Time;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::app_parts::AppEvent;
use crate::emulator::world::request::call::{Call, Reply};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] =
    &[Route::new(Method::Get, "/api/v1/apps/services/{id}/events", Access::Account, list_app_events)];

/// How many events to keep per app, not counting those of deployments.
const MAX_EVENTS: usize = 100;

impl Handlers for AppEvent {
    fn show(record: &TableRecord<Self>, _view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        fields.write_field("id", &record.id);
        fields.write_field("service_id", &record.body.service_id);
        fields.write_field("type", &record.body.kind);
        fields.write_field("message", &record.body.message);
        fields.write_field("created_at", &record.created_at);
    }
}

/// Records an event of an app, `kind` in full; no effect for an unknown app.
pub(in crate::emulator::world) fn add_app_event(
    world: &mut World,
    app: Uuid,
    now: Time,
    kind: &str,
    message: &str,
) {
    let Some(project) = world.apps.get(app).map(|record| record.project) else { return };
    let event = AppEvent { service_id: app, kind: kind.to_owned(), message: message.to_owned() };
    world.create_record(project, now, Timeline::with_status(now, "noted"), event);
    world.app_events.prune(app, MAX_EVENTS, |_| false);
}

/// Records an event of an app for a request; `kind` is without `app.`.
pub(in crate::emulator::world) fn record_app_event(
    call: &mut Call<'_>,
    app: Uuid,
    kind: &str,
    message: &str,
) {
    let now = call.now;
    add_app_event(call.world, app, now, &format!("app.{kind}"), message);
}

/// An event in its API representation; `deployment` is `None` for a requested change.
struct AppEventView<'a> {
    at: Time,
    id: Uuid,
    kind: String,
    message: &'a str,
    deployment: Option<Uuid>,
}

fn list_app_events(call: &mut Call<'_>) -> Reply {
    let app = find_app(call)?.id;
    let noted = call.world.app_events.children_of(app).map(|record| AppEventView {
        at: record.created_at,
        id: record.id,
        kind: record.body.kind.clone(),
        message: &record.body.message,
        deployment: None,
    });
    let steps = call.world.deployments.children_of(app).flat_map(|record| {
        let (_, low) = record.id.as_u64_pair();
        record.timeline.history(call.now).zip(0..).map(move |((at, status), index)| AppEventView {
            at,
            id: seeded_rng::nth_uuid(low, index),
            kind: format!("deployment.{status}"),
            message: "",
            deployment: Some(record.id),
        })
    });
    let mut all: Vec<_> = noted.chain(steps).collect();
    all.sort_by_key(|event| std::cmp::Reverse((event.at, event.id)));
    call.list_of(&all, |fields, event| {
        fields.write_field("id", &event.id);
        fields.write_field("service_id", &app);
        fields.write_field("type", &event.kind);
        fields.write_field("message", event.message);
        fields.write_field("deployment_id", &event.deployment);
        fields.write_field("created_at", &event.at);
    })
}
