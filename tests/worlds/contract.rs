//! The service's kinds as the contract describes them (section 3): where they are listed, what their
//! fields mean. Written without the client's tables, so that a slip in one of them is found.

/// What a field holds, and so which other forms of one value there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Id,
    /// The id of a database, which has a short form, too.
    DatabaseId,
    Ids,
    Time,
    Whole,
    Price,
    Text,
    Word,
    Status,
    Flag,
    Network,
    Networks,
    Email,
    Host,
    PublicKey,
    ClockTime,
    Texts,
    Secrets,
    Map,
}

#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub form: Form,
    /// It may be empty.
    pub optional: bool,
}

const fn field(name: &'static str, form: Form) -> Field {
    Field { name, form, optional: false }
}

const fn optional(name: &'static str, form: Form) -> Field {
    Field { name, form, optional: true }
}

/// One kind of the service.
#[derive(Debug)]
pub struct Collection {
    /// As the language calls it.
    pub kind: &'static str,
    pub path: &'static str,
    /// The kind under which it is nested.
    pub parent: Option<&'static str>,
    /// What names an object in a path.
    pub id: &'static str,
    /// What a creation's body is known by.
    pub name: &'static str,
    /// One object can be read by its id.
    pub readable: bool,
    /// The specification, or the contract, wants `X-Project-ID` on changes.
    pub states_project: bool,
    /// The states in which it is ready.
    pub ready: &'static [&'static str],
    pub fields: &'static [Field],
}

use Form::{
    ClockTime, DatabaseId, Email, Flag, Host, Id, Ids, Map, Network, Networks, Price, PublicKey, Secrets,
    Status, Text, Texts, Time, Whole, Word,
};

const PLAIN: Collection = Collection {
    kind: "",
    path: "",
    parent: None,
    id: "id",
    name: "name",
    readable: true,
    states_project: false,
    ready: &[],
    fields: &[],
};

/// Children stand behind their parents.
pub static COLLECTIONS: &[Collection] = &[
    Collection {
        kind: "project",
        path: "/api/v1/projects",
        fields: &[field("name", Text), optional("description", Text), field("is_default", Flag)],
        ..PLAIN
    },
    Collection {
        kind: "ssh_key",
        path: "/api/v1/ssh-keys",
        fields: &[field("name", Text), field("public_key", PublicKey), field("fingerprint", Text)],
        ..PLAIN
    },
    Collection {
        kind: "vpc",
        path: "/api/v1/vpcs",
        states_project: true,
        ready: &["active"],
        fields: &[
            field("name", Text),
            field("cidr", Network),
            field("status", Status),
            field("region", Word),
            field("total_ips", Whole),
            field("used_ips", Whole),
        ],
        ..PLAIN
    },
    Collection {
        kind: "vm",
        path: "/api/v1/vms",
        states_project: true,
        ready: &["active", "stopped"],
        fields: &[
            field("name", Text),
            field("status", Status),
            field("cpu", Whole),
            field("ram", Whole),
            field("storage", Whole),
            field("price_per_hour", Price),
            field("pricing_id", Whole),
            field("billing_type", Word),
            field("region", Word),
            field("console_require_mfa", Flag),
            optional("vpc_id", Id),
            field("template_id", Id),
            optional("ssh_key_ids", Ids),
            optional("private_ipv4_address", Text),
        ],
        ..PLAIN
    },
    Collection {
        kind: "volume",
        path: "/api/v1/volumes",
        states_project: true,
        ready: &["available", "in_use"],
        fields: &[
            field("name", Text),
            field("size", Whole),
            field("region", Word),
            field("billing_type", Word),
            optional("vm_id", Id),
            field("status", Status),
            field("price_per_hour", Price),
        ],
        ..PLAIN
    },
    Collection {
        kind: "snapshot",
        path: "/api/v1/snapshots",
        states_project: true,
        ready: &["available"],
        fields: &[
            field("name", Text),
            optional("vm_id", Id),
            optional("volume_id", Id),
            field("source_type", Word),
            field("size", Whole),
            field("status", Status),
        ],
        ..PLAIN
    },
    Collection {
        kind: "backup",
        path: "/api/v1/backups",
        states_project: true,
        ready: &["completed"],
        fields: &[
            field("name", Text),
            field("product_vm", Id),
            field("storage_size", Whole),
            field("price_per_hour", Price),
            field("status", Status),
            optional("expire_date", Time),
            field("increment_id", Whole),
        ],
        ..PLAIN
    },
    Collection {
        kind: "backup_schedule",
        path: "/api/v1/backup-schedules",
        name: "vm_id",
        states_project: true,
        fields: &[
            field("vm_id", Id),
            field("frequency", Word),
            optional("day_of_week", Whole),
            field("hour", Whole),
            field("retention", Whole),
            field("enabled", Flag),
            optional("next_run_at", Time),
        ],
        ..PLAIN
    },
    Collection {
        kind: "database",
        path: "/api/v1/databases",
        ready: &["running", "warning"],
        fields: &[
            field("name", Text),
            field("engine", Word),
            field("engine_version", Text),
            field("status", Status),
            optional("status_message", Text),
            field("plan_id", Whole),
            field("storage_gb", Whole),
            field("ha_enabled", Flag),
            field("replica_count", Whole),
            optional("vpc_id", Id),
            field("public_access", Flag),
            field("connection_port", Whole),
            field("billing_type", Word),
            optional("subscription_id", Text),
            field("price_per_hour", Price),
            field("monthly_price", Price),
            field("public_port", Whole),
            optional("public_dns_hostname", Text),
            optional("public_allowlist", Networks),
            field("is_free", Flag),
            optional("suspended_at", Time),
            optional("extensions", Texts),
        ],
        ..PLAIN
    },
    Collection {
        kind: "database_user",
        path: "/api/v1/databases/{parent}/users",
        parent: Some("database"),
        id: "name",
        readable: false,
        fields: &[field("name", Text)],
        ..PLAIN
    },
    Collection {
        kind: "saved_query",
        path: "/api/v1/databases/{parent}/saved-queries",
        parent: Some("database"),
        id: "name",
        readable: false,
        fields: &[field("name", Text), field("query", Text)],
        ..PLAIN
    },
    Collection {
        kind: "cluster",
        path: "/api/v1/k8s/clusters",
        states_project: true,
        ready: &["running"],
        fields: &[
            field("name", Text),
            field("status", Status),
            field("version_id", Whole),
            optional("vpc_id", Id),
            field("control_plane_count", Whole),
            field("upgrade_mode", Word),
            field("maintenance_day", Whole),
            field("maintenance_start", ClockTime),
            field("price_per_hour", Price),
        ],
        ..PLAIN
    },
    Collection {
        kind: "node_pool",
        path: "/api/v1/k8s/clusters/{parent}/pools",
        parent: Some("cluster"),
        states_project: true,
        ready: &["running"],
        fields: &[
            field("name", Text),
            field("plan_id", Whole),
            field("node_count", Whole),
            optional("labels", Map),
            optional("taints", Texts),
            field("status", Status),
        ],
        ..PLAIN
    },
    Collection {
        kind: "app",
        path: "/api/v1/apps/services",
        ready: &["live", "paused", "awaiting_source"],
        fields: &[
            field("name", Text),
            field("type", Word),
            optional("description", Text),
            field("status", Status),
            optional("image", Text),
            optional("repo", Text),
            optional("branch", Text),
            field("size", Word),
            optional("start_command", Text),
            field("port", Whole),
            optional("health_check_path", Text),
            optional("cron_schedule", Text),
            field("previews_enabled", Flag),
            optional("env_vars", Secrets),
            field("instances", Whole),
            optional("min_replicas", Whole),
            optional("max_replicas", Whole),
            optional("autoscaling_target", Whole),
            field("billing_type", Word),
        ],
        ..PLAIN
    },
    Collection {
        kind: "app_domain",
        path: "/api/v1/apps/services/{parent}/domains",
        parent: Some("app"),
        name: "domain",
        readable: false,
        fields: &[field("domain", Host), field("status", Word)],
        ..PLAIN
    },
    Collection {
        kind: "app_database_link",
        path: "/api/v1/apps/services/{parent}/database-links",
        parent: Some("app"),
        name: "database_id",
        readable: false,
        fields: &[field("database_id", DatabaseId), field("user", Text), field("variables", Texts)],
        ..PLAIN
    },
    Collection {
        kind: "serverless_function",
        path: "/api/v1/functions",
        ready: &["active"],
        fields: &[
            field("name", Text),
            field("runtime", Word),
            field("handler", Text),
            field("memory_mb", Whole),
            field("timeout_seconds", Whole),
            optional("env_vars", Secrets),
            field("status", Status),
            field("version", Whole),
        ],
        ..PLAIN
    },
    Collection {
        kind: "api_key",
        path: "/api/v1/api-keys",
        fields: &[
            field("name", Text),
            field("rate_limit_tier", Word),
            optional("expires_at", Time),
            optional("last_used_at", Time),
            field("role_id", Id),
        ],
        ..PLAIN
    },
    Collection {
        kind: "project_member",
        path: "/api/v1/projects/{parent}/members",
        parent: Some("project"),
        name: "api_key_id",
        readable: false,
        fields: &[optional("api_key_id", Id), optional("member_id", Id), field("role_id", Id)],
        ..PLAIN
    },
    Collection {
        kind: "role",
        path: "/api/v1/roles",
        fields: &[field("name", Text), optional("permissions", Texts)],
        ..PLAIN
    },
    Collection {
        kind: "invitation",
        path: "/api/v1/invitations",
        name: "email",
        readable: false,
        fields: &[field("email", Email), field("role_id", Id), field("status", Word)],
        ..PLAIN
    },
];

/// Fields that records of all kinds have.
pub static COMMON: &[Field] =
    &[optional("project_id", Id), field("created_at", Time), optional("updated_at", Time)];

/// What stands alone in an account.
pub const SPEND_SETTINGS: &str = "/api/v1/apps/spend-settings";

/// Returns the collection of a kind.
pub fn collection(kind: &str) -> Option<&'static Collection> {
    COLLECTIONS.iter().find(|one| one.kind == kind)
}

/// What a path means.
#[derive(Debug, Clone)]
pub struct Target {
    pub of: &'static Collection,
    pub parent: Option<String>,
    /// The object; `None` for the list.
    pub id: Option<String>,
    /// The rest: a call on the object.
    pub call: Option<String>,
}

/// Returns what a path means; the deepest collection that fits.
pub fn target(path: &str) -> Option<Target> {
    let mut fitting = COLLECTIONS.iter().filter_map(|of| {
        let (mut parent, mut segments) = (None, path.split('/'));
        for wanted in of.path.split('/') {
            let given = segments.next()?;
            if wanted == "{parent}" {
                parent = Some(given.to_owned());
            } else if wanted != given {
                return None;
            }
        }
        let (id, rest) = (segments.next().map(str::to_owned), segments.collect::<Vec<_>>().join("/"));
        Some(Target { of, parent, id, call: Some(rest).filter(|rest| !rest.is_empty()) })
    });
    let first = fitting.next()?;
    Some(fitting.next_back().unwrap_or(first))
}
