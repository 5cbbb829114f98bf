//! Monitoring of apps: their instances, and their usage and cost per month.

use rust_decimal::Decimal;
use uuid::Uuid;

use super::app::{find_app, find_app_by_any_id, find_live_deployment};
use crate::emulator::seeded_rng;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::monthly_meter::MonthMeter;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::app::{App, app_short_id, update_app_meters};
use crate::emulator::world::request::call::{Call, Reply, success_response};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::grant::RequestScope;
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/apps/services/{id}/instances", Access::Account, list_instances),
    Route::new(Method::Get, "/api/v1/apps/usage", Access::Project, report_usage),
];

fn list_instances(call: &mut Call<'_>) -> Reply {
    let record = find_app(call)?;
    let status = record.status(call.now);
    let count = if status == "live" { record.body.replica_count() } else { 0 };
    let deployment = find_live_deployment(call.world, record.id, call.now);
    let numbers: Vec<i64> = (1..=count).collect();
    call.list_of(&numbers, |fields, number| {
        fields.write_field("id", &seeded_rng::nth_uuid(record.id.as_u64_pair().1, number.unsigned_abs()));
        fields.write_field("name", &format!("{}-{number}", app_short_id(record)));
        fields.write_field("status", "running");
        fields.write_field("deployment_id", &deployment);
        fields.write_field("size", &record.body.size);
        fields.write_field("started_at", &record.timeline.status_since(call.now));
    })
}

/// The usage of one app in one month: instance hours, and their cost in USD.
struct AppUsage {
    id: Uuid,
    hours: Decimal,
    dollars: Decimal,
}

/// Returns an app's usage in the current month, or in the previous one.
fn measure_usage(record: &TableRecord<App>, call: &Call<'_>, current: bool) -> AppUsage {
    // The usage is computed up to now on a copy: a read must not change the record.
    let mut record = record.clone();
    update_app_meters(&mut record, call.now);
    let amount = |meter: &MonthMeter| {
        if current { meter.current_amount() } else { meter.previous_amount() }
    };
    AppUsage { id: record.id, hours: amount(&record.body.used), dollars: amount(&record.body.spent) }
}

fn report_usage(call: &mut Call<'_>) -> Reply {
    let value =
        |name: &str| call.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let period = value("period").unwrap_or("current");
    let current = match period {
        "current" => true,
        "previous" => false,
        _ => return Err(ErrorResponse::bad_request("period must be current or previous")),
    };
    let apps: Vec<&TableRecord<App>> = match value("service_id") {
        Some(text) => vec![find_app_by_any_id(call, text)?],
        None => call.world.apps.iter().filter(|record| in_scope(call.scope, record.project)).collect(),
    };
    let one = value("service_id").is_some();
    let whole = call.scope == RequestScope::Unspecified && !one;
    let services: Vec<_> = apps.into_iter().map(|record| measure_usage(record, call, current)).collect();
    let listed = services.iter().map(|used| used.dollars).sum();
    // The account's total includes the usage of deleted apps.
    let total = if whole { call.world.app_spend(call.now, current) } else { listed };
    Ok(success_response(200, "", |fields| {
        fields.write_object("data", |fields| {
            fields.write_field("period", period);
            fields.write_number("total_usd", total.round_dp(4));
            let known = services.iter().filter(|used| one || !used.hours.is_zero());
            fields.write_object_array("services", known, write_usage);
        });
    }))
}

fn write_usage(fields: &mut JsonObjectWriter<'_>, used: &AppUsage) {
    fields.write_field("service_id", &used.id);
    fields.write_number("instance_hours", used.hours.round_dp(4));
    fields.write_number("usd", used.dollars.round_dp(4));
}

fn in_scope(scope: RequestScope, project: Option<Uuid>) -> bool {
    match scope {
        RequestScope::Unspecified => true,
        RequestScope::Project(wanted) => project == Some(wanted),
        RequestScope::UnknownProject => false,
    }
}
