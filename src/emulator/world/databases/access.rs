//! Access to a database: networks, public access, credentials and connection data.

use ipnet::Ipv4Net;

use super::database::{find_database, find_undeleted_database, respond_with_database};
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::{BodyField, RequestBody as Input};
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::compute::Vpc;
use crate::emulator::world::records::database::{
    Database, owner_password, private_endpoint, public_endpoint,
};
use crate::emulator::world::request::call::{Call, Reply, success_response};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

const fn database_post_route(template: &'static str, run: fn(&mut Call<'_>) -> Reply) -> Route {
    Route::new(Method::Post, template, Access::Project, run)
}

const fn database_get_route(template: &'static str, run: fn(&mut Call<'_>) -> Reply) -> Route {
    Route::new(Method::Get, template, Access::Account, run)
}

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    database_post_route("/api/v1/databases/{id}/vpc", connect_vpc),
    Route::new(Method::Delete, "/api/v1/databases/{id}/vpc", Access::Project, disconnect_vpc),
    database_post_route("/api/v1/databases/{id}/public-access", public_access),
    database_post_route("/api/v1/databases/{id}/credentials/rotate", rotate_owner_password),
    database_get_route("/api/v1/databases/{id}/connection", read_connection),
    database_get_route("/api/v1/databases/{id}/parameters", list_parameters),
    database_get_route("/api/v1/databases/{id}/metrics/clients", list_clients),
];

const MAX_SOURCES: usize = 20;

/// Reads an allowlist of source networks; `None` if it is absent, and an empty list lets all sources in. Refuses what
/// "Errors", case 3, lists.
pub(in crate::emulator::world) fn read_allowlist(
    body: &Input,
    name: &str,
) -> Result<Option<Vec<String>>, ErrorResponse> {
    let read = body.optional_field(name, |field| {
        field.list(MAX_SOURCES, |item| item.text(1, 64).map(str::to_owned))
    })?;
    for text in read.iter().flatten() {
        let reason = match text.parse::<Ipv4Net>() {
            Ok(network) if network.prefix_len() > 0 => continue,
            Ok(_) => "0.0.0.0/0 is refused: leave the list empty to let everyone in",
            Err(_) if text.contains(':') => "IPv6 networks are refused",
            Err(_) => "it is not an IPv4 network such as 203.0.113.0/24",
        };
        return Err(ErrorResponse::bad_request(format!("{name} entry {text}: {reason}")));
    }
    Ok(read)
}

/// Returns the first free public port for a database, which needs one or two in a row; 503 if the range is full.
pub(in crate::emulator::world) fn find_free_public_port(
    call: &Call<'_>,
    database: &Database,
) -> Result<u16, ErrorResponse> {
    call.world.databases.index().free_port(database.port_count()).ok_or_else(|| {
        ErrorResponse::new(503, "Service Unavailable", "no public port is left: try again later")
    })
}

fn connect_vpc(call: &mut Call<'_>) -> Reply {
    let record = find_undeleted_database(call)?;
    let (id, current) = (record.id, record.body.vpc_id);
    let vpc = call.body.required_field("vpc_id", BodyField::uuid)?;
    call.find_by_id::<Vpc>(vpc)?;
    if current.is_some() {
        return Err(ErrorResponse::bad_request(
            "the database is connected to a VPC already: disconnect it first",
        ));
    }
    call.update::<Database>(id, |record| record.body.vpc_id = Some(vpc));
    respond_with_database(call, 200, id, "database connected")
}

fn disconnect_vpc(call: &mut Call<'_>) -> Reply {
    let record = find_undeleted_database(call)?;
    let id = record.id;
    if record.body.vpc_id.is_none() {
        return Err(ErrorResponse::conflict("the database is not connected to a VPC"));
    }
    call.update::<Database>(id, |record| record.body.vpc_id = None);
    respond_with_database(call, 200, id, "database disconnected")
}

fn public_access(call: &mut Call<'_>) -> Reply {
    let record = find_undeleted_database(call)?;
    let (id, kept) = (record.id, record.body.public_port);
    let enabled = call.body.required_field("enabled", BodyField::boolean)?;
    let sources = read_allowlist(&call.body, "allowlist")?;
    let port = match kept {
        None if enabled => Some(find_free_public_port(call, &find_undeleted_database(call)?.body)?),
        // Kept while public access is off: a port is released only with its database ("Database", rule 2).
        kept => kept,
    };
    call.update::<Database>(id, |record| {
        record.body.public_access = enabled;
        record.body.public_port = port;
        record.body.public_allowlist = sources.unwrap_or_else(|| record.body.public_allowlist.clone());
    });
    respond_with_database(call, 200, id, "public access updated")
}

fn rotate_owner_password(call: &mut Call<'_>) -> Reply {
    let id = find_undeleted_database(call)?.id;
    call.update::<Database>(id, |record| record.body.rotations += 1);
    let record = call.find_by_id::<Database>(id)?;
    Ok(success_response(200, "password changed", |fields| {
        fields.write_object("data", |fields| write_credentials(record, fields));
    }))
}

fn write_credentials(record: &TableRecord<Database>, fields: &mut JsonObjectWriter<'_>) {
    fields.write_field("user", owner_login(&record.body.engine));
    fields.write_field("password", &owner_password(record));
}

/// Returns the name of the login that every database of an engine has from the start.
pub(in crate::emulator::world) fn owner_login(engine: &str) -> &'static str {
    match engine {
        "valkey" | "clickhouse" => "default",
        "kafka" => "admin",
        _ => "owner",
    }
}

fn read_connection(call: &mut Call<'_>) -> Reply {
    let record = find_database(call)?;
    Ok(success_response(200, "", |fields| {
        fields.write_object("data", |fields| {
            fields.write_object("private", |fields| {
                write_endpoint(record, private_endpoint(record), fields);
            });
            fields.write_object("public", |fields| write_endpoint(record, public_endpoint(record), fields));
            write_credentials(record, fields);
            fields.write_field("database", "defaultdb");
        });
    }))
}

/// Writes an endpoint with a URI that contains the password; all fields are empty, and the port 0, for `None`.
fn write_endpoint(
    record: &TableRecord<Database>,
    at: Option<(String, u16)>,
    fields: &mut JsonObjectWriter<'_>,
) {
    let scheme = match record.body.engine.as_str() {
        "valkey" => "rediss",
        "postgres" => "postgresql",
        engine => engine,
    };
    let uri = at.as_ref().map(|(host, port)| {
        let (user, password) = (owner_login(&record.body.engine), owner_password(record));
        format!("{scheme}://{user}:{password}@{host}:{port}/defaultdb")
    });
    let (host, port) = at.unwrap_or_default();
    fields.write_field("host", &host);
    fields.write_field("port", &port);
    fields.write_field("uri", &uri.unwrap_or_default());
}

fn list_parameters(call: &mut Call<'_>) -> Reply {
    let record = find_database(call)?;
    let known: &[(&str, &str)] = match record.body.engine.as_str() {
        "postgres" => &[("max_connections", "200"), ("work_mem", "4MB"), ("statement_timeout", "0")],
        "mysql" => &[("max_connections", "200"), ("wait_timeout", "28800")],
        "valkey" => &[("maxmemory-policy", "noeviction"), ("timeout", "0")],
        "clickhouse" => &[("max_concurrent_queries", "100")],
        _ => &[("num.partitions", "3"), ("log.retention.hours", "168")],
    };
    call.list_of(known, |fields, (name, default)| {
        let value = record.body.engine_config.get(*name).map_or(*default, String::as_str);
        fields.write_field("name", name);
        fields.write_field("value", value);
        fields.write_field("default", default);
    })
}

fn list_clients(call: &mut Call<'_>) -> Reply {
    find_database(call)?;
    call.list_of(&[], |_, (): &()| {})
}
