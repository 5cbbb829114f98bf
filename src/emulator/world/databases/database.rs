//! `database`: managed databases: how requests find and rename them, and their API representation.

use rust_decimal::Decimal;
use uuid::Uuid;

use crate::emulator::world::Time;
use crate::emulator::world::apps::database_link::remove_database_links;
use crate::emulator::world::engine::catalog::HOST_DOMAIN;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::money;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::time_after;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::database::{
    Database, database_short_id, private_endpoint, public_endpoint,
};
use crate::emulator::world::request::call::{Call, Reply};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

const ITEM: &str = "/api/v1/databases/{id}";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/databases", Access::Project, |call| call.list_records::<Database>()),
    Route::new(Method::Get, ITEM, Access::Account, read_database),
    Route::new(Method::Patch, ITEM, Access::Project, rename_database),
];

impl Handlers for Database {
    fn happen(world: &mut World, id: Uuid, _at: Time, _until: Time) {
        world.databases.remove(id);
        remove_database_links(world, id);
    }

    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let database = &record.body;
        fields.write_field("id", &record.id);
        fields.write_field("database_id", &database_short_id(record));
        fields.write_field("project_id", &record.project);
        fields.write_field("name", &database.name);
        fields.write_field("engine", &database.engine);
        fields.write_field("engine_version", &database.engine_version);
        fields.write_field("status", record.status(view.now));
        fields.write_field("status_message", &database.status_message);
        fields.write_field("region", "us-east");
        fields.write_field("plan_id", &database.plan_id);
        fields.write_field("storage_gb", &database.storage_gb);
        fields.write_field("ha_enabled", &database.ha_enabled);
        fields.write_field("replica_count", &database.replica_count);
        show_endpoints(record, fields);
        fields.write_field("billing_type", database.billing.as_str());
        fields.write_field("subscription_id", &text_or_empty(database.billing.subscription_id()));
        fields.write_number("price_per_hour", money::hourly_price(database.monthly_price()));
        fields.write_number("monthly_price", money::round_to_cents(database.monthly_price()));
        fields.write_field("is_free", &database.is_free());
        let paused =
            record.timeline.status_since(view.now).filter(|_| record.status(view.now) == "suspended");
        fields.write_field("suspended_at", &text_or_empty(paused));
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
        if view.detail {
            fields.write_field("extensions", &database.extensions);
            fields.write_field("engine_config", &database.engine_config);
        }
    }
}

fn show_endpoints(record: &TableRecord<Database>, fields: &mut JsonObjectWriter<'_>) {
    let database = &record.body;
    let (host, port) = private_endpoint(record).unwrap_or_default();
    fields.write_field("vpc_id", &text_or_empty(database.vpc_id));
    fields.write_field("connection_host", &host);
    fields.write_field("connection_port", &port);
    let (host, port) = public_endpoint(record).unwrap_or_default();
    fields.write_field("public_access", &database.public_access);
    fields.write_field("public_port", &port);
    fields.write_field("public_dns_hostname", &host);
    fields.write_field("public_allowlist", &database.public_allowlist);
}

/// Returns a value as a string; empty for `None`, as the service shows a field that is not set ("Database").
fn text_or_empty(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Finds the database that the path identifies, by id or short id; "not found" outside the request's scope.
pub(in crate::emulator::world) fn find_database<'c>(
    call: &'c Call<'_>,
) -> Result<&'c TableRecord<Database>, ErrorResponse> {
    let table = call.world.table::<Database>();
    let text = call.param(0);
    let id = table.index().short.get(text).copied().or_else(|| Uuid::try_parse(text).ok());
    call.require_visible(id.and_then(|id| table.get(id)))
}

/// Finds the database that the path identifies; refuses one that is being deleted, with 409.
pub(in crate::emulator::world) fn find_undeleted_database<'c>(
    call: &'c Call<'_>,
) -> Result<&'c TableRecord<Database>, ErrorResponse> {
    let record = find_database(call)?;
    match record.status(call.now) {
        status @ ("deleting" | "deleted") => {
            Err(ErrorResponse::conflict(format!("the database is {status}")))
        }
        _ => Ok(record),
    }
}

/// Returns a response with a database under the key `database`.
pub(in crate::emulator::world) fn respond_with_database(
    call: &Call<'_>,
    status: u16,
    id: Uuid,
    message: &str,
) -> Reply {
    call.show_as::<Database>("database", status, id, message)
}

/// Refuses a name that another database of the project has, with 409; `except` is the database that is being renamed.
pub(in crate::emulator::world) fn reject_taken_database_name(
    call: &Call<'_>,
    project: Option<Uuid>,
    name: &str,
    except: Option<Uuid>,
) -> Result<(), ErrorResponse> {
    if call.world.databases.index().is_name_taken(project, name, except) {
        return Err(ErrorResponse::conflict(format!("the name {name} is already taken in this project")));
    }
    Ok(())
}

/// Refuses a paid database with 402 if the account has no credit card ("Errors"); `month` is the monthly price.
pub(in crate::emulator::world) fn require_card_for_paid(
    call: &Call<'_>,
    month: Decimal,
) -> Result<(), ErrorResponse> {
    if call.world.account.card || month.is_zero() {
        return Ok(());
    }
    Err(ErrorResponse::payment_required(format!(
        "a paid database needs a card that can be charged automatically: add one at https://console.{HOST_DOMAIN}/billing/cards"
    )))
}

fn read_database(call: &mut Call<'_>) -> Reply {
    let id = find_database(call)?.id;
    respond_with_database(call, 200, id, "")
}

fn rename_database(call: &mut Call<'_>) -> Reply {
    let record = find_undeleted_database(call)?;
    let (id, project) = (record.id, record.project);
    let name = call.body.required_field("name", BodyField::name)?;
    reject_taken_database_name(call, project, &name, Some(id))?;
    call.update::<Database>(id, |record| record.body.name = name);
    respond_with_database(call, 200, id, "database renamed")
}

/// Returns the time of a daily backup by its number, past or future.
pub(in crate::emulator::world) fn backup_time(record: &TableRecord<Database>, number: i64) -> Time {
    time_after(record.created_at, number.saturating_mul(24 * 3_600))
}
