//! `vm`: virtual machines: their record, creation and deletion. Other actions are in `vm_actions`.

use std::net::Ipv4Addr;

use uuid::Uuid;

use super::vpc::count_vpc_members;
use crate::emulator::world::engine::billing::Billing;
use crate::emulator::world::engine::catalog::{self, TEMPLATES};
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::money;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::{RecordKind, TableRecord};
use crate::emulator::world::records::account::SshKey;
use crate::emulator::world::records::compute::{Vm, Volume, Vpc};
use crate::emulator::world::request::call::{Call, Reply, message_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/vms";
const ITEM: &str = "/api/v1/vms/{id}";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::ProjectStated, |call| call.list_records::<Vm>()),
    Route::new(Method::Post, COLLECTION, Access::ProjectStated, create_vm),
    Route::new(Method::Get, ITEM, Access::Account, read_vm),
    Route::new(Method::Delete, ITEM, Access::ProjectStated, delete_vm),
];

impl Handlers for Vm {
    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let vm = &record.body;
        fields.write_field("id", &record.id);
        fields.write_field("name", &vm.name);
        fields.write_field("status", record.status(view.now));
        if let Some(plan) = catalog::vm_plan(vm.pricing_id) {
            fields.write_field("cpu", &plan.cpu);
            fields.write_field("ram", &plan.ram);
            fields.write_field("storage", &plan.storage);
        }
        fields.write_field("public_ipv4_address", &vm.public_ipv4_address);
        fields.write_field("private_ipv4_address", &vm.private_ipv4_address);
        fields.number_text("price_per_hour", money::hourly_price(vm.monthly_price()));
        fields.write_field("pricing_id", &vm.pricing_id);
        fields.write_field("template_id", &vm.template_id);
        fields.write_field("vpc_id", &vm.vpc_id);
        fields.write_field("ssh_key_ids", &vm.ssh_key_ids);
        fields.write_field("billing_type", vm.billing.as_str());
        fields.write_field("region", "us-east");
        fields.write_field("project_id", &record.project);
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
        if view.detail {
            fields.write_field("console_require_mfa", &vm.console_require_mfa);
        }
    }
}

/// Statuses of a new VM, by seconds. The specification shows `active` only; the others are assumed.
const CREATING: &[(i64, &str)] = &[(0, "pending"), (20, "active")];
const MAX_SSH_KEYS: usize = 64;

fn create_vm(call: &mut Call<'_>) -> Reply {
    let body = read_new_vm(call)?;
    let billing_type = call.billing_type()?;
    call.body.check_region()?;
    call.validate_billing()?;
    // Chosen before anything is charged: a network without a free address must not cost money.
    let address = match body.vpc_id {
        Some(vpc) => Some(private_address(call, vpc)?),
        None => None,
    };
    let billing = call.begin_billing(billing_type, body.monthly_price())?;
    let (now, project) = (call.now, call.project_id());
    let public_ipv4_address = allocate_public_address(call.world);
    let body = Vm { billing, public_ipv4_address, private_ipv4_address: address, ..body };
    let id = call.world.create_record(Some(project), now, Timeline::new(now, CREATING), body);
    call.record_response::<Vm>(201, id, "VM created")
}

/// Reads and checks the body of a create request; the caller fills in addresses and billing.
fn read_new_vm(call: &Call<'_>) -> Result<Vm, ErrorResponse> {
    let body = &call.body;
    let name = body.required_field("name", BodyField::name)?;
    let template_id = body.required_field("template_id", BodyField::uuid)?;
    if !TEMPLATES.iter().any(|template| template.id == template_id) {
        return Err(ErrorResponse::bad_request(format!(
            "template_id {template_id} is not in the template catalog"
        )));
    }
    let pricing_id = body.required_field("pricing_id", |field| field.integer(0, i64::MAX))?;
    if catalog::vm_plan(pricing_id).is_none() {
        return Err(ErrorResponse::bad_request(format!(
            "pricing_id {pricing_id} is not in the VM pricing catalog"
        )));
    }
    let vpc_id = body.optional_field("vpc_id", BodyField::uuid)?;
    let keys = body.optional_field("ssh_key_ids", |field| field.list(MAX_SSH_KEYS, BodyField::uuid))?;
    let ssh_key_ids = keys.unwrap_or_default();
    for id in &ssh_key_ids {
        call.find_by_id::<SshKey>(*id)?;
    }
    let user_data = body.optional_field("user_data", |field| field.text(0, 65_535))?;
    let console = body.optional_field("console_require_mfa", BodyField::boolean)?;
    Ok(Vm {
        name,
        template_id,
        pricing_id,
        vpc_id,
        ssh_key_ids,
        user_data: user_data.unwrap_or_default().to_owned(),
        console_require_mfa: console.unwrap_or_default(),
        billing: Billing::Payg,
        public_ipv4_address: Ipv4Addr::UNSPECIFIED,
        private_ipv4_address: None,
    })
}

/// Returns a free address of the VPC; 409 if there is none.
fn private_address(call: &Call<'_>, vpc: Uuid) -> Result<Ipv4Addr, ErrorResponse> {
    let network = call.find_by_id::<Vpc>(vpc)?.body.cidr;
    let free = call.world.vms.index().free_address(vpc, network);
    free.map(Ipv4Addr::from_bits).ok_or_else(|| ErrorResponse::conflict("the VPC has no free address left"))
}

/// Returns the next address of 198.18.0.0/15, which is reserved for network benchmarks, so that no client reaches a
/// real machine. The addresses repeat after 131,000.
fn allocate_public_address(world: &mut World) -> Ipv4Addr {
    world.account.counter += 1;
    let offset = u32::try_from(world.account.counter % 131_000).unwrap_or_default();
    Ipv4Addr::from_bits(Ipv4Addr::new(198, 18, 0, 1).to_bits() + offset)
}

fn read_vm(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<Vm>()?.id;
    call.record_response::<Vm>(200, id, "")
}

fn delete_vm(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<Vm>()?.id;
    let action = call.body.optional_field("volume_action", |field| field.one_of(&["detach", "delete"]))?;
    let with_vpc = call.body.optional_field("delete_vpc", BodyField::boolean)?.unwrap_or_default();
    // The route requires a permission for VMs only.
    if with_vpc {
        call.also_needs("networks:write")?;
    }
    let Some(vm) = call.world.vms.remove(id) else { return Err(ErrorResponse::not_found(Vm::TITLE)) };
    call.world.refund(vm.body.billing, vm.body.monthly_price(), call.now);
    for schedule in call.world.backup_schedules.index().of_vm(id) {
        call.world.backup_schedules.remove(schedule);
    }
    // Detached volumes stay and remain billable ("Delete VM").
    for volume in call.world.volumes.index().of_vm(id) {
        if action == Some("delete") {
            let removed = call.world.volumes.remove(volume);
            if let Some(volume) = removed {
                call.world.refund(volume.body.billing, volume.body.monthly_price(), call.now);
            }
        } else {
            call.update::<Volume>(volume, |record| record.body.vm_id = None);
        }
    }
    if let Some(vpc) = vm.body.vpc_id.filter(|vpc| with_vpc && count_vpc_members(call.world, *vpc) == 0) {
        call.world.vpcs.remove(vpc);
    }
    Ok(message_response("VM deleted"))
}
