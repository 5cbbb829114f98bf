//! How a database is reached: networks, public access, credentials, connection data.

use ipnet::Ipv4Net;

use super::database::Database;
use crate::emulator::world::compute::vpc::Vpc;
use crate::emulator::world::engine::json_writer::Fields;
use crate::emulator::world::engine::message::Refusal;
use crate::emulator::world::engine::request_body::{Body as Input, Field};
use crate::emulator::world::engine::table::Record;
use crate::emulator::world::request::call::{Call, Reply, success};
use crate::emulator::world::router::{Access, Route};
use crate::model::schema::Method;

const fn post(template: &'static str, run: fn(&mut Call<'_>) -> Reply) -> Route {
    Route::new(Method::Post, template, Access::Project, run)
}

const fn get(template: &'static str, run: fn(&mut Call<'_>) -> Reply) -> Route {
    Route::new(Method::Get, template, Access::Account, run)
}

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    post("/api/v1/databases/{id}/vpc", connect),
    Route::new(Method::Delete, "/api/v1/databases/{id}/vpc", Access::Project, disconnect),
    post("/api/v1/databases/{id}/public-access", public_access),
    post("/api/v1/databases/{id}/credentials/rotate", rotate),
    get("/api/v1/databases/{id}/connection", connection),
    get("/api/v1/databases/{id}/parameters", parameters),
    get("/api/v1/databases/{id}/metrics/clients", clients),
];

const MOST_SOURCES: usize = 20;

/// Reads an allowlist of source networks.
pub(in crate::emulator::world) fn allowlist(
    body: &Input,
    name: &str,
) -> Result<Option<Vec<String>>, Refusal> {
    let read =
        body.optional(name, |field| field.list(MOST_SOURCES, |item| item.text(1, 64).map(str::to_owned)))?;
    for text in read.iter().flatten() {
        let reason = match text.parse::<Ipv4Net>() {
            Ok(network) if network.prefix_len() > 0 => continue,
            Ok(_) => "0.0.0.0/0 is refused: leave the list empty to let everyone in",
            Err(_) if text.contains(':') => "IPv6 networks are refused",
            Err(_) => "it is not an IPv4 network such as 203.0.113.0/24",
        };
        return Err(Refusal::bad(format!("{name} entry {text}: {reason}")));
    }
    Ok(read)
}

impl Call<'_> {
    /// Reserves the first public port of a database.
    pub(in crate::emulator::world) fn public_port(&self, database: &Database) -> Result<u16, Refusal> {
        self.world.databases.index().free_port(database.ports()).ok_or_else(|| {
            Refusal::new(503, "Service Unavailable", "no public port is left: try again later")
        })
    }
}

fn connect(call: &mut Call<'_>) -> Reply {
    let record = call.find_staying()?;
    let (id, current) = (record.id, record.body.vpc_id);
    let vpc = call.body.required("vpc_id", Field::uuid)?;
    call.named::<Vpc>(vpc)?;
    if current.is_some() {
        return Err(Refusal::bad("the database is connected to a VPC already: disconnect it first"));
    }
    call.update::<Database>(id, |record| record.body.vpc_id = Some(vpc));
    call.show_database(200, id, "database connected")
}

fn disconnect(call: &mut Call<'_>) -> Reply {
    let record = call.find_staying()?;
    let id = record.id;
    if record.body.vpc_id.is_none() {
        return Err(Refusal::conflict("the database is not connected to a VPC"));
    }
    call.update::<Database>(id, |record| record.body.vpc_id = None);
    call.show_database(200, id, "database disconnected")
}

fn public_access(call: &mut Call<'_>) -> Reply {
    let record = call.find_staying()?;
    let (id, kept) = (record.id, record.body.public_port);
    let enabled = call.body.required("enabled", Field::boolean)?;
    let sources = allowlist(&call.body, "allowlist")?;
    let port = match kept {
        None if enabled => Some(call.public_port(&call.find_staying()?.body)?),
        kept => kept,
    };
    call.update::<Database>(id, |record| {
        record.body.public_access = enabled;
        record.body.public_port = port;
        record.body.public_allowlist = sources.unwrap_or_else(|| record.body.public_allowlist.clone());
    });
    call.show_database(200, id, "public access updated")
}

fn rotate(call: &mut Call<'_>) -> Reply {
    let id = call.find_staying()?.id;
    call.update::<Database>(id, |record| record.body.rotations += 1);
    let record = call.named::<Database>(id)?;
    Ok(success(200, "password changed", |fields| {
        fields.object("data", |fields| credentials(record, fields));
    }))
}

fn credentials(record: &Record<Database>, fields: &mut Fields<'_>) {
    fields.put("user", owner(&record.body.engine));
    fields.put("password", &record.password());
}

/// Returns the login that every database has.
pub(in crate::emulator::world) fn owner(engine: &str) -> &'static str {
    match engine {
        "valkey" | "clickhouse" => "default",
        "kafka" => "admin",
        _ => "owner",
    }
}

fn connection(call: &mut Call<'_>) -> Reply {
    let record = call.find_database()?;
    Ok(success(200, "", |fields| {
        fields.object("data", |fields| {
            fields.object("private", |fields| endpoint(record, record.private(), fields));
            fields.object("public", |fields| endpoint(record, record.public(), fields));
            credentials(record, fields);
            fields.put("database", "defaultdb");
        });
    }))
}

fn endpoint(record: &Record<Database>, at: Option<(String, u16)>, fields: &mut Fields<'_>) {
    let scheme = match record.body.engine.as_str() {
        "valkey" => "rediss",
        "postgres" => "postgresql",
        engine => engine,
    };
    let uri = at.as_ref().map(|(host, port)| {
        let (user, password) = (owner(&record.body.engine), record.password());
        format!("{scheme}://{user}:{password}@{host}:{port}/defaultdb")
    });
    let (host, port) = at.unwrap_or_default();
    fields.put("host", &host);
    fields.put("port", &port);
    fields.put("uri", &uri.unwrap_or_default());
}

fn parameters(call: &mut Call<'_>) -> Reply {
    let record = call.find_database()?;
    let known: &[(&str, &str)] = match record.body.engine.as_str() {
        "postgres" => &[("max_connections", "200"), ("work_mem", "4MB"), ("statement_timeout", "0")],
        "mysql" => &[("max_connections", "200"), ("wait_timeout", "28800")],
        "valkey" => &[("maxmemory-policy", "noeviction"), ("timeout", "0")],
        "clickhouse" => &[("max_concurrent_queries", "100")],
        _ => &[("num.partitions", "3"), ("log.retention.hours", "168")],
    };
    call.list_of(known, |fields, (name, default)| {
        let value = record.body.engine_config.get(*name).map_or(*default, String::as_str);
        fields.put("name", name);
        fields.put("value", value);
        fields.put("default", default);
    })
}

fn clients(call: &mut Call<'_>) -> Reply {
    call.find_database()?;
    call.list_of(&[], |_, (): &()| {})
}
