//! The catalog's and the service's own public endpoints, and the catalog behind a key.

use rust_decimal::Decimal;

use crate::emulator::world::Response;
use crate::emulator::world::engine::catalog::{
    self, BACKUP_GB, CONTROL_PLANE, DATABASE_PLANS, DatabasePlan, ENGINES, Engine, NODE_PLANS, NodePlan,
    SNAPSHOT_GB, TEMPLATES, Template, VM_PLANS, VOLUME_GB, VmPlan,
};
use crate::emulator::world::engine::json_writer::Fields;
use crate::emulator::world::engine::money::{self, cents};
use crate::emulator::world::request::call::{Call, Reply, success};
use crate::emulator::world::router::{Access, Route};
use crate::model::schema::Method;

const fn public(template: &'static str, run: fn(&mut Call<'_>) -> Reply) -> Route {
    Route::new(Method::Get, template, Access::Public, run)
}

const fn keyed(template: &'static str, run: fn(&mut Call<'_>) -> Reply) -> Route {
    Route::new(Method::Get, template, Access::Account, run)
}

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    public("/health", |_| Ok(health("ok"))),
    public("/ready", |_| Ok(health("ready"))),
    public("/api/v1/public/regions", regions),
    public("/api/v1/public/templates", |call| call.list_of(&TEMPLATES, template)),
    public("/api/v1/public/pricing/vm", |call| call.list_of(&VM_PLANS, vm_plan)),
    public("/api/v1/public/pricing/database", database_plans),
    public("/api/v1/public/pricing/kubernetes", kubernetes),
    public("/api/v1/public/pricing/ip", |_| Ok(ip())),
    public("/api/v1/public/pricing/volume", |_| Ok(volume())),
    public("/api/v1/public/pricing/snapshot", |_| Ok(by_gb(SNAPSHOT_GB))),
    public("/api/v1/public/pricing/backup", |_| Ok(by_gb(BACKUP_GB))),
    keyed("/api/v1/databases/plans", database_plans),
    keyed("/api/v1/database/plans", database_plans),
    keyed("/api/v1/databases/engines", |call| call.list_of(&ENGINES, engine)),
    keyed("/api/v1/k8s/node-plans", |call| call.list_of(&NODE_PLANS, node_plan)),
];

fn health(status: &str) -> Response {
    success(200, "", |fields| fields.put("status", status))
}

fn regions(call: &mut Call<'_>) -> Reply {
    call.list_of(&[("us-east", "US East")], |fields, (slug, name)| {
        fields.put("slug", slug);
        fields.put("name", name);
    })
}

fn template(fields: &mut Fields<'_>, template: &Template) {
    fields.put("id", &template.id);
    fields.put("slug", template.slug);
    fields.put("name", template.name);
    fields.put("os_family", template.os_family);
    fields.put("version", template.version);
}

fn prices(fields: &mut Fields<'_>, month: Decimal) {
    fields.number("price_per_hour", money::hourly(month));
    fields.number("monthly_price", money::monthly(month));
}

fn vm_plan(fields: &mut Fields<'_>, plan: &VmPlan) {
    fields.put("id", &plan.id);
    fields.put("slug", plan.slug);
    fields.put("name", plan.slug);
    fields.put("cpu", &plan.cpu);
    fields.put("ram", &plan.ram);
    fields.put("storage", &plan.storage);
    prices(fields, plan.month());
}

fn database_plans(call: &mut Call<'_>) -> Reply {
    call.list_of(&DATABASE_PLANS, |fields, plan: &DatabasePlan| {
        fields.put("id", &plan.id);
        fields.put("slug", plan.slug);
        fields.put("engine", plan.engine);
        fields.put("cpu", &plan.cpu);
        fields.put("ram", &plan.ram);
        fields.put("included_storage_gb", &plan.storage);
        prices(fields, plan.month());
        fields.number("storage_price_per_gb_month", plan.storage_month());
        fields.put("is_free", &plan.is_free());
    })
}

fn engine(fields: &mut Fields<'_>, engine: &Engine) {
    fields.put("engine", engine.name);
    fields.put("versions", engine.versions);
    fields.put("default_version", &engine.versions.first());
    fields.put("ports", engine.ports);
}

fn node_plan(fields: &mut Fields<'_>, plan: &NodePlan) {
    fields.put("id", &plan.id);
    fields.put("slug", plan.slug);
    fields.put("node_class", plan.node_class);
    fields.put("cpu", &plan.cpu);
    fields.put("ram", &plan.ram);
    fields.put("storage", &plan.storage);
    prices(fields, plan.month());
}

fn kubernetes(call: &mut Call<'_>) -> Reply {
    let (offset, limit) = call.window()?;
    let mut answer = Response::json(200, Vec::with_capacity(2048));
    Fields::write(&mut answer.body, |fields| {
        fields.array("data", NODE_PLANS.iter().skip(offset).take(limit), node_plan);
        fields.put("total", &NODE_PLANS.len());
        fields.object("control_planes", |fields| {
            fields.number("single_monthly", cents(CONTROL_PLANE.0));
            fields.number("ha_monthly", cents(CONTROL_PLANE.1));
        });
    });
    Ok(answer)
}

/// Writes the prices of a thing for an hour, a month and longer terms (10 and 20 % off).
fn terms(fields: &mut Fields<'_>, names: [&str; 4], month: Decimal) {
    let [hour, one, year, two_years] = names;
    fields.number(hour, money::hourly(month));
    fields.number(one, money::monthly(month));
    fields.number(year, money::monthly(month * Decimal::new(108, 1)));
    fields.number(two_years, money::monthly(month * Decimal::new(192, 1)));
}

fn ip() -> Response {
    const NAMES: [&str; 4] = ["price_per_hour", "monthly_price", "yearly_price", "twenty_four_month_price"];
    success(200, "", |fields| {
        fields.object("pricing", |fields| {
            fields.object("ipv4", |fields| terms(fields, NAMES, cents(catalog::IPV4)));
            fields.object("ipv6", |fields| terms(fields, NAMES, Decimal::ZERO));
        });
    })
}

fn volume() -> Response {
    const NAMES: [&str; 4] = [
        "price_per_gb_hour",
        "price_per_gb_month",
        "yearly_price_per_gb",
        "twenty_four_month_price_per_gb",
    ];
    success(200, "", |fields| {
        fields.object("pricing", |fields| {
            fields.put("id", &1);
            terms(fields, NAMES, cents(VOLUME_GB));
            fields.put("region", "us-east");
        });
    })
}

fn by_gb(price: i64) -> Response {
    success(200, "", |fields| {
        fields.object("pricing", |fields| {
            fields.number("price_per_gb_month", cents(price));
            fields.number("price_per_gb_hour", money::hourly(cents(price)));
        });
    })
}
