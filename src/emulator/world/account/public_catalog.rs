//! The public endpoints of the catalog and of the service, and the catalog endpoints that require a key. Where the
//! specification lists a payload by name only ("Catalog pricing"), its fields are assumed.

use rust_decimal::Decimal;

use crate::emulator::world::ApiResponse;
use crate::emulator::world::engine::catalog::{
    self, BACKUP_GB, CONTROL_PLANE, DATABASE_PLANS, DatabaseEngine, DatabasePlan, ENGINES, NODE_PLANS,
    NodePlan, SNAPSHOT_GB, TEMPLATES, VM_PLANS, VOLUME_GB, VmPlan, VmTemplate,
};
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::money::{self, from_cents};
use crate::emulator::world::request::call::{Call, Reply, success_response};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

const fn public_route(template: &'static str, run: fn(&mut Call<'_>) -> Reply) -> Route {
    Route::new(Method::Get, template, Access::Public, run)
}

const fn keyed_route(template: &'static str, run: fn(&mut Call<'_>) -> Reply) -> Route {
    Route::new(Method::Get, template, Access::Account, run)
}

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    public_route("/health", |_| Ok(health_response("ok"))),
    public_route("/ready", |_| Ok(health_response("ready"))),
    public_route("/api/v1/public/regions", list_regions),
    public_route("/api/v1/public/templates", |call| call.list_of(&TEMPLATES, write_template)),
    public_route("/api/v1/public/pricing/vm", |call| call.list_of(&VM_PLANS, vm_plan)),
    public_route("/api/v1/public/pricing/database", database_plans),
    public_route("/api/v1/public/pricing/kubernetes", kubernetes_pricing),
    public_route("/api/v1/public/pricing/ip", |_| Ok(ip_pricing())),
    public_route("/api/v1/public/pricing/volume", |_| Ok(volume_pricing())),
    public_route("/api/v1/public/pricing/snapshot", |_| Ok(by_gb(SNAPSHOT_GB))),
    public_route("/api/v1/public/pricing/backup", |_| Ok(by_gb(BACKUP_GB))),
    keyed_route("/api/v1/databases/plans", database_plans),
    keyed_route("/api/v1/database/plans", database_plans),
    keyed_route("/api/v1/databases/engines", |call| call.list_of(&ENGINES, write_engine)),
    keyed_route("/api/v1/k8s/node-plans", |call| call.list_of(&NODE_PLANS, node_plan)),
];

fn health_response(status: &str) -> ApiResponse {
    success_response(200, "", |fields| fields.write_field("status", status))
}

fn list_regions(call: &mut Call<'_>) -> Reply {
    call.list_of(&[("us-east", "US East")], |fields, (slug, name)| {
        fields.write_field("slug", slug);
        fields.write_field("name", name);
    })
}

fn write_template(fields: &mut JsonObjectWriter<'_>, template: &VmTemplate) {
    fields.write_field("id", &template.id);
    fields.write_field("slug", template.slug);
    fields.write_field("name", template.name);
    fields.write_field("os_family", template.os_family);
    fields.write_field("version", template.version);
}

fn write_prices(fields: &mut JsonObjectWriter<'_>, month: Decimal) {
    fields.write_number("price_per_hour", money::hourly_price(month));
    fields.write_number("monthly_price", money::round_to_cents(month));
}

fn vm_plan(fields: &mut JsonObjectWriter<'_>, plan: &VmPlan) {
    fields.write_field("id", &plan.id);
    fields.write_field("slug", plan.slug);
    fields.write_field("name", plan.slug);
    fields.write_field("cpu", &plan.cpu);
    fields.write_field("ram", &plan.ram);
    fields.write_field("storage", &plan.storage);
    write_prices(fields, plan.monthly_price());
}

fn database_plans(call: &mut Call<'_>) -> Reply {
    call.list_of(&DATABASE_PLANS, |fields, plan: &DatabasePlan| {
        fields.write_field("id", &plan.id);
        fields.write_field("slug", plan.slug);
        fields.write_field("engine", plan.engine);
        fields.write_field("cpu", &plan.cpu);
        fields.write_field("ram", &plan.ram);
        fields.write_field("included_storage_gb", &plan.storage);
        write_prices(fields, plan.base_monthly_price());
        fields.write_number("storage_price_per_gb_month", plan.storage_month());
        fields.write_field("is_free", &plan.is_free());
    })
}

fn write_engine(fields: &mut JsonObjectWriter<'_>, engine: &DatabaseEngine) {
    fields.write_field("engine", engine.name);
    fields.write_field("versions", engine.versions);
    fields.write_field("default_version", &engine.versions.first());
    fields.write_field("ports", engine.ports);
}

fn node_plan(fields: &mut JsonObjectWriter<'_>, plan: &NodePlan) {
    fields.write_field("id", &plan.id);
    fields.write_field("slug", plan.slug);
    fields.write_field("node_class", plan.node_class);
    fields.write_field("cpu", &plan.cpu);
    fields.write_field("ram", &plan.ram);
    fields.write_field("storage", &plan.storage);
    write_prices(fields, plan.node_monthly_price());
}

fn kubernetes_pricing(call: &mut Call<'_>) -> Reply {
    let (offset, limit) = call.page_bounds()?;
    let mut answer = ApiResponse::from_json(200, Vec::with_capacity(2048));
    JsonObjectWriter::write(&mut answer.body, |fields| {
        fields.write_object_array("data", NODE_PLANS.iter().skip(offset).take(limit), node_plan);
        fields.write_field("total", &NODE_PLANS.len());
        fields.write_object("control_planes", |fields| {
            fields.write_number("single_monthly", from_cents(CONTROL_PLANE.0));
            fields.write_number("ha_monthly", from_cents(CONTROL_PLANE.1));
        });
    });
    Ok(answer)
}

/// Writes an item's prices for an hour, a month, a year (10 % off) and two years (20 % off), under the given names.
fn write_term_prices(fields: &mut JsonObjectWriter<'_>, names: [&str; 4], month: Decimal) {
    let [hour, one, year, two_years] = names;
    fields.write_number(hour, money::hourly_price(month));
    fields.write_number(one, money::round_to_cents(month));
    fields.write_number(year, money::round_to_cents(month * Decimal::new(108, 1)));
    fields.write_number(two_years, money::round_to_cents(month * Decimal::new(192, 1)));
}

fn ip_pricing() -> ApiResponse {
    const NAMES: [&str; 4] = ["price_per_hour", "monthly_price", "yearly_price", "twenty_four_month_price"];
    success_response(200, "", |fields| {
        fields.write_object("pricing", |fields| {
            fields
                .write_object("ipv4", |fields| write_term_prices(fields, NAMES, from_cents(catalog::IPV4)));
            fields.write_object("ipv6", |fields| write_term_prices(fields, NAMES, Decimal::ZERO));
        });
    })
}

fn volume_pricing() -> ApiResponse {
    const NAMES: [&str; 4] = [
        "price_per_gb_hour",
        "price_per_gb_month",
        "yearly_price_per_gb",
        "twenty_four_month_price_per_gb",
    ];
    success_response(200, "", |fields| {
        fields.write_object("pricing", |fields| {
            fields.write_field("id", &1);
            write_term_prices(fields, NAMES, from_cents(VOLUME_GB));
            fields.write_field("region", "us-east");
        });
    })
}

/// Returns the pricing of something billed by the GB; `price` is in cents per month.
fn by_gb(price: i64) -> ApiResponse {
    success_response(200, "", |fields| {
        fields.write_object("pricing", |fields| {
            fields.write_number("price_per_gb_month", from_cents(price));
            fields.write_number("price_per_gb_hour", money::hourly_price(from_cents(price)));
        });
    })
}
