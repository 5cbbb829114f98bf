//! `vm`: virtual machines: their record, creation and deletion.

use std::collections::{BTreeSet, HashMap};
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::volume::Volume;
use super::vpc::{self, Vpc};
use crate::emulator::world::Time;
use crate::emulator::world::account::ssh_key::SshKey;
use crate::emulator::world::engine::billing::{Billing, Charge};
use crate::emulator::world::engine::catalog::{self, TEMPLATES};
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::money;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::{RecordKind, TableRecord};
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Vm {
    pub(in crate::emulator::world) name: String,
    pub(in crate::emulator::world) template_id: Uuid,
    pub(in crate::emulator::world) pricing_id: i64,
    pub(in crate::emulator::world) vpc_id: Option<Uuid>,
    pub(in crate::emulator::world) ssh_key_ids: Vec<Uuid>,
    /// Accepted in requests, but never part of a response.
    pub(in crate::emulator::world) user_data: String,
    pub(in crate::emulator::world) console_require_mfa: bool,
    pub(in crate::emulator::world) billing: Billing,
    pub(in crate::emulator::world) public_ipv4_address: Ipv4Addr,
    pub(in crate::emulator::world) private_ipv4_address: Option<Ipv4Addr>,
}

impl Vm {
    pub(in crate::emulator::world) fn monthly_price(&self) -> Decimal {
        catalog::vm_plan(self.pricing_id).map_or(Decimal::ZERO, catalog::VmPlan::monthly_price)
    }

    /// Returns the size of the disk in GB.
    pub(in crate::emulator::world) fn disk_size(&self) -> i64 {
        catalog::vm_plan(self.pricing_id).map_or(0, |plan| plan.storage)
    }
}

/// Index of the machines by network and private address.
#[derive(Default)]
pub(in crate::emulator::world) struct VmIndex(HashMap<Uuid, BTreeSet<(u32, Uuid)>>);

impl VmIndex {
    pub(in crate::emulator::world) fn in_vpc(&self, vpc: Uuid) -> usize {
        self.0.get(&vpc).map_or(0, BTreeSet::len)
    }

    /// Returns a free private address: the one above the highest address in use, else the lowest free one.
    fn free_address(&self, vpc: Uuid, network: Ipv4Net) -> Option<u32> {
        let first = vpc::gateway_address(network).checked_add(1)?;
        let last = network.broadcast().to_bits();
        let taken = self.0.get(&vpc);
        let highest = taken.and_then(|taken| taken.last()).map(|(address, _)| *address);
        let next = highest.map_or(first, |address| address.saturating_add(1).max(first));
        if next < last {
            return Some(next);
        }
        let is_free = |at: &u32| {
            let from = (*at, Uuid::nil())..=(*at, Uuid::max());
            taken.is_none_or(|taken| taken.range(from).next().is_none())
        };
        (first..last).find(is_free)
    }
}

impl RecordKind for Vm {
    const KIND: &'static str = "vm";
    const TITLE: &'static str = "VM";
    type Index = VmIndex;

    fn index(index: &mut VmIndex, record: &TableRecord<Self>, present: bool) {
        let Some(vpc) = record.body.vpc_id else { return };
        let members = index.0.entry(vpc).or_default();
        let key = (record.body.private_ipv4_address.map_or(0, Ipv4Addr::to_bits), record.id);
        if present {
            members.insert(key);
        } else {
            members.remove(&key);
            if members.is_empty() {
                index.0.remove(&vpc);
            }
        }
    }

    fn charge(record: &TableRecord<Self>) -> Option<Charge> {
        Some(record.body.billing.charge(record.body.monthly_price()))
    }

    fn renew(record: &mut TableRecord<Self>, until: Time) {
        record.body.billing.extend(until);
    }
}

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

const CREATING: &[(i64, &str)] = &[(0, "pending"), (20, "active")];
const MAX_SSH_KEYS: usize = 64;

fn create_vm(call: &mut Call<'_>) -> Reply {
    let body = read_new_vm(call)?;
    let billing_type = call.billing_type()?;
    call.body.check_region()?;
    call.validate_billing()?;
    let address = match body.vpc_id {
        Some(vpc) => Some(private_address(call, vpc)?),
        None => None,
    };
    let billing = call.begin_billing(billing_type, body.monthly_price())?;
    let (now, project) = (call.now, call.project_id());
    let public_ipv4_address = call.world.public_address();
    let body = Vm { billing, public_ipv4_address, private_ipv4_address: address, ..body };
    let id = call.world.create_record(Some(project), now, Timeline::new(now, CREATING), body);
    call.record_response::<Vm>(201, id, "VM created")
}

/// Reads the body of a create request; the caller fills in addresses and billing.
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

fn private_address(call: &Call<'_>, vpc: Uuid) -> Result<Ipv4Addr, ErrorResponse> {
    let network = call.find_by_id::<Vpc>(vpc)?.body.cidr;
    let free = call.world.vms.index().free_address(vpc, network);
    free.map(Ipv4Addr::from_bits).ok_or_else(|| ErrorResponse::conflict("the VPC has no free address left"))
}

impl World {
    /// Returns the next address of 198.18.0.0/15, which is reserved for network benchmarks.
    fn public_address(&mut self) -> Ipv4Addr {
        self.account.counter += 1;
        let offset = u32::try_from(self.account.counter % 131_000).unwrap_or_default();
        Ipv4Addr::from_bits(Ipv4Addr::new(198, 18, 0, 1).to_bits() + offset)
    }
}

fn read_vm(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<Vm>()?.id;
    call.record_response::<Vm>(200, id, "")
}

fn delete_vm(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<Vm>()?.id;
    let action = call.body.optional_field("volume_action", |field| field.one_of(&["detach", "delete"]))?;
    let with_vpc = call.body.optional_field("delete_vpc", BodyField::boolean)?.unwrap_or_default();
    if with_vpc {
        call.also_needs("networks:write")?;
    }
    let Some(vm) = call.world.vms.remove(id) else { return Err(ErrorResponse::not_found(Vm::TITLE)) };
    call.world.refund(vm.body.billing, vm.body.monthly_price(), call.now);
    for schedule in call.world.backup_schedules.index().of_vm(id) {
        call.world.backup_schedules.remove(schedule);
    }
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
    if let Some(vpc) = vm.body.vpc_id.filter(|vpc| with_vpc && call.world.vpc_member_count(*vpc) == 0) {
        call.world.vpcs.remove(vpc);
    }
    Ok(message_response("VM deleted"))
}
