//! `spend_settings`: the monthly cap on the cost of apps, and the action when it is reached ("App spend settings",
//! "Other state"). There is one record for the account, which the first change creates.

use rust_decimal::Decimal;
use uuid::Uuid;

use crate::emulator::world::apps::actions::resume_app;
use crate::emulator::world::apps::events::add_app_event;
use crate::emulator::world::engine::billing::Billing;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::account::{CapAction, SpendSettings};
use crate::emulator::world::records::app::{App, is_app_up, update_app_meters};
use crate::emulator::world::request::call::{Call, Reply, success_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext, ScheduledEvent};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::emulator::world::{ApiResponse, Time};
use crate::model::schema::Method;

const PATH: &str = "/api/v1/apps/spend-settings";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, PATH, Access::Account, |call| Ok(spend_settings_response(call, ""))),
    Route::new(Method::Patch, PATH, Access::Account, update_spend_settings),
];

impl Handlers for SpendSettings {
    fn show(record: &TableRecord<Self>, _view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        write_spend_settings(&record.body, fields);
    }
}

fn write_spend_settings(settings: &SpendSettings, fields: &mut JsonObjectWriter<'_>) {
    fields.write_field("enabled", &settings.enabled);
    match settings.monthly_cap_usd {
        Some(cap) => fields.write_number("monthly_cap_usd", cap),
        None => fields.write_field("monthly_cap_usd", &None::<i64>),
    }
    fields.write_field("cap_action", &settings.cap_action);
    fields.write_field("paused_by_cap", &settings.paused_by_cap);
}

/// Returns the next change of the cap: a pause when it is reached, or the start of a month; `None`
/// if neither can happen.
pub(in crate::emulator::world) fn next_spend_event(world: &World) -> Option<ScheduledEvent> {
    let at = world.next_cap_change()?;
    Some(ScheduledEvent { at, id: Uuid::nil(), happen: |world, _, at, _| apply_spend_cap(world, at) })
}

/// Pauses or resumes the pay-as-you-go apps, depending on the month's spend and the settings. An app that was paused
/// by a request stays paused.
fn apply_spend_cap(world: &mut World, now: Time) {
    let settings = world.current_spend_settings();
    let reached = settings.pause_cap().is_some_and(|cap| world.account.app_spend.current_amount() >= cap);
    if reached == settings.paused_by_cap {
        return;
    }
    let Some(id) = world.spend_settings.iter().next().map(|record| record.id) else { return };
    world.spend_settings.amend(id, |record| record.body.paused_by_cap = reached);
    let affected = |record: &&TableRecord<App>| {
        let payg = record.body.billing == Billing::Payg;
        if reached { payg && is_app_up(record) } else { record.body.paused_by_cap }
    };
    let apps: Vec<_> = world.apps.iter().filter(affected).map(|record| record.id).collect();
    for app in apps {
        if reached {
            pause_app_by_cap(world, app, now);
            add_app_event(world, app, now, "app.paused", "the monthly spend cap is reached");
        } else {
            resume_app(world, app, now);
            add_app_event(world, app, now, "app.resumed", "the monthly spend cap does not hold any more");
        }
    }
}

fn pause_app_by_cap(world: &mut World, app: Uuid, now: Time) {
    world.apps.update(app, now, |record| {
        update_app_meters(record, now);
        record.timeline = Timeline::with_status(now, "paused");
        record.body.paused_by_cap = true;
        record.body.next_run_at = None;
    });
}

fn spend_settings_response(call: &Call<'_>, message: &str) -> ApiResponse {
    success_response(200, message, |fields| {
        fields.write_object("settings", |fields| {
            write_spend_settings(call.world.current_spend_settings(), fields);
        });
    })
}

fn update_spend_settings(call: &mut Call<'_>) -> Reply {
    let mut settings = call.world.current_spend_settings().clone();
    let body = &call.body;
    settings.enabled = body.optional_field("enabled", BodyField::boolean)?.unwrap_or(settings.enabled);
    let cap = body.optional_field("monthly_cap_usd", |field| field.decimal(Decimal::ONE))?;
    settings.monthly_cap_usd = cap.or(settings.monthly_cap_usd);
    settings.cap_action =
        match body.optional_field("cap_action", |field| field.one_of(&["notify_only", "pause"]))? {
            Some("pause") => CapAction::Pause,
            Some(_) => CapAction::NotifyOnly,
            None => settings.cap_action,
        };
    let now = call.now;
    let id = call.world.spend_record(now);
    call.update::<SpendSettings>(id, |record| record.body = settings);
    apply_spend_cap(call.world, now);
    Ok(spend_settings_response(call, "spend settings updated"))
}
