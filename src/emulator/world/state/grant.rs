//! `AccessGrant`: what whoever calls may do, and where.
//!
//! The account's first key may do everything. A key that was made has an account role and memberships of
//! projects: the role says what it may do with what belongs to the account, and, unless it is a member of
//! any project, with what belongs to projects. Otherwise each membership speaks for its own project, and
//! other projects do not exist for the key.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::permission::{Permission, Permissions};
use super::world::World;
use crate::emulator::world::Time;
use crate::emulator::world::engine::message::{ApiRequest, ErrorResponse};
use crate::emulator::world::request::call::RequestScope;

/// What a caller may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::emulator::world) enum AccessGrant {
    /// Everything.
    Unrestricted,
    /// What a key that was made may do.
    Key { id: Uuid, account: Permissions, projects: BTreeMap<Uuid, Permissions> },
}

fn permission_denied(need: Permission) -> ErrorResponse {
    let name = need.name();
    ErrorResponse::new(403, "Forbidden", format!("access denied: the API key lacks the permission {name}"))
}

impl AccessGrant {
    /// Returns what the caller may do with what belongs to the account.
    pub(in crate::emulator::world) fn account_permissions(&self) -> Permissions {
        match self {
            Self::Unrestricted => Permissions::full_set(),
            Self::Key { account, .. } => *account,
        }
    }

    /// Returns what the caller may do with what belongs to a project.
    pub(in crate::emulator::world) fn permissions_in_project(&self, project: Uuid) -> Permissions {
        match self {
            Self::Unrestricted => Permissions::full_set(),
            Self::Key { account, projects, .. } if projects.is_empty() => *account,
            Self::Key { projects, .. } => projects.get(&project).copied().unwrap_or_default(),
        }
    }

    /// Returns what the caller may do with a project itself: the account's or the project's role counts.
    pub(in crate::emulator::world) fn permissions_on_project(&self, project: Uuid) -> Permissions {
        self.account_permissions().union_with(self.permissions_in_project(project))
    }

    /// Returns the only projects that exist for the caller, with what it may do there; `None` for all.
    pub(in crate::emulator::world) fn visible_projects(&self) -> Option<&BTreeMap<Uuid, Permissions>> {
        match self {
            Self::Key { projects, .. } if !projects.is_empty() => Some(projects),
            Self::Unrestricted | Self::Key { .. } => None,
        }
    }

    /// Lets a request in, as far as its route and headers tell, or not; returns the scope that is left.
    pub(in crate::emulator::world) fn admit(
        &self,
        need: Option<Permission>,
        scope: RequestScope,
        request: &AccessTarget,
    ) -> Result<RequestScope, ErrorResponse> {
        let Some(need) = need.filter(|_| *self != Self::Unrestricted) else { return Ok(scope) };
        if let Some(project) = request.about {
            return self.admit_about(need, project).map(|()| scope);
        }
        if !need.of_projects() {
            let listing = need.name() == "projects:read" && self.visible_projects().is_some();
            return if listing || self.account_permissions().holds(need) {
                Ok(scope)
            } else {
                Err(permission_denied(need))
            };
        }
        let somewhere = match self.visible_projects() {
            Some(projects) => projects.values().any(|held| held.holds(need)),
            None => self.account_permissions().holds(need),
        };
        if !somewhere {
            return Err(permission_denied(need));
        }
        match scope {
            RequestScope::Project(id) if request.changes => {
                self.require_permission(need, id, "project").map(|()| scope)
            }
            RequestScope::Project(id) if !self.permissions_in_project(id).holds(need) => {
                Ok(RequestScope::UnknownProject)
            }
            RequestScope::Unspecified if request.changes && !request.item => {
                self.require_permission(need, request.default_project, "project").map(|()| scope)
            }
            _ => Ok(scope),
        }
    }

    fn admit_about(&self, need: Permission, project: Uuid) -> Result<(), ErrorResponse> {
        let held = self.permissions_on_project(project);
        if held.holds(need) {
            return Ok(());
        }
        let known = self.account_permissions().holds(need.as_read())
            || !self.permissions_in_project(project).is_empty();
        Err(if known { permission_denied(need) } else { ErrorResponse::not_found("project") })
    }

    /// Refuses what the caller may not do in a project; what it may not see either is not there.
    pub(in crate::emulator::world) fn require_permission(
        &self,
        need: Permission,
        project: Uuid,
        title: &str,
    ) -> Result<(), ErrorResponse> {
        let held = self.permissions_in_project(project);
        if held.holds(need) {
            return Ok(());
        }
        Err(if held.holds(need.as_read()) {
            permission_denied(need)
        } else {
            ErrorResponse::not_found(title)
        })
    }

    /// Refuses to hand on permissions that the caller does not hold.
    pub(in crate::emulator::world) fn hand_on(
        held: Permissions,
        wanted: Permissions,
    ) -> Result<(), ErrorResponse> {
        match wanted.first_not_in(held) {
            Some(need) => Err(permission_denied(need)),
            None => Ok(()),
        }
    }
}

/// What of a request decides who may send it.
pub(in crate::emulator::world) struct AccessTarget {
    pub(in crate::emulator::world) changes: bool,
    /// Whether the path names an object.
    pub(in crate::emulator::world) item: bool,
    /// The project that the path is about.
    pub(in crate::emulator::world) about: Option<Uuid>,
    pub(in crate::emulator::world) default_project: Uuid,
}

impl World {
    /// Finds out who calls.
    pub(in crate::emulator::world) fn authenticate(
        &mut self,
        request: &ApiRequest,
        now: Time,
    ) -> Result<AccessGrant, ErrorResponse> {
        let unauthorized = |message: &str| ErrorResponse::new(401, "Unauthorized", message);
        let Some(key) = &request.api_key else {
            return Err(unauthorized("authentication required: send the header X-API-Key"));
        };
        if self.is_first_key(key) {
            return Ok(AccessGrant::Unrestricted);
        }
        let made = self.made_key(key, now);
        let id = made.ok_or_else(|| unauthorized("authentication required: the API key is not valid"))?;
        self.note_use(id, now);
        Ok(self.grant_of(id))
    }

    fn grant_of(&self, key: Uuid) -> AccessGrant {
        let role = self.api_keys.get(key).and_then(|record| record.body.role_id);
        let account = role.map(|role| self.permissions_of(role)).unwrap_or_default();
        let members = self.project_members.index().of_subject(key);
        let memberships = members.filter_map(|id| self.project_members.get(id));
        let projects = memberships
            .filter_map(|record| Some((record.project?, self.permissions_of(record.body.role_id))))
            .collect();
        AccessGrant::Key { id: key, account, projects }
    }
}
