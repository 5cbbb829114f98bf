//! What apps are doing, and what they have used: instances, and the usage of a month.

use rust_decimal::Decimal;
use uuid::Uuid;

use super::app::App;
use super::deployment::Deployment;
use crate::emulator::chance;
use crate::emulator::world::engine::json_writer::Fields;
use crate::emulator::world::engine::message::Refusal;
use crate::emulator::world::engine::monthly_meter::MonthMeter;
use crate::emulator::world::engine::table::Record;
use crate::emulator::world::request::call::{Call, Reply, Scope, success};
use crate::emulator::world::router::{Access, Route};
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/apps/services/{id}/instances", Access::Account, instances),
    Route::new(Method::Get, "/api/v1/apps/usage", Access::Project, usage),
];

fn instances(call: &mut Call<'_>) -> Reply {
    let record = call.find_app()?;
    let status = record.status(call.now);
    let count = if status == "live" { record.body.replicas() } else { 0 };
    let deployment = Deployment::live(call.world, record.id, call.now);
    let numbers: Vec<i64> = (1..=count).collect();
    call.list_of(&numbers, |fields, number| {
        fields.put("id", &chance::id(record.id.as_u64_pair().1, number.unsigned_abs()));
        fields.put("name", &format!("{}-{number}", record.short_id()));
        fields.put("status", "running");
        fields.put("deployment_id", &deployment);
        fields.put("size", &record.body.size);
        fields.put("started_at", &record.timeline.since(call.now));
    })
}

/// What an app used in a month.
struct Used {
    id: Uuid,
    hours: Decimal,
    dollars: Decimal,
}

fn used(record: &Record<App>, call: &Call<'_>, current: bool) -> Used {
    // Brought up to now on a copy: a look changes nothing.
    let mut record = record.clone();
    record.meter(call.now);
    let amount = |meter: &MonthMeter| {
        if current { meter.current() } else { meter.previous() }
    };
    Used { id: record.id, hours: amount(&record.body.used), dollars: amount(&record.body.spent) }
}

fn usage(call: &mut Call<'_>) -> Reply {
    let value =
        |name: &str| call.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let period = value("period").unwrap_or("current");
    let current = match period {
        "current" => true,
        "previous" => false,
        _ => return Err(Refusal::bad("period must be current or previous")),
    };
    let apps: Vec<&Record<App>> = match value("service_id") {
        Some(text) => vec![call.find_app_named(text)?],
        None => call.world.apps.iter().filter(|record| in_scope(call.scope, record.project)).collect(),
    };
    let one = value("service_id").is_some();
    let whole = call.scope == Scope::Whole && !one;
    let services: Vec<_> = apps.into_iter().map(|record| used(record, call, current)).collect();
    let listed = services.iter().map(|used| used.dollars).sum();
    // What apps used that are no more counts for the account as a whole.
    let total = if whole { call.world.app_spend(call.now, current) } else { listed };
    Ok(success(200, "", |fields| {
        fields.object("data", |fields| {
            fields.put("period", period);
            fields.number("total_usd", total.round_dp(4));
            let known = services.iter().filter(|used| one || !used.hours.is_zero());
            fields.array("services", known, show);
        });
    }))
}

fn show(fields: &mut Fields<'_>, used: &Used) {
    fields.put("service_id", &used.id);
    fields.number("instance_hours", used.hours.round_dp(4));
    fields.number("usd", used.dollars.round_dp(4));
}

fn in_scope(scope: Scope, project: Option<Uuid>) -> bool {
    match scope {
        Scope::Whole => true,
        Scope::Project(wanted) => project == Some(wanted),
        Scope::Nowhere => false,
    }
}
