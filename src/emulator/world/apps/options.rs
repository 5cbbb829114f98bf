//! The choices for an app: sizes, templates and connections to GitHub, as data. All values are invented; the
//! shapes are the service's.

use rust_decimal::Decimal;
use uuid::Uuid;

use crate::emulator::world::engine::app_sizes::{AppSize, SIZES};
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::money::{self};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/apps/sizes", Access::Account, |call| call.list_of(&SIZES, write_size)),
    Route::new(Method::Get, "/api/v1/apps/templates", Access::Account, |call| {
        call.list_of(&STARTERS, write_starter)
    }),
    Route::new(Method::Get, "/api/v1/apps/github/connections", Access::Account, |call| {
        call.list_of(&CONNECTIONS, write_github_connection)
    }),
];

fn write_size(fields: &mut JsonObjectWriter<'_>, size: &AppSize) {
    fields.write_field("slug", size.slug);
    fields.write_number("cpu", Decimal::new(size.cpu, 3));
    fields.write_field("ram", &size.ram);
    fields.write_number("price_per_hour", money::hourly_price(size.monthly_price()));
    fields.write_number("monthly_price", money::round_to_cents(size.monthly_price()));
}

/// A template for a new app.
struct StarterApp {
    slug: &'static str,
    name: &'static str,
    kind: &'static str,
    image: &'static str,
    port: i64,
}

static STARTERS: [StarterApp; 3] = [
    StarterApp { slug: "static-site", name: "Static site", kind: "web", image: "nginx:1", port: 80 },
    StarterApp { slug: "node-web", name: "Node.js web app", kind: "web", image: "node:24", port: 3_000 },
    StarterApp {
        slug: "python-web",
        name: "Python web app",
        kind: "web",
        image: "python:3.14",
        port: 8_000,
    },
];

fn write_starter(fields: &mut JsonObjectWriter<'_>, starter: &StarterApp) {
    fields.write_field("slug", starter.slug);
    fields.write_field("name", starter.name);
    fields.write_field("type", starter.kind);
    fields.write_field("image", starter.image);
    fields.write_field("port", &starter.port);
}

/// A GitHub account that gives the service access to its repositories.
struct GithubConnection {
    id: Uuid,
    installation: i64,
    account: &'static str,
}

// Version 4 and the RFC's variant, so that the id has the shape of all others.
static CONNECTIONS: [GithubConnection; 1] = [GithubConnection {
    id: Uuid::from_u128(0x51c0_22e7_90ab_4d31_8f02_0000_0000_0001),
    installation: 1_001,
    account: "acme",
}];

fn write_github_connection(fields: &mut JsonObjectWriter<'_>, connection: &GithubConnection) {
    fields.write_field("id", &connection.id);
    fields.write_field("installation_id", &connection.installation);
    fields.write_field("account", connection.account);
    fields.write_field("status", "active");
}
