//! `backup`: copies of a VM's disk, created on demand or by a schedule.
//!
//! A backup outlives its VM and its schedule. It exists, and is billed, until it is deleted or its schedule's
//! retention removes it. A backup from a schedule is also removed with its project: no user requested it
//! individually, so it does not prevent the deletion of the project.

use uuid::Uuid;

use super::vm_actions::{self, require_stable_vm};
use crate::emulator::world::Time;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::money::{self};
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::{Timeline, time_after};
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::compute::{Backup, Vm, backup_price};
use crate::emulator::world::request::call::{Call, Reply, message_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/backups";
const ITEM: &str = "/api/v1/backups/{id}";

// A read by id needs no project header: "Authentication" asks for it on changes only.
pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::ProjectStated, |call| call.list_records::<Backup>()),
    Route::new(Method::Post, COLLECTION, Access::ProjectStated, create_backup),
    Route::new(Method::Get, ITEM, Access::Account, read_backup),
    Route::new(Method::Delete, ITEM, Access::ProjectStated, delete_backup),
    Route::new(Method::Post, "/api/v1/backups/{id}/restore", Access::ProjectStated, restore_backup),
];

/// Statuses of a new backup, by seconds. The values after `pending` are assumed ("Backup").
const CREATING: &[(i64, &str)] = &[(0, "pending"), (15, "completed")];

/// Returns when the schedule's retention removes the backup; `None` for an on-demand backup, which never expires,
/// and for one whose schedule was deleted.
fn expiry_time(record: &TableRecord<Backup>, world: &World) -> Option<Time> {
    let schedule = world.backup_schedules.get(record.body.schedule?)?;
    Some(time_after(record.created_at, schedule.body.period_secs() * schedule.body.retention))
}

impl Handlers for Backup {
    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let backup = &record.body;
        fields.write_field("id", &record.id);
        fields.write_field("name", &backup.name);
        fields.write_field("storage_size", &backup.storage_size);
        fields.write_field("status", record.status(view.now));
        fields.write_field("account_id", &view.world.account.id);
        fields.write_field("project_id", &record.project);
        fields.write_field("created_by", &backup.created_by);
        fields.write_field("region", "us-east");
        fields.write_field("product_vm", &backup.product_vm);
        fields.number_text("price_per_hour", money::hourly_price(backup.monthly_price()));
        fields.write_field("expire_date", &expiry_time(record, view.world));
        fields.write_field("increment_id", &backup.increment_id);
        fields.write_field("created_at", &record.created_at);
    }
}

fn create_backup(call: &mut Call<'_>) -> Reply {
    let vm_id = call.body.required_field("vm_id", BodyField::uuid)?;
    let name = call.body.required_field("name", BodyField::name)?;
    let vm = call.find_by_id::<Vm>(vm_id)?;
    require_stable_vm(vm.status(call.now))?;
    let (storage_size, paid) = (vm.body.disk_size(), vm.body.billing.as_str());
    call.validate_billing()?;
    // A backup is billed in the same way as its VM.
    let billing = call.begin_billing(paid, backup_price(storage_size))?;
    let increment_id = call.world.backups.index().latest_number(vm_id) + 1;
    let (now, project, created_by) = (call.now, call.project_id(), call.caller_id());
    let body =
        Backup { name, product_vm: vm_id, storage_size, increment_id, created_by, schedule: None, billing };
    let id = call.world.create_record(Some(project), now, Timeline::new(now, CREATING), body);
    call.record_response::<Backup>(201, id, "backup accepted")
}

/// Returns whether a project has on-demand backups, which prevent its deletion.
pub(in crate::emulator::world) fn has_on_demand_backups(world: &World, project: Uuid) -> bool {
    let made = world.backups.index().scheduled_in(project).count();
    world.backups.len(Some(project)) > made
}

/// Removes the scheduled backups of a project.
pub(in crate::emulator::world) fn remove_scheduled_backups(world: &mut World, project: Uuid) {
    let made: Vec<_> = world.backups.index().scheduled_in(project).collect();
    for id in made {
        world.backups.remove(id);
    }
}

/// Creates the backup of a schedule's run, whether or not the account can pay: it is billed by the hour, because
/// there is no caller to report an insufficient balance to.
pub(in crate::emulator::world) fn create_scheduled_backup(
    world: &mut World,
    id: Uuid,
    project: Option<Uuid>,
    now: Time,
    body: Backup,
) {
    let timeline = Timeline::new(now, CREATING);
    world.backups.insert(TableRecord { id, project, created_at: now, updated_at: now, timeline, body });
}

fn read_backup(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<Backup>()?.id;
    call.record_response::<Backup>(200, id, "")
}

fn delete_backup(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<Backup>()?.id;
    if let Some(backup) = call.world.backups.remove(id) {
        call.world.refund(backup.body.billing, backup.body.monthly_price(), call.now);
    }
    Ok(message_response("backup deleted"))
}

fn restore_backup(call: &mut Call<'_>) -> Reply {
    let record = call.find_by_path::<Backup>()?;
    let (id, vm, status) = (record.id, record.body.product_vm, record.status(call.now));
    if status != "completed" {
        return Err(ErrorResponse::conflict(format!("the backup is {status}; it must be completed")));
    }
    vm_actions::restore_vm_disk(call, vm)?;
    call.record_response::<Backup>(200, id, "restore accepted")
}
