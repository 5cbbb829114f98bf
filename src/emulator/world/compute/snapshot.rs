//! `snapshot`: the state of a VM or a volume at one moment. The specification does not show the shapes,
//! so they are assumed.
//!
//! A snapshot outlives its source: it exists, and is billed, until it is deleted.

use super::vm_actions::{self, require_stable_vm};
use super::volume::{self};
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::money::{self};
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::compute::{DiskSnapshot, SnapshotSource, Vm, Volume, volume_status};
use crate::emulator::world::request::call::{Call, Reply, message_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/snapshots";
const ITEM: &str = "/api/v1/snapshots/{id}";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::ProjectStated, |call| call.list_records::<DiskSnapshot>()),
    Route::new(Method::Post, COLLECTION, Access::ProjectStated, create_snapshot),
    Route::new(Method::Get, ITEM, Access::Account, read_snapshot),
    Route::new(Method::Delete, ITEM, Access::ProjectStated, delete_snapshot),
    Route::new(Method::Post, "/api/v1/snapshots/{id}/restore", Access::ProjectStated, restore_snapshot),
    Route::new(Method::Patch, "/api/v1/snapshots/{id}/rename", Access::ProjectStated, rename_snapshot),
];

const CREATING: &[(i64, &str)] = &[(0, "pending"), (10, "available")];
const RESTORING: &[(i64, &str)] = &[(0, "restoring"), (10, "available")];

impl Handlers for DiskSnapshot {
    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let snapshot = &record.body;
        let (kind, vm, volume) = match snapshot.source {
            SnapshotSource::Vm(id) => ("vm", Some(id), None),
            SnapshotSource::Volume(id) => ("volume", None, Some(id)),
        };
        fields.write_field("id", &record.id);
        fields.write_field("name", &snapshot.name);
        fields.write_field("source_type", kind);
        fields.write_field("vm_id", &vm);
        fields.write_field("volume_id", &volume);
        fields.write_field("size", &snapshot.size);
        fields.write_field("status", record.status(view.now));
        fields.write_number("price_per_hour", money::hourly_price(snapshot.monthly_price()));
        fields.write_field("region", "us-east");
        fields.write_field("project_id", &record.project);
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
    }
}

fn create_snapshot(call: &mut Call<'_>) -> Reply {
    let name = call.body.required_field("name", BodyField::name)?;
    let vm = call.body.optional_field("vm_id", BodyField::uuid)?;
    let volume = call.body.optional_field("volume_id", BodyField::uuid)?;
    let (source, size) = match (vm, volume) {
        (Some(id), None) => {
            let vm = call.find_by_id::<Vm>(id)?;
            require_stable_vm(vm.status(call.now))?;
            (SnapshotSource::Vm(id), vm.body.disk_size())
        }
        (None, Some(id)) => {
            let volume = call.find_by_id::<Volume>(id)?;
            volume::require_stable_volume(volume_status(volume, call.now))?;
            (SnapshotSource::Volume(id), volume.body.size)
        }
        (Some(_), Some(_)) => {
            return Err(ErrorResponse::bad_request(
                "a snapshot is taken of one thing: leave vm_id or volume_id out",
            ));
        }
        (None, None) => return Err(ErrorResponse::bad_request("one of vm_id and volume_id is required")),
    };
    call.validate_billing()?;
    let (now, project) = (call.now, call.project_id());
    let body = DiskSnapshot { name, source, size };
    let id = call.world.create_record(Some(project), now, Timeline::new(now, CREATING), body);
    call.record_response::<DiskSnapshot>(201, id, "snapshot accepted")
}

fn read_snapshot(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<DiskSnapshot>()?.id;
    call.record_response::<DiskSnapshot>(200, id, "")
}

/// Finds the snapshot that the path identifies; refuses one that is being restored, with 409.
fn find_idle_snapshot<'c>(call: &'c Call<'_>) -> Result<&'c TableRecord<DiskSnapshot>, ErrorResponse> {
    let record = call.find_by_path::<DiskSnapshot>()?;
    match record.status(call.now) {
        "restoring" => {
            Err(ErrorResponse::conflict("the snapshot is restoring: wait until it is available"))
        }
        _ => Ok(record),
    }
}

fn delete_snapshot(call: &mut Call<'_>) -> Reply {
    let id = find_idle_snapshot(call)?.id;
    call.world.snapshots.remove(id);
    Ok(message_response("snapshot deleted"))
}

fn rename_snapshot(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<DiskSnapshot>()?.id;
    let name = call.body.required_field("name", BodyField::name)?;
    call.update::<DiskSnapshot>(id, |record| record.body.name = name);
    call.record_response::<DiskSnapshot>(200, id, "snapshot renamed")
}

fn restore_snapshot(call: &mut Call<'_>) -> Reply {
    let record = call.find_by_path::<DiskSnapshot>()?;
    let (id, source, now) = (record.id, record.body.source, call.now);
    let status = record.status(now);
    if status != "available" {
        return Err(ErrorResponse::conflict(format!("the snapshot is {status}; it must be available")));
    }
    match source {
        SnapshotSource::Vm(vm) => vm_actions::restore_vm_disk(call, vm)?,
        SnapshotSource::Volume(volume) => volume::restore_volume(call, volume)?,
    }
    call.update::<DiskSnapshot>(id, |record| record.timeline = Timeline::new(now, RESTORING));
    call.record_response::<DiskSnapshot>(200, id, "restore accepted")
}
