//! The list of the permissions that a role can contain.

use crate::emulator::world::request::call::{Call, Reply};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::permission;
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] =
    &[Route::new(Method::Get, "/api/v1/permissions", Access::Account, list_permissions)];

fn list_permissions(call: &mut Call<'_>) -> Reply {
    let needs: Vec<_> = permission::all_permissions().collect();
    call.list_of(&needs, |fields, need| {
        fields.write_field("name", &need.name());
        fields.write_field("description", &need.description());
    })
}
