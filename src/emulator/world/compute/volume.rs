//! `volume`: block storage that can grow but not shrink, attached to at most one VM ("Resize volume"). Statuses and
//! the maximum size are assumed.

use rust_decimal::Decimal;
use uuid::Uuid;

use super::vm_actions;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::{ApiResponse, ErrorResponse};
use crate::emulator::world::engine::money::{self};
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::compute::{Vm, Volume, volume_price, volume_status};
use crate::emulator::world::request::call::{self, Call, Reply, message_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/volumes";
const ITEM: &str = "/api/v1/volumes/{id}";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::ProjectStated, |call| call.list_records::<Volume>()),
    Route::new(Method::Post, COLLECTION, Access::ProjectStated, create_volume),
    Route::new(Method::Get, ITEM, Access::Account, read_volume),
    Route::new(Method::Patch, ITEM, Access::ProjectStated, resize_volume),
    Route::new(Method::Delete, ITEM, Access::ProjectStated, delete_volume),
    Route::new(Method::Post, "/api/v1/volumes/{id}/attach", Access::ProjectStated, attach_volume),
    Route::new(Method::Post, "/api/v1/volumes/{id}/detach", Access::ProjectStated, detach_volume),
];

/// Largest size, which is assumed: the specification names the least only ("Limits").
const MAX_SIZE_GB: i64 = 65_536;

/// Statuses of a new volume, by seconds.
pub(in crate::emulator::world) const CREATING: &[(i64, &str)] = &[(0, "creating"), (3, "available")];

impl Handlers for Volume {
    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let volume = &record.body;
        fields.write_field("id", &record.id);
        fields.write_field("name", &volume.name);
        fields.write_field("size", &volume.size);
        fields.write_field("status", volume_status(record, view.now));
        fields.write_field("vm_id", &volume.vm_id);
        fields.write_field("billing_type", volume.billing.as_str());
        fields.number_text("price_per_hour", money::hourly_price(volume.monthly_price()));
        fields.write_field("region", "us-east");
        fields.write_field("project_id", &record.project);
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
    }
}

fn create_volume(call: &mut Call<'_>) -> Reply {
    let name = call.body.required_field("name", BodyField::name)?;
    let size = call.body.required_field("size", |field| field.integer(1, MAX_SIZE_GB))?;
    call.body.check_region()?;
    let billing_type = call.billing_type()?;
    let vm_id = call.body.optional_field("vm_id", BodyField::uuid)?;
    if let Some(vm) = vm_id {
        vm_actions::require_stable_vm(call.find_by_id::<Vm>(vm)?.status(call.now))?;
    }
    call.validate_billing()?;
    let billing = call.begin_billing(billing_type, volume_price(size))?;
    let (now, project) = (call.now, call.project_id());
    let timeline = Timeline::new(now, CREATING);
    let id = call.world.create_record(
        Some(project),
        now,
        timeline,
        Volume { name, size, vm_id, cluster_id: None, billing },
    );
    call.record_response::<Volume>(201, id, "volume created")
}

fn read_volume(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<Volume>()?.id;
    call.record_response::<Volume>(200, id, "")
}

fn resize_volume(call: &mut Call<'_>) -> Reply {
    let record = call.find_by_path::<Volume>()?;
    let (id, old, status) = (record.id, record.body.clone(), volume_status(record, call.now));
    let new_size = call.body.required_field("new_size", |field| field.integer(1, MAX_SIZE_GB))?;
    if new_size <= old.size {
        return Err(ErrorResponse::bad_request(format!(
            "new_size must be larger than the current size of {} GB: volumes can only grow",
            old.size
        )));
    }
    require_stable_volume(status)?;
    call.validate_billing()?;
    let amount = call.adjust_billing(old.billing, old.monthly_price(), volume_price(new_size))?;
    call.update::<Volume>(id, |record| record.body.size = new_size);
    Ok(resize_response(id, amount, volume_price(new_size)))
}

/// Returns the response to a resize, in the form of "Volume resize result".
fn resize_response(id: Uuid, amount: Decimal, month: Decimal) -> ApiResponse {
    call::success_response(200, "volume resized", |fields| {
        fields.write_field("id", &id);
        fields.write_object("billing", |fields| {
            fields.write_field("type", "upgrade");
            fields.write_number("pro_rata_amount", amount);
            fields.write_number("balance_applied", amount);
            fields.write_number("new_monthly_price", money::round_to_cents(month));
            fields.number_text("new_price_per_hour", money::hourly_price(month));
        });
    })
}

fn delete_volume(call: &mut Call<'_>) -> Reply {
    let record = call.find_by_path::<Volume>()?;
    let id = record.id;
    require_unclaimed(record)?;
    if record.body.vm_id.is_some() {
        return Err(ErrorResponse::conflict("the volume is attached: detach it first"));
    }
    if let Some(volume) = call.world.volumes.remove(id) {
        call.world.refund(volume.body.billing, volume.body.monthly_price(), call.now);
    }
    Ok(message_response("volume deleted"))
}

fn attach_volume(call: &mut Call<'_>) -> Reply {
    let record = call.find_by_path::<Volume>()?;
    let (id, status) = (record.id, volume_status(record, call.now));
    let vm = call.body.required_field("vm_id", BodyField::uuid)?;
    let vm_status = call.find_by_id::<Vm>(vm)?.status(call.now);
    if status != "available" {
        return Err(ErrorResponse::conflict(format!("the volume is {status}; it must be available")));
    }
    vm_actions::require_stable_vm(vm_status)?;
    call.update::<Volume>(id, |record| record.body.vm_id = Some(vm));
    call.record_response::<Volume>(200, id, "volume attached")
}

/// Refuses to change a volume that belongs to a persistent volume claim, with 409: the cluster would recreate it.
fn require_unclaimed(record: &TableRecord<Volume>) -> Result<(), ErrorResponse> {
    match record.body.cluster_id {
        None => Ok(()),
        Some(cluster) => Err(ErrorResponse::conflict(format!(
            "the volume belongs to a persistent volume claim of the cluster {cluster}: delete the claim first"
        ))),
    }
}

fn detach_volume(call: &mut Call<'_>) -> Reply {
    let record = call.find_by_path::<Volume>()?;
    require_unclaimed(record)?;
    let (id, status) = (record.id, volume_status(record, call.now));
    if status != "in_use" {
        return Err(ErrorResponse::conflict(format!("the volume is {status}; it must be in_use")));
    }
    call.update::<Volume>(id, |record| record.body.vm_id = None);
    call.record_response::<Volume>(200, id, "volume detached")
}

/// Refuses a volume that is in transition, with 409.
pub(in crate::emulator::world) fn require_stable_volume(status: &str) -> Result<(), ErrorResponse> {
    if matches!(status, "available" | "in_use") {
        return Ok(());
    }
    Err(ErrorResponse::conflict(format!("the volume is {status}; it must be available or in_use")))
}

/// Restores an earlier state of a volume; its size stays the same. Refused with 409 if the volume is
/// deleted or in transition.
pub(in crate::emulator::world) fn restore_volume(
    call: &mut Call<'_>,
    volume: Uuid,
) -> Result<(), ErrorResponse> {
    let now = call.now;
    let Some(record) = call.world.volumes.get(volume) else {
        return Err(ErrorResponse::conflict("the volume is gone: there is nothing to restore into"));
    };
    require_stable_volume(volume_status(record, now))?;
    let timeline = Timeline::new(now, &[(0, "restoring"), (10, "available")]);
    call.update::<Volume>(volume, |record| record.timeline = timeline);
    Ok(())
}
