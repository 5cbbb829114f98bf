//! `role`: named sets of permissions; four of them are built in. The specification names the area only, so all of it
//! is assumed. A caller cannot grant a permission that it does not have.

use uuid::Uuid;

use crate::emulator::world::Time;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::{BodyField, RequestBody as Input};
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::account::Role;
use crate::emulator::world::request::call::{
    Call, Reply, list_response, message_response, success_response,
};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::grant::AccessGrant;
use crate::emulator::world::state::permission::{self, Permission, Permissions};
use crate::emulator::world::state::world::World;
use crate::model::diagnostic::nearest_name;
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/roles";
const ITEM: &str = "/api/v1/roles/{id}";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::Account, list_roles),
    Route::new(Method::Post, COLLECTION, Access::Account, create_role),
    Route::new(Method::Get, ITEM, Access::Account, read_role),
    Route::new(Method::Patch, ITEM, Access::Account, update_role),
    Route::new(Method::Delete, ITEM, Access::Account, delete_role),
];

const MAX_PERMISSIONS: usize = 256;

/// A role that exists in every account.
struct BuiltInRole {
    id: Uuid,
    name: &'static str,
    slug: &'static str,
    holds: fn(Permission) -> bool,
}

const fn built_in(
    id: u128,
    name: &'static str,
    slug: &'static str,
    holds: fn(Permission) -> bool,
) -> BuiltInRole {
    // Version 4 and the RFC's variant, so that the ids have the shape of all others.
    BuiltInRole { id: Uuid::from_u128(0x4c1d_07a2_93be_4e58_8d20_0000_0000_0000 | id), name, slug, holds }
}

/// The built-in roles, youngest first, the order of lists; the owner's role is the last one.
static BUILT_IN: [BuiltInRole; 4] = [
    built_in(4, "Viewer", "viewer", |need| need == need.as_read()),
    built_in(3, "Developer", "developer", |need| {
        need == need.as_read() || need.of_projects() || need.name() == "ssh_keys:write"
    }),
    built_in(2, "Admin", "admin", |need| need.name() != "billing:write"),
    built_in(1, "Owner", "owner", |_| true),
];

impl BuiltInRole {
    fn find(id: Uuid) -> Option<&'static Self> {
        BUILT_IN.iter().find(|role| role.id == id)
    }

    fn permissions(&self) -> Permissions {
        permission::all_permissions().filter(|need| (self.holds)(*need)).collect()
    }
}

/// Returns the role of the account's owner.
pub(in crate::emulator::world) fn owner_role() -> Uuid {
    BUILT_IN.last().map(|role| role.id).unwrap_or_default()
}

impl Handlers for Role {
    fn show(record: &TableRecord<Self>, _: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let Role { name, slug, permissions } = &record.body;
        let times = (record.created_at, record.updated_at);
        write_role(fields, record.id, (name, slug), permissions, (false, times));
    }
}

fn write_role(
    fields: &mut JsonObjectWriter<'_>,
    id: Uuid,
    (name, slug): (&str, &str),
    permissions: &[String],
    (built_in, times): (bool, (Time, Time)),
) {
    fields.write_field("id", &id);
    fields.write_field("name", name);
    fields.write_field("slug", slug);
    fields.write_field("permissions", permissions);
    fields.write_field("is_builtin", &built_in);
    fields.write_field("created_at", &times.0);
    fields.write_field("updated_at", &times.1);
}

/// Writes a built-in role, which has no record; its creation time is that of the account.
fn show_built_in(fields: &mut JsonObjectWriter<'_>, role: &BuiltInRole, view: RenderContext<'_>) {
    let default = view.world.projects.get(view.world.default_project());
    let since = default.map_or(view.now, |project| project.created_at);
    let names = role.permissions().names();
    write_role(fields, role.id, (role.name, role.slug), &names, (true, (since, since)));
}

/// Returns the permissions of a role; none for an unknown one. Names that are no longer permissions are ignored.
pub(in crate::emulator::world) fn role_permissions(world: &World, role: Uuid) -> Permissions {
    if let Some(role) = BuiltInRole::find(role) {
        return role.permissions();
    }
    let custom = world.roles.get(role).map(|record| &record.body.permissions);
    custom.into_iter().flatten().filter_map(|name| Permission::from_name(name)).collect()
}

/// Writes `role_id`, `role_name` and `role_slug`; all are `null` without a role.
pub(in crate::emulator::world) fn write_role_fields(
    world: &World,
    role: Option<Uuid>,
    fields: &mut JsonObjectWriter<'_>,
) {
    let built_in = role.and_then(BuiltInRole::find).map(|role| (role.name, role.slug));
    let custom = role.and_then(|role| world.roles.get(role));
    let custom = custom.map(|record| (record.body.name.as_str(), record.body.slug.as_str()));
    let (name, slug) = built_in.or(custom).unzip();
    fields.write_field("role_id", &role);
    fields.write_field("role_name", &name);
    fields.write_field("role_slug", &slug);
}

/// Reads `role_id`; `None` if it is absent. The role must exist, and `held`, the caller's permissions, must include
/// all of its permissions.
pub(in crate::emulator::world) fn read_optional_role(
    call: &Call<'_>,
    held: Permissions,
) -> Result<Option<Uuid>, ErrorResponse> {
    let Some(id) = call.body.optional_field("role_id", BodyField::uuid)? else { return Ok(None) };
    if BuiltInRole::find(id).is_none() {
        call.find_by_id::<Role>(id)?;
    }
    AccessGrant::hand_on(held, role_permissions(call.world, id))?;
    Ok(Some(id))
}

/// Reads `role_id`, which is required; see `read_optional_role`.
pub(in crate::emulator::world) fn read_required_role(
    call: &Call<'_>,
    held: Permissions,
) -> Result<Uuid, ErrorResponse> {
    read_optional_role(call, held)?.ok_or_else(|| ErrorResponse::bad_request("role_id is required"))
}

fn list_roles(call: &mut Call<'_>) -> Reply {
    let (offset, limit) = call.page_bounds()?;
    let custom = call.world.roles.len(None);
    let view = RenderContext { world: call.world, now: call.now, detail: false };
    let records: Vec<_> = call.world.roles.page(None, offset, limit).collect();
    let rest = BUILT_IN.iter().skip(offset.saturating_sub(custom)).take(limit - records.len());
    let page = records.into_iter().map(Ok).chain(rest.map(Err));
    Ok(list_response(custom + BUILT_IN.len(), page, |fields, role| match role {
        Ok(record) => Role::show(record, view, fields),
        Err(built_in) => show_built_in(fields, built_in, view),
    }))
}

/// Reads the list of permission names from a body, sorted and without duplicates; `None` if it is absent. An
/// unknown name is refused.
fn read_permissions(body: &Input) -> Result<Option<Vec<String>>, ErrorResponse> {
    let read = |field: BodyField<'_>| {
        let name = field.text(1, 128)?;
        if Permission::from_name(name).is_some() {
            return Ok(name.to_owned());
        }
        let known: Vec<_> = permission::all_permissions().map(Permission::name).collect();
        let hint = nearest_name(name, known.iter().map(String::as_str));
        let hint = hint.map(|known| format!(" Did you mean {known}?")).unwrap_or_default();
        Err(ErrorResponse::bad_request(format!(
            "permissions: there is no permission {name}.{hint} GET /api/v1/permissions lists them"
        )))
    };
    let read = body.optional_field("permissions", |field| field.list(MAX_PERMISSIONS, read))?;
    Ok(read.map(|mut names| {
        names.sort();
        names.dedup();
        names
    }))
}

fn permission_set(names: &[String]) -> Permissions {
    names.iter().filter_map(|name| Permission::from_name(name)).collect()
}

/// Returns a name in lower-case ASCII letters, digits and hyphens; empty if it has neither letters nor digits.
fn slugify_name(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

fn create_role(call: &mut Call<'_>) -> Reply {
    let name = call.body.required_field("name", BodyField::name)?;
    let permissions = read_permissions(&call.body)?.unwrap_or_default();
    AccessGrant::hand_on(call.grant.account_permissions(), permission_set(&permissions))?;
    let mut slug = slugify_name(&name);
    if slug.is_empty() {
        return Err(ErrorResponse::bad_request("name must have a letter or a digit"));
    }
    // Names may repeat, slugs must be unique.
    while call.world.roles.index().0.contains_key(&slug) || BUILT_IN.iter().any(|role| role.slug == slug) {
        let (rest, _, _, _) = call.world.fresh_id().as_fields();
        slug = format!("{slug}-{rest:08x}");
    }
    let now = call.now;
    let body = Role { name, slug, permissions };
    let id = call.world.create_record(None, now, Timeline::with_status(now, "active"), body);
    call.record_response::<Role>(201, id, "role created")
}

fn read_role(call: &mut Call<'_>) -> Reply {
    if let Some(role) = Uuid::try_parse(call.param(0)).ok().and_then(BuiltInRole::find) {
        let view = RenderContext { world: call.world, now: call.now, detail: true };
        return Ok(success_response(200, "", |fields| {
            fields.write_object("data", |fields| show_built_in(fields, role, view));
        }));
    }
    let id = call.find_by_path::<Role>()?.id;
    call.record_response::<Role>(200, id, "")
}

/// Finds the role that the path identifies; refuses a built-in role, with 403.
fn find_custom_role<'c>(call: &'c Call<'_>) -> Result<&'c TableRecord<Role>, ErrorResponse> {
    if let Some(role) = Uuid::try_parse(call.param(0)).ok().and_then(BuiltInRole::find) {
        let message = format!("access denied: the role {} is built in and cannot be changed", role.slug);
        return Err(ErrorResponse::new(403, "Forbidden", message));
    }
    call.find_by_path::<Role>()
}

fn update_role(call: &mut Call<'_>) -> Reply {
    let record = find_custom_role(call)?;
    let (id, mut body) = (record.id, record.body.clone());
    body.name = call.body.optional_field("name", BodyField::name)?.unwrap_or(body.name);
    if let Some(names) = read_permissions(&call.body)? {
        AccessGrant::hand_on(call.grant.account_permissions(), permission_set(&names))?;
        body.permissions = names;
    }
    call.update::<Role>(id, |record| record.body = body);
    call.record_response::<Role>(200, id, "role updated")
}

fn delete_role(call: &mut Call<'_>) -> Reply {
    let id = find_custom_role(call)?.id;
    let world = &*call.world;
    let uses = [
        &world.api_keys.index().roles,
        &world.project_members.index().roles,
        &world.invitations.index().roles,
    ];
    if uses.iter().any(|uses| uses.is_used(id)) {
        return Err(ErrorResponse::conflict("the role is in use by an API key, a member or an invitation"));
    }
    call.world.roles.remove(id);
    Ok(message_response("role deleted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_has_letters_digits_and_hyphens() {
        for (name, wanted) in [("Site Ops", "site-ops"), ("  a--B_9 ", "a-b-9"), ("é", ""), ("x", "x")] {
            assert_eq!(slugify_name(name), wanted);
        }
    }

    #[test]
    fn each_built_in_role_has_more_permissions_than_the_previous_one() {
        for pair in BUILT_IN.windows(2) {
            assert_eq!(pair[0].permissions().first_not_in(pair[1].permissions()), None);
            assert!(pair[1].permissions().first_not_in(pair[0].permissions()).is_some());
        }
        assert!(BUILT_IN.iter().all(|role| role.id.get_version_num() == 4));
    }
}
