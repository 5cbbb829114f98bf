//! `app`: services of the application platform: how requests find and change them.

use uuid::Uuid;

use crate::emulator::world::Time;
use crate::emulator::world::engine::billing::Billing;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::app::{App, update_app_meters};
use crate::emulator::world::request::call::{Call, Reply};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

pub(in crate::emulator::world) const ITEM: &str = "/api/v1/apps/services/{id}";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/apps/services", Access::Project, |call| call.list_records::<App>()),
    Route::new(Method::Get, ITEM, Access::Account, read_app),
];

/// Returns the id of an app's deployment that is live at a time; `None` before the first one is.
pub(in crate::emulator::world) fn find_live_deployment(
    world: &World,
    app: Uuid,
    now: Time,
) -> Option<Uuid> {
    let mut all = world.deployments.children_of(app);
    all.find(|record| record.status(now) == "live").map(|record| record.id)
}

/// Finds the app that the path identifies, by id or short id; "not found" outside the request's scope.
pub(in crate::emulator::world) fn find_app<'c>(
    call: &'c Call<'_>,
) -> Result<&'c TableRecord<App>, ErrorResponse> {
    find_app_by_any_id(call, call.param(0))
}

/// Finds an app by id or short id; "not found" outside the request's scope.
pub(in crate::emulator::world) fn find_app_by_any_id<'c>(
    call: &'c Call<'_>,
    text: &str,
) -> Result<&'c TableRecord<App>, ErrorResponse> {
    let table = call.world.table::<App>();
    let id = table.index().short.get(text).copied().or_else(|| Uuid::try_parse(text).ok());
    call.require_visible(id.and_then(|id| table.get(id)))
}

/// Finds the app that the path identifies; refuses one that is being deleted, with 409.
pub(in crate::emulator::world) fn find_undeleted_app<'c>(
    call: &'c Call<'_>,
) -> Result<&'c TableRecord<App>, ErrorResponse> {
    let record = find_app(call)?;
    match record.status(call.now) {
        "deleting" => Err(ErrorResponse::conflict("the app is deleting")),
        _ => Ok(record),
    }
}

/// Finds the app that the path identifies; refuses one that is building, deploying or being deleted, with 409.
pub(in crate::emulator::world) fn find_settled_app<'c>(
    call: &'c Call<'_>,
) -> Result<&'c TableRecord<App>, ErrorResponse> {
    let record = find_app(call)?;
    match record.status(call.now) {
        status @ ("building" | "deploying" | "deleting") => {
            Err(ErrorResponse::conflict(format!("the app is {status}; wait until it has settled")))
        }
        _ => Ok(record),
    }
}

/// Updates an app's meters, then applies a change to the app: the old price applies to the time before the change.
pub(in crate::emulator::world) fn change_metered_app(
    call: &mut Call<'_>,
    id: Uuid,
    change: impl FnOnce(&mut TableRecord<App>),
) {
    let now = call.now;
    call.update::<App>(id, |record| {
        update_app_meters(record, now);
        change(record);
    });
}

/// Refuses a change that raises a pay-as-you-go app's cost with 412 while the cap has paused the apps ("Errors").
/// `verb` is a participle for the message, such as `resumed`.
pub(in crate::emulator::world) fn reject_capped_change(
    call: &Call<'_>,
    billing: &Billing,
    verb: &str,
) -> Result<(), ErrorResponse> {
    if *billing != Billing::Payg || !call.world.current_spend_settings().paused_by_cap {
        return Ok(());
    }
    Err(ErrorResponse::new(
        412,
        "Precondition Failed",
        format!(
            "pay-as-you-go apps are paused by the monthly spend cap, and none can be {verb} until the \
             cap is raised or turned off, or a new month starts"
        ),
    ))
}

fn read_app(call: &mut Call<'_>) -> Reply {
    let id = find_app(call)?.id;
    call.record_response::<App>(200, id, "")
}
