//! Permissions: those that a role can contain, and the one that each route requires. The names are assumed: the
//! specification does not define them ("Authentication", 6).
//!
//! An area of the service has two permissions, `AREA:read` and `AREA:write`. Reading a secret requires write
//! permission; a query that changes nothing requires read permission.

use crate::model::schema::Method;

/// A part of the service with its own pair of permissions.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::emulator::world) struct PermissionArea {
    name: &'static str,
    about: &'static str,
    /// Prefixes of its paths, after `/api/v1/`.
    paths: &'static [&'static str],
    /// Whether its objects belong to projects rather than to the account.
    pub(in crate::emulator::world) of_projects: bool,
}

const fn new_area(
    name: &'static str,
    about: &'static str,
    of_projects: bool,
    paths: &'static [&'static str],
) -> PermissionArea {
    PermissionArea { name, about, paths, of_projects }
}

const COMPUTE_PATHS: &[&str] = &["vms", "volumes", "snapshots", "backups", "backup-schedules"];

/// The areas. If a path matches two areas, the first one applies.
static AREAS: [PermissionArea; 11] = [
    new_area("billing", "spend settings and usage", false, &["apps/spend-settings", "apps/usage"]),
    new_area("compute", "VMs, volumes, snapshots, backups and their schedules", true, COMPUTE_PATHS),
    new_area("networks", "VPCs", true, &["vpcs"]),
    new_area("databases", "databases, their users and queries", true, &["databases"]),
    new_area("kubernetes", "clusters and node pools", true, &["k8s"]),
    new_area("apps", "app services, domains and links", true, &["apps"]),
    new_area("functions", "functions", true, &["functions"]),
    new_area("ssh_keys", "SSH keys", false, &["ssh-keys"]),
    new_area("api_keys", "API keys", false, &["api-keys"]),
    new_area("members", "members, invitations and roles", false, &["members", "invitations", "roles"]),
    new_area("projects", "projects", false, &["projects"]),
];

/// Routes that need no permission: catalogs.
const OPEN_ROUTES: &[&str] = &[
    "/api/v1/databases/plans",
    "/api/v1/database/plans",
    "/api/v1/databases/engines",
    "/api/v1/k8s/node-plans",
    "/api/v1/k8s/versions",
    "/api/v1/apps/sizes",
    "/api/v1/apps/templates",
    "/api/v1/apps/github/connections",
    "/api/v1/vpcs/cidr-suggestions",
    "/api/v1/permissions",
];

/// Returns whether a route needs a valid key but no permission.
pub(in crate::emulator::world) fn is_open(template: &str) -> bool {
    OPEN_ROUTES.contains(&template)
}

/// Suffixes of routes that only read, although their method is not GET.
const READ_SUFFIXES: &[&str] = &["/console", "/browse"];
/// Suffixes of routes that return a secret, although their method is GET.
const SECRET_SUFFIXES: &[&str] = &["/connection", "/password", "/kubeconfig"];

/// A permission: an area, with read or write access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::emulator::world) struct Permission {
    area: usize,
    write: bool,
}

impl Permission {
    /// Returns the permission that a route requires; `None` if any key is sufficient, and for paths outside the areas.
    pub(in crate::emulator::world) fn for_route(method: Method, template: &str) -> Option<Self> {
        if is_open(template) {
            return None;
        }
        let path = template.strip_prefix("/api/v1/")?;
        let ends = |ends: &[&str]| ends.iter().any(|end| template.ends_with(end));
        let write = if method.mutates() { !ends(READ_SUFFIXES) } else { ends(SECRET_SUFFIXES) };
        // The members of a project need the same permission as those of the account.
        if path.starts_with("projects/{id}/members") {
            return Self::from_name(if write { "members:write" } else { "members:read" });
        }
        let begins = |start: &&str| {
            let rest = path.strip_prefix(*start);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let area = AREAS.iter().position(|area| area.paths.iter().any(&begins))?;
        Some(Self { area, write })
    }

    /// Returns the permission with a name such as `compute:read`; `None` if there is none.
    pub(in crate::emulator::world) fn from_name(name: &str) -> Option<Self> {
        all_permissions().find(|need| need.name() == name)
    }

    pub(in crate::emulator::world) fn name(self) -> String {
        let area = AREAS.get(self.area).map_or("", |area| area.name);
        format!("{area}:{}", if self.write { "write" } else { "read" })
    }

    /// Returns whether the permission is about objects of projects.
    pub(in crate::emulator::world) fn of_projects(self) -> bool {
        AREAS.get(self.area).is_some_and(|area| area.of_projects)
    }

    /// Returns the read permission of the same area.
    pub(in crate::emulator::world) fn as_read(self) -> Self {
        Self { write: false, ..self }
    }

    /// Returns the write permission of the same area.
    pub(in crate::emulator::world) fn as_write(self) -> Self {
        Self { write: true, ..self }
    }

    /// Returns what the permission allows, as a phrase for the list of permissions.
    pub(in crate::emulator::world) fn description(self) -> String {
        let about = AREAS.get(self.area).map_or("", |area| area.about);
        let verb = if self.write { "change, and read secrets of," } else { "read" };
        format!("{verb} {about}")
    }

    fn bit(self) -> u32 {
        1 << (self.area * 2 + usize::from(self.write))
    }
}

pub(in crate::emulator::world) fn all_permissions() -> impl Iterator<Item = Permission> {
    (0..AREAS.len()).flat_map(|area| [false, true].map(|write| Permission { area, write }))
}

/// A set of permissions, stored as one bit each; the default is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::emulator::world) struct Permissions(u32);

impl Permissions {
    /// Returns the set of all permissions.
    pub(in crate::emulator::world) fn full_set() -> Self {
        all_permissions().collect()
    }

    pub(in crate::emulator::world) fn holds(self, need: Permission) -> bool {
        self.0 & need.bit() != 0
    }

    pub(in crate::emulator::world) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(in crate::emulator::world) fn union_with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the first permission of this set that is missing in the other; `None` if the other has them all.
    pub(in crate::emulator::world) fn first_not_in(self, other: Self) -> Option<Permission> {
        all_permissions().find(|need| self.holds(*need) && !other.holds(*need))
    }

    pub(in crate::emulator::world) fn names(self) -> Vec<String> {
        all_permissions().filter(|need| self.holds(*need)).map(Permission::name).collect()
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(needs: I) -> Self {
        Self(needs.into_iter().fold(0, |bits, need| bits | need.bit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_needs_the_permission_of_its_area() {
        for (method, template, wanted) in [
            (Method::Get, "/api/v1/vms", "compute:read"),
            (Method::Post, "/api/v1/backup-schedules", "compute:write"),
            (Method::Get, "/api/v1/vpcs/{id}", "networks:read"),
            (Method::Post, "/api/v1/databases/{id}/console", "databases:read"),
            (Method::Get, "/api/v1/databases/{id}/connection", "databases:write"),
            (Method::Get, "/api/v1/databases/{id}/users/{name}/password", "databases:write"),
            (Method::Get, "/api/v1/databases/{id}/users", "databases:read"),
            (Method::Patch, "/api/v1/apps/spend-settings", "billing:write"),
            (Method::Patch, "/api/v1/apps/services/{id}", "apps:write"),
            (Method::Get, "/api/v1/k8s/clusters/{id}/kubeconfig", "kubernetes:write"),
            (Method::Delete, "/api/v1/projects/{id}", "projects:write"),
            (Method::Get, "/api/v1/projects/{id}/members", "members:read"),
            (Method::Post, "/api/v1/roles", "members:write"),
        ] {
            assert_eq!(Permission::for_route(method, template).unwrap().name(), wanted, "{template}");
        }
        assert_eq!(Permission::for_route(Method::Get, "/api/v1/databases/plans"), None);
    }

    #[test]
    fn permission_names_and_sets_convert_both_ways() {
        for need in all_permissions() {
            assert_eq!(Permission::from_name(&need.name()), Some(need));
            let set: Permissions = [need].into_iter().collect();
            assert_eq!(set.names(), [need.name()]);
            assert!(Permissions::full_set().first_not_in(set).is_some());
            assert_eq!(set.first_not_in(Permissions::full_set()), None);
        }
        assert_eq!(Permission::from_name("compute:own"), None);
    }
}
