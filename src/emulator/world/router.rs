//! `handle_request` finds the route of a request, authenticates and authorizes it, and runs the handler of its kind.

use uuid::Uuid;

use super::apps::upload::{self, ReceivedArchive};
use super::engine::message::{ApiRequest, ApiResponse, ErrorResponse};
use super::engine::request_body::RequestBody;
use super::request::call::{Call, Reply};
use super::request::route::{Access, Route};
use super::state::grant::{AccessGrant, AccessTarget, RequestScope};
use super::state::permission::Permission;
use super::state::world::World;
use super::{Time, account, apps, clock, clusters, compute, databases};
use crate::model::schema::Method;

/// The routing table. Of two matching routes, the first one wins, so a fixed path stands before one with `{…}`.
const ROUTES: &[&[Route]] = &[
    account::public_catalog::ROUTES,
    account::project::ROUTES,
    account::ssh_key::ROUTES,
    compute::vpc::ROUTES,
    compute::vm::ROUTES,
    compute::vm_actions::ROUTES,
    compute::volume::ROUTES,
    compute::snapshot::ROUTES,
    compute::backup::ROUTES,
    compute::backup_schedule::ROUTES,
    databases::database::ROUTES,
    databases::actions::ROUTES,
    databases::access::ROUTES,
    databases::user::ROUTES,
    clusters::version_list::ROUTES,
    clusters::cluster::ROUTES,
    clusters::actions::ROUTES,
    clusters::upgrade::ROUTES,
    clusters::events::ROUTES,
    clusters::kubeconfig::ROUTES,
    clusters::volume_claim::ROUTES,
    clusters::node_pool::ROUTES,
    apps::options::ROUTES,
    apps::app::ROUTES,
    apps::actions::ROUTES,
    apps::scaling::ROUTES,
    apps::deployment::ROUTES,
    upload::ROUTES,
    apps::job_run::ROUTES,
    apps::preview::ROUTES,
    apps::domain::ROUTES,
    apps::database_link::ROUTES,
    apps::events::ROUTES,
    apps::usage::ROUTES,
    account::spend_cap::ROUTES,
    apps::function::ROUTES,
    account::project_member::ROUTES,
    account::role::ROUTES,
    account::permission::ROUTES,
    account::api_key::ROUTES,
    account::invitation::ROUTES,
    databases::console::ROUTES,
    databases::browse::ROUTES,
    databases::saved_query::ROUTES,
];

fn find_route(method: Method, path: &str) -> Option<(&'static Route, Vec<&str>)> {
    let routes = ROUTES.iter().flat_map(|routes| routes.iter());
    routes.filter(|route| route.method == method).find_map(|route| Some((route, route.match_path(path)?)))
}

/// Returns the template that matches a request's path, for logs; `None` if no route does.
#[must_use]
pub fn route_template(method: Method, path: &str) -> Option<&'static str> {
    find_route(method, path).map(|(route, _)| route.template)
}

/// Returns the method and the template of each route.
pub fn all_routes() -> impl Iterator<Item = (Method, &'static str)> {
    ROUTES.iter().flat_map(|routes| routes.iter()).map(|route| (route.method, route.template))
}

/// Answers one request at a time of the virtual clock, after the clock moved there. It does not fail: a
/// refusal is a response.
pub fn handle_request(world: &mut World, request: &ApiRequest, now: Time) -> ApiResponse {
    let now = clock::tick(world, now);
    dispatch_request(world, request, now).unwrap_or_else(ApiResponse::from)
}

/// Answers an upload whose body the server has already read and hashed.
pub fn handle_upload(
    world: &mut World,
    request: &ApiRequest,
    archive: &ReceivedArchive,
    now: Time,
) -> ApiResponse {
    let now = clock::tick(world, now);
    upload::receive_upload(world, request, archive, now).unwrap_or_else(ApiResponse::from)
}

fn dispatch_request(world: &mut World, request: &ApiRequest, now: Time) -> Reply {
    let found = find_route(request.method, &request.path);
    if let Some((Route { access: Access::Presigned, .. }, _)) = found {
        return upload::receive_upload(world, request, &ReceivedArchive::from_bytes(&request.body), now);
    }
    let public = matches!(found, Some((Route { access: Access::Public, .. }, _)));
    // The key is checked before the route: without one, an unknown path is answered with 401, as by a gateway.
    let grant = if public {
        AccessGrant::Unrestricted
    } else {
        account::api_key::authenticate(world, request, now)?
    };
    let (route, params) = found.ok_or_else(|| ErrorResponse::not_found("route"))?;
    let need = Permission::for_route(route.method, route.template);
    let about = route.template.starts_with("/api/v1/projects/{id}").then(|| params.first());
    let target = AccessTarget {
        changes: request.method.mutates(),
        item: !params.is_empty(),
        about: about.flatten().and_then(|text| Uuid::try_parse(text).ok()),
        default_project: world.default_project(),
    };
    let scope = grant.admit(need, resolve_scope(world, request, route.access)?, &target)?;
    let body = if request.method.mutates() {
        RequestBody::parse(&request.body)?
    } else {
        RequestBody::parse(b"")?
    };
    (route.run)(&mut Call { world, now, scope, grant, need, params, query: &request.query, body })
}

fn resolve_scope(
    world: &World,
    request: &ApiRequest,
    access: Access,
) -> Result<RequestScope, ErrorResponse> {
    if matches!(access, Access::Public | Access::Account | Access::Presigned) {
        return Ok(RequestScope::Unspecified);
    }
    let stated = request.project.as_deref().filter(|text| !text.is_empty());
    let known =
        stated.map(|text| Uuid::try_parse(text).ok().filter(|id| world.projects.get(*id).is_some()));
    match (known, request.method.mutates()) {
        (Some(Some(id)), _) => Ok(RequestScope::Project(id)),
        // A change must not end up in another project than the one that was meant; a read shows an empty list instead.
        (Some(None), true) => Err(ErrorResponse::not_found("project")),
        (None, true) if access == Access::ProjectStated => {
            Err(ErrorResponse::bad_request("X-Project-ID required"))
        }
        (Some(None), false) => Ok(RequestScope::UnknownProject),
        (None, _) => Ok(RequestScope::Unspecified),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::world::state::permission;
    use crate::kinds::REGISTRY;

    #[test]
    fn each_route_needs_a_permission_or_is_a_catalog() {
        let all = ROUTES.iter().flat_map(|routes| routes.iter());
        for route in all {
            let unguarded = matches!(route.access, Access::Public | Access::Presigned);
            let known = unguarded
                || permission::is_open(route.template)
                || Permission::for_route(route.method, route.template).is_some();
            assert!(known, "{} {} is in no area of `permission`", route.method, route.template);
        }
    }

    #[test]
    fn no_route_shadows_another() {
        let all: Vec<_> = ROUTES.iter().flat_map(|routes| routes.iter()).collect();
        for route in &all {
            let path = route.template.replace(['{', '}'], "");
            let (found, _) = find_route(route.method, &path).unwrap();
            assert_eq!(found.template, route.template, "{}", route.method);
        }
    }

    #[test]
    fn a_mutating_route_requires_a_project_where_its_kind_does() {
        for kind in REGISTRY.kinds {
            for endpoint in kind.endpoints().filter(|endpoint| endpoint.method.mutates()) {
                let (route, _) = find_route(endpoint.method, endpoint.path).unwrap();
                let stated = route.access == Access::ProjectStated;
                assert_eq!(stated, kind.states_project, "{} {}", endpoint.method, endpoint.path);
            }
        }
    }
}
