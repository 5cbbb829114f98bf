//! The endpoints that the specification names, those that the contract assumes, and the few that no kind uses.

use stead::model::schema::{Method, Provenance};

/// Endpoints that the specification names.
pub const SAID: &[&str] = &[
    "GET /health",
    "GET /ready",
    "GET /api/v1/public/regions",
    "GET /api/v1/public/templates",
    "GET /api/v1/public/pricing/vm",
    "GET /api/v1/public/pricing/ip",
    "GET /api/v1/public/pricing/volume",
    "GET /api/v1/public/pricing/snapshot",
    "GET /api/v1/public/pricing/backup",
    "GET /api/v1/public/pricing/database",
    "GET /api/v1/public/pricing/kubernetes",
    "POST /api/v1/api-keys",
    "POST /api/v1/vpcs",
    "GET /api/v1/vpcs/cidr-suggestions",
    "GET /api/v1/vms",
    "POST /api/v1/vms",
    "GET /api/v1/vms/{id}",
    "DELETE /api/v1/vms/{id}",
    "POST /api/v1/vms/{id}/start",
    "POST /api/v1/vms/{id}/stop",
    "POST /api/v1/vms/{id}/reboot",
    "POST /api/v1/vms/{id}/resize",
    "PATCH /api/v1/vms/{id}/console-policy",
    "GET /api/v1/volumes",
    "POST /api/v1/volumes",
    "GET /api/v1/volumes/{id}",
    "PATCH /api/v1/volumes/{id}",
    "DELETE /api/v1/volumes/{id}",
    "POST /api/v1/volumes/{id}/attach",
    "POST /api/v1/volumes/{id}/detach",
    "GET /api/v1/snapshots",
    "POST /api/v1/snapshots",
    "GET /api/v1/snapshots/{id}",
    "DELETE /api/v1/snapshots/{id}",
    "POST /api/v1/snapshots/{id}/restore",
    "PATCH /api/v1/snapshots/{id}/rename",
    "GET /api/v1/backups",
    "POST /api/v1/backups",
    "GET /api/v1/backups/{id}",
    "DELETE /api/v1/backups/{id}",
    "POST /api/v1/backups/{id}/restore",
    "GET /api/v1/backup-schedules",
    "POST /api/v1/backup-schedules",
    "GET /api/v1/backup-schedules/{id}",
    "PATCH /api/v1/backup-schedules/{id}",
    "DELETE /api/v1/backup-schedules/{id}",
    "POST /api/v1/databases",
    "GET /api/v1/databases/engines",
    "GET /api/v1/databases/plans",
    "GET /api/v1/database/plans",
    "PATCH /api/v1/databases/{id}",
    "POST /api/v1/databases/{id}/vpc",
    "DELETE /api/v1/databases/{id}/vpc",
    "POST /api/v1/databases/{id}/public-access",
    "POST /api/v1/databases/{id}/resume",
    "POST /api/v1/databases/{id}/restore",
    "POST /api/v1/databases/{id}/credentials/rotate",
    "GET /api/v1/databases/{id}/connection",
    "GET /api/v1/databases/{id}/parameters",
    "GET /api/v1/databases/{id}/metrics/clients",
    "GET /api/v1/databases/{id}/consumers",
    "POST /api/v1/databases/{id}/console",
    "POST /api/v1/databases/{id}/browse",
    "GET /api/v1/databases/{parent}/users",
    "POST /api/v1/databases/{parent}/users",
    "DELETE /api/v1/databases/{parent}/users/{id}",
    "POST /api/v1/databases/{parent}/users/{id}/rotate",
    "GET /api/v1/databases/{parent}/users/{id}/password",
    "GET /api/v1/databases/{parent}/saved-queries",
    "PUT /api/v1/databases/{parent}/saved-queries",
    "DELETE /api/v1/databases/{parent}/saved-queries/{id}",
    "GET /api/v1/k8s/node-plans",
    "POST /api/v1/k8s/clusters",
    "GET /api/v1/k8s/clusters/{id}/upgrades",
    "POST /api/v1/k8s/clusters/{id}/upgrade",
    "PATCH /api/v1/k8s/clusters/{id}/maintenance",
    "GET /api/v1/k8s/clusters/{id}/kubeconfig",
    "POST /api/v1/k8s/clusters/{id}/kubeconfig/rotate",
    "GET /api/v1/k8s/clusters/{id}/volumes",
    "POST /api/v1/k8s/clusters/{parent}/pools",
    "PATCH /api/v1/apps/services/{id}",
    "POST /api/v1/apps/services/{id}/jobs/run",
    "POST /api/v1/apps/services/{id}/source-upload",
    "DELETE /api/v1/apps/previews/{preview}",
    "GET /api/v1/apps/usage",
    "GET /api/v1/apps/spend-settings",
    "PATCH /api/v1/apps/spend-settings",
];

/// Endpoints that the contract assumes, because the specification names their area only, or nothing.
pub const ASSUMED: &[&str] = &[
    "GET /api/v1/projects",
    "POST /api/v1/projects",
    "GET /api/v1/projects/{id}",
    "PATCH /api/v1/projects/{id}",
    "DELETE /api/v1/projects/{id}",
    "GET /api/v1/projects/{parent}/members",
    "POST /api/v1/projects/{parent}/members",
    "PATCH /api/v1/projects/{parent}/members/{id}",
    "DELETE /api/v1/projects/{parent}/members/{id}",
    "GET /api/v1/ssh-keys",
    "POST /api/v1/ssh-keys",
    "GET /api/v1/ssh-keys/{id}",
    "DELETE /api/v1/ssh-keys/{id}",
    "GET /api/v1/api-keys",
    "GET /api/v1/api-keys/{id}",
    "DELETE /api/v1/api-keys/{id}",
    "GET /api/v1/roles",
    "POST /api/v1/roles",
    "GET /api/v1/roles/{id}",
    "PATCH /api/v1/roles/{id}",
    "DELETE /api/v1/roles/{id}",
    "GET /api/v1/permissions",
    "GET /api/v1/invitations",
    "POST /api/v1/invitations",
    "DELETE /api/v1/invitations/{id}",
    "GET /api/v1/members",
    "DELETE /api/v1/members/{member}",
    "GET /api/v1/vpcs",
    "GET /api/v1/vpcs/{id}",
    "DELETE /api/v1/vpcs/{id}",
    "GET /api/v1/databases",
    "GET /api/v1/databases/{id}",
    "DELETE /api/v1/databases/{id}",
    "POST /api/v1/databases/{id}/scale",
    "GET /api/v1/databases/{id}/backups",
    "GET /api/v1/k8s/versions",
    "GET /api/v1/k8s/clusters",
    "GET /api/v1/k8s/clusters/{id}",
    "DELETE /api/v1/k8s/clusters/{id}",
    "GET /api/v1/k8s/clusters/{id}/events",
    "GET /api/v1/k8s/clusters/{parent}/pools",
    "GET /api/v1/k8s/clusters/{parent}/pools/{id}",
    "PATCH /api/v1/k8s/clusters/{parent}/pools/{id}",
    "DELETE /api/v1/k8s/clusters/{parent}/pools/{id}",
    "GET /api/v1/apps/services",
    "POST /api/v1/apps/services",
    "GET /api/v1/apps/services/{id}",
    "DELETE /api/v1/apps/services/{id}",
    "POST /api/v1/apps/services/{id}/scale",
    "GET /api/v1/apps/services/{id}/deployments",
    "POST /api/v1/apps/services/{id}/deployments",
    "POST /api/v1/apps/services/{id}/pause",
    "POST /api/v1/apps/services/{id}/resume",
    "GET /api/v1/apps/services/{id}/jobs/runs",
    "GET /api/v1/apps/services/{id}/events",
    "GET /api/v1/apps/services/{id}/instances",
    "GET /api/v1/apps/services/{id}/previews",
    "POST /api/v1/apps/previews/{preview}/redeploy",
    "GET /api/v1/apps/sizes",
    "GET /api/v1/apps/templates",
    "GET /api/v1/apps/github/connections",
    "GET /api/v1/apps/services/{parent}/domains",
    "POST /api/v1/apps/services/{parent}/domains",
    "DELETE /api/v1/apps/services/{parent}/domains/{id}",
    "GET /api/v1/apps/services/{parent}/database-links",
    "POST /api/v1/apps/services/{parent}/database-links",
    "DELETE /api/v1/apps/services/{parent}/database-links/{id}",
    "POST /api/v1/apps/services/{parent}/database-links/{id}/rotate",
    "GET /api/v1/functions",
    "POST /api/v1/functions",
    "GET /api/v1/functions/{id}",
    "PATCH /api/v1/functions/{id}",
    "DELETE /api/v1/functions/{id}",
    "POST /api/v1/functions/{id}/source-upload",
];

/// Endpoints that the client's tables do not use, and why.
pub const ELSEWHERE: &[(&str, &str)] = &[
    ("GET /api/v1/database/plans", "another spelling of `/databases/plans`, which the client reads"),
    ("GET /health", "for whoever runs the service: a client learns the same from its first request"),
    ("GET /ready", "for whoever runs the service: a client learns the same from its first request"),
];

/// Endpoints of the emulator that are not the service's, and why.
pub const BESIDE: &[(&str, &str)] = &[(
    "PUT /uploads/{blob_key}",
    "the address that a source upload is granted: opaque to clients, which take it from the grant",
)];

/// One endpoint of the tables above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub method: Method,
    pub path: &'static str,
    pub provenance: Provenance,
}

/// Parses `GET /path`.
pub fn parse(line: &'static str) -> (Method, &'static str) {
    let (method, path) = line.split_once(' ').unwrap();
    (verb(method), path)
}

/// Parses an HTTP method.
pub fn verb(text: &str) -> Method {
    let all = [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete];
    all.into_iter().find(|method| method.as_str() == text).unwrap()
}

/// Returns all rows.
pub fn rows() -> impl Iterator<Item = Row> {
    let marked = |lines: &'static [&'static str], provenance| {
        lines.iter().map(move |line| {
            let (method, path) = parse(line);
            Row { method, path, provenance }
        })
    };
    marked(SAID, Provenance::Documented).chain(marked(ASSUMED, Provenance::Assumed))
}

/// Returns a path with all variable segments as `{}`.
pub fn shape(path: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part });
    parts.collect::<Vec<_>>().join("/")
}
