//! `AccessGrant`: the permissions of a caller, and the projects they apply to.
//!
//! The account's first key has all permissions. A key that was created later has an account role and may be a
//! member of projects. The role applies to objects of the account, and also to objects of all projects if the
//! key is not a member of any project. Otherwise each membership applies to its own project, and other projects
//! are invisible to the key.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::permission::{Permission, Permissions};
use crate::emulator::world::engine::message::ErrorResponse;

/// The permissions of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::emulator::world) enum AccessGrant {
    /// All permissions: the account's first key.
    Unrestricted,
    /// The permissions of a key that was created by a request: those of its role, and those of its memberships.
    Key { id: Uuid, account: Permissions, projects: BTreeMap<Uuid, Permissions> },
}

fn permission_denied(need: Permission) -> ErrorResponse {
    let name = need.name();
    ErrorResponse::new(403, "Forbidden", format!("access denied: the API key lacks the permission {name}"))
}

impl AccessGrant {
    /// Returns the caller's permissions for objects of the account.
    pub(in crate::emulator::world) fn account_permissions(&self) -> Permissions {
        match self {
            Self::Unrestricted => Permissions::full_set(),
            Self::Key { account, .. } => *account,
        }
    }

    /// Returns the caller's permissions for objects of a project; none for a project that it is not a member of.
    pub(in crate::emulator::world) fn permissions_in_project(&self, project: Uuid) -> Permissions {
        match self {
            Self::Unrestricted => Permissions::full_set(),
            Self::Key { account, projects, .. } if projects.is_empty() => *account,
            Self::Key { projects, .. } => projects.get(&project).copied().unwrap_or_default(),
        }
    }

    /// Returns the caller's permissions for a project itself: the union of the account's and the project's role.
    pub(in crate::emulator::world) fn permissions_on_project(&self, project: Uuid) -> Permissions {
        self.account_permissions().union_with(self.permissions_in_project(project))
    }

    /// Returns the only projects that are visible to the caller, with its permissions there; `None` if all are.
    pub(in crate::emulator::world) fn visible_projects(&self) -> Option<&BTreeMap<Uuid, Permissions>> {
        match self {
            Self::Key { projects, .. } if !projects.is_empty() => Some(projects),
            Self::Unrestricted | Self::Key { .. } => None,
        }
    }

    /// Checks a request against its route and headers; returns the scope that the caller may use. A project that the
    /// caller may not read becomes an unknown one, so that its lists are empty instead of forbidden.
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

    /// Refuses an operation that the caller lacks the permission for; reports "not found" if the caller may not
    /// read the object either.
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

    /// Refuses to grant permissions that the caller does not have: a key must not create a more powerful one.
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

/// The properties of a request that access control depends on.
pub(in crate::emulator::world) struct AccessTarget {
    /// Whether the method can change something.
    pub(in crate::emulator::world) changes: bool,
    /// Whether the path identifies a single object.
    pub(in crate::emulator::world) item: bool,
    /// Id of the project that the path is about; `None` for other paths, and if it is not a UUID.
    pub(in crate::emulator::world) about: Option<Uuid>,
    pub(in crate::emulator::world) default_project: Uuid,
}

/// The scope that the `X-Project-ID` header selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::emulator::world) enum RequestScope {
    /// No header: the whole account.
    Unspecified,
    /// One of the account's projects.
    Project(Uuid),
    /// A value that is not the id of one of the account's projects.
    UnknownProject,
}
