//! `database_user`: logins of a database, stored in its record. Passwords follow from the id, the name and a counter;
//! the list of users omits them.

use uuid::Uuid;

use super::database::find_database;
use crate::emulator::world::ApiResponse;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::database::{Database, DatabaseUser, user_password};
use crate::emulator::world::request::call::{Call, Reply, message_response, success_response};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/databases/{id}/users";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::Account, list_database_users),
    Route::new(Method::Post, COLLECTION, Access::Project, create_database_user),
    Route::new(
        Method::Delete,
        "/api/v1/databases/{id}/users/{name}",
        Access::Project,
        delete_database_user,
    ),
    Route::new(
        Method::Post,
        "/api/v1/databases/{id}/users/{name}/rotate",
        Access::Project,
        rotate_user_password,
    ),
    Route::new(Method::Get, "/api/v1/databases/{id}/users/{name}/password", Access::Account, read_password),
];

const MAX_USERS: usize = 20;
/// Prefixes of names that users cannot have ("Errors", case 4).
const RESERVED_PREFIXES: &[&str] = &["app_", "fnb_"];

/// Finds the database that the path identifies; refuses one that is not running with 409, because its logins and
/// contents are inside it.
pub(in crate::emulator::world) fn find_running_database<'c>(
    call: &'c Call<'_>,
) -> Result<&'c TableRecord<Database>, ErrorResponse> {
    let record = find_database(call)?;
    match record.status(call.now) {
        "running" | "warning" => Ok(record),
        status => Err(ErrorResponse::conflict(format!("the database is {status}; it must be running"))),
    }
}

fn list_database_users(call: &mut Call<'_>) -> Reply {
    let record = find_database(call)?;
    let mut users: Vec<_> = record.body.users.iter().collect();
    users.sort_by_key(|(name, user)| std::cmp::Reverse((user.created_at, *name)));
    call.list_of(&users, |fields, (name, user)| write_database_user(fields, name, user))
}

fn write_database_user(fields: &mut JsonObjectWriter<'_>, name: &str, user: &DatabaseUser) {
    fields.write_field("name", name);
    fields.write_field("created_at", &user.created_at);
}

fn create_database_user(call: &mut Call<'_>) -> Reply {
    let record = find_running_database(call)?;
    let name = call.body.required_field("name", |field| field.text(1, 63))?.to_owned();
    let mut letters = name.bytes();
    let first = letters.next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if !first || !letters.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
        return Err(ErrorResponse::bad_request(
            "name must be of a-z, 0-9 and _, and not begin with a digit",
        ));
    }
    if let Some(prefix) = RESERVED_PREFIXES.iter().find(|prefix| name.starts_with(**prefix)) {
        return Err(ErrorResponse::bad_request(format!(
            "name {name} is reserved: choose one that does not begin with {prefix}"
        )));
    }
    if record.body.users.contains_key(&name) {
        return Err(ErrorResponse::conflict(format!("the user {name} exists already")));
    }
    if record.body.users.len() >= MAX_USERS {
        return Err(ErrorResponse::bad_request(format!(
            "a database has at most {MAX_USERS} users: delete one first"
        )));
    }
    // The counter prevents a recreated login from getting its earlier password.
    call.world.account.counter += 1;
    let (id, rotations) = (find_database(call)?.id, call.world.account.counter);
    let user = DatabaseUser { created_at: call.now, rotations };
    let made = user.clone();
    let key = name.clone();
    call.update::<Database>(id, |record| {
        record.body.users.insert(key, made);
    });
    Ok(success_response(201, "user created", |fields| {
        fields.write_object("data", |fields| {
            write_database_user(fields, &name, &user);
            fields.write_field("password", &user_password(id, &name, user.rotations));
        });
    }))
}

/// Returns the database's id, and the name and record of the login that the path identifies; "not found"
/// if it has none.
fn find_database_user(
    call: &Call<'_>,
    record: &TableRecord<Database>,
) -> Result<(Uuid, String, DatabaseUser), ErrorResponse> {
    let name = call.param(1);
    let user = record.body.users.get(name).cloned().ok_or_else(|| ErrorResponse::not_found("user"))?;
    Ok((record.id, name.to_owned(), user))
}

fn delete_database_user(call: &mut Call<'_>) -> Reply {
    let (id, name, _) = find_database_user(call, find_running_database(call)?)?;
    call.update::<Database>(id, |record| {
        record.body.users.remove(&name);
    });
    Ok(message_response("user deleted"))
}

fn rotate_user_password(call: &mut Call<'_>) -> Reply {
    let (id, name, mut user) = find_database_user(call, find_running_database(call)?)?;
    user.rotations += 1;
    let (key, kept) = (name.clone(), user.clone());
    call.update::<Database>(id, |record| {
        record.body.users.insert(key, kept);
    });
    Ok(user_response(id, &name, &user, "password changed"))
}

fn read_password(call: &mut Call<'_>) -> Reply {
    let (id, name, user) = find_database_user(call, find_database(call)?)?;
    Ok(user_response(id, &name, &user, ""))
}

fn user_response(id: Uuid, name: &str, user: &DatabaseUser, message: &str) -> ApiResponse {
    success_response(200, message, |fields| {
        fields.write_object("data", |fields| {
            fields.write_field("name", name);
            fields.write_field("password", &user_password(id, name, user.rotations));
        });
    })
}
