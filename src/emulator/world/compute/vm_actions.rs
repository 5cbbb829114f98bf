//! Actions on an existing VM: start, stop, reboot, resize and console policy; and the checks that other parts need.
//! The statuses other than `active` are assumed ("Other state").

use uuid::Uuid;

use crate::emulator::world::engine::catalog;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::records::compute::Vm;
use crate::emulator::world::request::call::{Call, Reply};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

const fn vm_post_route(template: &'static str, run: fn(&mut Call<'_>) -> Reply) -> Route {
    Route::new(Method::Post, template, Access::ProjectStated, run)
}

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    vm_post_route("/api/v1/vms/{id}/start", |call| {
        switch_status(call, "stopped", &[(0, "starting"), (5, "active")])
    }),
    vm_post_route("/api/v1/vms/{id}/stop", |call| {
        switch_status(call, "active", &[(0, "stopping"), (5, "stopped")])
    }),
    vm_post_route("/api/v1/vms/{id}/reboot", |call| {
        switch_status(call, "active", &[(0, "rebooting"), (5, "active")])
    }),
    vm_post_route("/api/v1/vms/{id}/resize", resize_vm),
    Route::new(Method::Patch, "/api/v1/vms/{id}/console-policy", Access::ProjectStated, console_policy),
];

/// Starts a transition of a VM; refuses a VM that is not in the status `from`, with 409. `steps`
/// are statuses by seconds.
fn switch_status(call: &mut Call<'_>, from: &str, steps: &[(i64, &str)]) -> Reply {
    let vm = call.find_by_path::<Vm>()?;
    let (id, now, status) = (vm.id, call.now, vm.status(call.now));
    if status != from {
        return Err(ErrorResponse::conflict(format!("the VM is {status}; it must be {from}")));
    }
    call.update::<Vm>(id, |record| record.timeline = Timeline::new(now, steps));
    call.record_response::<Vm>(200, id, "accepted")
}

fn resize_vm(call: &mut Call<'_>) -> Reply {
    let vm = call.find_by_path::<Vm>()?.clone();
    let pricing_id = call.body.required_field("pricing_id", |field| field.integer(0, i64::MAX))?;
    let Some(plan) = catalog::vm_plan(pricing_id) else {
        return Err(ErrorResponse::bad_request(format!(
            "pricing_id {pricing_id} is not in the VM pricing catalog"
        )));
    };
    let old = catalog::vm_plan(vm.body.pricing_id);
    if let Some(old) = old.filter(|old| plan.storage < old.storage) {
        return Err(ErrorResponse::bad_request(format!(
            "pricing_id {pricing_id} has a disk of {} GB, and the VM has {} GB: a disk cannot shrink",
            plan.storage, old.storage
        )));
    }
    let rest = match vm.status(call.now) {
        status @ ("active" | "stopped") => status,
        status => {
            return Err(ErrorResponse::conflict(format!(
                "the VM is {status}; it must be active or stopped"
            )));
        }
    };
    call.validate_billing()?;
    call.adjust_billing(vm.body.billing, vm.body.monthly_price(), plan.monthly_price())?;
    let timeline = Timeline::new(call.now, &[(0, "resizing"), (5, rest)]);
    call.update::<Vm>(vm.id, |record| {
        record.body.pricing_id = pricing_id;
        record.timeline = timeline;
    });
    call.record_response::<Vm>(200, vm.id, "VM resize accepted")
}

fn console_policy(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<Vm>()?.id;
    let wanted = call.body.required_field("console_require_mfa", BodyField::boolean)?;
    call.update::<Vm>(id, |record| record.body.console_require_mfa = wanted);
    call.record_response::<Vm>(200, id, "console policy updated")
}

/// Refuses a VM that is in transition, with 409.
pub(in crate::emulator::world) fn require_stable_vm(status: &str) -> Result<(), ErrorResponse> {
    if matches!(status, "active" | "stopped") {
        return Ok(());
    }
    Err(ErrorResponse::conflict(format!("the VM is {status}; it must be active or stopped")))
}

/// Restores an earlier state of a VM's disk; refused with 409 if the VM is deleted or in transition. This takes as
/// long as a reboot, and the VM returns to the status that it had.
pub(in crate::emulator::world) fn restore_vm_disk(
    call: &mut Call<'_>,
    vm: Uuid,
) -> Result<(), ErrorResponse> {
    let now = call.now;
    let Some(record) = call.world.vms.get(vm) else {
        return Err(ErrorResponse::conflict("the VM is gone: there is nothing to restore into"));
    };
    require_stable_vm(record.status(now))?;
    let timeline = Timeline::new(now, &[(0, "restoring"), (5, record.status(now))]);
    call.update::<Vm>(vm, |record| record.timeline = timeline);
    Ok(())
}
