//! `vpc`: private networks; the networks of an account must not overlap ("VPC").

use ipnet::Ipv4Net;
use uuid::Uuid;

use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::{ApiResponse, ErrorResponse};
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::compute::{Vpc, address_bounds, gateway_address};
use crate::emulator::world::request::call::{Call, Reply, message_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/vpcs";
const ITEM: &str = "/api/v1/vpcs/{id}";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::ProjectStated, |call| call.list_records::<Vpc>()),
    Route::new(Method::Post, COLLECTION, Access::ProjectStated, create_vpc),
    Route::new(Method::Get, "/api/v1/vpcs/cidr-suggestions", Access::Account, suggest_networks),
    Route::new(Method::Get, ITEM, Access::Account, read_vpc),
    Route::new(Method::Delete, ITEM, Access::ProjectStated, delete_vpc),
];

impl Handlers for Vpc {
    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let (first, last) = address_bounds(record.body.cidr);
        let gateway = std::net::Ipv4Addr::from_bits(gateway_address(record.body.cidr));
        fields.write_field("id", &record.id);
        fields.write_field("name", &record.body.name);
        fields.write_field("cidr", &record.body.cidr.to_string());
        fields.write_field("status", record.status(view.now));
        fields.write_field("region", "us-east");
        fields.write_field("account_id", &view.world.account.id);
        fields.write_field("project_id", &record.project);
        fields.write_field("gateway", &gateway);
        fields.write_field("dns", &gateway);
        fields.write_field("total_ips", &(u64::from(last - first) + 1));
        fields.write_field("used_ips", &(1 + count_vpc_members(view.world, record.id)));
        fields.write_field("gateway_type", "router");
        fields.write_field("router_public_ip", "");
        fields.write_field("router_status", "active");
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
    }
}

/// Returns the number of VMs, databases and clusters in a network; it can be deleted only if there is none.
pub(in crate::emulator::world) fn count_vpc_members(world: &World, vpc: Uuid) -> usize {
    world.vms.index().in_vpc(vpc) + world.databases.index().in_vpc(vpc) + world.clusters.index().in_vpc(vpc)
}

fn create_vpc(call: &mut Call<'_>) -> Reply {
    let name = call.body.required_field("name", BodyField::name)?;
    let text = call.body.required_field("cidr", |field| field.text(9, 18))?;
    let cidr: Ipv4Net = text
        .parse()
        .map_err(|_| ErrorResponse::bad_request("cidr must be an IPv4 network such as 10.0.0.0/16"))?;
    call.body.check_region()?;
    if call.world.vpcs.index().overlaps(cidr) {
        return Err(ErrorResponse::bad_request(format!("cidr {cidr} overlaps another VPC of the account")));
    }
    call.validate_billing()?;
    let (now, project) = (call.now, call.project_id());
    let id = call.world.create_record(
        Some(project),
        now,
        Timeline::with_status(now, "active"),
        Vpc { name, cidr },
    );
    call.record_response::<Vpc>(201, id, "VPC created")
}

fn read_vpc(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<Vpc>()?.id;
    call.record_response::<Vpc>(200, id, "")
}

fn delete_vpc(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<Vpc>()?.id;
    if count_vpc_members(call.world, id) > 0 {
        return Err(ErrorResponse::conflict(
            "the VPC is in use: delete its VMs and clusters, and delete or disconnect its databases first",
        ));
    }
    call.world.vpcs.remove(id);
    Ok(message_response("VPC deleted"))
}

/// How many networks to suggest over all pages.
const MAX_SUGGESTIONS: usize = 5;

fn suggest_networks(call: &mut Call<'_>) -> Reply {
    let (offset, limit) = call.page_bounds()?;
    let networks = call.world.vpcs.index();
    let ten = (0..=255_u8).filter_map(|second| Ipv4Net::new([10, second, 0, 0].into(), 16).ok());
    let small = (0..=255_u8).filter_map(|third| Ipv4Net::new([192, 168, third, 0].into(), 24).ok());
    let free = ten.chain(small).filter(|network| !networks.overlaps(*network));
    let free: Vec<_> = free.take(MAX_SUGGESTIONS).map(|network| network.to_string()).collect();
    let page: Vec<_> = free.iter().skip(offset).take(limit).collect();
    let mut answer = ApiResponse::from_json(200, Vec::new());
    JsonObjectWriter::write(&mut answer.body, |fields| {
        fields.write_field("data", &page);
        fields.write_field("total", &free.len());
    });
    Ok(answer)
}
