//! The life cycle of a database: creation, scale, restore, resume and deletion ("Database status").

use std::collections::BTreeMap;

use uuid::Uuid;

use super::access::{find_free_public_port, read_allowlist};
use super::database::{
    backup_time, find_database, find_undeleted_database, reject_taken_database_name, require_card_for_paid,
    respond_with_database,
};
use crate::emulator::seeded_rng;
use crate::emulator::world::Time;
use crate::emulator::world::engine::billing::Billing;
use crate::emulator::world::engine::catalog::{self, DatabasePlan};
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::{BodyField, RequestBody as Input};
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::compute::Vpc;
use crate::emulator::world::records::database::Database;
use crate::emulator::world::records::database_contents::DatabaseContents;
use crate::emulator::world::request::call::{Call, Reply, message_response};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Post, "/api/v1/databases", Access::Project, create_database),
    Route::new(Method::Delete, "/api/v1/databases/{id}", Access::Project, delete_database),
    Route::new(Method::Post, "/api/v1/databases/{id}/scale", Access::Project, scale_database),
    Route::new(Method::Post, "/api/v1/databases/{id}/resume", Access::Project, resume_database),
    Route::new(Method::Post, "/api/v1/databases/{id}/restore", Access::Project, restore_database),
    Route::new(Method::Get, "/api/v1/databases/{id}/backups", Access::Account, list_database_backups),
];

/// Statuses of a new database, by seconds.
const CREATING: &[(i64, &str)] = &[(0, "pending"), (2, "deploying"), (47, "running")];
const ENGINES: &[&str] = &["postgres", "mysql", "valkey", "clickhouse", "kafka"];
const MAX_STORAGE_GB: i64 = 65_536;
const MAX_REPLICAS: i64 = 16;
const MAX_EXTENSIONS: usize = 64;
/// How many daily backups a paid database has.
const MAX_BACKUPS: i64 = 7;

fn create_database(call: &mut Call<'_>) -> Reply {
    let mut database = read_new_database(&call.body)?;
    check_plan_rules(&database)?;
    let backups = call.body.optional_field("backups_enabled", BodyField::boolean)?.unwrap_or_default();
    if backups && database.is_free() {
        return Err(ErrorResponse::bad_request(
            "backups_enabled: the free plan has no backups; choose a paid plan",
        ));
    }
    let billing_type = call.billing_type()?;
    call.body.check_region()?;
    if let Some(vpc) = database.vpc_id {
        call.find_by_id::<Vpc>(vpc)?;
    }
    let project = call.project_id();
    reject_taken_database_name(call, Some(project), &database.name, None)?;
    call.validate_billing()?;
    require_card_for_paid(call, database.monthly_price())?;
    if database.public_access {
        database.public_port = Some(find_free_public_port(call, &database)?);
    }
    database.billing = call.begin_billing(billing_type, database.monthly_price())?;
    let timeline = database.coming_up(call.now, CREATING);
    let now = call.now;
    let id = call.world.create_record(Some(project), now, timeline, database);
    respond_with_database(call, 201, id, "database created")
}

/// Reads the body of a create request; the caller checks the plan's rules and fills in port and billing.
fn read_new_database(body: &Input) -> Result<Database, ErrorResponse> {
    let name = body.required_field("name", BodyField::name)?;
    let engine = body.optional_field("engine", |field| field.one_of(ENGINES))?.unwrap_or("postgres");
    let plan = require_plan(body.required_field("plan_id", |field| field.integer(0, i64::MAX))?)?;
    let storage = body.optional_field("storage_gb", |field| field.integer(1, MAX_STORAGE_GB))?;
    let list = body.optional_field("extensions", |field| {
        field.list(MAX_EXTENSIONS, |item| item.text(1, 63).map(str::to_owned))
    })?;
    Ok(Database {
        name,
        engine: engine.to_owned(),
        engine_version: read_engine_version(body, engine)?,
        plan_id: plan.id,
        storage_gb: storage.unwrap_or(plan.storage),
        ha_enabled: body.optional_field("ha_enabled", BodyField::boolean)?.unwrap_or_default(),
        replica_count: body
            .optional_field("replica_count", |field| field.integer(0, MAX_REPLICAS))?
            .unwrap_or_default(),
        vpc_id: body.optional_field("vpc_id", BodyField::uuid)?,
        public_access: body.optional_field("public_access", BodyField::boolean)?.unwrap_or_default(),
        public_port: None,
        public_allowlist: read_allowlist(body, "public_allowlist")?.unwrap_or_default(),
        extensions: list.unwrap_or_default(),
        engine_config: engine_config(body, engine)?,
        status_message: String::new(),
        billing: Billing::Payg,
        rotations: 0,
        users: BTreeMap::new(),
        restored: 0,
        saved_queries: BTreeMap::new(),
        contents: DatabaseContents::default(),
    })
}

fn require_plan(id: i64) -> Result<&'static DatabasePlan, ErrorResponse> {
    catalog::database_plan(id).ok_or_else(|| {
        ErrorResponse::bad_request(format!("plan_id {id} is not in the database plan catalog"))
    })
}

fn read_engine_version(body: &Input, engine: &str) -> Result<String, ErrorResponse> {
    let versions = catalog::find_engine(engine).map_or(&[][..], |engine| engine.versions);
    let newest = versions.first().copied().unwrap_or_default();
    let wanted = body.optional_field("engine_version", |field| field.text(1, 32))?.unwrap_or(newest);
    if versions.contains(&wanted) {
        return Ok(wanted.to_owned());
    }
    Err(ErrorResponse::bad_request(format!(
        "engine_version must be one of {} for {engine}",
        versions.join(", ")
    )))
}

/// Reads the engine's settings. Only valkey has one, with two values ("Errors", case 2).
fn engine_config(body: &Input, engine: &str) -> Result<BTreeMap<String, String>, ErrorResponse> {
    const KEY: &str = "maxmemory-policy";
    let Some(config) = body.optional_field("engine_config", BodyField::object)? else {
        return Ok(BTreeMap::new());
    };
    let mut read = BTreeMap::new();
    for (key, value) in config {
        let allowed = engine == "valkey" && key == KEY;
        let Some(word @ ("noeviction" | "allkeys-lru")) = value.as_str().filter(|_| allowed) else {
            return Err(ErrorResponse::bad_request(
                "engine_config takes maxmemory-policy (noeviction or allkeys-lru) of valkey only",
            ));
        };
        read.insert(key.clone(), word.to_owned());
    }
    Ok(read)
}

/// Refuses settings that the engine or the plan does not support ("Errors", case 2).
fn check_plan_rules(database: &Database) -> Result<(), ErrorResponse> {
    let engine = &database.engine;
    if let Some(plan) = database.plan().filter(|plan| plan.engine != engine) {
        let owner = plan.engine;
        return Err(ErrorResponse::bad_request(format!(
            "plan_id {} is a plan of {owner}: choose one of {engine}",
            plan.id
        )));
    }
    if database.replica_count > 0 && engine != "postgres" {
        return Err(ErrorResponse::bad_request(format!(
            "replica_count: {engine} has no read replicas; set it to 0"
        )));
    }
    if database.ha_enabled && database.is_free() {
        return Err(ErrorResponse::bad_request(
            "ha_enabled: the free plan has no high availability; choose a paid plan",
        ));
    }
    if !database.extensions.is_empty() && engine != "postgres" {
        return Err(ErrorResponse::bad_request("extensions are for postgres only"));
    }
    Ok(())
}

fn delete_database(call: &mut Call<'_>) -> Reply {
    let record = find_idle_database(call)?.clone();
    let now = call.now;
    call.world.refund(record.body.billing, record.body.monthly_price(), now);
    call.update::<Database>(record.id, |record| {
        record.timeline = Timeline::with_status(now, "deleting").gone_after(now, 10);
    });
    Ok(message_response("database deletion accepted"))
}

/// Finds the database that the path identifies; refuses it with 409 while a long operation is in progress.
fn find_idle_database<'c>(call: &'c Call<'_>) -> Result<&'c TableRecord<Database>, ErrorResponse> {
    let record = find_database(call)?;
    match record.status(call.now) {
        "running" | "warning" | "suspended" | "failed" => Ok(record),
        status => Err(ErrorResponse::conflict(format!(
            "the database is {status}; it must be running, warning, suspended or failed"
        ))),
    }
}

fn scale_database(call: &mut Call<'_>) -> Reply {
    let old = find_idle_database(call)?.clone();
    let mut new = old.body.clone();
    let wanted = call.body.optional_field("plan_id", |field| field.integer(0, i64::MAX))?;
    let storage = call.body.optional_field("storage_gb", |field| field.integer(1, MAX_STORAGE_GB))?;
    let ha = call.body.optional_field("ha_enabled", BodyField::boolean)?;
    let replicas = call.body.optional_field("replica_count", |field| field.integer(0, MAX_REPLICAS))?;
    if wanted.is_none() && storage.is_none() && ha.is_none() && replicas.is_none() {
        return Err(ErrorResponse::bad_request(
            "one of plan_id, storage_gb, ha_enabled and replica_count is required",
        ));
    }
    if let Some(size) = storage.filter(|size| *size < old.body.storage_gb) {
        return Err(ErrorResponse::bad_request(format!(
            "storage_gb {size} is smaller than the current {} GB: storage can only grow",
            old.body.storage_gb
        )));
    }
    if let Some(id) = wanted {
        let plan = require_plan(id)?;
        new.plan_id = id;
        // A larger plan includes more storage; a smaller one takes none away, because storage only grows.
        new.storage_gb = new.storage_gb.max(plan.storage);
    }
    new.storage_gb = storage.unwrap_or(new.storage_gb);
    new.ha_enabled = ha.unwrap_or(new.ha_enabled);
    new.replica_count = replicas.unwrap_or(new.replica_count);
    check_plan_rules(&new)?;
    call.validate_billing()?;
    pay_scale(call, &old.body, &mut new)?;
    let timeline = new.coming_up(call.now, &[(0, "resizing"), (30, "running")]);
    call.update::<Database>(old.id, |record| {
        record.body = new;
        record.timeline = timeline;
    });
    respond_with_database(call, 200, old.id, "database scale accepted")
}

/// Charges for a scale operation, or credits it. A free database that moves to a paid plan becomes a
/// monthly subscription ("Database status").
fn pay_scale(call: &mut Call<'_>, old: &Database, new: &mut Database) -> Result<(), ErrorResponse> {
    if old.is_free() && !new.is_free() {
        require_card_for_paid(call, new.monthly_price())?;
        new.billing = call.begin_billing("subscription", new.monthly_price())?;
        return Ok(());
    }
    call.adjust_billing(old.billing, old.monthly_price(), new.monthly_price()).map(|_| ())
}

fn resume_database(call: &mut Call<'_>) -> Reply {
    let record = find_undeleted_database(call)?;
    let (id, status) = (record.id, record.status(call.now));
    if status != "suspended" {
        return Err(ErrorResponse::conflict(format!(
            "the database is {status}; only a suspended one can be resumed"
        )));
    }
    let timeline = record.body.coming_up(call.now, &[(0, "deploying"), (60, "running")]);
    call.update::<Database>(id, |record| record.timeline = timeline);
    respond_with_database(call, 200, id, "database is being resumed")
}

/// Returns the numbers of the daily backups that exist, newest first: the day since the creation. A
/// free database has none.
fn daily_backup_numbers(record: &TableRecord<Database>, now: Time) -> Vec<i64> {
    if record.body.is_free() {
        return Vec::new();
    }
    let days = now.duration_since(record.created_at).as_hours() / 24;
    ((days - MAX_BACKUPS).max(0) + 1..=days).rev().collect()
}

fn backup_id(record: &TableRecord<Database>, number: i64) -> Uuid {
    seeded_rng::nth_uuid(record.id.as_u64_pair().1, u64::try_from(number).unwrap_or_default())
}

fn list_database_backups(call: &mut Call<'_>) -> Reply {
    let record = find_database(call)?;
    let numbers = daily_backup_numbers(record, call.now);
    let start = numbers.last().map(|number| backup_time(record, *number));
    call.list_of(&numbers, |fields, number| {
        fields.write_field("id", &backup_id(record, *number));
        fields.write_field("created_at", &backup_time(record, *number));
        fields.write_field("size_gb", &record.body.storage_gb);
        fields.write_field("restorable", &true);
        fields.write_field("restore_window_start", &start);
    })
}

fn restore_database(call: &mut Call<'_>) -> Reply {
    let record = find_idle_database(call)?.clone();
    let in_place = call.body.optional_field("in_place", BodyField::boolean)?.unwrap_or_default();
    choose_backup(call, &record)?;
    let now = call.now;
    if in_place {
        let timeline = record.body.coming_up(now, &[(0, "restoring"), (30, "running")]);
        call.update::<Database>(record.id, |record| record.timeline = timeline);
        return respond_with_database(call, 200, record.id, "database restore accepted");
    }
    call.validate_billing()?;
    require_card_for_paid(call, record.body.monthly_price())?;
    let mut copy = record.body.clone();
    let mut number = record.body.restored;
    let free = loop {
        number += 1;
        let name = format!("{}-restored-{number}", record.body.name);
        if reject_taken_database_name(call, record.project, &name, None).is_ok() {
            break name;
        }
    };
    copy.name = free;
    copy.restored = 0;
    copy.public_port = None;
    if copy.public_access {
        copy.public_port = Some(find_free_public_port(call, &copy)?);
    }
    copy.billing = call.begin_billing(record.body.billing.as_str(), copy.monthly_price())?;
    let timeline = copy.coming_up(now, CREATING);
    call.update::<Database>(record.id, |record| record.body.restored = number);
    let id = call.world.create_record(record.project, now, timeline, copy);
    respond_with_database(call, 201, id, "database restore accepted")
}

/// Refuses a restore from a backup (404) or a time (400) that does not exist; without either, the
/// newest backup is used.
fn choose_backup(call: &Call<'_>, record: &TableRecord<Database>) -> Result<(), ErrorResponse> {
    let numbers = daily_backup_numbers(record, call.now);
    let wanted = call.body.optional_field("backup_id", BodyField::uuid)?;
    let time = call.body.optional_field("restore_time", |field| field.text(1, 64))?;
    if let Some(id) = wanted {
        let known = numbers.iter().any(|number| backup_id(record, *number) == id);
        return if known { Ok(()) } else { Err(ErrorResponse::not_found("backup")) };
    }
    let Some(oldest) = numbers.last() else {
        return Err(ErrorResponse::not_found("backup"));
    };
    let Some(text) = time else { return Ok(()) };
    let time: Time = text.parse().map_err(|_| {
        ErrorResponse::bad_request("restore_time must be an RFC 3339 time such as 2026-01-31T12:00:00Z")
    })?;
    let start = backup_time(record, *oldest);
    if time < start || time > call.now {
        return Err(ErrorResponse::bad_request(format!(
            "restore_time must lie between {start} and {}",
            call.now
        )));
    }
    Ok(())
}
