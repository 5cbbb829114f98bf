//! The number of an app's instances: fixed, or bounds for autoscaling. The rules are those of "Errors",
//! case 5, and "Limits".

use super::app::{change_metered_app, find_undeleted_app, reject_capped_change};
use super::events::record_app_event;
use super::input::check_port;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::RequestBody as Input;
use crate::emulator::world::records::app::{App, AppType, replace_app_body};
use crate::emulator::world::request::call::{Call, Reply};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] =
    &[Route::new(Method::Post, "/api/v1/apps/services/{id}/scale", Access::Project, scale_app)];

/// Maximum number of instances of an app, fixed or autoscaled. Only an increase is checked against it.
const MAX_INSTANCES: i64 = 6;
/// Bound of the numbers in a body, far above any valid one: the rules below give better messages.
const FIELD_MAX: i64 = 1_000_000;
const DEFAULT_TARGET: i64 = 80;

/// Reads the scaling fields into an app; returns whether the body has any of them. A fixed number ends autoscaling,
/// and a bound starts it; the other bound then follows from the current number.
pub(in crate::emulator::world) fn read_scale(body: &Input, app: &mut App) -> Result<bool, ErrorResponse> {
    let old = app.clone();
    let instances = body.optional_field("instances", |field| field.integer(1, FIELD_MAX))?;
    let least = body.optional_field("min_replicas", |field| field.integer(0, FIELD_MAX))?;
    let most = body.optional_field("max_replicas", |field| field.integer(1, FIELD_MAX))?;
    let metric = body.optional_field("autoscaling_metric", |field| field.one_of(&["concurrency"]))?;
    let target = body.optional_field("autoscaling_target", |field| field.integer(1, FIELD_MAX))?;
    let scales = least.is_some() || most.is_some() || metric.is_some() || target.is_some();
    match (instances, scales) {
        (Some(_), true) => Err(ErrorResponse::bad_request(
            "instances is for a fixed number, and min_replicas, max_replicas, autoscaling_metric and \
             autoscaling_target are for one that varies: send either",
        )),
        (Some(count), false) => {
            below_limit("instances", count, old.max_replicas.unwrap_or(old.instances))?;
            (app.instances, app.min_replicas, app.max_replicas) = (count, None, None);
            app.autoscaling_target = None;
            check_scale(app).map(|()| true)
        }
        (None, true) => {
            let low = least
                .or(old.min_replicas)
                .unwrap_or_else(|| old.instances.min(most.unwrap_or(MAX_INSTANCES)));
            let high = most.or(old.max_replicas).unwrap_or_else(|| old.instances.max(low));
            below_limit("min_replicas", low, old.min_replicas.unwrap_or(old.instances))?;
            below_limit("max_replicas", high, old.max_replicas.unwrap_or(old.instances))?;
            (app.min_replicas, app.max_replicas) = (Some(low), Some(high));
            app.autoscaling_target = target.or(old.autoscaling_target).or(Some(DEFAULT_TARGET));
            check_scale(app).map(|()| true)
        }
        (None, false) => Ok(false),
    }
}

/// Refuses a number above the limit, unless it is not an increase: an app above the limit can always scale down.
fn below_limit(name: &str, wanted: i64, current: i64) -> Result<(), ErrorResponse> {
    if wanted > MAX_INSTANCES && wanted > current {
        return Err(ErrorResponse::bad_request(format!(
            "{name} {wanted} is too many: an app has at most {MAX_INSTANCES} instances"
        )));
    }
    Ok(())
}

/// Refuses scaling fields that contradict each other, do not fit the app's type, or make its port reserved.
fn check_scale(app: &App) -> Result<(), ErrorResponse> {
    if !app.kind.is_long_running() && (app.min_replicas.is_some() || app.instances > 1) {
        return Err(ErrorResponse::bad_request(
            "cron and job apps run one instance at a time: they cannot be scaled",
        ));
    }
    let (Some(low), Some(high)) = (app.min_replicas, app.max_replicas) else { return Ok(()) };
    if low > high {
        return Err(ErrorResponse::bad_request(format!(
            "min_replicas {low} is above max_replicas {high}: lower it, or raise max_replicas"
        )));
    }
    match app.kind {
        AppType::Worker => Err(ErrorResponse::bad_request(
            "workers cannot scale by themselves: set instances to a fixed number",
        )),
        AppType::Private if low > 0 => Err(ErrorResponse::bad_request(
            "an always-on private app cannot scale by itself: set min_replicas to 0 to let it scale to \
             zero, or instances to a fixed number",
        )),
        _ => check_port(app),
    }
}

fn scale_app(call: &mut Call<'_>) -> Reply {
    let record = find_undeleted_app(call)?;
    let (id, old) = (record.id, record.body.clone());
    let mut new = old.clone();
    if !read_scale(&call.body, &mut new)? {
        return Err(ErrorResponse::bad_request(
            "one of instances, min_replicas and max_replicas is required",
        ));
    }
    let most = |app: &App| app.max_replicas.unwrap_or(app.instances);
    if most(&new) > most(&old) || new.replica_count() > old.replica_count() {
        reject_capped_change(call, &new.billing, "scaled up")?;
        call.validate_billing()?;
    }
    call.adjust_billing(old.billing, old.monthly_price(), new.monthly_price())?;
    change_metered_app(call, id, |record| {
        replace_app_body(record, new);
    });
    record_app_event(call, id, "scaled", "");
    call.record_response::<App>(200, id, "app scaled")
}
