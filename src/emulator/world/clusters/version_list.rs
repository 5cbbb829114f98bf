//! The list of the Kubernetes versions that a new cluster can have. The path is assumed.

use crate::emulator::world::engine::kubernetes_versions::{VERSIONS, write_version};
use crate::emulator::world::request::call::{Call, Reply};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] =
    &[Route::new(Method::Get, "/api/v1/k8s/versions", Access::Account, |call: &mut Call<'_>| {
        list_versions(call)
    })];

fn list_versions(call: &Call<'_>) -> Reply {
    call.list_of(&VERSIONS, write_version)
}
