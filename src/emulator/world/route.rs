//! `handle`: finds the route of a request, lets it in or not, and runs the kind's behaviour.

use uuid::Uuid;

use super::Time;
use super::body::Body;
use super::call::{Call, Reply, Scope};
use super::exchange::{Refusal, Request, Response};
use super::tables::World;
use super::upload::Archive;
use super::{
    app, app_catalog, app_change, app_domain, app_event, app_link, app_scale, app_usage, backup_schedule,
    database, database_access, database_operation, database_user, deployment, function, job_run, preview,
    project, public, spend, ssh_key, upload, vm, vm_operation, volume, vpc,
};
use crate::model::schema::Method;

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Everyone.
    Public,
    /// Whoever has a key; `X-Project-ID` means nothing here.
    Account,
    /// Whoever has a key; without `X-Project-ID` the default project is meant.
    Project,
    /// Whoever has a key; a change must say `X-Project-ID`.
    ProjectStated,
    /// Whoever has the address, which carries a signature. The body is an archive, not JSON.
    Presigned,
}

/// One row of the routing table.
pub(super) struct Route {
    pub(super) method: Method,
    /// The path, with `{…}` for the parts that vary.
    pub(super) template: &'static str,
    pub(super) access: Access,
    pub(super) run: fn(&mut Call<'_>) -> Reply,
}

impl Route {
    pub(super) const fn new(
        method: Method,
        template: &'static str,
        access: Access,
        run: fn(&mut Call<'_>) -> Reply,
    ) -> Self {
        Self { method, template, access, run }
    }

    /// Returns the varying parts of a path that the template fits.
    fn fit<'a>(&self, path: &'a str) -> Option<Vec<&'a str>> {
        let mut params = Vec::new();
        let mut parts = path.split('/');
        for wanted in self.template.split('/') {
            let part = parts.next()?;
            if wanted.starts_with('{') && !part.is_empty() {
                params.push(part);
            } else if wanted != part {
                return None;
            }
        }
        parts.next().is_none().then_some(params)
    }
}

/// The routing table; of two that fit, the first one counts.
const ROUTES: &[&[Route]] = &[
    public::ROUTES,
    project::ROUTES,
    ssh_key::ROUTES,
    vpc::ROUTES,
    vm::ROUTES,
    vm_operation::ROUTES,
    volume::ROUTES,
    backup_schedule::ROUTES,
    database::ROUTES,
    database_operation::ROUTES,
    database_access::ROUTES,
    database_user::ROUTES,
    app_catalog::ROUTES,
    app::ROUTES,
    app_change::ROUTES,
    app_scale::ROUTES,
    deployment::ROUTES,
    upload::ROUTES,
    job_run::ROUTES,
    preview::ROUTES,
    app_domain::ROUTES,
    app_link::ROUTES,
    app_event::ROUTES,
    app_usage::ROUTES,
    spend::ROUTES,
    function::ROUTES,
];

fn find(method: Method, path: &str) -> Option<(&'static Route, Vec<&str>)> {
    let routes = ROUTES.iter().flat_map(|routes| routes.iter());
    routes.filter(|route| route.method == method).find_map(|route| Some((route, route.fit(path)?)))
}

/// Returns the template that a request's path fits, for logs and faults.
#[must_use]
pub fn template(method: Method, path: &str) -> Option<&'static str> {
    find(method, path).map(|(route, _)| route.template)
}

/// Answers one request at a time of the world's clock.
pub fn handle(world: &mut World, request: &Request, now: Time) -> Response {
    let now = world.tick(now);
    dispatch(world, request, now).unwrap_or_else(Response::from)
}

/// Answers a request whose body is an archive that was read already.
pub fn receive(world: &mut World, request: &Request, archive: &Archive, now: Time) -> Response {
    let now = world.tick(now);
    upload::receive(world, request, archive, now).unwrap_or_else(Response::from)
}

fn dispatch(world: &mut World, request: &Request, now: Time) -> Reply {
    let found = find(request.method, &request.path);
    if let Some((Route { access: Access::Presigned, .. }, _)) = found {
        return upload::receive(world, request, &Archive::of(&request.body), now);
    }
    if !matches!(found, Some((Route { access: Access::Public, .. }, _))) {
        authenticate(world, request)?;
    }
    let (route, params) = found.ok_or_else(|| Refusal::unknown("route"))?;
    let scope = scope(world, request, route.access)?;
    let body = if request.method.mutates() { Body::parse(&request.body)? } else { Body::parse(b"")? };
    (route.run)(&mut Call { world, now, scope, params, query: &request.query, body })
}

fn authenticate(world: &World, request: &Request) -> Result<(), Refusal> {
    let unauthorized = |message: &str| Refusal::new(401, "Unauthorized", message);
    let Some(key) = &request.api_key else {
        return Err(unauthorized("authentication required: send the header X-API-Key"));
    };
    match world.tier_of(key) {
        Some(_) => Ok(()),
        None => Err(unauthorized("authentication required: the API key is not valid")),
    }
}

fn scope(world: &World, request: &Request, access: Access) -> Result<Scope, Refusal> {
    if matches!(access, Access::Public | Access::Account | Access::Presigned) {
        return Ok(Scope::Whole);
    }
    let stated = request.project.as_deref().filter(|text| !text.is_empty());
    let known =
        stated.map(|text| Uuid::try_parse(text).ok().filter(|id| world.projects.get(*id).is_some()));
    match (known, request.method.mutates()) {
        (Some(Some(id)), _) => Ok(Scope::Project(id)),
        (Some(None), true) => Err(Refusal::unknown("project")),
        (None, true) if access == Access::ProjectStated => Err(Refusal::bad("X-Project-ID required")),
        (Some(None), false) => Ok(Scope::Nowhere),
        (None, _) => Ok(Scope::Whole),
    }
}
